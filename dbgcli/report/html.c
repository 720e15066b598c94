/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/report/html.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "dbgcli/plain_text.h"

static const char *reference_of(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\'':
        return "&#39;";
    case 0x7f:
        return "&#x2421;";
    default:
        return NULL;
    }
}

/* U+200E, 200F, 202A to 202E, 2066 to 2069 and 061C: text in another order than it is in the file
 * would show other code than was compiled. */
static bool turns_direction(const unsigned char *at, size_t length)
{
    if (length == 2)
        return at[0] == 0xd8 && at[1] == 0x9c;
    if (length != 3 || at[0] != 0xe2)
        return false;
    return at[1] == 0x80 ? at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xaa && at[2] <= 0xae)
                         : at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

/* Writes what stands first; its length. */
static size_t put_first(FILE *to, const unsigned char *at, size_t left)
{
    size_t length = cli_utf8_length(at, left);
    const char *reference = reference_of(*at);

    if (reference)
        fputs(reference, to);
    else if (*at < 0x20 && *at != '\t' && *at != '\n')
        fprintf(to, "&#x%x;", 0x2400u + *at);
    else if (*at < 0x80)
        putc(*at, to);
    else if (!length || turns_direction(at, length))
        fputs("&#xfffd;", to);
    else
        fwrite(at, 1, length, to);
    return length ? length : 1;
}

void cli_html_bytes(FILE *to, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    while (size) {
        size_t length = put_first(to, at, size);
        at += length;
        size -= length;
    }
}

void cli_html_text(FILE *to, const char *text)
{
    if (text)
        cli_html_bytes(to, text, strlen(text));
}

void cli_html_cut(FILE *to, const char *text, size_t most)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t left = text ? strlen(text) : 0, used = 0;

    while (left > used) {
        size_t length = cli_utf8_length(at + used, left - used);
        if (used + (length ? length : 1) > most) {
            fputs("...", to);
            return;
        }
        used += put_first(to, at + used, left - used);
    }
}

void cli_html_count(FILE *to, uint64_t count)
{
    if (count >= 1000) {
        cli_html_count(to, count / 1000);
        fprintf(to, ",%03" PRIu64, count % 1000);
    } else {
        fprintf(to, "%" PRIu64, count);
    }
}

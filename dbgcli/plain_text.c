/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/plain_text.h"

#include <string.h>

const char *const cli_style_sequences[CLI_STYLE_COUNT] = {
    [CLI_STYLE_NONE] = "\033[0m",      [CLI_STYLE_BOLD] = "\033[1m",
    [CLI_STYLE_DIM] = "\033[2m",       [CLI_STYLE_FILE] = "\033[32m",
    [CLI_STYLE_FUNCTION] = "\033[33m", [CLI_STYLE_ADDRESS] = "\033[34m",
    [CLI_STYLE_VARIABLE] = "\033[36m",
};

size_t cli_utf8_length(const unsigned char *bytes, size_t left)
{
    unsigned lead = bytes[0];
    size_t length = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (!length || length > left || lead > 0xf4)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return 0;
    bool is_bad = (lead == 0xe0 && bytes[1] < 0xa0) ||  /* overlong */
                  (lead == 0xed && bytes[1] >= 0xa0) || /* surrogates */
                  (lead == 0xf0 && bytes[1] < 0x90) ||  /* overlong */
                  (lead == 0xf4 && bytes[1] >= 0x90) || /* above U+10FFFF */
                  (lead == 0xc2 && bytes[1] < 0xa0);    /* C1 controls */
    return is_bad ? 0 : length;
}

enum verdict {
    VERDICT_BAD,
    VERDICT_GOES_ON, /* the beginning of something good */
    VERDICT_GOOD,
};

static enum verdict judge_style(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < CLI_STYLE_COUNT; i++)
        if (memcmp(bytes, cli_style_sequences[i], count) == 0)
            return count == strlen(cli_style_sequences[i]) ? VERDICT_GOOD : VERDICT_GOES_ON;
    return VERDICT_BAD;
}

static enum verdict judge_utf8(const unsigned char *bytes, size_t count)
{
    unsigned lead = bytes[0];
    size_t length = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (count == length)
        return cli_utf8_length(bytes, count) ? VERDICT_GOOD : VERDICT_BAD;
    for (size_t i = 1; i < count; i++)
        if ((bytes[i] & 0xc0) != 0x80)
            return VERDICT_BAD;
    return count < length ? VERDICT_GOES_ON : VERDICT_BAD;
}

static bool is_plain(unsigned char byte)
{
    return (byte >= ' ' && byte < 0x7f) || byte == '\n' || byte == '\t';
}

static enum verdict judge(const struct cli_filter *filter, bool is_styled)
{
    const unsigned char *bytes = filter->held;
    if (is_plain(bytes[0]))
        return VERDICT_GOOD;
    if (bytes[0] == '\033')
        return is_styled ? judge_style(bytes, filter->held_count) : VERDICT_BAD;
    return judge_utf8(bytes, filter->held_count);
}

/* Drops the first `count` of the held bytes. */
static void drop(struct cli_filter *filter, size_t count)
{
    filter->held_count -= count;
    memmove(filter->held, filter->held + count, filter->held_count);
}

/* Judges what is held, of which a first byte that is good alone may be followed by others. */
static size_t settle(struct cli_filter *filter, bool is_styled, char *to)
{
    size_t used = 0;
    while (filter->held_count) {
        enum verdict verdict = judge(filter, is_styled);
        size_t count = is_plain(filter->held[0]) ? 1 : filter->held_count;
        if (verdict == VERDICT_GOES_ON)
            break;
        if (verdict == VERDICT_GOOD) {
            memcpy(to + used, filter->held, count);
            used += count;
            drop(filter, count);
        } else {
            to[used++] = '?';
            drop(filter, 1);
        }
    }
    return used;
}

size_t cli_filter_pass(struct cli_filter *filter, bool is_styled, const char *bytes, size_t size,
                       char *to)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (!filter->held_count && is_plain(byte)) {
            to[used++] = (char)byte;
            continue;
        }
        filter->held[filter->held_count++] = byte;
        used += settle(filter, is_styled, to + used);
    }
    return used;
}

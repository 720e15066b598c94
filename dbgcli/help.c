/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/help.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

#define OPTION_COLUMN 24
#define TEXT_LEAST    24 /* columns for a text beside a name; where there are fewer it hangs less */
#define HANG_LITTLE   4

/* ---- lines for terminals of any width ---- */

/* Columns of some bytes: sequences of styles take none, and a character takes one. */
static unsigned width_of(const char *text, size_t size)
{
    unsigned width = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\033')
            while (i < size && text[i] != 'm')
                i++;
        else
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
    return width;
}

static void line_print(struct cli_out *out, unsigned hang, const char *line, size_t length)
{
    const char *end = line + length;
    unsigned columns = cli_out_columns(out), at = 0;
    unsigned own = (unsigned)strspn(line, " ");

    if (hang && (columns < hang + TEXT_LEAST || hang > columns / 2))
        hang = own + HANG_LITTLE;
    if (!hang || hang > columns / 2)
        hang = own < columns / 2 ? own : 0;
    while (line < end) {
        size_t spaces = strspn(line, " ");
        size_t size = spaces + strcspn(line + spaces, " \n");
        if (columns && at > hang && at + width_of(line, size) > columns) {
            fprintf(out->stream, "\n%*s", (int)hang, "");
            line += spaces;
            size -= spaces;
            at = hang;
        }
        fwrite(line, 1, size, out->stream);
        at += width_of(line, size);
        line += size;
    }
    putc('\n', out->stream);
}

/* Makes one line of a paragraph of which some line is too long. The length of the first line. */
static size_t paragraph_join(const struct cli_out *out, char *text)
{
    unsigned columns = cli_out_columns(out);
    size_t end = strcspn(text, "\n"), from = 0;
    bool is_wide = false;

    for (;; end = from + strcspn(text + from, "\n")) {
        is_wide |= columns && width_of(text + from, end - from) > columns;
        if (end == from || text[from] == ' ' || !text[end] || strchr(" \n", text[end + 1]))
            break;
        from = end + 1;
    }
    for (size_t i = 0; i < end && is_wide; i++)
        if (text[i] == '\n')
            text[i] = ' ';
    return strcspn(text, "\n");
}

void cli_help_print_lines(struct cli_out *out, unsigned hang, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = cli_vasprintf(format, args);
    va_end(args);
    for (char *line = text; *line;) {
        size_t length = hang ? strcspn(line, "\n") : paragraph_join(out, line);
        line_print(out, hang, line, length);
        line += length + (line[length] == '\n');
    }
    free(text);
}

/* ---- what there is to say ---- */

void cli_help_print_options(struct cli_out *out, const struct cli_option *options)
{
    for (const struct cli_option *o = options; o && (o->name || o->letter); o++) {
        if (!o->help)
            continue;
        char *letter = o->letter ? cli_asprintf("-%c", o->letter) : cli_strdup("  ");
        char *name =
            o->name ? cli_asprintf("%s--%s", o->letter ? ", " : "  ", o->name) : cli_strdup("");
        const char *joint = !o->value ? "" : o->name ? "=" : " ";
        char *text = cli_asprintf("  %s%s%s%s", letter, name, joint, o->value ? o->value : "");
        cli_help_print_lines(out, OPTION_COLUMN + 2, "%-*s  %s", OPTION_COLUMN, text, o->help);
        free(letter);
        free(name);
        free(text);
    }
}

void cli_help_print_syntax(struct cli_out *out, const char *program, const char *name,
                           const char *summary, const struct cli_syntax *syntax)
{
    cli_help_print_lines(out, HANG_LITTLE, "usage: %s%s%s%s\n\n%s", program, name,
                         *syntax->usage ? " " : "", syntax->usage, summary);
    if (syntax->options) {
        putc('\n', out->stream);
        cli_help_print_options(out, syntax->options);
    }
    if (syntax->details)
        cli_help_print_lines(out, 0, "\n%s", syntax->details);
    if (syntax->example)
        cli_help_print_lines(out, HANG_LITTLE, "\nfor example: %s", syntax->example);
}

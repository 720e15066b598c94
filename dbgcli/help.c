/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/help.h"

#include <stdlib.h>

#include "dbgcli/alloc.h"

#define OPTION_COLUMN 24

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
        fprintf(out->stream, "%-*s  %s\n", OPTION_COLUMN, text, o->help);
        free(letter);
        free(name);
        free(text);
    }
}

void cli_help_print_syntax(struct cli_out *out, const char *program, const char *name,
                           const char *summary, const struct cli_syntax *syntax)
{
    fprintf(out->stream, "usage: %s%s%s%s\n\n%s\n", program, name, *syntax->usage ? " " : "",
            syntax->usage, summary);
    if (syntax->options) {
        putc('\n', out->stream);
        cli_help_print_options(out, syntax->options);
    }
    if (syntax->details)
        fprintf(out->stream, "\n%s\n", syntax->details);
    if (syntax->example)
        fprintf(out->stream, "\nfor example: %s\n", syntax->example);
}

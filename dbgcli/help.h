/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help texts, made from the same tables that the parser reads. */
#ifndef DBGCLI_HELP_H
#define DBGCLI_HELP_H

#include "dbgcli/args.h"
#include "dbgcli/out.h"

/* Prints text, its lines broken between words where they are longer than the terminal is wide. What
 * is broken off begins `hang` columns in; on a narrow terminal a little further in than its line
 * does. With 0 it begins as far in as that, and lines at the margin, of which one is too long, are
 * filled anew. */
void cli_help_print_lines(struct cli_out *out, unsigned hang, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints all there is to say of a verb or command; `program` is "wetdbg " or "". */
void cli_help_print_syntax(struct cli_out *out, const char *program, const char *name,
                           const char *summary, const struct cli_syntax *syntax);

/* Prints the lines of an option table (may be NULL), indented. */
void cli_help_print_options(struct cli_out *out, const struct cli_option *options);

/* Help for one verb; or, with NULL, all verbs with their options. 0 or -WETDBG_ERR_USAGE. */
int cli_help_print(struct cli_out *out, const char *name);

/* Prints the few lines for somebody who typed nothing. */
void cli_help_print_synopsis(FILE *to);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `slice ... --against RUN`: lines ranked and marked by what passing runs of the program did,
 * too. */
#ifndef DBGCLI_COMMANDS_SLICE_AGAINST_H
#define DBGCLI_COMMANDS_SLICE_AGAINST_H

#include "dbgcli/args.h"
#include "dbgcli/commands/session.h"
#include <wetdbg/spectrum.h>

/* Rows of the option table of `slice`. */
#define CLI_AGAINST_OPTIONS                                                                        \
    {"against", 0, "RUN",                                                                          \
     "rank by what a passing run (a recording or FILE.wet) did, too (repeatable)"},                \
    {                                                                                              \
        "measure", 0, "NAME",                                                                      \
            "how: ochiai (the default), tarantula, dstar, jaccard, op2; with --against"            \
    }

struct cli_against;

/*
 * Holds a slice of `criterion` against the runs that the options name, whose slices are made in the
 * same way. *out is NULL if there are no such options; it is for cli_against_free(), before the
 * slice goes. -WETDBG_ERR_USAGE for a run of another program or that failed in the same way; errors
 * of opening and slicing.
 */
int cli_against_make(struct cli_session *session, const struct cli_args *args,
                     const struct wetdbg_criterion *criterion,
                     const struct wetdbg_slice_options *how, bool is_forward,
                     const struct wetdbg_slice *slice, struct cli_against **out);
void cli_against_free(struct cli_against *against);

/* Puts lines, by number, into that order, those that are alike as they were. Nothing for NULL. */
void cli_against_sort(const struct cli_against *against, size_t *lines, size_t count);

/* The line that comes n-th: the most suspicious first, of equal ones as the slice has them. NULL: n
 * itself. */
size_t cli_against_line(const struct cli_against *against, size_t n);

/* Text: what the marks mean, above the lines; a line's mark before it, and its score. Nothing for
 * NULL. */
void cli_against_print_head(const struct cli_against *against, struct cli_out *out);
const char *cli_against_mark(const struct cli_against *against, size_t line);
void cli_against_print_score(const struct cli_against *against, struct cli_out *out, size_t line);

/* JSON: the member "against" of the answer, and of a row. Nothing for NULL. */
void cli_against_to_json(const struct cli_against *against, json_t *object);
void cli_against_line_to_json(const struct cli_against *against, size_t line, json_t *row);

#endif

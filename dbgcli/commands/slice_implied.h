/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `slice backward --implicit`: dependences that switched runs have proven, as they are shown. */
#ifndef DBGCLI_COMMANDS_SLICE_IMPLIED_H
#define DBGCLI_COMMANDS_SLICE_IMPLIED_H

#include "dbgcli/commands/session.h"
#include <wetdbg/implicit.h>

/* Rows of an option table. */
#define CLI_IMPLIED_OPTIONS                                                                        \
    {"implicit", 0, NULL,                                                                          \
     "backward: also what kept a value from being written, by switched runs"},                     \
        {"budget", 0, "TIME|N", "with --implicit: at most N switched runs (200), or 30s, 5m, 1h"}, \
    {                                                                                              \
        "expect", 0, "FILE", "with --implicit: say which switches make the output that of FILE"    \
    }

struct cli_implied {
    struct wetdbg_implicit_result found;
    struct wetdbg_slice *plain; /* the slice without them, for marks; NULL: nothing was found */
};

/* Whether they are asked for. -WETDBG_ERR_USAGE, explained, for options that do not go together;
 * 1, 0. `is_full`: it is a full backward slice. */
int cli_implied_wanted(const struct cli_args *args, bool is_full);

/* Finds them, and has `how` lead there. *out is for cli_implied_free(). Errors of
 * wetdbg_implicit_find() and of slices. */
int cli_implied_find(struct cli_session *session, const struct cli_args *args,
                     const struct wetdbg_criterion *criterion, struct wetdbg_slice_options *how,
                     struct cli_implied **out);
/* Has a slice follow them. */
void cli_implied_follow(const struct cli_implied *implied, struct wetdbg_slice_options *how);
void cli_implied_free(struct cli_implied *implied); /* NULL is fine */

/* Whether a slice has the line by implicit dependences only: `plain` is the slice without them, of
 * the same run; NULL: nobody asked. */
bool cli_implied_has_line(const struct wetdbg_slice *plain, const struct wetdbg_slice_line *line);

/* The dependence by which a predicate's instance is in the slice; NULL if there is none. */
const struct wetdbg_implicit *cli_implied_of(const struct cli_implied *implied, wetdbg_time use,
                                             wetdbg_time predicate);

/* "implicit: a.c:43#7 switched, the use at b.c:12#1 gets another value: 0 instead of 8", without
 * end of line. */
void cli_implied_print_proof(struct cli_session *session, const struct wetdbg_implicit *proof);

/* Where the switch was that proves a dependence, as an object. */
json_t *cli_implied_proof_to_json(struct cli_session *session, const struct wetdbg_implicit *item);

/* Which were found, how many runs it took, and what remained open; in JSON the member
 * "implicit". Those of which the use does not happen are only counted, unless `shows_all` or there
 * are no others. */
void cli_implied_print(struct cli_session *session, const struct cli_implied *implied,
                       bool shows_all);
void cli_implied_to_json(struct cli_session *session, const struct cli_implied *implied,
                         json_t *object);

#endif

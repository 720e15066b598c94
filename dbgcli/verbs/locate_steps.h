/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg locate`: the questions that it asks, the cheapest first, within its time. */
#ifndef DBGCLI_VERBS_LOCATE_STEPS_H
#define DBGCLI_VERBS_LOCATE_STEPS_H

#include "dbgcli/commands/passing_run.h"
#include "dbgcli/verbs/locate_failure.h"
#include "dbgcli/verbs/locate_input.h"
#include "dbgcli/verbs/locate_neighbours.h"
#include "dbgcli/verbs/locate_prefix.h"
#include "dbgcli/verbs/locate_reduce.h"
#include <wetdbg/locate.h>
#include <wetdbg/switch.h>

struct cli_locating {
    struct cli_session *session;
    const char *wet_path;
    struct cli_right right;
    double begin, budget; /* seconds: of a clock, and how many there are */
    unsigned jobs;
    uint64_t limit;            /* of suspects that are shown; 0: all */
    uint64_t reported;         /* of suspects that files have; 0: all */
    const char *sarif, *junit; /* files for the last list; NULL: none */
    const char *html, *dot, *svg;
    bool shows_features; /* in JSON: what scores are made of */
    bool has_more;       /* further steps follow */
    bool is_shown;       /* some answer was given */
    /* CLI_PASSING_MAX that were given, and behind them those that were found. */
    struct cli_passing_run *passing;
    size_t passing_count;
    struct cli_locate_input input; /* of a PROGRAM */
    bool runs_once;                /* it is not run again with other inputs: nobody wants that */
    enum { CLI_RERUNS_UNKNOWN, CLI_RERUNS, CLI_RERUNS_NOT } reruns; /* or it may be, or not */
    struct cli_reduced reduced;
    struct cli_prefix prefix;
    struct cli_neighbours found_passing;
    /* What was found out: */
    struct cli_failure failure;
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    struct wetdbg_locate *locate;
    struct wetdbg_profile *profile;
    struct wetdbg_prune *prune;
    struct wetdbg_trials *trials;
    struct wetdbg_candidates *candidates;
    struct wetdbg_order *order;
    double step_until; /* when the step at work is given up */
    struct wetdbg_search_result found;
    struct wetdbg_replacement_result replaced;
    struct wetdbg_mutant_result mutants;
    struct wetdbg_implicit_result implicit;
    char **missing; /* what it could not ask, in sentences without full stop */
    size_t missing_count;
};

/*
 * Asks everything that there is time for. `answer` is called after each step that made the list
 * better; an error of it ends. 0; -WETDBG_ERR_INTERRUPTED also with what was found until then;
 * errors of what nothing can be said without: the criterion, its slice, passing runs that are none.
 */
int cli_locating_run(struct cli_locating *self, int (*answer)(struct cli_locating *self));
void cli_locating_fini(struct cli_locating *self);

/* Goes over to another failing run, whose session stays the caller's: what was found out of the one
 * before is forgotten, and a first look is taken. Errors of that look. */
int cli_locating_turn(struct cli_locating *self, struct cli_session *session, const char *wet_path);

/* Says that something could not be asked, in a sentence without full stop. */
__attribute__((format(printf, 2, 3))) void cli_locating_miss(struct cli_locating *self,
                                                             const char *format, ...);

/* Of a step that the list can do without, called `what`: its error is told, and is 0 then, unless
 * it ends everything. */
int cli_locating_miss_step(struct cli_locating *self, const char *what, int err);

/* Starts its clock, by which its budget goes. */
void cli_locating_begin(struct cli_locating *self);

/* Seconds since it began. */
double cli_locating_seconds(const struct cli_locating *self);

/* What is left of its budget. */
double cli_locating_seconds_left(const struct cli_locating *self);

#endif

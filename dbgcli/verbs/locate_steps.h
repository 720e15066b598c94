/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg locate`: the questions that it asks, the cheapest first, within its time. */
#ifndef DBGCLI_VERBS_LOCATE_STEPS_H
#define DBGCLI_VERBS_LOCATE_STEPS_H

#include "dbgcli/commands/passing_run.h"
#include "dbgcli/verbs/locate_failure.h"
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
    struct cli_passing_run *passing;
    size_t passing_count;
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

/* Starts its clock, by which its budget goes. */
void cli_locating_begin(struct cli_locating *self);

/* Seconds since it began. */
double cli_locating_seconds(const struct cli_locating *self);

#endif

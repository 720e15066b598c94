/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What <wetdbg/switch.h> makes of a judge, and of several processes. */
#ifndef PREDICATE_SWITCH_TRIALS_H
#define PREDICATE_SWITCH_TRIALS_H

#include "predicate_switch/crew.h"
#include <wetdbg/switch.h>

struct wetdbg_trials {
    struct wetdbg *wet;
    struct psw_judge judge;
    struct psw_crew *crew; /* NULL: there is one job */
    struct wetdbg_candidates *candidates;
    char failure[32];
};

/* Runs plans that are sorted by time, here or by the crew; as psw_crew_run() says. */
int psw_trials_run(const struct wetdbg_trials *trials, const struct psw_plan *plans, size_t count,
                   double until, wetdbg_trial_fn answered, void *arg);

#endif

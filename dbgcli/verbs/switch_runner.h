/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trials of a search, run by the engine (<wetdbg/switch.h>) and judged. */
#ifndef DBGCLI_VERBS_SWITCH_RUNNER_H
#define DBGCLI_VERBS_SWITCH_RUNNER_H

#include "dbgcli/verbs/switch_judge.h"
#include <wetdbg/switch.h>

/* Embedded by its holder; what it points to is the holder's. */
struct cli_switch_runner {
    struct wetdbg_candidates *candidates;
    struct wetdbg_switcher *switcher;
    const struct cli_switch_judge *judge;
    uint64_t instructions; /* the most of a run; 0: the engine's limit */
    /* Of the run that goes on: */
    uint8_t *output;
    size_t size, capacity;
};

struct wetdbg_trial_runner cli_switch_runner(struct cli_switch_runner *runner);

#endif

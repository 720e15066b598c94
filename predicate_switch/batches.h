/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a list whose order is that in which they should be tried: in batches that grow as long as
 * they are quick, each sorted by time, since a session passes its run forwards. */
#ifndef PREDICATE_SWITCH_BATCHES_H
#define PREDICATE_SWITCH_BATCHES_H

#include "predicate_switch/trials.h"

struct psw_batches {
    const struct wetdbg_trials *trials;
    size_t count; /* runs of the list */
    /* Makes the run of an index. */
    void (*plan)(void *arg, size_t index, struct psw_plan *plan);
    /* Takes its answer; what is not 0 ends everything, and comes back. */
    int (*answered)(void *arg, size_t index, const struct wetdbg_trial_answer *answer);
    void *arg;
    /* Ends: runs, and a time of wd_seconds(); 0: none. */
    uint64_t budget_trials;
    double deadline;
    const volatile sig_atomic_t *interrupted;                     /* may be NULL */
    void (*progress)(void *arg, uint64_t tried, uint64_t listed); /* may be NULL */
    void *progress_arg;
    /* What came of it: */
    size_t tried; /* those before in the list have been, in no order within a batch */
    bool is_interrupted;
};

/* 0, also where an end came first; -ENOMEM, errors of runs. */
int psw_batches_run(struct psw_batches *batches);

#endif

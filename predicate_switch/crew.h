/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A crew: processes that make the runs of a batch side by side. Each has a replay of its own, and
 * knows by its fork what the recorded run did. They take neighbouring plans, a few at a time, and
 * so pass their run forwards, as one process would. All of a crew ends with the process that made
 * it, however that ends.
 */
#ifndef PREDICATE_SWITCH_CREW_H
#define PREDICATE_SWITCH_CREW_H

#include "predicate_switch/judgement.h"
#include <wetdbg/mutate.h>

#define PSW_PLAN_WRITES 2

struct psw_plan_write {
    uint64_t address;
    unsigned size; /* bytes; 0: nothing is written */
    uint8_t bytes[WETDBG_MUTANT_CAVE_MAX];
};

/* One run: what psw_judge_run() takes. It points to nothing, and can be handed to another
 * process. */
struct psw_plan {
    struct psw_change change; /* PSW_SET: its memory is this: */
    struct psw_plan_write writes[PSW_PLAN_WRITES];
    struct psw_detour detours[PSW_DETOURS_MAX];
    unsigned detour_count;
};

/* Makes the run of a plan here, and judges it, as psw_judge_run() says. */
int psw_plan_run(const struct psw_judge *judge, const struct psw_plan *plan,
                 struct wetdbg_trial_answer *answer);

struct psw_crew;

/* `judge` lives longer, and does not change. The processes begin, and make themselves ready while
 * the caller does other things. -ENOMEM, -WETDBG_ERR_MACHINE. */
int psw_crew_new(const struct psw_judge *judge, unsigned jobs, struct psw_crew **out);
void psw_crew_free(struct psw_crew *crew); /* NULL is fine; its processes are gone then */

/*
 * Runs `count` plans, which are sorted by time, and answers them in that order. What `answered`
 * returns other than 0 ends the batch, and comes back; an error of a run does so, too, as do
 * -WETDBG_ERR_INTERRUPTED, and -ETIMEDOUT at `until`, a time of wd_seconds() (0: never). Then
 * nothing of the batch runs any more.
 */
int psw_crew_run(struct psw_crew *crew, const struct psw_plan *plans, size_t count, double until,
                 wetdbg_trial_fn answered, void *arg);

#endif

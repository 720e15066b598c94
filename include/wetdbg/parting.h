/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where two runs of one program part: a failing one and a passing one, of inputs that differ in
 * little. What is missing from an input leaves nothing in the run that could be sliced from; the
 * first branch that went another way for it does.
 */
#ifndef WETDBG_PARTING_H
#define WETDBG_PARTING_H

#include <stdbool.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/set.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

struct wetdbg_parting {
    wetdbg_time time, other_time; /* of the branch, in the one run and in the other */
    uint64_t pc, other_pc;
    bool is_cause; /* the branch is in the set that was given */
};

/*
 * The first branch (a conditional or indirect jump, or a call) of both programs' own code
 * (<wetdbg/caller.h>) after which their first threads went different ways. Both are walked in step,
 * own code only: what libraries did in between may differ, as it does with other addresses.
 * `causes`, a set of the other run, says whether the branch depended on what makes the runs differ;
 * NULL: that is not asked, and is_cause is false. -WETDBG_ERR_NOT_FOUND if one of them ends before
 * they part, or code comes up that is not at the same place in both programs;
 * -WETDBG_ERR_INTERRUPTED if `is_unwanted` (may be NULL) says so; -ENOMEM; errors of running an
 * interval.
 */
int wetdbg_find_parting(struct wetdbg *wet, struct wetdbg *other, const struct wetdbg_set *causes,
                        bool (*is_unwanted)(void *arg), void *arg, struct wetdbg_parting *parting);

WETDBG_END

#endif

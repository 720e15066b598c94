/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a switched run is worth: what it put out, and how it ended, held against what is right. */
#ifndef PREDICATE_SWITCH_JUDGEMENT_H
#define PREDICATE_SWITCH_JUDGEMENT_H

#include "predicate_switch/run.h"
#include <wetdbg/switch.h>

/* Made once for a search; embedded by its holder. */
struct psw_judge {
    struct wetdbg_expectation expected; /* what it points to is the caller's */
    struct psw_session *session;
    const char *directory; /* where the recorded program began; NULL: not known */
    bool is_crash;         /* the recorded run ended by a signal */
    uint64_t wrong;        /* of WETDBG_RIGHT_OUTPUT: offset of its first wrong byte */
    double until;          /* wd_seconds() when no command is waited for any more; 0: no end */
};

/*
 * Looks at the recorded run first, of which a command is asked twice. 0; -WETDBG_ERR_USAGE,
 * explained, if that run is right, if two answers differ, or if the command knows nothing of it, or
 * not within `budget_s`;
 * -WETDBG_ERR_INTERRUPTED, -ENOMEM.
 */
int psw_judge_init(struct psw_judge *judge, struct psw_session *session, const char *directory,
                   const struct wetdbg_expectation *expected);

/* Lets the run go on as `change` and `detours` say, and judges it. A run ends where more output
 * could change no verdict. Errors of psw_run() but -WETDBG_ERR_NOT_FOUND, which is unresolved;
 * -ETIMEDOUT, without a sentence, if judge->until came before the answer. */
int psw_judge_run(const struct psw_judge *judge, const struct psw_change *change,
                  const struct psw_detour *detours, unsigned detour_count,
                  struct wetdbg_trial_answer *answer);

#endif

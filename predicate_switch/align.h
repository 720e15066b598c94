/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which instances of a run are which in another one that was switched at some time.
 *
 * A run is a tree of regions: what a branch's instance let run, up to where its ways come together
 * again, or what a call did. Up to the switch both runs are equal. From there on both are walked
 * together: while they execute the same, instances match one by one; where two that match go
 * different ways, both regions are skipped, and matching goes on behind both. So turns of a loop
 * match by their number, and those that one run has more match nothing. (B. Xin, N. Sumner, X.
 * Zhang, Efficient program execution indexing, PLDI 2008; used for implicit dependences by X.
 * Zhang, S. Tallam, N. Gupta, R. Gupta, Towards locating execution omission errors, PLDI 2007,
 * section 3.)
 *
 * Branches that guard a call which never returns come together as if it were not there, so that a
 * check which did not stop the program is no region of all that comes after it.
 */
#ifndef PREDICATE_SWITCH_ALIGN_H
#define PREDICATE_SWITCH_ALIGN_H

#include "predicate_switch/tracer.h"
#include <wetdbg/wet.h>

enum psw_fate {
    PSW_MET,     /* `there` is its counterpart */
    PSW_SKIPPED, /* none: it is in a region that the other run did not come to */
    PSW_ENDED,   /* none: the other run's thread ended before it */
    PSW_ENDS,    /* it is where both runs end */
    PSW_LOST,    /* not known: something that is no branch or call led to different places */
};

struct psw_counterpart {
    wetdbg_time time; /* asked about, in the first run */
    enum psw_fate fate;
    wetdbg_time there; /* of PSW_MET; it executes the same instruction */
};

/*
 * Finds the counterparts of a thread's instances after `time`, at which it was there; `asked` is
 * sorted by time. Of a run that a fault has ended the instruction that faulted may be the last of
 * `asked`, as if it had been executed. The runs are equal up to the instruction at `time`, of which
 * the outcome may differ; the switched one is what the tracer has taken. Goes over both runs from
 * there to the latest of `asked`. 0; -ENOMEM, errors of running intervals and of the tracer.
 */
int psw_align(struct wetdbg *run, const struct wetdbg_thread *thread, struct psw_tracer *switched,
              wetdbg_time time, struct psw_counterpart *asked, size_t count);

#endif

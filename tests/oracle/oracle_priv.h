/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between oracle.c (running), oracle_frames.c (applying) and oracle_step.c (stepping). */
#ifndef TESTS_ORACLE_ORACLE_PRIV_H
#define TESTS_ORACLE_ORACLE_PRIV_H

#include <sched.h>

#include "tests/oracle/oracle.h"
#include "tests/oracle/oracle_child.h"
#include "tests/oracle/oracle_scan.h"
#include "tests/oracle/oracle_space.h"
#include "tests/oracle/oracle_stops.h"
#include "tests/oracle/oracle_tasks.h"

struct orc {
    struct wetdbg_recording *trace;
    struct orc_plan plan;
    struct orc_child child;
    struct orc_space space;

    struct rrt_frame next; /* not yet applied; its task is the current one */
    bool has_next;
    bool is_foreign;        /* `next` is another process's and only writes to our memory */
    struct rrt_frame after; /* the one after, when `next` is a preemption */
    bool has_after;
    bool is_after_foreign;
    struct orc_stops stops;
    const struct tck_stop *stop; /* memory digests of `next`, if asynchronous; NULL: none known */
    uint64_t event;              /* the last applied frame */
    struct orc_tasks tasks;

    uint64_t instructions;
    unsigned ambiguous;
    orc_event_fn event_fn;
    void *event_context;
    char maps_path[64];
    cpu_set_t own_cpus; /* of the calling thread, before orc_open() */
    bool is_bound;
};

/* ---- oracle_frames.c: what a frame does. All take orc->next. */

/* Makes orc->next the next frame that concerns the space, and its task the current one; has_next
 * false at the end. A preemption (SCHED) is one only if another task goes on after it. */
int orc_frame_fetch(struct orc *orc);

/* Applies orc->next, which is the exec at which the process starts. */
int orc_frame_apply_exec(struct orc *orc);

/* Whether orc->next happens where the one before left the process, without anything running. */
bool orc_frame_is_immediate(const struct orc *orc);

/* Applies orc->next and fetches the one after. The state must be that which it describes. */
int orc_frame_apply(struct orc *orc);

/* The instructions that trap and are answered from the recording. */
enum orc_trap {
    ORC_TRAP_NONE = 0,
    ORC_TRAP_RDTSC = 1,
    ORC_TRAP_RDTSCP = 2,
    ORC_TRAP_CPUID = 4,
};

/* Compares the child's state with that of orc->next. `mask`: eflags bits that must agree.
 * `trap`: leave out what that instruction writes. */
int orc_frame_compare(struct orc *orc, const struct user_regs_struct *regs, uint64_t eflags_mask,
                      enum orc_trap trap);

/* orc_frame_compare() that only says whether they agree. */
bool orc_frame_matches(const struct orc *orc, const struct user_regs_struct *regs);

/* ---- oracle.c: running */

/* Whether the asynchronous frame orc->next is due where the child stands, with these registers. */
int orc_is_due(struct orc *orc, const struct user_regs_struct *regs, bool *is_due);

/* Applies immediate frames, and asynchronous signals that are due right here. */
int orc_settle(struct orc *orc);

/* Takes the event at which the child stopped: it has to be orc->next; applies that one, and the
 * exit of a system call along with its entry. */
int orc_take_stop(struct orc *orc, const struct orc_stop *stop);

/* orc_child_resume(), which stops at the rdtsc that orc->next is on any machine. */
int orc_resume(struct orc *orc, bool step, struct orc_stop *stop);

bool orc_next_is_asynchronous(const struct orc *orc);

/* Length of the rep instruction at `pc`; 0 if there is another one, or one with 32-bit
 * addresses. */
unsigned orc_rep_length(struct orc *orc, uint64_t pc);

/* The child stands with `regs` at a rep instruction. Where the asynchronous frame orc->next may lie
 * between its turns, runs it up to there; elsewhere does nothing. Moves the breakpoint. */
int orc_run_into_rep(struct orc *orc, struct user_regs_struct *regs);

#define ORC_EFLAGS_COMPARED UINT64_C(0xcd5) /* CF PF AF ZF SF DF OF */

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of one backward pass over a run. */
#ifndef SLICER_SCAN_SCAN_H
#define SLICER_SCAN_SCAN_H

#include "slicer/criteria/criterion.h"
#include "slicer/scan/bypass.h"
#include "slicer/scan/call_uses.h"
#include "slicer/scan/frames.h"
#include "slicer/scan/passed.h"
#include "slicer/slice_priv.h"

struct slc_aside;   /* slicer/scan/loader.c */
struct slc_arrival; /* slicer/scan/stretch.h */

/* A call that rr's library made and that is wanted (slicer/scan/recorder.h): it is the instance of
 * what jumped into the library, which is met later, backward. */
struct slc_hooked {
    struct slc_want want; /* SLC_NOT_WANTED: none */
    bool has_args;        /* what it used is wanted, too */
    struct slc_call_args call;
    wetdbg_time time;
    enum slc_call_part last;
};

struct slc_task {
    struct slc_regs regs;
    struct slc_frames frames;
    const struct slc_node *next; /* that ran after the one being looked at; NULL if something came
                                  * between */
    const struct slc_node *jumped_to; /* of the one being looked at: `next` */
    /* What the kernel did for the task's last system call: goes to its next instruction,
     * backward. */
    struct slc_want pending;
    struct slc_hooked hooked;
    int32_t left_call;       /* of the latest SLC_RECORDER_IS_LEFT, backward: which it stands for */
    struct slc_aside *aside; /* wants of registers that the dynamic linker preserved */
    uint64_t pending_address;
    struct slc_call_args call;   /* that it is about to make, backward */
    bool call_wrote;             /* what it wrote, or returned to a new thread, is wanted */
    bool call_sent;              /* ... what another call delivered of what it sent */
    struct slc_carried *carried; /* bytes of these; slicer/scan/passed.h */
    size_t carried_count, carried_capacity;
    wetdbg_time carried_for;     /* the call */
    struct slc_call_bytes wrote; /* what of its bytes is wanted; times are not set yet */
};

struct slc_run { /* of wanted bytes that an instruction wrote */
    uint64_t address;
    uint64_t size_bytes;
    unsigned flow;
    unsigned operand;
};

/* What one instance is wanted for. */
struct slc_hits {
    struct slc_want best;
    uint64_t best_address;
    bool is_guard;                /* a branch that a control edge led to */
    unsigned flows;               /* bit f: something that flow f defines is wanted */
    unsigned whole;               /* bit f: ... or all that it uses, whatever it defines */
    uint64_t bytes[INS_FLOW_MAX]; /* of each flow: if it defines one register, the hit ones of it */
    struct slc_run *runs;
    size_t run_count, run_capacity;
};

struct slc_scan {
    struct wetdbg *wet;
    const struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    struct slc_code *code; /* the slice's */
    struct slc_memory memory;
    struct slc_bypass bypass;
    struct slc_held held;
    struct slc_task *tasks[EVQ_TASKS_MAX];
    struct slc_hits hits;
    bool follows_data, follows_address, follows_control;
    bool follows_loader;
    bool bypasses_nothing; /* no pop at all, so that no other pass is needed */
    bool tracks_frames;
    bool is_stale;           /* control classes changed: another pass is needed */
    unsigned landings_asked; /* of jumps whose stack pointer no operand tells */
    size_t seed_at;          /* seeds[seed_at] is the next one */
    const struct wet_interval *interval;
    uint64_t *bits;              /* the interval's members; NULL if there are none yet */
    struct slc_arrival *arrival; /* at the stretch that is being scanned; slicer/scan/stretch.h */
    uint32_t join_mask;          /* the session's; 0: nodes are not joined */
    uint32_t joints;             /* of the joined node that is passed: slc_joints_pass(); else 0 */
    struct slc_draft *draft;     /* NULL unless what happens is written down; slicer/scan/memo.h */
    size_t event_at;             /* events[event_at - 1] is the next one */
    double reported;             /* when progress was told of last; wd_seconds() */
};

/* NULL with -ENOMEM in *error, or -WETDBG_ERR_CORRUPT for a number that cannot be. */
struct slc_task *slc_scan_task(struct slc_scan *scan, uint32_t number, int *err);

static inline void slc_hit(struct slc_hits *hits, const struct slc_want *want, unsigned location,
                           uint64_t address)
{
    if (slc_want_merge(&hits->best, want)) {
        hits->best.location = (uint16_t)location;
        hits->best_address = address;
    }
}

/* Puts an instance that scan->hits is of into the slice. 0, -ENOMEM or -WETDBG_ERR_CORRUPT. */
static inline int slc_scan_add(struct slc_scan *scan, wetdbg_time time, uint32_t pc_index)
{
    int err = slc_slice_add(scan->slice, scan->interval, time, pc_index, &scan->hits.best,
                            scan->hits.best_address);

    scan->bits = slc_slice_bits(scan->slice, scan->interval);
    return err;
}

/*
 * Follows one instance of an instruction, with what scan->hits already holds (its control
 * dependents): takes what it defines from the wanted places, and if there was any puts it into the
 * slice and wants what it uses. `seed` is NULL or the criterion's at this instance.
 * slicer/scan/follow.c.
 */
int slc_follow(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
               const struct slc_node *node, uint32_t statement, const struct slc_seed *seed);

/* What followed an instance, which scan->hits is of, wants of the branch that let it run: for
 * `user`. */
int slc_follow_control(struct slc_scan *scan, struct slc_task *task, uint32_t pc_index,
                       uint64_t user);

/* Wants the places of a seed, for `user`. */
int slc_follow_seed(struct slc_scan *scan, struct slc_task *task, const struct slc_seed *seed,
                    uint64_t user);

/* Passes something from outside the instructions; slicer/scan/kernel.c. Events come in reverse
 * order. */
int slc_pass_event(struct slc_scan *scan, const struct wet_event *event, size_t index);

/* Takes wants of what no instruction defined; slicer/scan/kernel.c. */
int slc_memory_from_outside(struct slc_scan *scan, uint64_t address, uint64_t size);
int slc_register_from_outside(struct slc_scan *scan, struct slc_task *task, uint32_t number,
                              unsigned location);

/* Passes events at or after a time that were not passed yet. */
int slc_pass_events(struct slc_scan *scan, wetdbg_time time);

/* Passes what the last instruction of a whole execution (of a joined node: of its executions, the
 * first of which `exec` is) did to the stack frames, if it is no jump inside its function. Control
 * hits go to scan->hits. slicer/scan/scan.c. */
int slc_pass_exit(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node);

/* Passes the last instruction of a whole execution, a branch: who waits for it goes to
 * scan->hits. */
void slc_pass_branch(struct slc_scan *scan, struct slc_task *task, const struct slc_node *node);

/* Whether something of the stores of an execution is wanted, or waits there. */
bool slc_stores_wanted(struct slc_scan *scan, const struct slc_node *node, const uint64_t *slots);

/* Whether an execution ends with a jump inside its function, which moves no frames. */
static inline bool slc_stays_inside(const struct slc_task *task, const struct slc_node *node)
{
    return !(node->flags & (SLC_NODE_CALL | SLC_NODE_RET | SLC_NODE_INDIRECT)) && task->next &&
           task->next->function == node->function;
}

/*
 * Passes executions end - 1, end - 2... down to `first` as long as in them nothing happens but
 * instructions, nor did from the end of execution end - 1 to time `last`. Returns the end of those
 * that are left. slicer/scan/run.c.
 */
size_t slc_run_execs(struct slc_scan *scan, size_t first, size_t end, wetdbg_time last, int *err);

/* All that a scan wants, between two of its executions. 0, or what is wrong. */
int slc_scan_validate(const struct slc_scan *scan);

/* A pass from the criterion to the start of the run; slicer/scan/scan.c. */
int slc_scan_run(struct slc_scan *scan);

#endif

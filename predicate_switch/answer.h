/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A live run: what the program comes to is put to the virtual kernel, and what that answers becomes
 * entries of the event queue, as a recording would have them.
 */
#ifndef PREDICATE_SWITCH_ANSWER_H
#define PREDICATE_SWITCH_ANSWER_H

#include "predicate_switch/detours.h"
#include "predicate_switch/kernel/vk.h"
#include "recorder/replay/engine.h"
#include "wet/whole.h"

struct psw_live {
    struct rep_engine *engine; /* in a branch */
    struct vk_kernel *kernel;  /* live */
    const struct wetdbg *wet;
    bool rdtscp_leaves_rcx; /* struct psw_told */
    struct wd_buf first;    /* entries that the run begins with: the change */
    struct psw_detours detours;
    struct wd_buf *kept; /* gets each entry that is taken, as a .wet has them; NULL: nothing does */
    uint64_t frame;      /* number of the last event */
    uint64_t until;      /* time of the next tick; VK_NEVER */
    uint64_t faults;     /* how many more are answered by a handler */
    enum vk_then then;   /* why the run ended; VK_THEN_RUN: it did not */
    int status;          /* VK_THEN_END */
    char reason[256];    /* others */
    bool is_struck;      /* a signal ended it where the program stands: */
    struct rep_met struck; /* the fault, or the call that sent it */
    struct psw_waiting {   /* by task: registers of the call that it is in */
        bool is_in_call;
        struct evq_regs regs;
    } * tasks; /* VK_TASKS_MAX */
};

/* Makes the kernel live at the engine's time + 1, where the engine's branch stands. 0 or a negative
 * error; psw_live_fini() is due in either case. `live` has engine, kernel, wet and frame;
 * is_in_call: which tasks are in a call. */
int psw_live_begin(struct psw_live *live, const bool is_in_call[VK_TASKS_MAX]);
void psw_live_fini(struct psw_live *live);

/*
 * Runs on until the run ends (live->then says how) or `limit` instructions more, of which a fault
 * takes many: a handler that mends nothing comes back at once. 0, also for runs
 * that are unresolved; or a negative error of the engine's: then the run is unresolved, too, unless
 * it is -WETDBG_ERR_INTERRUPTED or -ENOMEM.
 */
int psw_live_run(struct psw_live *live, uint64_t limit);

/* What a live run's entries come from, until psw_live_fini(). */
struct rep_source psw_live_source(struct psw_live *live);

/* The program's memory, for the virtual kernel. `engine` lives as long as that is used. */
struct vk_memory psw_memory(struct rep_engine *engine);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stack frames of one task, seen forward, and which branches ran last in each.
 *
 * The control parent of an instance is the latest execution, in its stack frame, of a branch of its
 * control class; or whatever made the frame. Only those frames need to be known by their branches
 * in which one of them was marked, or whose maker was: in all others nothing is marked by control.
 *
 * For each branch there is one *cell*: when it ran last, in which frame, and how its dependents are
 * marked. A frame that runs a branch which another one (of a recursion) ran too keeps the old cell
 * and puts it back when it ends.
 *
 * Which frames a part of the run plays in, and how it leaves them, can be copied
 * (slc_branches_save()), so that the same can be done to others (slc_branches_take()).
 */
#ifndef SLICER_FORWARD_BRANCHES_H
#define SLICER_FORWARD_BRANCHES_H

#include "slicer/scan/code_summary.h"
#include "slicer/scan/want.h"

/* Numbers of branches, and of those in control classes. Embedded by its holder. */
struct slc_branch_ids {
    uint32_t *by_pc; /* by index in code's pcs: 1 + number, or 0 */
    uint32_t pc_capacity;
    uint32_t count;
    struct slc_id_list {
        uint32_t *ids; /* NULL until the class is asked for */
        uint32_t count;
    } * by_class;
    uint32_t class_capacity;
};
void slc_branch_ids_fini(struct slc_branch_ids *ids);

struct slc_cell {
    uint64_t serial; /* of the frame; 0: none */
    wetdbg_time time;
    uint32_t distance; /* of its dependents; SLC_NOT_WANTED if they are not marked */
};

struct slc_kept_cell {
    uint32_t branch;
    struct slc_cell cell;
};

struct slc_call_frame {
    uint64_t slot;         /* address of the return address, or of a handler's ucontext */
    uint64_t function;     /* start of the function that it runs; 0 until something of it ran */
    struct slc_want maker; /* mark of what depends on the frame's maker; or none */
    uint64_t serial;
    size_t first_kept;     /* its kept cells: from here to the next frame's */
    bool is_live;          /* something in it is marked by control */
    bool has_unmarked;     /* a branch ran in it since it is whose dependents are not */
    bool is_signal;        /* what a handler returns to */
    struct slc_regs *regs; /* of a signal: before the handler; owned */
};

/* Embedded by its holder. There is always one frame. */
struct slc_branches {
    struct slc_call_frame *frames;
    size_t count, capacity;
    struct slc_cell *cells; /* by number of the branch */
    uint32_t cell_capacity;
    struct slc_kept_cell *kept;
    size_t kept_count, kept_capacity;
    uint64_t serial; /* of the newest frame */
    /* The bottom frame is that of the instruction at bottom_time, or of its caller; 0: of the
     * task's next one, UINT64_MAX: no frame has ever been below it. */
    wetdbg_time bottom_time;
    bool is_bottom_caller;
    size_t lowest;   /* frames below this index played no part since somebody set it */
    bool has_jumped; /* frames were left otherwise than by returns and calls since then */
};

/* Some of the topmost frames, from below up. */
struct slc_call_copy {
    uint64_t slot, function;
    uint64_t serial;
    bool is_marked; /* its maker is */
    bool is_live, has_unmarked, is_signal;
    size_t cell_count; /* of `cells`, in the order of the frames */
};
struct slc_cell_copy {
    wetdbg_time time;
    uint32_t branch;
    bool is_marked;
};
/* Embedded by its holder; all zero is empty. */
struct slc_branches_copy {
    struct slc_call_copy *calls;
    size_t count, capacity;
    struct slc_cell_copy *cells;
    size_t cell_count, cell_capacity;
};

int slc_branches_init(struct slc_branches *branches); /* 0 or -ENOMEM */
void slc_branches_fini(struct slc_branches *branches);

static inline struct slc_call_frame *slc_branches_top(const struct slc_branches *branches)
{
    return &branches->frames[branches->count - 1];
}

/* A call that wrote its return address to `slot`, or a handler's start. 0 or -ENOMEM. */
int slc_branches_push(struct slc_branches *branches, uint64_t slot, const struct slc_want *maker);
void slc_branches_pop(struct slc_branches *branches);

/* What was before the source was left: the frame that is gone on in, with the next instruction, was
 * made unmarked. */
void slc_branches_leave(struct slc_branches *branches);

/* A return from `slot` at `time`, and whatever shows that frames below it are gone. */
void slc_branches_return(struct slc_branches *branches, uint64_t slot, wetdbg_time time);
/* A call whose return address is at `slot`: frames at or below it were left without a return. */
void slc_branches_forget_below(struct slc_branches *branches, uint64_t slot);
/*
 * How many frames are left by a jump far into `function`, after which the stack pointer is `rsp`
 * (0: that is not known): those above its own are gone, which is the innermost one of the function
 * that has its return address above `rsp`. 0 if none of them is its own.
 */
size_t slc_branches_landing(const struct slc_branches *branches, uint64_t function, uint64_t rsp);
/* ... so many are left now; if 0, it landed at `time`. */
void slc_branches_land(struct slc_branches *branches, size_t left, wetdbg_time time);
/* A tail jump: the frame is another function's, made by the jump. */
void slc_branches_remake(struct slc_branches *branches, const struct slc_want *maker);
/* A thread began: one frame, made so. */
int slc_branches_restart(struct slc_branches *branches, const struct slc_want *maker);

/* A branch ran. 0 or -ENOMEM. */
int slc_branches_note(struct slc_branches *branches, struct slc_branch_ids *ids, uint32_t pc_index,
                      wetdbg_time time, uint32_t distance);

/* Whether all instances of the frame are marked by control. */
static inline bool slc_branches_lets_all(const struct slc_branches *branches)
{
    const struct slc_call_frame *top = slc_branches_top(branches);
    return top->maker.distance != SLC_NOT_WANTED && !top->has_unmarked;
}

/* Copies the frames from an index up, of their branches those that ran at `since` or later; what
 * `copy` held goes. 0 or -ENOMEM. */
int slc_branches_save(struct slc_branches *branches, size_t from, wetdbg_time since,
                      struct slc_branches_copy *copy);
void slc_branches_copy_free(struct slc_branches_copy *copy);

/*
 * Does to the frames what was done to others, which had the `count` topmost frames alike: all but
 * the lowest of these go, and the rest of the copy comes upon it. The lowest one itself is made
 * anew if `is_remade`, else it gets the copy's branches in addition to its own. 0 or -ENOMEM.
 */
int slc_branches_take(struct slc_branches *branches, size_t count, bool is_remade,
                      const struct slc_branches_copy *copy);

/* The mark that instances of a class get by control now, or none. 0 or -ENOMEM. */
int slc_branches_parent(const struct slc_branches *branches, struct slc_branch_ids *ids,
                        struct slc_code *code, uint32_t klass, struct slc_want *mark);

#endif

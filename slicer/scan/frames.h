/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stack frames of one task, seen backward, and the control dependences that wait in them.
 *
 * Going back over a return enters the frame of the function that returned; going back over the call
 * that wrote the return address there leaves it. A frame is known by that slot's address. Frames
 * that were live where the scan began were not entered: their slots are unknown (*open* frames),
 * and the next call that belongs to no known frame made them.
 *
 * A *demand* waits in a frame for the most recent earlier branch of its control class; the first
 * branch met there that is in the class satisfies it. What still waits when the frame is left
 * depends on the call.
 */
#ifndef SLICER_SCAN_FRAMES_H
#define SLICER_SCAN_FRAMES_H

#include "slicer/scan/code_summary.h"
#include "slicer/scan/want.h"

enum slc_frame_kind {
    SLC_FRAME_OPEN,
    SLC_FRAME_ENTERED, /* over a return: slot is known */
    SLC_FRAME_SIGNAL,  /* over the return of a signal handler: left by the signal's event only */
    SLC_FRAME_JUMPED,  /* over a longjmp: frames of unknown number up to the next one */
};

struct slc_demand {
    uint32_t klass;
    struct slc_want want;
};

struct slc_frame {
    uint64_t slot; /* address of the return address (SIGNAL: of the ucontext; JUMPED: where the
                    * stack pointer was after it); 0 if unknown */
    uint64_t child_slot; /* of the last call seen in this frame; 0 if none */
    uint64_t function;   /* JUMPED: start of the function that the jump landed in */
    uint32_t last_klass; /* lately demanded and still waiting, or SLC_UNKNOWN */
    uint64_t serial;     /* of this frame among all of the task's */
    uint64_t bloom;      /* of all branches that demands wait for; may have too many */
    size_t first;        /* its demands: from here to the next frame's */
    uint8_t kind;
    struct slc_regs *stash; /* SIGNAL: see slicer/scan/kernel.c; owned */
};

/* Embedded by its holder. There is always one frame. */
struct slc_frames {
    struct slc_frame *frames;
    size_t count, capacity;
    struct slc_demand *demands;
    size_t demand_count, demand_capacity;
    uint64_t serial;
    size_t lowest; /* frames below this index played no part since somebody set it */
};

/* The topmost frames of a task, without what is found again: demands as sets of classes. */
struct slc_frame_copy {
    uint64_t slot, child_slot, function;
    uint32_t class_count;
    uint8_t kind;
};
struct slc_frames_copy {
    struct slc_frame_copy *frames; /* from the lowest one up */
    size_t count, capacity;
    uint32_t *classes; /* of the frames in turn, each one's sorted */
    size_t class_count, class_capacity;
};
void slc_frames_copy_free(struct slc_frames_copy *copy);
/* Copies the frames from an index up. 1, or 0 if one is a handler's, or -ENOMEM. */
int slc_frames_save(const struct slc_frames *frames, size_t from, struct slc_frames_copy *copy);
/* Whether the topmost frames are as in copy->frames[from..]. */
bool slc_frames_match(const struct slc_frames *frames, const struct slc_frames_copy *copy,
                      size_t from);
/* Puts a copy in the place of the topmost `count` frames. 0 or -ENOMEM. */
int slc_frames_replace(struct slc_frames *frames, const struct slc_class *classes, size_t count,
                       const struct slc_frames_copy *copy);

void slc_stash_free(struct slc_regs *stash);

int slc_frames_init(struct slc_frames *frames);
void slc_frames_fini(struct slc_frames *frames);

static inline struct slc_frame *slc_frames_top(struct slc_frames *frames)
{
    return &frames->frames[frames->count - 1];
}

/* An instance of the current frame waits for its control parent. */
int slc_frames_demand(struct slc_frames *frames, struct slc_class *classes, uint32_t klass,
                      const struct slc_want *want);

/* slc_frames_demand() without saying who waits. */
static inline int slc_frames_wait(struct slc_frames *frames, struct slc_class *classes,
                                  uint32_t klass)
{
    static const struct slc_want want = {
        .distance = 1, .edge = WETDBG_EDGE_CONTROL, .location = INS_LOC_COUNT};
    struct slc_frame *top = slc_frames_top(frames);
    const struct slc_class *own = &classes[klass];

    if (top->last_klass == klass)
        return 0;
    if (own->mark_frames == frames && own->mark_serial == top->serial &&
        own->mark_at >= top->first && own->mark_at < frames->demand_count &&
        frames->demands[own->mark_at].klass == klass) {
        top->last_klass = klass;
        return 0;
    }
    return slc_frames_demand(frames, classes, klass, &want);
}

/* Demands of the current frame that the branch satisfies go; their best is merged into *hit. */
void slc_frames_branch(struct slc_frames *frames, const struct slc_class *classes, uint64_t pc,
                       struct slc_want *hit);

/* slc_frames_branch() without saying whose demands go: whether there were any. */
bool slc_frames_guard(struct slc_frames *frames, const struct slc_class *classes, uint64_t pc);

/* Satisfies all demands of the current frame: the tail jump that is about to be passed satisfies
 * them. */
void slc_frames_take_all(struct slc_frames *frames, struct slc_want *hit);

int slc_frames_pass_return(struct slc_frames *frames, uint64_t slot);

/* `function`: start of the function that calls, or 0. */
int slc_frames_pass_call(struct slc_frames *frames, uint64_t slot, uint64_t function,
                         struct slc_want *hit);

/* Passes a jump into the middle of `function` from another one, after which the stack pointer was
 * `rsp` (0: that is not known). */
int slc_frames_pass_far_jump(struct slc_frames *frames, uint64_t function, uint64_t rsp);

/* Passes the end of a signal handler, which has the address of its ucontext; the frame takes
 * `stash`, also on failure. */
int slc_frames_pass_handler_end(struct slc_frames *frames, uint64_t ucontext,
                                struct slc_regs *stash);

/* Passes the start of a signal handler: the best of its demands is merged into *hit. Returns the
 * stash (for the caller to free), or NULL if the handler's end was not seen. */
struct slc_regs *slc_frames_pass_handler_start(struct slc_frames *frames, uint64_t ucontext,
                                               struct slc_want *hit);

/* Passes the start of the thread: all that waits depends on what made it. Then as if new. */
void slc_frames_pass_thread_start(struct slc_frames *frames, struct slc_want *hit);

/* There is a frame; each one's demands follow those of the one below, and are of classes that exist
 * and of one each; only handlers have a stash. 0, or what is wrong. */
int slc_frames_validate(const struct slc_frames *frames, uint32_t class_count);

#endif

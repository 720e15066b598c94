/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames are matched by the address of the return address, not by counting, so that code which
 * breaks the pairing of calls and returns (longjmp, retpolines, context switches) costs the
 * precision of a few frames and not of the rest of the run.
 */
#include "slicer/frames.h"

#include <errno.h>
#include <stdlib.h>

/* Slots farther apart than this are on different stacks, and their order means nothing. */
#define STACK_SPAN_BYTES (UINT64_C(64) << 20)

static bool is_above(uint64_t slot, uint64_t other)
{
    return slot > other && slot - other < STACK_SPAN_BYTES;
}

static int push(struct slc_frames *frames, uint8_t kind, uint64_t slot)
{
    if (frames->count == frames->capacity) {
        size_t capacity = frames->capacity ? frames->capacity * 2 : 64;
        struct slc_frame *grown = realloc(frames->frames, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        frames->frames = grown;
        frames->capacity = capacity;
    }
    frames->frames[frames->count++] = (struct slc_frame){.kind = kind,
                                                         .slot = slot,
                                                         .first = frames->request_count,
                                                         .last_klass = SLC_UNKNOWN,
                                                         .serial = ++frames->serial};
    return 0;
}

void slc_stash_free(struct slc_regs *stash)
{
    if (stash)
        slc_regs_fini(stash);
    free(stash);
}

int slc_frames_init(struct slc_frames *frames)
{
    *frames = (struct slc_frames){0};
    return push(frames, SLC_FRAME_OPEN, 0);
}

void slc_frames_fini(struct slc_frames *frames)
{
    for (size_t i = 0; i < frames->count; i++)
        slc_stash_free(frames->frames[i].stash);
    free(frames->frames);
    free(frames->requests);
    *frames = (struct slc_frames){0};
}

/* The lowest frame is never taken away: it becomes the open frame of the caller. */
static void pop(struct slc_frames *frames)
{
    struct slc_frame *top = slc_frames_top(frames);

    slc_stash_free(top->stash);
    frames->request_count = top->first;
    if (frames->count > 1)
        frames->count--;
    else
        *top = (struct slc_frame){
            .kind = SLC_FRAME_OPEN, .last_klass = SLC_UNKNOWN, .serial = ++frames->serial};
}

/* Requests of a class are found by its mark, unless another frame (of a recursion) has set it. */
int slc_frames_request(struct slc_frames *frames, struct slc_class *classes, uint32_t klass,
                       const struct slc_want *want)
{
    struct slc_frame *top = slc_frames_top(frames);
    struct slc_class *own = &classes[klass];

    top->last_klass = klass;
    if (own->mark_frames == frames && own->mark_serial == top->serial) {
        struct slc_request *request = &frames->requests[own->mark_at];
        if (own->mark_at >= top->first && own->mark_at < frames->request_count &&
            request->klass == klass) {
            slc_want_merge(&request->want, want);
            return 0;
        }
    }
    own->mark_frames = frames;
    own->mark_serial = top->serial;
    for (size_t i = frames->request_count; i-- > top->first;)
        if (frames->requests[i].klass == klass) {
            own->mark_at = i;
            slc_want_merge(&frames->requests[i].want, want);
            return 0;
        }
    if (frames->request_count == frames->request_capacity) {
        size_t capacity = frames->request_capacity ? frames->request_capacity * 2 : 64;
        struct slc_request *grown = realloc(frames->requests, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        frames->requests = grown;
        frames->request_capacity = capacity;
    }
    own->mark_at = frames->request_count;
    frames->requests[frames->request_count++] = (struct slc_request){klass, *want};
    top->bloom |= classes[klass].bloom;
    return 0;
}

void slc_frames_branch(struct slc_frames *frames, const struct slc_class *classes, uint64_t pc,
                       struct slc_want *hit)
{
    struct slc_frame *top = slc_frames_top(frames);
    size_t kept = top->first;

    if (!(top->bloom & slc_pc_bit(pc)))
        return;
    top->bloom = 0;
    top->last_klass = SLC_UNKNOWN;
    for (size_t i = top->first; i < frames->request_count; i++) {
        struct slc_request *request = &frames->requests[i];
        if (classes[request->klass].bloom & slc_pc_bit(pc) &&
            slc_class_has(&classes[request->klass], pc)) {
            slc_want_merge(hit, &request->want);
            continue;
        }
        top->bloom |= classes[request->klass].bloom;
        frames->requests[kept++] = *request;
    }
    frames->request_count = kept;
}

void slc_frames_take_all(struct slc_frames *frames, struct slc_want *hit)
{
    struct slc_frame *top = slc_frames_top(frames);

    for (size_t i = top->first; i < frames->request_count; i++)
        slc_want_merge(hit, &frames->requests[i].want);
    frames->request_count = top->first;
    top->bloom = 0;
    top->last_klass = SLC_UNKNOWN;
}

int slc_frames_pass_return(struct slc_frames *frames, uint64_t slot)
{
    /* A live frame below the one that is entered: its call did not look like one. */
    while (slc_frames_top(frames)->kind == SLC_FRAME_ENTERED &&
           (slot == slc_frames_top(frames)->slot || is_above(slot, slc_frames_top(frames)->slot)))
        pop(frames);
    slc_frames_top(frames)->child_slot = slot;
    return push(frames, SLC_FRAME_ENTERED, slot);
}

/* The call belongs to the frame that a longjmp landed in, or to one of those it skipped. */
static bool is_back_at_landing(const struct slc_frames *frames, uint64_t slot, uint64_t function)
{
    const struct slc_frame *jumped = &frames->frames[frames->count - 1];
    const struct slc_frame *below = jumped - 1;

    if (frames->count < 2)
        return false;
    if (below->child_slot)
        return slot >= below->child_slot;
    return function && function == jumped->function;
}

static void leave_unknown_frame(struct slc_frames *frames, uint64_t slot, uint64_t function,
                                struct slc_want *hit)
{
    struct slc_frame *top = slc_frames_top(frames);

    /* A call from inside this frame that never came back. */
    if (top->child_slot && (slot == top->child_slot || is_above(top->child_slot, slot)))
        return;
    slc_frames_take_all(frames, hit);
    if (top->kind == SLC_FRAME_JUMPED && is_back_at_landing(frames, slot, function))
        pop(frames);
    slc_frames_top(frames)->child_slot = slot;
}

int slc_frames_pass_call(struct slc_frames *frames, uint64_t slot, uint64_t function,
                         struct slc_want *hit)
{
    for (;;) {
        struct slc_frame *top = slc_frames_top(frames);
        if (top->kind == SLC_FRAME_SIGNAL)
            return 0;
        if (top->kind == SLC_FRAME_JUMPED && frames->count > 1 && top[-1].slot == slot) {
            slc_frames_take_all(frames, hit); /* a jump inside one frame after all */
            pop(frames);
            continue;
        }
        if (top->kind != SLC_FRAME_ENTERED) {
            leave_unknown_frame(frames, slot, function, hit);
            return 0;
        }
        if (slot == top->slot) {
            slc_frames_take_all(frames, hit);
            pop(frames);
            return 0;
        }
        if (!is_above(slot, top->slot))
            return 0;
        slc_frames_take_all(frames, hit);
        pop(frames);
    }
}

int slc_frames_pass_far_jump(struct slc_frames *frames, uint64_t function)
{
    int error = push(frames, SLC_FRAME_JUMPED, 0);

    if (!error)
        slc_frames_top(frames)->function = function;
    return error;
}

int slc_frames_pass_handler_end(struct slc_frames *frames, uint64_t ucontext,
                                struct slc_regs *stash)
{
    int error = push(frames, SLC_FRAME_SIGNAL, ucontext);

    if (error)
        slc_stash_free(stash);
    else
        slc_frames_top(frames)->stash = stash;
    return error;
}

/* The scan began in the handler, or it was left by a longjmp: then the code that the signal struck
 * is some frames below the one that the jump landed in, as the jump was. */
static void leave_unended_handler(struct slc_frames *frames, uint64_t ucontext,
                                  struct slc_want *hit)
{
    struct slc_frame *top = slc_frames_top(frames);

    if (top->kind == SLC_FRAME_ENTERED && top->slot + 8 == ucontext) {
        slc_frames_take_all(frames, hit);
        pop(frames); /* it began between the handler's return and rt_sigreturn */
        top = slc_frames_top(frames);
    }
    if (top->kind == SLC_FRAME_JUMPED || top->kind == SLC_FRAME_SIGNAL) {
        slc_frames_take_all(frames, hit);
        top->child_slot = 0;
        return;
    }
    slc_frames_take_all(frames, hit);
    pop(frames);
}

struct slc_regs *slc_frames_pass_handler_start(struct slc_frames *frames, uint64_t ucontext,
                                               struct slc_want *hit)
{
    size_t at = frames->count;

    while (at > 0 && (frames->frames[at - 1].kind != SLC_FRAME_SIGNAL ||
                      frames->frames[at - 1].slot != ucontext))
        at--;
    if (at == 0) {
        leave_unended_handler(frames, ucontext, hit);
        return NULL;
    }
    while (frames->count > at) {
        slc_frames_take_all(frames, hit);
        pop(frames);
    }
    struct slc_regs *stash = slc_frames_top(frames)->stash;
    slc_frames_top(frames)->stash = NULL;
    pop(frames);
    return stash;
}

void slc_frames_pass_thread_start(struct slc_frames *frames, struct slc_want *hit)
{
    do
        slc_frames_take_all(frames, hit);
    while (frames->count > 1 && (pop(frames), true));
    pop(frames);
}

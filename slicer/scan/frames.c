/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frames are matched by the address of the return address, not by counting, so that code which
 * breaks the pairing of calls and returns (longjmp, retpolines, context switches) costs the
 * precision of a few frames and not of the rest of the run.
 */
#include "slicer/scan/frames.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/checked.h"

/* Slots farther apart than this are on different stacks, and their order means nothing. */
#define STACK_SPAN_BYTES (UINT64_C(64) << 20)

static bool is_above(uint64_t slot, uint64_t other)
{
    return slot > other && slot - other < STACK_SPAN_BYTES;
}

static int push(struct slc_frames *frames, uint8_t kind, uint64_t slot)
{
    if (wd_grow(frames->frames, frames->capacity, frames->count + 1))
        return -ENOMEM;
    frames->frames[frames->count++] = (struct slc_frame){.kind = kind,
                                                         .slot = slot,
                                                         .first = frames->demand_count,
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
    free(frames->demands);
    *frames = (struct slc_frames){0};
}

static void reach_down(struct slc_frames *frames, size_t index)
{
    if (index < frames->lowest)
        frames->lowest = index;
}

/* The lowest frame is never taken away: it becomes the open frame of the caller. */
static void pop(struct slc_frames *frames)
{
    struct slc_frame *top = slc_frames_top(frames);

    assert(frames->count && top->first <= frames->demand_count);
    slc_stash_free(top->stash);
    frames->demand_count = top->first;
    if (frames->count > 1)
        frames->count--;
    else
        *top = (struct slc_frame){
            .kind = SLC_FRAME_OPEN, .last_klass = SLC_UNKNOWN, .serial = ++frames->serial};
    reach_down(frames, frames->count - 1);
}

static int demand_append(struct slc_frames *frames, uint32_t klass, const struct slc_want *want)
{
    if (wd_grow(frames->demands, frames->demand_capacity, frames->demand_count + 1))
        return -ENOMEM;
    frames->demands[frames->demand_count++] = (struct slc_demand){klass, *want};
    return 0;
}

/* Demands of a class are found by its mark, unless another frame (of a recursion) has set it. */
int slc_frames_demand(struct slc_frames *frames, struct slc_class *classes, uint32_t klass,
                      const struct slc_want *want)
{
    struct slc_frame *top = slc_frames_top(frames);
    struct slc_class *own = &classes[klass];

    assert(klass != SLC_UNKNOWN);
    top->last_klass = klass;
    if (own->mark_frames == frames && own->mark_serial == top->serial) {
        struct slc_demand *demand = &frames->demands[own->mark_at];
        if (own->mark_at >= top->first && own->mark_at < frames->demand_count &&
            demand->klass == klass) {
            slc_want_merge(&demand->want, want);
            return 0;
        }
    }
    own->mark_frames = frames;
    own->mark_serial = top->serial;
    for (size_t i = frames->demand_count; i-- > top->first;)
        if (frames->demands[i].klass == klass) {
            own->mark_at = i;
            slc_want_merge(&frames->demands[i].want, want);
            return 0;
        }
    own->mark_at = frames->demand_count;
    top->bloom |= classes[klass].bloom;
    return demand_append(frames, klass, want);
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
    for (size_t i = top->first; i < frames->demand_count; i++) {
        struct slc_demand *demand = &frames->demands[i];
        if (classes[demand->klass].bloom & slc_pc_bit(pc) &&
            slc_class_has(&classes[demand->klass], pc)) {
            slc_want_merge(hit, &demand->want);
            continue;
        }
        top->bloom |= classes[demand->klass].bloom;
        frames->demands[kept++] = *demand;
    }
    frames->demand_count = kept;
}

bool slc_frames_guard(struct slc_frames *frames, const struct slc_class *classes, uint64_t pc)
{
    struct slc_frame *top = slc_frames_top(frames);
    uint64_t bit = slc_pc_bit(pc), bloom = 0;
    size_t kept = top->first, count = frames->demand_count;

    for (size_t i = kept; i < count; i++) {
        const struct slc_class *klass = &classes[frames->demands[i].klass];
        if (klass->bloom & bit && slc_class_has(klass, pc))
            continue;
        bloom |= klass->bloom;
        if (kept != i)
            frames->demands[kept] = frames->demands[i];
        kept++;
    }
    top->bloom = bloom;
    if (kept == count)
        return false;
    top->last_klass = SLC_UNKNOWN;
    frames->demand_count = kept;
    return true;
}

void slc_frames_take_all(struct slc_frames *frames, struct slc_want *hit)
{
    struct slc_frame *top = slc_frames_top(frames);

    for (size_t i = top->first; i < frames->demand_count; i++)
        slc_want_merge(hit, &frames->demands[i].want);
    frames->demand_count = top->first;
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
static bool is_back_at_landing(struct slc_frames *frames, uint64_t slot, uint64_t function)
{
    const struct slc_frame *jumped = &frames->frames[frames->count - 1];
    const struct slc_frame *below = jumped - 1;

    if (frames->count < 2)
        return false;
    reach_down(frames, frames->count - 2);
    if (jumped->slot)
        return slot + 8 >= jumped->slot;
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
        if (top->kind == SLC_FRAME_JUMPED && frames->count > 1)
            reach_down(frames, frames->count - 2);
        if (top->kind == SLC_FRAME_JUMPED && frames->count > 1 &&
            top[-1].kind != SLC_FRAME_JUMPED && top[-1].slot == slot) {
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

int slc_frames_pass_far_jump(struct slc_frames *frames, uint64_t function, uint64_t rsp)
{
    int err = push(frames, SLC_FRAME_JUMPED, rsp);

    if (!err)
        slc_frames_top(frames)->function = function;
    return err;
}

int slc_frames_pass_handler_end(struct slc_frames *frames, uint64_t ucontext,
                                struct slc_regs *stash)
{
    int err = push(frames, SLC_FRAME_SIGNAL, ucontext);

    assert(stash);
    if (err)
        slc_stash_free(stash);
    else
        slc_frames_top(frames)->stash = stash;
    return err;
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

    reach_down(frames, 0);
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

/* ---- copies ---- */

void slc_frames_copy_free(struct slc_frames_copy *copy)
{
    free(copy->frames);
    free(copy->classes);
    *copy = (struct slc_frames_copy){0};
}

static int copy_reserve(struct slc_frames_copy *copy, size_t frame_count, size_t class_count)
{
    int err = wd_grow_exactly(copy->frames, copy->capacity, frame_count);
    return err ? err : wd_grow_exactly(copy->classes, copy->class_capacity, class_count);
}

static int compare_classes(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static size_t demands_end(const struct slc_frames *frames, size_t index)
{
    assert(index < frames->count);
    return index + 1 < frames->count ? frames->frames[index + 1].first : frames->demand_count;
}

int slc_frames_save(const struct slc_frames *frames, size_t from, struct slc_frames_copy *copy)
{
    size_t first = frames->frames[from].first;

    assert(from < frames->count);
    if (copy_reserve(copy, frames->count - from, frames->demand_count - first))
        return -ENOMEM;
    copy->count = frames->count - from;
    copy->class_count = frames->demand_count - first;
    for (size_t i = from; i < frames->count; i++) {
        const struct slc_frame *frame = &frames->frames[i];
        uint32_t *classes = copy->classes + (frame->first - first);
        size_t count = demands_end(frames, i) - frame->first;
        if (frame->kind == SLC_FRAME_SIGNAL)
            return 0;
        copy->frames[i - from] = (struct slc_frame_copy){.slot = frame->slot,
                                                         .child_slot = frame->child_slot,
                                                         .function = frame->function,
                                                         .class_count = (uint32_t)count,
                                                         .kind = frame->kind};
        for (size_t r = 0; r < count; r++)
            classes[r] = frames->demands[frame->first + r].klass;
        if (count > 1)
            qsort(classes, count, sizeof(*classes), compare_classes);
    }
    return 1;
}

/* `classes` are sorted and distinct, demands are distinct. */
static bool has_classes(const struct slc_frames *frames, size_t index, const uint32_t *classes,
                        size_t count)
{
    size_t first = frames->frames[index].first;

    if (demands_end(frames, index) - first != count)
        return false;
    for (size_t r = 0; r < count; r++)
        if (!bsearch(&frames->demands[first + r].klass, classes, count, sizeof(*classes),
                     compare_classes))
            return false;
    return true;
}

bool slc_frames_match(const struct slc_frames *frames, const struct slc_frames_copy *copy,
                      size_t from)
{
    size_t count = copy->count - from, base = frames->count - count;
    const uint32_t *classes = copy->classes;

    assert(from <= copy->count);
    if (frames->count < count || (from == 0 && base != 0))
        return false;
    for (size_t i = 0; i < from; i++)
        classes += copy->frames[i].class_count;
    for (size_t i = 0; i < count; i++) {
        const struct slc_frame *own = &frames->frames[base + i];
        const struct slc_frame_copy *kept = &copy->frames[from + i];
        if (own->slot != kept->slot || own->child_slot != kept->child_slot ||
            own->function != kept->function || own->kind != kept->kind ||
            !has_classes(frames, base + i, classes, kept->class_count))
            return false;
        classes += kept->class_count;
    }
    return true;
}

int slc_frames_replace(struct slc_frames *frames, const struct slc_class *classes, size_t count,
                       const struct slc_frames_copy *copy)
{
    const uint32_t *klass = copy->classes;
    size_t base = frames->count - count;
    size_t first = frames->frames[base].first;

    assert(count <= frames->count && (copy->count || count < frames->count));
    frames->demand_count = first;
    frames->count = base;
    for (size_t i = 0; i < copy->count; i++) {
        const struct slc_frame_copy *kept = &copy->frames[i];
        if (push(frames, kept->kind, kept->slot))
            return -ENOMEM;
        struct slc_frame *top = slc_frames_top(frames);
        top->child_slot = kept->child_slot;
        top->function = kept->function;
        for (uint32_t r = 0; r < kept->class_count; r++, klass++) {
            const struct slc_want want = {
                .distance = 1, .edge = WETDBG_EDGE_CONTROL, .location = INS_LOC_COUNT};
            int err = demand_append(frames, *klass, &want);
            if (err)
                return err;
            slc_frames_top(frames)->bloom |= classes[*klass].bloom;
        }
    }
    return 0;
}

/* ---- what is trusted ---- */

static int demands_validate(const struct slc_frames *frames, size_t index, uint32_t class_count)
{
    size_t first = frames->frames[index].first, end = demands_end(frames, index);

    for (size_t r = first; r < end; r++) {
        uint32_t klass = frames->demands[r].klass;
        if (klass >= class_count)
            return wd_fail_defect("frame %zu waits for class %u of %u", index, klass, class_count);
        for (size_t other = first; other < r; other++)
            if (frames->demands[other].klass == klass)
                return wd_fail_defect("frame %zu waits for class %u twice", index, klass);
    }
    return 0;
}

int slc_frames_validate(const struct slc_frames *frames, uint32_t class_count)
{
    int err = 0;

    if (!frames->count || frames->frames[0].first)
        return wd_fail_defect("a task has no frame, or demands that are of none");
    for (size_t i = 0; i < frames->count && !err; i++) {
        const struct slc_frame *frame = &frames->frames[i];
        size_t end = demands_end(frames, i);
        if (frame->first > end || end > frames->demand_count)
            return wd_fail_defect("frame %zu has demands %zu to %zu of %zu", i, frame->first, end,
                                  frames->demand_count);
        if (frame->kind > SLC_FRAME_JUMPED || (frame->stash && frame->kind != SLC_FRAME_SIGNAL))
            return wd_fail_defect("frame %zu of kind %u holds what only a handler's does", i,
                                  frame->kind);
        err = demands_validate(frames, i, class_count);
    }
    return err;
}

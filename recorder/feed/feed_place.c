/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Places of asynchronous events: signals, and preemptions after which another task of the space
 * goes on.
 *
 * rr runs one task at a time and says when it took the processor from one in the middle of its
 * code: such a SCHED frame is held back until the next frame of the space. If that is the same
 * task's, nobody could see the difference and the frame is dropped; else its place has to be
 * found, since what the task wrote before it is what the others see. A task without a SCHED frame
 * stands where its last frame left it.
 */
#include <string.h>
#include <sys/mman.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

#define MASK_PLACE (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS))

/*
 * How long a place is looked for: more instructions than a processor can have executed between the
 * event at which the search begins and this one. What is known is the time that passed, during
 * which the task perhaps did not run all the while; so the bound is time by rate. The fastest
 * processors retire eight operations a cycle, of which one or two are a compare and its branch, at
 * some 6 GHz: 60e9 instructions a second.
 */
#define LIMIT_LEAST           2e8
#define LIMIT_PER_SECOND      100e9
#define LIMIT_SECONDS_AT_MOST 1e7

void feed_place_ticks(const struct feed_conv *conv, const struct feed_task *task,
                      struct evq_entry *head)
{
    if (!conv->feed->has_ticks)
        return;
    head->flags |= EVQ_FLAG_TICKS;
    head->ticks = (uint64_t)conv->frame->ticks + task->tick_shift;
}

/* A preemption gives no entry, or does so later: until then the search goes back beyond it. */
void feed_place_note(struct feed_task *task, const struct rrt_frame *frame)
{
    if (frame->event != RRT_EVENT_SCHED)
        task->seconds = frame->monotonic_seconds;
    if (frame->event != RRT_EVENT_SCHED && frame->event != RRT_EVENT_SYSCALLBUF_RESET)
        task->waits_at_stub = false;
    task->ticks = (uint64_t)frame->ticks;
    if (frame->has_regs)
        task->regs = frame->regs;
}

bool feed_place_is_equal(const struct rrt_regs *left, const struct rrt_regs *right)
{
    struct evq_regs a, b;
    memcpy(&a, left, sizeof(a));
    memcpy(&b, right, sizeof(b));
    for (int i = 0; i < EVQ_REG_COUNT; i++)
        if (EVQ_MASK_GENERAL & EVQ_BIT(i) && a.r[i] != b.r[i])
            return false;
    return !((a.r[EVQ_EFLAGS] ^ b.r[EVQ_EFLAGS]) & EVQ_EFLAGS_COMPARED);
}

bool feed_place_is_in_stub(const struct rrt_regs *regs)
{
    return regs->rip >= FEED_RECORDER_PAGE && regs->rip < FEED_RECORDER_LOCALS;
}

/* A call of rr's library, if it had been made, would have left an event, or a record, since. */
static bool is_here(const struct rrt_frame *frame, const struct feed_task *task)
{
    return (task->stop > FEED_STOP_IN_CALL || task->waits_at_stub) &&
           feed_place_is_equal(&frame->regs, &task->regs);
}

static uint64_t search_limit(const struct rrt_frame *frame, const struct feed_task *task)
{
    double seconds = frame->monotonic_seconds - task->seconds;
    if (!(seconds > 0)) /* or no number at all */
        seconds = 0;
    if (seconds > LIMIT_SECONDS_AT_MOST)
        seconds = LIMIT_SECONDS_AT_MOST;
    return (uint64_t)(LIMIT_LEAST + seconds * LIMIT_PER_SECOND);
}

/* Whether the agent can look at the range too: what it must not read, it is not told of. */
static bool is_readable(const struct feed_conv *conv, uint64_t start, uint64_t bytes)
{
    const struct feed_vmas *vmas = &conv->space->vmas;
    uint64_t end = start + bytes;
    if (!bytes || feed_vmas_mapped_until(vmas, start, end) != end)
        return false;
    for (const struct feed_vma *vma = feed_vmas_above(vmas, start); vma && vma->start < end;
         vma = feed_vmas_above(vmas, vma->end))
        if (!(vma->prot & PROT_READ))
            return false;
    return true;
}

/* Says of one range what is known; false if there is something that cannot be said. */
static bool add_range(const struct feed_conv *conv, uint64_t start, uint64_t bytes, uint64_t digest,
                      uint64_t *range)
{
    if (!bytes || !is_readable(conv, start, bytes))
        return !bytes;
    range[0] = start;
    range[1] = bytes;
    range[2] = digest;
    return true;
}

static void add_digests(const struct feed_conv *conv, const struct tck_stop *stop,
                        struct evq_place *place)
{
    bool all = add_range(conv, stop->stack_start, stop->stack_bytes, stop->stack_digest,
                         &place->stack_start);
    all &=
        add_range(conv, stop->data_start, stop->data_bytes, stop->data_digest, &place->data_start);
    all &=
        add_range(conv, stop->heap_start, stop->heap_bytes, stop->heap_digest, &place->heap_start);
    if (place->stack_bytes)
        place->flags |= EVQ_PLACE_STACK;
    if (place->data_bytes)
        place->flags |= EVQ_PLACE_DATA;
    if (place->heap_bytes)
        place->flags |= EVQ_PLACE_HEAP;
    if (all && feed_digests_have_lines(conv->feed->digests))
        place->flags |= EVQ_PLACE_LINES;
    place->targets = stop->target_count;
}

struct evq_place feed_place_find(const struct feed_conv *conv, const struct feed_task *task)
{
    struct evq_place place = {0};
    if (is_here(conv->frame, task)) {
        place.flags = EVQ_PLACE_HERE;
        return place;
    }
    place.limit = search_limit(conv->frame, task);
    if (conv->stop)
        add_digests(conv, conv->stop, &place);
    return place;
}

/* ---------------------------------------------------------------- preemptions */

/* Whether the task may have run since its last frame. One that is killed has a SCHED frame too,
 * which no digest belongs to: mostly it had not run since its last frame. With ticks the engine
 * finds that out, and whether a loop without branches may have gone round. */
static bool has_moved(const struct feed_conv *conv, const struct feed_task *task)
{
    if (task->stop == FEED_STOP_IN_CALL || is_here(conv->frame, task))
        return false;
    return conv->stop || conv->feed->has_ticks ||
           !feed_place_is_equal(&conv->frame->regs, &task->regs);
}

/* Records with a preemption are how rr ends a restartable sequence: it also moved the task, which
 * is only excluded right after a system call. (With a signal, the next frame says where to.) */
static int refuse_rseq(const struct feed_conv *conv, const struct feed_task *task)
{
    for (size_t i = 0; i < conv->frame->write_count; i++)
        if (conv->frame->writes[i].size_bytes && task->stop != FEED_STOP_AT_EXIT)
            return feed_refuse(conv->frame, "a restartable sequence (rseq) was interrupted");
    return 0;
}

static void hold(struct feed_conv *conv, const struct feed_task *task)
{
    struct feed_held *held = &conv->feed->held;
    struct evq_entry head = {0};
    feed_place_ticks(conv, task, &head);
    held->tid = task->tid;
    held->time = conv->frame->time;
    held->seconds = conv->frame->monotonic_seconds;
    held->ticks = head.ticks;
    held->regs = conv->frame->regs;
    held->place = feed_place_find(conv, task);
    held->lines_at = conv->stop ? conv->stop->lines_at : 0;
}

int feed_convert_sched(struct feed_conv *conv, struct feed_task *task)
{
    if (!conv->is_target)
        return 0;
    int err = refuse_rseq(conv, task);
    if (!err && conv->frame->write_count) {
        err = feed_begin_ops(conv, task);
        if (!err)
            err = feed_op_all_writes(conv);
    }
    if (!err && has_moved(conv, task)) {
        hold(conv, task);
        task->stop = FEED_STOP_RUNNING;
        task->waits_at_stub = false;
    }
    return err;
}

int feed_place_release(struct feed_conv *conv)
{
    struct rep_feed *feed = conv->feed;
    struct feed_held held = feed->held;
    struct feed_task *task = held.tid ? feed_task_find(feed, held.tid) : NULL;
    struct evq_regs regs;
    feed->held.tid = 0;
    if (!task || task->slot < 0)
        return 0;
    task->seconds = held.seconds;
    task->waits_at_stub = feed_place_is_in_stub(&held.regs);
    struct evq_entry head = {.kind = EVQ_PLACE,
                             .task = (uint32_t)task->slot,
                             .frame = held.time,
                             .compare_mask = MASK_PLACE,
                             .flags = feed->has_ticks ? EVQ_FLAG_TICKS : 0,
                             .ticks = held.ticks};
    struct feed_conv ours = *conv;
    ours.space = feed->target;
    ours.is_target = true;
    memcpy(&regs, &held.regs, sizeof(regs));
    int err = feed_entry_begin(&ours.build, &head, &regs);
    if (!err)
        err = feed_op_place(&ours, &held.place, held.lines_at);
    conv->build = ours.build;
    return err;
}

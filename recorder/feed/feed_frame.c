/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One recorded frame into entries. The order inside an entry is the recording's: mappings, then
 * contents, then registers.
 *
 * Frames of other processes go the same way with the output switched off (conv->is_target is
 * false), which keeps the models of their spaces right.
 */
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/event/buffered.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

struct evq_entry feed_head(const struct feed_conv *conv, const struct feed_task *task,
                           unsigned kind)
{
    return (struct evq_entry){
        .kind = (uint16_t)kind,
        .task = task->slot < 0 ? 0 : (uint32_t)task->slot,
        .frame = conv->frame->time,
    };
}

int feed_begin(struct feed_conv *conv, const struct evq_entry *head, bool with_regs)
{
    struct evq_regs regs;
    if (!conv->is_target)
        return 0;
    if (!with_regs)
        return feed_entry_begin(&conv->build, head, NULL);
    memcpy(&regs, &conv->frame->regs, sizeof(regs));
    return feed_entry_begin(&conv->build, head, &regs);
}

int feed_begin_ops(struct feed_conv *conv, const struct feed_task *task)
{
    struct evq_entry head = feed_head(conv, task, EVQ_OPS);
    return feed_begin(conv, &head, false);
}

/* Gives an entry that only says something: the task's end, or the whole run's. */
int feed_say(struct feed_conv *conv, const struct feed_task *task, unsigned kind)
{
    struct evq_entry head = feed_head(conv, task, kind);
    return feed_begin(conv, &head, false);
}

const struct rrt_task_event *feed_find_event(const struct rrt_frame *frame, enum rrt_task_kind kind)
{
    for (size_t i = 0; i < frame->task_count; i++)
        if (frame->tasks[i].kind == kind)
            return &frame->tasks[i];
    return NULL;
}

/* rr gives each new task a scratch area: the frame's last mapping. */
void feed_note_scratch(const struct rrt_frame *frame, struct feed_task *task)
{
    if (!frame->mmap_count)
        return;
    const struct rrt_mmap *map = &frame->mmaps[frame->mmap_count - 1];
    bool is_rwx = map->prot == (PROT_READ | PROT_WRITE | PROT_EXEC);
    if (map->source != RRT_SOURCE_ZERO || !is_rwx)
        return;
    task->scratch_start = map->start;
    task->scratch_end = map->end;
}

int feed_end_replay(struct feed_conv *conv)
{
    static const struct feed_task nobody = {.slot = 0};
    int err = feed_say(conv, &nobody, EVQ_END);
    conv->feed->has_ended = true;
    conv->feed->target = NULL;
    return err;
}

static int convert_trap(struct feed_conv *conv, struct feed_task *task)
{
    struct evq_entry head = feed_head(conv, task, EVQ_TRAP);
    head.compare_mask = EVQ_MASK_TRAP;
    task->stop = FEED_STOP_AT_TRAP;
    if (!conv->is_target)
        return 0;
    feed_place_ticks(conv, task, &head);
    int err = feed_begin(conv, &head, true);
    if (!err)
        err = feed_op_all_writes(conv);
    return err ? err : feed_op_regs(conv, &conv->frame->regs);
}

static int convert_growth(struct feed_conv *conv, struct feed_task *task)
{
    if (!conv->space)
        return 0;
    int err = feed_begin_ops(conv, task);
    for (size_t i = 0; i < conv->frame->mmap_count && !err; i++)
        err = feed_op_map_holes(conv, &conv->frame->mmaps[i], "[stack]");
    return err ? err : feed_op_all_writes(conv);
}

static void note_exit(struct feed_conv *conv, const struct feed_task *task)
{
    struct rep_info *info = &conv->feed->info;
    const struct rrt_task_event *event = feed_find_event(conv->frame, RRT_TASK_EXIT);
    if (!conv->feed->is_scanning || !conv->is_target || task->tgid != info->pid || !event ||
        conv->feed->leader_has_ended)
        return;
    info->has_wait_status = true;
    info->wait_status = event->wait_status;
    conv->feed->leader_has_ended = task->tid == info->pid;
}

static int convert_exit(struct feed_conv *conv, struct feed_task *task)
{
    struct rep_feed *feed = conv->feed;
    bool is_last = conv->space && conv->space->task_count == 1;
    int err = 0;
    if (conv->is_target && conv->frame->write_count) {
        err = feed_begin_ops(conv, task);
        if (!err)
            err = feed_op_all_writes(conv);
    }
    note_exit(conv, task);
    if (!err && conv->is_target)
        err = feed_locals_leave(conv, task);
    if (!err && conv->is_target)
        err = feed_say(conv, task, EVQ_TASK_EXIT);
    if (!err && is_last && feed->is_scanning)
        err = feed_share_space_gone(feed, conv->space, conv->frame);
    feed_task_remove(feed, task);
    return err || !is_last || !conv->is_target ? err : feed_end_replay(conv);
}

static int refuse_event(const struct feed_conv *conv)
{
    if (!conv->is_target)
        return 0;
    switch (conv->frame->event) {
    case RRT_EVENT_PATCH_VSYSCALL:
        return feed_refuse(conv->frame,
                           "rr put other code in an instruction's place, in a way that is not "
                           "supported; record with wetdbg record, or rr record -n");
    default:
        return feed_refuse(conv->frame, "an event of this kind, which is not supported");
    }
}

static bool needs_regs(enum rrt_event event)
{
    switch (event) {
    case RRT_EVENT_SYSCALL:
    case RRT_EVENT_SIGNAL:
    case RRT_EVENT_SIGNAL_DELIVERY:
    case RRT_EVENT_SIGNAL_HANDLER:
    case RRT_EVENT_INSTRUCTION_TRAP:
    case RRT_EVENT_SCHED:
    case RRT_EVENT_PATCH_SYSCALL:
    case RRT_EVENT_PATCH_TRAPPING_INSTRUCTION:
        return true;
    default:
        return false;
    }
}

static bool is_exec(const struct rrt_frame *frame)
{
    return frame->event == RRT_EVENT_SYSCALL && frame->syscall.state == RRT_SYSCALL_EXITING &&
           (frame->syscall.number == SYS_execve || frame->syscall.number == SYS_execveat) &&
           !feed_call_failed(&frame->regs);
}

static int convert_syscall(struct feed_conv *conv, struct feed_task *task)
{
    if (is_exec(conv->frame))
        return feed_convert_exec(conv, task);
    switch (conv->frame->syscall.state) {
    case RRT_SYSCALL_EXITING:
        return feed_convert_exiting(conv, task);
    case RRT_SYSCALL_ENTERING:
        return feed_convert_entering(conv, task);
    default:
        return feed_refuse_call(conv);
    }
}

static int convert_event(struct feed_conv *conv, struct feed_task *task)
{
    switch (conv->frame->event) {
    case RRT_EVENT_SYSCALL:
        return convert_syscall(conv, task);
    case RRT_EVENT_SIGNAL:
        return feed_convert_signal(conv, task);
    case RRT_EVENT_SIGNAL_DELIVERY:
    case RRT_EVENT_SIGNAL_HANDLER:
        return feed_convert_signal_result(conv, task);
    case RRT_EVENT_INSTRUCTION_TRAP:
        return convert_trap(conv, task);
    case RRT_EVENT_GROW_MAP:
        return convert_growth(conv, task);
    case RRT_EVENT_SCHED:
        return feed_convert_sched(conv, task);
    case RRT_EVENT_EXIT:
        return convert_exit(conv, task);
    case RRT_EVENT_SYSCALLBUF_FLUSH:
        return feed_convert_flush(conv, task);
    case RRT_EVENT_SYSCALLBUF_RESET:
        return feed_convert_reset(conv, task);
    case RRT_EVENT_SYSCALLBUF_ABORT_COMMIT:
        return feed_convert_abort(conv, task);
    case RRT_EVENT_PATCH_SYSCALL:
        return feed_convert_patch(conv, task);
    case RRT_EVENT_PATCH_AFTER_SYSCALL:
        return feed_convert_patch_after(conv, task);
    case RRT_EVENT_PATCH_TRAPPING_INSTRUCTION:
        return feed_convert_patch_trap(conv, task);
    default:
        return refuse_event(conv);
    }
}

/* Converts another process's frame with records for the replayed memory (process_vm_writev, a write
 * to a file that is mapped here): ours all stand where their last frames left them, the preempted
 * one at its place. */
static int convert_foreign_writes(struct feed_conv *conv)
{
    struct rep_feed *feed = conv->feed;
    for (size_t i = 0; i < conv->frame->write_count; i++) {
        const struct rrt_write *write = &conv->frame->writes[i];
        const struct feed_task *task = feed_task_find(feed, write->tid);
        if (!task || !write->size_bytes || task->space != feed->target)
            continue;
        int err = feed_place_release(conv);
        struct feed_conv ours = *conv;
        ours.space = feed->target;
        ours.is_target = true;
        if (!err)
            err = feed_begin_ops(&ours, task);
        if (!err)
            err = feed_op_write(&ours, write);
        if (err)
            return err;
    }
    return 0;
}

static int refuse_detach(const struct feed_conv *conv)
{
    if (conv->is_target && feed_find_event(conv->frame, RRT_TASK_DETACH))
        return feed_refuse(conv->frame, "the process was detached from the recording");
    return 0;
}

static void note_frame(struct rep_feed *feed, const struct rrt_frame *frame)
{
    feed->last_frame = frame->time;
    if (!feed->is_scanning)
        return;
    feed->saw_ticks |= frame->ticks != 0;
    feed->info.end_frame = frame->time;
    feed->info.frame_count++;
}

/* Whether a frame was recorded while its task stood still. rr empties a buffer when it lets the
 * task wait for its turn. */
static bool stands_still(const struct feed_conv *conv)
{
    return conv->frame->event == RRT_EVENT_EXIT ||
           (conv->frame->event == RRT_EVENT_SYSCALLBUF_RESET && conv->space->task_count > 1);
}

/* A frame of the space that is replayed: a preemption before it was one to another task, or the
 * last of a task that was killed; or its task just went on. */
static int settle_preemption(struct feed_conv *conv)
{
    struct rep_feed *feed = conv->feed;
    const struct rrt_frame *frame = conv->frame;
    if (!conv->is_target || !feed->held.tid)
        return 0;
    if (feed->held.tid != frame->tid || stands_still(conv))
        return feed_place_release(conv);
    feed->held.tid = 0;
    return 0;
}

int feed_frame_convert(struct rep_feed *feed, const struct rrt_frame *frame, struct wd_buf *out)
{
    struct tck_stop stop;
    struct feed_task *task = feed_task_find(feed, frame->tid);
    int err = feed_digests_take(feed->digests, frame, &stop);
    bool has_stop = err == 1;
    if (err >= 0)
        err = task ? 0 : feed_task_add(feed, frame->tid, frame->tid, NULL, &task);
    if (err)
        return err;
    struct feed_conv conv = {
        .feed = feed,
        .frame = frame,
        .space = task->space,
        .is_target = task->space && task->space == feed->target,
        .stop = has_stop ? &stop : NULL,
        .build = {.out = out},
    };
    bool was_target = conv.is_target;
    if (needs_regs(frame->event) && !frame->has_regs)
        return feed_corrupt(frame, "no registers");
    err = refuse_detach(&conv);
    if (!err && feed->is_scanning)
        err = feed_share_note(feed, frame, conv.space);
    if (!err)
        err = settle_preemption(&conv);
    if (!err)
        err = feed_locals_switch(&conv, task);
    if (!err)
        err = feed_restart_call(&conv, task);
    if (!err)
        err = convert_event(&conv, task);
    task = feed_task_find(feed, frame->tid);
    if (task) {
        feed_place_note(task, frame);
        task->has_aborted = frame->event == RRT_EVENT_SYSCALLBUF_ABORT_COMMIT;
    }
    if (was_target || conv.is_target)
        note_frame(feed, frame);
    if (!err && !conv.is_target && feed->target) /* also of an exec by a child of vfork */
        err = convert_foreign_writes(&conv);
    if (!err && feed->is_scanning && feed->shares_changed)
        err = feed_share_check(feed, frame);
    return err;
}

int feed_frame_finish(struct rep_feed *feed, struct wd_buf *out)
{
    struct rrt_frame none = {.time = feed->last_frame, .event = RRT_EVENT_EXIT};
    struct feed_conv conv = {
        .feed = feed, .frame = &none, .is_target = true, .build = {.out = out}};
    int err = 0;
    for (size_t i = 0; i < feed->task_count && !err && feed->is_scanning; i++)
        if (feed->tasks[i].space)
            err = feed_share_space_gone(feed, feed->tasks[i].space, &none);
    if (!err && !feed->has_ended)
        err = feed_place_release(&conv);
    return err || feed->has_ended ? err : feed_end_replay(&conv);
}

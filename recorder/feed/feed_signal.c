/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals: where one arrives (compared), and what comes of it (loaded).
 */
#include <signal.h>
#include <string.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

enum {
    SIGINFO_CODE = 8, /* offsets in siginfo_t */
    SIGINFO_ADDRESS = 16,
    SEGV_PKUERR_CODE = 4,
};

#define MASK_SIGNAL (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS))

static void read_siginfo(const struct rrt_signal *sig, int32_t *code, uint64_t *address)
{
    memcpy(code, sig->siginfo + SIGINFO_CODE, sizeof(*code));
    memcpy(address, sig->siginfo + SIGINFO_ADDRESS, sizeof(*address));
}

/* Raised by an instruction, and again when that runs in the replay. Not so: SIGBUS (files end
 * elsewhere there), protection keys, seccomp's SIGSYS, and a fault of building a frame for the
 * signal before. */
static bool is_fault(const struct rrt_signal *sig, int32_t code, const struct feed_task *task)
{
    if (!sig->deterministic || task->stop == FEED_STOP_SIGNAL)
        return false;
    if (sig->number == SIGSEGV)
        return code != SEGV_PKUERR_CODE;
    return sig->number == SIGILL || sig->number == SIGFPE || sig->number == SIGTRAP;
}

static void note_fatal(struct feed_conv *conv, const struct feed_task *task)
{
    struct rep_info *info = &conv->feed->info;
    const struct rrt_signal *sig = &conv->frame->signal;
    if (!conv->feed->is_scanning || task->tgid != info->pid ||
        sig->disposition != RRT_DISPOSITION_FATAL)
        return;
    info->fatal_signal = sig->number;
    info->fatal_frame = conv->frame->time;
    memcpy(info->fatal_siginfo, sig->siginfo, sizeof(info->fatal_siginfo));
}

/* Records of this frame end a restartable sequence, and rr moved the task too: the frame after it
 * has the registers of that. */
int feed_convert_signal(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_signal *sig = &conv->frame->signal;
    int32_t code;
    int err = 0;
    if (!conv->is_target)
        return 0;
    struct evq_entry head = feed_head(conv, task, EVQ_PLACE);
    struct evq_place place = feed_place_find(conv, task);
    feed_place_ticks(conv, task, &head);
    read_siginfo(sig, &code, &head.address);
    head.number = sig->number;
    head.code = code;
    head.compare_mask = MASK_SIGNAL;
    if (is_fault(sig, code, task)) {
        head.kind = EVQ_FAULT;
        head.flags |= EVQ_FLAG_SIGINFO;
    }
    if (sig->number == SIGSEGV && head.address < FEED_ADDRESS_END)
        err = feed_tables_range(conv->feed, head.address, head.address + 1);
    note_fatal(conv, task);
    if (!err)
        err = feed_begin(conv, &head, true);
    if (!err && head.kind == EVQ_PLACE)
        err = feed_op_place(conv, &place, conv->stop ? conv->stop->lines_at : 0);
    task->signal_moved_it = conv->frame->write_count > 0;
    task->stop_before = place.flags & EVQ_PLACE_HERE ? task->stop : FEED_STOP_RUNNING;
    task->stop = FEED_STOP_SIGNAL;
    return err ? err : feed_op_all_writes(conv);
}

/* What comes of a signal needs no running, so whether it is due here is told by the registers:
 * those with which the signal arrived. Without them a lost arrival would go unnoticed, and all that
 * ran up to it be left out. */
static int begin_result(struct feed_conv *conv, struct feed_task *task, struct evq_entry *head)
{
    struct evq_regs arrived;
    if (!conv->is_target || task->stop != FEED_STOP_SIGNAL)
        return feed_begin(conv, head, false);
    memcpy(&arrived, &task->regs, sizeof(arrived));
    head->compare_mask = MASK_SIGNAL;
    return feed_entry_begin(&conv->build, head, &arrived);
}

int feed_convert_signal_result(struct feed_conv *conv, struct feed_task *task)
{
    struct evq_entry head = feed_head(conv, task, EVQ_OPS);
    const struct rrt_signal *sig = &conv->frame->signal;
    if (!conv->space)
        return 0;
    head.number = sig->number;
    if (conv->frame->event == RRT_EVENT_SIGNAL_DELIVERY &&
        sig->disposition == RRT_DISPOSITION_FATAL)
        head.flags = EVQ_FLAG_FATAL;
    bool is_handler = conv->frame->event == RRT_EVENT_SIGNAL_HANDLER;
    int err = is_handler && conv->is_target ? feed_sigframe_check(conv, task) : 0;
    if (!err)
        err = begin_result(conv, task, &head);
    task->stop = is_handler ? FEED_STOP_AT_HANDLER : task->stop_before;
    if (!err)
        err = feed_op_all_maps(conv);
    if (!err)
        err = feed_op_all_writes(conv);
    if (!err)
        err = feed_op_xstate(conv);
    return err ? err : feed_op_regs(conv, &conv->frame->regs);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel writes the registers of what a signal interrupted into the handler's stack frame, and
 * the recording has them a second time, in the frame of the signal's arrival. They agree, but for
 * what the kernel itself changes in between: a system call that was interrupted is to be made
 * again, or returns EINTR.
 *
 *     rsp ->  return address     8
 *             ucontext           flags, link, stack: 40
 *             registers          r8 .. r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip, eflags
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

enum {
    SIGFRAME_REGISTERS = 48,
    SIGFRAME_COUNT = 18,
};

static const struct {
    const char *name;
    uint8_t reg; /* enum evq_reg */
} order[SIGFRAME_COUNT] = {
    {"r8", EVQ_R8},   {"r9", EVQ_R9},   {"r10", EVQ_R10},       {"r11", EVQ_R11}, {"r12", EVQ_R12},
    {"r13", EVQ_R13}, {"r14", EVQ_R14}, {"r15", EVQ_R15},       {"rdi", EVQ_RDI}, {"rsi", EVQ_RSI},
    {"rbp", EVQ_RBP}, {"rbx", EVQ_RBX}, {"rdx", EVQ_RDX},       {"rax", EVQ_RAX}, {"rcx", EVQ_RCX},
    {"rsp", EVQ_RSP}, {"rip", EVQ_RIP}, {"eflags", EVQ_EFLAGS},
};

/* Copies `count` bytes at `at` of what the record writes; false if they are not all in it. */
static bool read_record(const struct rrt_write *write, uint64_t at, void *out, size_t count)
{
    const uint8_t *bytes = write->bytes;
    uint64_t piece_start = 0;
    if (!bytes || at > write->size_bytes || count > write->size_bytes - at)
        return false;
    memset(out, 0, count);
    for (size_t i = 0; i <= write->hole_count; i++) {
        bool is_last = i == write->hole_count;
        uint64_t piece_end = is_last ? write->size_bytes : write->holes[i].offset_bytes;
        uint64_t from = at > piece_start ? at : piece_start;
        uint64_t to = at + count < piece_end ? at + count : piece_end;
        if (from < to)
            memcpy((uint8_t *)out + (from - at), bytes + (from - piece_start), to - from);
        if (is_last)
            break;
        bytes += piece_end - piece_start;
        piece_start = piece_end + write->holes[i].size_bytes;
    }
    return true;
}

/* Whether the kernel may have made `saved` of `before`, the registers of an interrupted call. */
static bool may_become(unsigned reg, const struct rrt_regs *before, uint64_t saved)
{
    if (reg == EVQ_RAX)
        return saved == (uint64_t)-EINTR || saved == before->orig_rax ||
               saved == SYS_restart_syscall;
    return reg == EVQ_RIP && saved == before->rip - FEED_SYSCALL_BYTES;
}

static bool agrees(const struct feed_task *task, unsigned reg, uint64_t saved)
{
    struct evq_regs before;
    memcpy(&before, &task->regs, sizeof(before));
    uint64_t differs = before.r[reg] ^ saved;
    if (reg == EVQ_EFLAGS)
        differs &= EVQ_EFLAGS_COMPARED;
    if (!differs || (reg == EVQ_RIP && task->signal_moved_it))
        return true;
    return feed_call_was_interrupted(&task->regs) && may_become(reg, &task->regs, saved);
}

static const struct rrt_write *find_record(const struct rrt_frame *frame)
{
    for (size_t i = 0; i < frame->write_count; i++)
        if (frame->writes[i].addr == frame->regs.rsp)
            return &frame->writes[i];
    return NULL;
}

int feed_sigframe_check(const struct feed_conv *conv, const struct feed_task *task)
{
    uint64_t saved[SIGFRAME_COUNT];
    const struct rrt_write *write = find_record(conv->frame);
    if (task->stop != FEED_STOP_SIGNAL || !write ||
        !read_record(write, SIGFRAME_REGISTERS, saved, sizeof(saved)))
        return 0;
    for (size_t i = 0; i < SIGFRAME_COUNT; i++)
        if (!agrees(task, order[i].reg, saved[i]))
            return feed_corrupt(conv->frame,
                                "the handler's stack frame has %s = %#llx, which does not follow "
                                "from where the signal arrived",
                                order[i].name, (unsigned long long)saved[i]);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a finished system call did to the mappings of its space. Calls that are not named here
 * change memory only through the frame's records, which the caller applies.
 *
 * The frame's registers are those after the call: arguments are unchanged there except rax, rcx
 * and r11, which carry none.
 */
#include <errno.h>
#include <linux/mman.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

enum {
    HEADER_BYTES_OF_5_8 = 32, /* syscall buffer header: tells 5.8 and later from earlier ones */
    IOVEC_BYTES = 16,
    MSGHDR_BYTES = 56,
    MMSGHDR_BYTES = 64,
    COMM_BYTES = 16,
    CAPTURE_MAX_BYTES = 65536,
    HEAP_ROOM_BYTES = 64 << 20,
    MODIFY_LDT_WRITE_OLD = 1,
    MODIFY_LDT_WRITE = 0x11,
};

bool feed_call_failed(const struct rrt_regs *regs)
{
    return regs->rax > (uint64_t)-4096;
}

/* The kernel's own codes, which no program sees. */
bool feed_call_was_interrupted(const struct rrt_regs *regs)
{
    if ((int64_t)regs->orig_rax < 0)
        return false;
    switch (-(int64_t)regs->rax) {
    case FEED_ERESTARTSYS:
    case FEED_ERESTARTNOINTR:
    case FEED_ERESTARTNOHAND:
    case FEED_ERESTART_RESTARTBLOCK:
        return true;
    default:
        return false;
    }
}

/* Rounds a length up to pages; a length that cannot be one gives a range that no check passes. */
static uint64_t pages_end(uint64_t start, uint64_t length)
{
    uint64_t rounded = wd_page_up(length);
    if (rounded < length || start + rounded < start)
        return UINT64_MAX;
    return start + rounded;
}

static int apply_brk(struct feed_conv *conv)
{
    int err = 0;
    uint64_t top = conv->frame->regs.rax;
    if (conv->is_target && top < FEED_ADDRESS_END - HEAP_ROOM_BYTES)
        err = feed_tables_range(conv->feed, top, top + HEAP_ROOM_BYTES);
    for (size_t i = 0; i < conv->frame->mmap_count && !err; i++) {
        const struct rrt_mmap *map = &conv->frame->mmaps[i];
        if (map->prot || map->flags)
            err = feed_op_map_holes(conv, map, "[heap]");
        else
            err = feed_op_unmap(conv, map->start, map->end);
    }
    return err;
}

/* The lowest address of the stack that `address` lies in: it has grown piece by piece. */
static uint64_t stack_start(const struct feed_conv *conv, uint64_t address)
{
    const struct feed_vmas *vmas = &conv->space->vmas;
    const struct feed_vma *piece = feed_vmas_above(vmas, address);
    if (!piece || !(piece->flags & FEED_VMA_GROWSDOWN) || piece->start > address)
        return address;
    do {
        address = piece->start;
        piece = address ? feed_vmas_above(vmas, address - 1) : NULL;
    } while (piece && piece->flags & FEED_VMA_GROWSDOWN && piece->end == address);
    return address;
}

/* The kernel's own walk stops at the first gap (ENOMEM), having changed what lies before it. */
static int apply_protect(struct feed_conv *conv)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    uint64_t start = regs->rdi, end = pages_end(start, regs->rsi);
    if (feed_call_failed(regs)) {
        if (regs->rax != (uint64_t)-ENOMEM || end == UINT64_MAX || !wd_page_is_start(start))
            return 0;
        end = feed_vmas_mapped_until(&conv->space->vmas, start, end);
    }
    if (regs->rdx & PROT_GROWSDOWN)
        start = stack_start(conv, start);
    return feed_op_protect(conv, start, end, (uint32_t)regs->rdx);
}

/* Gives the content of what an mremap added. Where both are plain zeros the move itself gives
 * them. */
static int fill_growth(struct feed_conv *conv, const struct rrt_mmap *tail, bool is_file)
{
    if (tail->source == RRT_SOURCE_ZERO && !is_file)
        return 0;
    return feed_op_map(conv, tail, 0);
}

static int apply_mremap(struct feed_conv *conv)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    uint64_t from = regs->rdi, from_bytes = pages_end(0, regs->rsi);
    uint64_t to = regs->rax, to_bytes = pages_end(0, regs->rdx);
    const struct feed_vma *old = feed_vmas_above(&conv->space->vmas, from);
    bool is_file = old && old->flags & (FEED_VMA_FILE | FEED_VMA_FILE_COPY);
    if (!from_bytes && conv->is_target)
        return feed_refuse(conv->frame, "mremap maps the memory at %#llx a second time",
                           (unsigned long long)from);
    bool keep = regs->r10 & MREMAP_DONTUNMAP;
    int err = feed_op_move(conv, from, from_bytes, to, to_bytes, keep);
    if (!err && to_bytes > from_bytes && conv->frame->mmap_count > 1)
        err = fill_growth(conv, &conv->frame->mmaps[1], is_file);
    return err;
}

/* Losing the pages of a shared object changes nothing that can be seen, and a private mapping of
 * a file shows the file again: which the replay cannot, if it has only a copy of the bytes. */
static int discard_part(struct feed_conv *conv, const struct feed_vma *vma, uint64_t start,
                        uint64_t end, bool is_remove)
{
    if (is_remove)
        return feed_op_zero(conv, start, end - start);
    if (vma->flags & FEED_VMA_SHARED)
        return 0;
    if (vma->flags & FEED_VMA_FILE_COPY && conv->is_target)
        return feed_refuse(conv->frame,
                           "madvise takes the private mapping of a file at %#llx back to the "
                           "file's contents, which were not recorded",
                           (unsigned long long)start);
    return feed_op_discard(conv, start, end);
}

static int discard(struct feed_conv *conv, uint64_t start, uint64_t end, bool is_remove)
{
    int err = 0;
    while (start < end && !err) {
        const struct feed_vma *vma = feed_vmas_above(&conv->space->vmas, start);
        if (!vma || vma->start >= end)
            break;
        uint64_t from = vma->start > start ? vma->start : start;
        uint64_t to = vma->end < end ? vma->end : end;
        err = discard_part(conv, vma, from, to, is_remove);
        start = to;
    }
    return err;
}

static bool knows_madvise_ranges(const struct feed_conv *conv)
{
    return conv->feed->header->syscallbuf_header_size_bytes >= HEADER_BYTES_OF_5_8;
}

static int apply_discard(struct feed_conv *conv, bool is_remove)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    const struct rrt_syscall *call = &conv->frame->syscall;
    int err = 0;
    if (call->extra == RRT_EXTRA_MADVISE_RANGES) {
        for (size_t i = 0; i < call->madvise_range_count && !err; i++)
            err = discard(conv, call->madvise_ranges[i].start, call->madvise_ranges[i].end,
                          is_remove);
        return err;
    }
    uint64_t end = pages_end(regs->rdi, regs->rsi);
    if (end == UINT64_MAX || !wd_page_is_start(regs->rdi))
        return 0;
    /* Until 5.7 a call that failed half-way says nothing about how far it came; rr assumes: to
     * the end. */
    if (feed_call_failed(regs) && knows_madvise_ranges(conv))
        return 0;
    return discard(conv, regs->rdi, end, is_remove);
}

static int apply_madvise(struct feed_conv *conv)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    struct feed_vmas *vmas = &conv->space->vmas;
    uint64_t end = pages_end(regs->rdi, regs->rsi);
    switch ((int)regs->rdx) {
    case MADV_DONTNEED:
    case MADV_DONTNEED_LOCKED:
        return apply_discard(conv, false);
    case MADV_REMOVE:
        return apply_discard(conv, true);
    case MADV_DONTFORK:
        return feed_call_failed(regs) ? 0
                                      : feed_vmas_flag(vmas, regs->rdi, end, FEED_VMA_DONTFORK, 0);
    case MADV_DOFORK:
        return feed_call_failed(regs) ? 0
                                      : feed_vmas_flag(vmas, regs->rdi, end, 0, FEED_VMA_DONTFORK);
    default:
        return 0; /* hints */
    }
}

/* A segment may have been split or partly replaced since it was attached: its parts are those of
 * the same object that lie where the attachment put them. */
static int apply_shmdt(struct feed_conv *conv)
{
    uint64_t base = conv->frame->regs.rdi;
    const struct feed_vma *first = feed_vmas_above(&conv->space->vmas, base);
    while (first && !(first->flags & FEED_VMA_SHARED && first->start - first->offset == base))
        first = feed_vmas_above(&conv->space->vmas, first->end);
    if (!first)
        return 0;
    struct feed_vma segment = *first;
    const struct feed_vma *vma = first;
    int err = 0;
    while (vma && !err) {
        uint64_t start = vma->start, end = vma->end;
        if (vma->flags & FEED_VMA_SHARED && vma->inode == segment.inode &&
            vma->device == segment.device && start - vma->offset == base)
            err = feed_op_unmap(conv, start, end);
        vma = feed_vmas_above(&conv->space->vmas, end);
    }
    return err;
}

/* Refuses calls that change what no op can express. */
static int refuse_oddity(struct feed_conv *conv, int number)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    if (!conv->is_target)
        return 0;
    switch (number) {
    case SYS_modify_ldt:
        if (regs->rdi == MODIFY_LDT_WRITE || regs->rdi == MODIFY_LDT_WRITE_OLD)
            return feed_refuse(conv->frame, "modify_ldt makes a segment of its own");
        return 0;
    case SYS_set_thread_area:
        return feed_refuse(conv->frame, "set_thread_area makes a segment of its own");
    case SYS_remap_file_pages:
        return feed_refuse(conv->frame, "remap_file_pages reorders a mapping");
    case SYS_userfaultfd:
        return feed_refuse(conv->frame, "userfaultfd lets a descriptor supply memory");
    default:
        return 0;
    }
}

/* A tracer changes its tracee's registers and memory at will. */
static int apply_ptrace(struct feed_conv *conv)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    int tid = regs->rdi == PTRACE_TRACEME ? conv->frame->tid : (int)regs->rsi;
    struct feed_task *traced = feed_task_find(conv->feed, tid);
    bool begins =
        regs->rdi == PTRACE_TRACEME || regs->rdi == PTRACE_ATTACH || regs->rdi == PTRACE_SEIZE;
    if (!begins || !traced)
        return 0;
    traced->is_traced = true;
    if (!conv->feed->target || traced->space != conv->feed->target)
        return 0;
    return feed_refuse(conv->frame, "from here on the process is traced by another recorded one");
}

int feed_call_apply(struct feed_conv *conv, int number)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    switch (number) {
    case SYS_mprotect:
    case SYS_pkey_mprotect:
        return apply_protect(conv);
    case SYS_madvise:
        return apply_madvise(conv);
    default:
        break;
    }
    if (feed_call_failed(regs))
        return 0;
    switch (number) {
    case SYS_brk:
        return apply_brk(conv);
    case SYS_munmap:
        return feed_op_unmap(conv, regs->rdi, pages_end(regs->rdi, regs->rsi));
    case SYS_mremap:
        return apply_mremap(conv);
    case SYS_shmdt:
        return apply_shmdt(conv);
    case SYS_ptrace:
        return apply_ptrace(conv);
    default: {
        int err = refuse_oddity(conv, number);
        return err ? err : feed_op_all_maps(conv);
    }
    }
}

static uint64_t capture_bytes(uint64_t count, uint64_t element_bytes)
{
    uint64_t most = CAPTURE_MAX_BYTES / element_bytes;
    return (count < most ? count : most) * element_bytes;
}

/* The name may end right before memory does. */
static int capture_comm(struct feed_conv *conv)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    uint64_t start = regs->rsi;
    if ((int)regs->rdi != PR_SET_NAME || !conv->is_target || start > FEED_ADDRESS_END - COMM_BYTES)
        return 0;
    uint64_t end = feed_vmas_mapped_until(&conv->space->vmas, start, start + COMM_BYTES);
    return feed_op_capture(conv, start, end - start, REP_CAPTURE_COMM);
}

int feed_call_capture(struct feed_conv *conv, int number)
{
    const struct rrt_regs *regs = &conv->frame->regs;
    if (feed_call_failed(regs))
        return 0;
    switch (number) {
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_vmsplice:
        return feed_op_capture(conv, regs->rsi, capture_bytes(regs->rdx, IOVEC_BYTES),
                               REP_CAPTURE_IOVEC);
    case SYS_sendmsg:
        return feed_op_capture(conv, regs->rsi, MSGHDR_BYTES, REP_CAPTURE_MSGHDR);
    case SYS_sendmmsg:
        return feed_op_capture(conv, regs->rsi, capture_bytes(regs->rax, MMSGHDR_BYTES),
                               REP_CAPTURE_MMSGHDR);
    case SYS_prctl:
        return capture_comm(conv);
    default:
        return 0;
    }
}

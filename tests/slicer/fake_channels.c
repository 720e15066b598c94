/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Bytes that go through the kernel, as the kernel itself has them: which file, pipe or socket a
 * descriptor is says its inode, and where in it the next byte goes, /proc. Nothing here follows
 * descriptors, paths or positions.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/slicer/fake_priv.h"

/* ---- what a descriptor is ---- */

static uint32_t object_of_inode(struct wetdbg *wet, const struct stat *stat)
{
    for (uint32_t i = 0; i < wet->objects.count; i++)
        if (wet->objects.at[i].device == stat->st_dev && wet->objects.at[i].inode == stat->st_ino)
            return i;
    struct fake_object object = {.device = stat->st_dev,
                                 .inode = stat->st_ino,
                                 .peer = UINT32_MAX,
                                 .is_queue = S_ISFIFO(stat->st_mode) || S_ISSOCK(stat->st_mode)};
    PUSH(wet->objects, object);
    return (uint32_t)wet->objects.count - 1;
}

static uint32_t object_of(struct wetdbg *wet, uint64_t fd, struct stat *stat_out)
{
    char path[64];
    struct stat own;

    snprintf(path, sizeof(path), "/proc/%d/fd/%d", wet->pid, (int)fd);
    if (stat(path, &own))
        return UINT32_MAX;
    if (stat_out)
        *stat_out = own;
    if (!S_ISREG(own.st_mode) && !S_ISFIFO(own.st_mode) && !S_ISSOCK(own.st_mode))
        return UINT32_MAX;
    return object_of_inode(wet, &own);
}

/* Where a call reads or writes that says `at`, UINT64_MAX: nothing. */
static uint64_t position_of(const struct wetdbg *wet, uint64_t fd, bool is_write, uint64_t at,
                            uint64_t end)
{
    char path[64];
    unsigned long long position = 0;
    unsigned flags = 0;

    snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", wet->pid, (int)fd);
    FILE *file = fopen(path, "r");
    if (file && fscanf(file, "pos: %llu flags: %o", &position, &flags) != 2)
        position = 0;
    if (file)
        fclose(file);
    if (is_write && flags & O_APPEND)
        return end;
    return at == UINT64_MAX ? position : at;
}

static uint64_t word_at(const struct wetdbg *wet, uint64_t address)
{
    uint64_t word = 0;
    return pread(wet->memory, &word, 8, (off_t)address) == 8 ? word : 0;
}

static struct fake_end end_of(struct wetdbg *wet, uint64_t fd, bool is_write, uint64_t at)
{
    struct stat stat = {0};
    struct fake_end end = {.object = object_of(wet, fd, &stat)};

    if (end.object == UINT32_MAX)
        return end;
    if (wet->objects.at[end.object].is_queue) {
        if (is_write && wet->objects.at[end.object].peer != UINT32_MAX)
            end.object = wet->objects.at[end.object].peer;
        return end;
    }
    end.offset = position_of(wet, fd, is_write, at, (uint64_t)stat.st_size);
    return end;
}

/* ... by the absolute path at an address. */
static struct fake_end end_of_path(struct wetdbg *wet, uint64_t address, uint64_t at)
{
    struct fake_end end = {.object = UINT32_MAX, .offset = at};
    char path[256] = "";
    struct stat own;

    for (size_t i = 0; i < sizeof(path) - 1; i++)
        if (pread(wet->memory, &path[i], 1, (off_t)(address + i)) != 1 || !path[i])
            break;
    if (stat(path, &own) == 0)
        end.object = object_of_inode(wet, &own);
    return end;
}

/* ---- calls ---- */

static void add_spans(struct wetdbg *wet, struct fake_passing *passing, uint64_t list,
                      uint64_t count)
{
    for (uint64_t i = 0; i < count && passing->span_count < FAKE_SPANS_MAX; i++)
        passing->spans[passing->span_count++] =
            (struct iovec){(void *)(uintptr_t)word_at(wet, list + 16 * i),
                           (size_t)word_at(wet, list + 16 * i + 8)};
}

static struct fake_passing passing_of(struct wetdbg *wet, const struct user_regs_struct *r)
{
    struct fake_passing passing = {.is_call = true};
    struct iovec buffer = {(void *)(uintptr_t)r->rsi, (size_t)r->rdx};

    switch (r->rax) {
    case SYS_write:
    case SYS_sendto:
    case SYS_pwrite64:
    case SYS_read:
    case SYS_recvfrom:
    case SYS_pread64:
        passing.spans[passing.span_count++] = buffer;
        break;
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_readv:
    case SYS_preadv:
    case SYS_preadv2:
    case SYS_vmsplice:
        add_spans(wet, &passing, r->rsi, r->rdx);
        break;
    case SYS_sendmmsg:
    case SYS_recvmmsg:
        for (uint64_t i = 0; i < r->rdx; i++)
            add_spans(wet, &passing, word_at(wet, r->rsi + 64 * i + 16),
                      word_at(wet, r->rsi + 64 * i + 24));
        break;
    case SYS_sendmsg:
    case SYS_recvmsg:
        add_spans(wet, &passing, word_at(wet, r->rsi + 16), word_at(wet, r->rsi + 24));
        break;
    default:
        break;
    }
    return passing;
}

static void find_ends(struct wetdbg *wet, const struct user_regs_struct *r,
                      struct fake_passing *passing)
{
    const struct fake_end none = {.object = UINT32_MAX};

    passing->from = passing->to = none;
    switch (r->rax) {
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_vmsplice:
        passing->to = end_of(wet, r->rdi, true, UINT64_MAX);
        break;
    case SYS_pwrite64:
    case SYS_pwritev:
    case SYS_pwritev2:
        passing->to = end_of(wet, r->rdi, true, r->r10);
        break;
    case SYS_read:
    case SYS_readv:
        passing->from = end_of(wet, r->rdi, false, UINT64_MAX);
        break;
    case SYS_recvfrom:
        passing->from = end_of(wet, r->rdi, false, UINT64_MAX);
        passing->is_peek = r->r10 & MSG_PEEK;
        break;
    case SYS_recvmmsg:
        passing->from = end_of(wet, r->rdi, false, UINT64_MAX);
        break;
    case SYS_recvmsg:
        passing->from = end_of(wet, r->rdi, false, UINT64_MAX);
        passing->is_peek = r->rdx & MSG_PEEK;
        break;
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2:
        passing->from = end_of(wet, r->rdi, false, r->r10);
        break;
    case SYS_sendfile:
        passing->from = end_of(wet, r->rsi, false, r->rdx ? word_at(wet, r->rdx) : UINT64_MAX);
        passing->to = end_of(wet, r->rdi, true, UINT64_MAX);
        break;
    case SYS_splice:
    case SYS_copy_file_range:
        passing->from = end_of(wet, r->rdi, false, r->rsi ? word_at(wet, r->rsi) : UINT64_MAX);
        passing->to = end_of(wet, r->rdx, true, r->r10 ? word_at(wet, r->r10) : UINT64_MAX);
        break;
    case SYS_tee:
        passing->from = end_of(wet, r->rdi, false, UINT64_MAX);
        passing->to = end_of(wet, r->rsi, true, UINT64_MAX);
        passing->is_peek = true;
        break;
    default:
        passing->is_call = false;
        break;
    }
}

static void happen(struct wetdbg *wet, enum fake_kind kind, uint32_t slot, wetdbg_time call,
                   const struct fake_passing *passing, uint64_t address, uint64_t size)
{
    struct fake_happening is = {.kind = kind,
                                .time = wet->steps.count,
                                .call = call,
                                .task = slot,
                                .address = address,
                                .size = size,
                                .from = passing->from,
                                .to = passing->to,
                                .is_peek = passing->is_peek};
    PUSH(wet->happenings, is);
}

/* ---- shared mappings ---- */

static void show(struct wetdbg *wet, struct fake_mapping mapping)
{
    if (mapping.size)
        PUSH(wet->shown, mapping);
}

static void hide(struct wetdbg *wet, uint64_t address, uint64_t size)
{
    size_t count = wet->shown.count;

    for (size_t i = 0; i < count; i++) {
        struct fake_mapping is = wet->shown.at[i];
        uint64_t from = is.address > address ? is.address : address;
        uint64_t end = is.address + is.size;
        uint64_t to = end < address + size ? end : address + size;
        if (from >= to)
            continue;
        wet->shown.at[i].size = from - is.address;
        show(wet, (struct fake_mapping){to, end - to, is.offset + (to - is.address), is.object});
    }
}

void fake_channels_hide(struct wetdbg *wet, uint32_t slot, wetdbg_time call, uint64_t address,
                        uint64_t size)
{
    struct fake_passing passing = {.from = {.object = UINT32_MAX}};

    happen(wet, FAKE_HIDDEN, slot, call, &passing, address, size);
    hide(wet, address, size);
}

void fake_channels_show(struct wetdbg *wet, uint32_t slot, uint64_t result)
{
    const struct fake_end *to = &wet->tasks[slot].passing.to;

    if (!wet->tasks[slot].passing.is_call || to->object == UINT32_MAX || result > -4096ULL)
        return;
    for (size_t i = 0; i < wet->shown.count; i++) {
        const struct fake_mapping *is = &wet->shown.at[i];
        uint64_t from = is->offset > to->offset ? is->offset : to->offset;
        uint64_t end = is->offset + is->size;
        if (end > to->offset + result)
            end = to->offset + result;
        if (is->object == to->object && from < end)
            fake_push_memory(wet, is->address + (from - is->offset), end - from);
    }
}

void fake_channels_enter(struct wetdbg *wet, uint32_t slot)
{
    struct fake_task *task = &wet->tasks[slot];

    task->passing = passing_of(wet, &task->regs);
    find_ends(wet, &task->regs, &task->passing);
    task->passing.first = wet->happenings.count;
    for (size_t i = 0; i < wet->shown.count && task->passing.is_call; i++)
        if (wet->shown.at[i].object == task->passing.to.object)
            fake_keep_undo(wet, wet->shown.at[i].address, wet->shown.at[i].size);
    /* Others may read what it sends before it comes back: how much that is, is filled in then. */
    for (unsigned i = 0; i < task->passing.span_count && task->passing.to.object != UINT32_MAX; i++)
        happen(wet, FAKE_SENT, slot, wet->steps.count, &task->passing,
               (uint64_t)(uintptr_t)task->passing.spans[i].iov_base, 0);
}

static void pass_bytes(struct wetdbg *wet, uint32_t slot, wetdbg_time call, uint64_t result)
{
    struct fake_passing *passing = &wet->tasks[slot].passing;
    bool is_sent = passing->to.object != UINT32_MAX;

    if (is_sent && passing->from.object != UINT32_MAX) {
        happen(wet, FAKE_COPIED, slot, call, passing, 0, result);
        return;
    }
    for (unsigned i = 0; i < passing->span_count && (is_sent || result); i++) {
        uint64_t size = passing->spans[i].iov_len < result ? passing->spans[i].iov_len : result;
        result -= size;
        if (is_sent) {
            struct fake_happening *sent = &wet->happenings.at[passing->first + i];
            sent->size = size;
            sent->to = passing->to;
            sent->is_message = i == 0;
        } else if (passing->from.object != UINT32_MAX) {
            happen(wet, FAKE_TAKEN, slot, call, passing,
                   (uint64_t)(uintptr_t)passing->spans[i].iov_base, size);
            wet->happenings.at[wet->happenings.count - 1].is_message = i == 0;
        }
        passing->to.offset += size;
        passing->from.offset += size;
    }
}

/* Over a stream, where messages have no bounds of their own. */
static uint64_t bytes_of_messages(const struct wetdbg *wet, uint64_t list, uint64_t count)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < count; i++)
        bytes += word_at(wet, list + 64 * i + 56) & 0xffffffff;
    return bytes;
}

static void keep_pair(struct wetdbg *wet, const struct user_regs_struct *r)
{
    uint64_t fds = word_at(wet, r->r10);
    uint32_t a = object_of(wet, fds & 0xffffffff, NULL), b = object_of(wet, fds >> 32, NULL);

    if (a == UINT32_MAX || b == UINT32_MAX)
        return;
    wet->objects.at[a].peer = b;
    wet->objects.at[b].peer = a;
    wet->objects.at[a].has_messages = wet->objects.at[b].has_messages =
        (r->rsi & 0xf) != SOCK_STREAM;
}

/* process_vm_readv and writev: both lists byte for byte. */
static void keep_copies(struct wetdbg *wet, uint32_t slot, wetdbg_time call,
                        const struct user_regs_struct *r, uint64_t result)
{
    const struct fake_passing none = {.from = {.object = UINT32_MAX}, .to.object = UINT32_MAX};
    bool is_read = r->rax == SYS_process_vm_readv;
    uint64_t from = is_read ? r->r10 : r->rsi, to = is_read ? r->rsi : r->r10;
    uint64_t from_off = 0, to_off = 0;

    for (uint64_t i = 0; i < result; i++) {
        for (; from_off == word_at(wet, from + 8); from += 16)
            from_off = 0;
        for (; to_off == word_at(wet, to + 8); to += 16)
            to_off = 0;
        happen(wet, FAKE_LENT, slot, call, &none, word_at(wet, to) + to_off++, 1);
        wet->happenings.at[wet->happenings.count - 1].lender = word_at(wet, from) + from_off++;
    }
}

static void keep_mapping(struct wetdbg *wet, uint32_t slot, wetdbg_time call,
                         const struct user_regs_struct *r, uint64_t address)
{
    struct fake_passing passing = {.from = {.object = UINT32_MAX}};

    if (!(r->r10 & MAP_ANONYMOUS))
        passing.from = end_of(wet, r->r8, false, r->r9);
    if (passing.from.object == UINT32_MAX)
        return;
    passing.to = passing.from;
    happen(wet, r->r10 & MAP_PRIVATE ? FAKE_TAKEN : FAKE_SHOWN, slot, call, &passing, address,
           r->rsi);
    if (!(r->r10 & MAP_PRIVATE))
        show(wet, (struct fake_mapping){address, r->rsi, passing.from.offset, passing.from.object});
}

void fake_channels_exit(struct wetdbg *wet, uint32_t slot, wetdbg_time call,
                        const struct user_regs_struct *before, uint64_t result)
{
    struct fake_passing passing = {.from = {.object = UINT32_MAX}};

    if (result > -4096ULL)
        return;
    if (before->rax == SYS_sendmmsg || before->rax == SYS_recvmmsg)
        result = bytes_of_messages(wet, before->rsi, result);
    if (wet->tasks[slot].passing.is_call)
        pass_bytes(wet, slot, call, result);
    switch (before->rax) {
    case SYS_socketpair:
        keep_pair(wet, before);
        break;
    case SYS_process_vm_readv:
    case SYS_process_vm_writev:
        keep_copies(wet, slot, call, before, result);
        break;
    case SYS_mmap:
        keep_mapping(wet, slot, call, before, result);
        break;
    case SYS_munmap:
        fake_channels_hide(wet, slot, call, before->rdi, before->rsi);
        break;
    case SYS_ftruncate:
        passing.to = end_of(wet, before->rdi, true, before->rsi);
        happen(wet, FAKE_CUT, slot, call, &passing, 0, 0);
        break;
    case SYS_fallocate:
        passing.to = end_of(wet, before->rdi, true, before->rdx);
        happen(wet, FAKE_CUT, slot, call, &passing, 0, before->r10);
        break;
    case SYS_truncate:
        passing.to = end_of_path(wet, before->rdi, before->rsi);
        happen(wet, FAKE_CUT, slot, call, &passing, 0, 0);
        break;
    case SYS_openat:
        if (!(before->rdx & O_TRUNC))
            break;
        passing.to = end_of(wet, result, true, 0);
        happen(wet, FAKE_CUT, slot, call, &passing, 0, 0);
        break;
    default:
        break;
    }
}

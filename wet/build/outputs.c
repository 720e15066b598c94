/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/outputs.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "recorder/event/buffered.h"
#include "recorder/feed/feed.h"
#include "wet/trace/records.h"

#define FD_MAX 65536

void wet_output_finder_fini(struct wet_output_finder *finder)
{
    wd_buf_fini(&finder->outputs);
    wd_buf_fini(&finder->offsets);
    wd_buf_fini(&finder->captured);
}

static bool is_write(uint64_t number)
{
    return number == SYS_write || number == SYS_pwrite64 || number == SYS_sendto;
}

static bool is_vector(uint64_t number)
{
    return number == SYS_writev || number == SYS_pwritev || number == SYS_pwritev2;
}

static int piece_add(struct wet_output_finder *finder, uint64_t fd, uint64_t time, uint64_t address,
                     uint64_t size)
{
    if (fd >= FD_MAX || !size)
        return 0;
    if (finder->offsets.size_bytes < (fd + 1) * 8) {
        int err = wd_buf_append_zeros(&finder->offsets, (fd + 1) * 8 - finder->offsets.size_bytes);
        if (err)
            return err;
    }
    uint64_t *offset = (uint64_t *)finder->offsets.data + fd;
    struct wet_output_record record = {
        .fd = fd, .time = time, .offset = *offset, .address = address, .size = size};
    *offset += size;
    return wd_buf_append(&finder->outputs, &record, sizeof(record));
}

static int vector_add(struct wet_output_finder *finder, uint64_t fd, uint64_t time, uint64_t total)
{
    size_t count = finder->captured.size_bytes / sizeof(struct iovec);
    for (size_t i = 0; i < count && total; i++) {
        struct iovec piece;
        memcpy(&piece, finder->captured.data + i * sizeof(piece), sizeof(piece));
        uint64_t size = piece.iov_len < total ? piece.iov_len : total;
        int err = piece_add(finder, fd, time, (uint64_t)piece.iov_base, size);
        if (err)
            return err;
        total -= size;
    }
    return 0;
}

static int call_exit(struct wet_output_finder *finder, const struct evq_entry *entry)
{
    const struct evq_regs *regs = evq_entry_loads(entry);
    uint64_t number = finder->pending[entry->task].number;
    const uint64_t *args = finder->pending[entry->task].args;
    uint64_t time = finder->pending[entry->task].time;
    int64_t result = regs ? (int64_t)regs->r[EVQ_RAX] : -1;
    int err = 0;
    if (result > 0 && is_write(number))
        err = piece_add(finder, args[0], time, args[1], (uint64_t)result);
    else if (result > 0 && is_vector(number))
        err = vector_add(finder, args[0], time, (uint64_t)result);
    finder->captured.size_bytes = 0;
    return err;
}

int wet_output_finder_entry(struct wet_output_finder *finder, const struct evq_entry *entry,
                            uint64_t time)
{
    if (entry->task >= EVQ_TASKS_MAX)
        return 0;
    const struct evq_regs *regs = evq_entry_regs(entry);
    if (entry->kind == EVQ_SYSCALL_ENTER && regs) {
        finder->syscalls += !evq_is_own_call(entry);
        finder->pending[entry->task].number = (uint64_t)entry->number;
        finder->pending[entry->task].args[0] = regs->r[EVQ_RDI];
        finder->pending[entry->task].args[1] = regs->r[EVQ_RSI];
        finder->pending[entry->task].args[2] = regs->r[EVQ_RDX];
        finder->pending[entry->task].time = time;
    } else if (entry->kind == EVQ_SYSCALL_EXIT) {
        return call_exit(finder, entry);
    }
    return 0;
}

int wet_output_finder_captured(struct wet_output_finder *finder, uint64_t tag, const void *bytes,
                               size_t count)
{
    if (tag != REP_CAPTURE_IOVEC)
        return 0;
    return wd_buf_append(&finder->captured, bytes, count);
}

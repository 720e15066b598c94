/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings with system call buffering, which is rr's default.
 *
 * rr's preload library replaces system call instructions by jumps into itself, makes many calls
 * without rr looking on, and leaves a record of each in a buffer, which rr copies into the
 * recording before the task's next event. Here the library runs again, as it ran; a record becomes
 * the two entries of a call, whose registers are found when it is made (recorder/event/buffered.h).
 * So rr's page of stubs stays as it was while recording, and what rr changed in the library's
 * memory is written where it changed it.
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "common/page.h"
#include "recorder/event/buffered.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

/* rr's calls, counted from the recording's first private number. */
enum {
    RRCALL_INIT_PRELOAD = 0,
    RRCALL_INIT_BUFFERS = 1,
    RRCALL_NOTIFY_HOOK_EXIT = 2,
    RRCALL_NOTIFY_CONTROL_MSG = 3,
    RRCALL_RDTSC = 12,
    RRCALL_COUNT = 13,
};

/* The buffer's header, from its start. */
enum {
    HEADER_RECORD_BYTES = 0,
    HEADER_COUNTS_BYTES = 12, /* with two counts of mprotect records */
    HEADER_ABORT_COMMIT = 12,
    HEADER_NOTIFY_EXIT = 13,
    HEADER_GENERATION = 24,
    HEADER_GENERATION_BYTES = 4,
};

/* A record, from its start. */
enum {
    RECORD_RESULT = 0,
    RECORD_NUMBER = 8,
    RECORD_FLAGS = 10,
    RECORD_SIZE = 12,
    RECORD_DATA = 16,
    RECORD_ALIGN = 8,
};

enum {
    FDS_OF_5_6 = 1024, /* descriptors that the library of rr 5.6 keeps in mind; later ones: more */
    IOVEC_BYTES = 16,
    MSGHDR_BYTES = 56,
    RDTSC_BYTES = 2, /* of the instruction */
    TSC_BYTES = 8,
    COMM_BYTES = 16,
};

/* In the thread-locals page, what the library keeps at a fork: how deep it is in its own stack, and
 * the flags that it saved. */
enum {
    LOCALS_KEPT = 24,
    LOCALS_KEPT_BYTES = 8,
};

struct record {
    int64_t result;
    int number;
    uint64_t at;         /* in the records of the buffer */
    const uint8_t *data; /* what was written behind the record */
    uint64_t data_bytes;
};

static int own_number(const struct feed_conv *conv)
{
    return conv->frame->syscall.number - conv->feed->header->rrcall_base;
}

bool feed_buffer_is_own_call(const struct feed_conv *conv)
{
    int number = own_number(conv);
    return number >= 0 && number < RRCALL_COUNT;
}

int feed_buffer_refuse_call(const struct feed_conv *conv)
{
    const struct rrt_header *header = conv->feed->header;
    switch (own_number(conv)) {
    case RRCALL_INIT_PRELOAD:
        if (header->syscallbuf_fds_disabled_size != FDS_OF_5_6)
            return feed_refuse(conv->frame,
                               "system calls are buffered as rr 5.7 and later do it, which is not "
                               "supported; record with wetdbg record, or rr record -n");
        return 0;
    case RRCALL_INIT_BUFFERS:
    case RRCALL_NOTIFY_HOOK_EXIT:
    case RRCALL_NOTIFY_CONTROL_MSG:
    case RRCALL_RDTSC:
        return 0;
    default:
        return feed_refuse(conv->frame,
                           "rr's own call %d, which is not supported; record with wetdbg record, "
                           "or rr record -n",
                           conv->frame->syscall.number);
    }
}

/* ---------------------------------------------------------------- beginnings */

int feed_buffer_program_began(struct feed_conv *conv, struct feed_task *task)
{
    task->buffer = 0;
    return conv->is_target && conv->feed->is_buffered ? feed_locals_write_stack_end(conv, task) : 0;
}

bool feed_buffer_keeps_locals(const struct feed_conv *conv, const struct rrt_mmap *map)
{
    return conv->feed->is_buffered && map->start == FEED_RECORDER_LOCALS &&
           map->end == FEED_RECORDER_END;
}

int feed_buffer_child_began(struct feed_conv *conv, const struct feed_task *child)
{
    const uint64_t kept_end = LOCALS_KEPT + LOCALS_KEPT_BYTES;
    if (!conv->feed->is_buffered)
        return 0;
    int err = feed_op_zero(conv, FEED_RECORDER_LOCALS, LOCALS_KEPT);
    if (!err)
        err = feed_op_zero(conv, FEED_RECORDER_LOCALS + kept_end, WD_PAGE - kept_end);
    return err ? err : feed_locals_write_stack_end(conv, child);
}

int feed_buffer_exiting(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    int number = own_number(conv), err = 0;
    if (feed_call_failed(&frame->regs))
        return 0;
    if (number == RRCALL_INIT_PRELOAD && conv->is_target)
        conv->feed->is_buffered = true;
    if (number != RRCALL_INIT_BUFFERS)
        return 0;
    task->buffer = frame->regs.rax;
    for (size_t i = 0; i < frame->mmap_count && !err; i++) {
        err = feed_op_map(conv, &frame->mmaps[i], FEED_VMA_RECORDER);
        task->buffer_end = frame->mmaps[i].end;
    }
    return err;
}

int feed_buffer_release(struct feed_conv *conv, struct feed_task *task)
{
    int err = task->buffer ? feed_op_unmap(conv, task->buffer, task->buffer_end) : 0;
    task->buffer = 0;
    return err;
}

/* Before the entry of a call that says that the hook is left: rr asked the library for it. */
int feed_buffer_entering(struct feed_conv *conv, const struct feed_task *task)
{
    const uint8_t yes = 1;
    if (own_number(conv) != RRCALL_NOTIFY_HOOK_EXIT || !conv->is_target || !task->buffer)
        return 0;
    int err = feed_begin_ops(conv, task);
    return err ? err : feed_op_bytes(conv, task->buffer + HEADER_NOTIFY_EXIT, &yes, sizeof(yes));
}

/* ---------------------------------------------------------------- records */

static int begin_open(struct feed_conv *conv, const struct feed_task *task, unsigned kind,
                      int number, const struct record *record)
{
    struct evq_regs none = {.r = {0}};
    struct evq_entry head = feed_head(conv, task, kind);
    head.flags |= EVQ_FLAG_BUFFERED;
    head.number = number;
    if (kind == EVQ_SYSCALL_EXIT)
        return feed_entry_begin(&conv->build, &head, NULL);
    if (record) {
        none.r[EVQ_ORIG_RAX] = (uint64_t)record->number;
        head.compare_mask = EVQ_BIT(EVQ_ORIG_RAX);
        head.address = task->buffer;
        head.code = (int64_t)record->at;
    }
    return feed_entry_begin(&conv->build, &head, &none);
}

static int open_result(struct feed_conv *conv, int64_t result)
{
    struct rrt_regs regs = {.rax = (uint64_t)result};
    return feed_op_regs(conv, &regs);
}

/* What an mprotect did, its own record says; the call's arguments are those. */
static int apply_protect(struct feed_conv *conv, const struct rrt_protect *protect, int64_t result)
{
    struct rrt_frame call = *conv->frame;
    struct feed_conv as_traced = *conv;
    if (!protect->size_bytes)
        return 0;
    call.regs = (struct rrt_regs){.rdi = protect->start,
                                  .rsi = protect->size_bytes,
                                  .rdx = (uint64_t)protect->prot,
                                  .rax = (uint64_t)result};
    as_traced.frame = &call;
    int err = feed_call_apply(&as_traced, SYS_mprotect);
    conv->build = as_traced.build;
    return err;
}

static int add_discard(struct feed_conv *conv)
{
    struct evq_op op = evq_op_range(EVQ_OP_DISCARD, 0, WD_PAGE);
    int err = feed_tables_name(conv->feed, "[heap]", &op.map.name);
    return err ? err : feed_entry_op(&conv->build, &op, NULL, 0);
}

static int add_capture(struct feed_conv *conv, uint64_t bytes, uint64_t count, unsigned tag)
{
    struct evq_op op = evq_op_range(EVQ_OP_CAPTURE, count, bytes);
    op.capture.tag = tag;
    return feed_entry_op(&conv->build, &op, NULL, 0);
}

/* What of the call's arguments is to be known, as feed_call_capture() does where it is made by the
 * program. */
static int capture(struct feed_conv *conv, const struct record *record)
{
    const uint64_t one = EVQ_REG_COUNT;
    if (record->result < 0)
        return 0;
    switch (record->number) {
    case SYS_writev:
    case SYS_pwritev:
    case SYS_pwritev2:
    case SYS_vmsplice:
        return add_capture(conv, IOVEC_BYTES, EVQ_RDX, REP_CAPTURE_IOVEC);
    case SYS_sendmsg:
        return add_capture(conv, MSGHDR_BYTES, one, REP_CAPTURE_MSGHDR);
    default:
        return 0;
    }
}

static bool is_rdtsc(const struct feed_conv *conv, const struct record *record)
{
    return record->number == conv->feed->header->rrcall_base + RRCALL_RDTSC;
}

/* The library executed rdtsc in the place of one of the program's. */
static int add_rdtsc(struct feed_conv *conv, const struct feed_task *task,
                     const struct record *record)
{
    struct rrt_regs regs = {0};
    uint32_t tsc[2];
    memcpy(tsc, record->data, sizeof(tsc));
    regs.rax = tsc[0];
    regs.rdx = tsc[1];
    int err = begin_open(conv, task, EVQ_TRAP, 0, NULL);
    return err ? err : feed_op_regs(conv, &regs);
}

static int add_record(struct feed_conv *conv, const struct feed_task *task,
                      const struct record *record, const struct rrt_protect *protect)
{
    int number = record->number;
    uint64_t at = task->buffer + conv->feed->header->syscallbuf_header_size_bytes + record->at;
    int err = begin_open(conv, task, EVQ_SYSCALL_ENTER, number, record);
    if (!err)
        err = begin_open(conv, task, EVQ_SYSCALL_EXIT, number, record);
    if (!err && protect)
        err = apply_protect(conv, protect, record->result);
    if (!err && number == SYS_madvise)
        err = add_discard(conv);
    if (!err && record->data_bytes)
        err = feed_op_bytes(conv, at + RECORD_DATA, record->data, record->data_bytes);
    if (!err)
        err = capture(conv, record);
    return err ? err : open_result(conv, record->result);
}

/* Reads the record at `at` of `bytes`; *next is where the one after it is. */
static int read_record(const struct feed_conv *conv, const uint8_t *records, uint64_t bytes,
                       uint64_t at, struct record *record, uint64_t *next)
{
    uint16_t number;
    uint32_t size;
    if (bytes - at < RECORD_DATA)
        return feed_corrupt(conv->frame,
                            "the buffer of system calls ends within a record, at byte %llu",
                            (unsigned long long)at);
    memcpy(&record->result, records + at + RECORD_RESULT, sizeof(record->result));
    memcpy(&number, records + at + RECORD_NUMBER, sizeof(number));
    memcpy(&size, records + at + RECORD_SIZE, sizeof(size));
    uint64_t stored = ((uint64_t)size + RECORD_ALIGN - 1) & -(uint64_t)RECORD_ALIGN;
    if (size < RECORD_DATA || stored > bytes - at)
        return feed_corrupt(conv->frame,
                            "a record of %u bytes at byte %llu of the buffer of system calls, "
                            "which has %llu",
                            size, (unsigned long long)at, (unsigned long long)bytes);
    record->number = number;
    record->at = at;
    record->data = records + at + RECORD_DATA;
    record->data_bytes = size - RECORD_DATA;
    *next = at + stored;
    return 0;
}

/* Refuses records that do not say what their call did. */
static int check_record(const struct feed_conv *conv, const struct record *record)
{
    bool reads = record->number == SYS_read && record->result > 0;
    if (reads && (uint64_t)record->result > record->data_bytes)
        return feed_refuse(conv->frame,
                           "what a program read lies in a copy of the file (cloned_data), which is "
                           "not supported; record with wetdbg record, or rr record -n");
    if (is_rdtsc(conv, record) && record->data_bytes != TSC_BYTES)
        return feed_corrupt(conv->frame, "a buffered rdtsc has %llu bytes",
                            (unsigned long long)record->data_bytes);
    return 0;
}

static int add_records(struct feed_conv *conv, const struct feed_task *task, const uint8_t *records,
                       uint64_t bytes)
{
    const struct rrt_frame *frame = conv->frame;
    struct record record = {0};
    size_t protects = 0;
    int err = 0;
    for (uint64_t at = 0, next = 0; at < bytes && !err; at = next) {
        const struct rrt_protect *protect = NULL;
        err = read_record(conv, records, bytes, at, &record, &next);
        if (!err)
            err = check_record(conv, &record);
        if (err)
            return err;
        if (is_rdtsc(conv, &record)) {
            err = add_rdtsc(conv, task, &record);
            continue;
        }
        if (record.number == SYS_mprotect && protects == frame->protect_count)
            return feed_corrupt(frame, "more buffered calls of mprotect than it is said what they "
                                       "did");
        if (record.number == SYS_mprotect)
            protect = &frame->protects[protects++];
        err = add_record(conv, task, &record, protect);
    }
    if (!err && protects != frame->protect_count)
        return feed_corrupt(frame,
                            "fewer buffered calls of mprotect than it is said what they did");
    return err;
}

/* The bytes of the frame's record of the buffer, with holes put in. */
static int read_buffer(struct feed_conv *conv, const struct rrt_write *write)
{
    struct wd_buf *out = &conv->feed->buffered;
    const uint8_t *bytes = write->bytes;
    uint64_t at = 0;
    int err = 0;
    out->size_bytes = 0;
    if (!write->bytes && write->stored_bytes)
        return feed_corrupt(conv->frame, "a record without its bytes");
    for (size_t i = 0; i <= write->hole_count && !err; i++) {
        bool is_last = i == write->hole_count;
        uint64_t stop = is_last ? write->size_bytes : write->holes[i].offset_bytes;
        err = wd_buf_append(out, bytes, stop - at);
        if (err || is_last)
            break;
        bytes += stop - at;
        at = stop + write->holes[i].size_bytes;
        err = wd_buf_append_zeros(out, write->holes[i].size_bytes);
    }
    return err;
}

static int convert_records(struct feed_conv *conv, const struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    const struct wd_buf *buffer = &conv->feed->buffered;
    uint64_t header_bytes = conv->feed->header->syscallbuf_header_size_bytes;
    uint32_t bytes;
    if (frame->write_count != 1 || frame->writes[0].addr != task->buffer ||
        frame->writes[0].size_bytes > task->buffer_end - task->buffer)
        return feed_corrupt(frame, "it does not hold the task's buffer of system calls");
    int err = read_buffer(conv, &frame->writes[0]);
    if (err)
        return err;
    if (buffer->size_bytes < header_bytes)
        return feed_corrupt(frame, "the buffer of system calls ends within its header");
    memcpy(&bytes, buffer->data + HEADER_RECORD_BYTES, sizeof(bytes));
    if (bytes > buffer->size_bytes - header_bytes)
        return feed_corrupt(frame,
                            "the buffer of system calls has %llu bytes of records, and its header "
                            "says %u",
                            (unsigned long long)(buffer->size_bytes - header_bytes), bytes);
    return add_records(conv, task, buffer->data + header_bytes, bytes);
}

int feed_convert_flush(struct feed_conv *conv, struct feed_task *task)
{
    const struct rrt_frame *frame = conv->frame;
    if (!conv->space)
        return 0;
    if (conv->is_target && (!task->buffer || task->is_flushed))
        return feed_corrupt(frame, task->buffer ? "the buffer was not emptied since the last time"
                                                : "the task has no buffer of system calls");
    task->is_flushed = true;
    task->stop = FEED_STOP_RUNNING;
    if (conv->is_target && conv->build.out)
        return convert_records(conv, task);
    int err = 0;
    for (size_t i = 0; i < frame->protect_count && !err; i++)
        err = apply_protect(conv, &frame->protects[i], 0);
    return err;
}

/* ---------------------------------------------------------------- the buffer itself */

/* rr empties the buffer. Where a call was given up that had begun in it, rr did so when the library
 * had left the call's record. */
int feed_convert_reset(struct feed_conv *conv, struct feed_task *task)
{
    bool has_ended = !task->buffer && task->stop == FEED_STOP_IN_CALL; /* its last one */
    int err;
    task->is_flushed = false;
    if (!conv->is_target || has_ended)
        return 0;
    if (!task->buffer)
        return feed_corrupt(conv->frame, "the task has no buffer of system calls");
    if (task->has_aborted) {
        err = begin_open(conv, task, EVQ_SYSCALL_ENTER, EVQ_CALL_DISARMED, NULL);
        if (!err)
            err = begin_open(conv, task, EVQ_SYSCALL_EXIT, EVQ_CALL_DISARMED, NULL);
    } else {
        err = feed_begin_ops(conv, task);
    }
    if (!err)
        err = feed_op_zero(conv, task->buffer, HEADER_COUNTS_BYTES);
    if (!err)
        err = feed_op_zero(conv, task->buffer + HEADER_GENERATION, HEADER_GENERATION_BYTES);
    return err || !task->has_aborted ? err : open_result(conv, 0);
}

int feed_convert_abort(struct feed_conv *conv, struct feed_task *task)
{
    const uint8_t yes = 1;
    if (!conv->is_target)
        return 0;
    if (!task->buffer)
        return feed_corrupt(conv->frame, "the task has no buffer of system calls");
    int err = feed_begin_ops(conv, task);
    if (!err)
        err = feed_op_all_writes(conv);
    return err ? err : feed_op_bytes(conv, task->buffer + HEADER_ABORT_COMMIT, &yes, sizeof(yes));
}

/* ---------------------------------------------------------------- patches */

/* rr put a jump in the place of a system call instruction, at which the task stands: it went there
 * as if to make the call, and goes on at the same place. */
int feed_convert_patch(struct feed_conv *conv, struct feed_task *task)
{
    struct evq_entry head = feed_head(conv, task, EVQ_SYSCALL_ENTER);
    struct evq_regs regs, here;
    task->stop = FEED_STOP_AT_TRAP;
    if (!conv->space)
        return 0;
    memcpy(&here, &conv->frame->regs, sizeof(here));
    here.r[EVQ_RIP] += FEED_SYSCALL_BYTES;
    evq_regs_enter(&regs, &here);
    head.number = EVQ_CALL_PATCHED;
    head.compare_mask = EVQ_MASK_CALL;
    feed_place_ticks(conv, task, &head);
    int err = conv->is_target ? feed_entry_begin(&conv->build, &head, &regs) : 0;
    head.kind = EVQ_SYSCALL_EXIT;
    head.flags = 0;
    head.compare_mask = 0;
    if (!err && conv->is_target)
        err = feed_entry_begin(&conv->build, &head, NULL);
    if (!err)
        err = feed_op_all_maps(conv);
    if (!err)
        err = feed_op_all_writes(conv);
    return err ? err : feed_op_regs(conv, &conv->frame->regs);
}

/* rr put the jump in the place of what came before a system call instruction, too, once the call
 * was over: the task stands behind both. */
int feed_convert_patch_after(struct feed_conv *conv, struct feed_task *task)
{
    if (!conv->space)
        return 0;
    int err = feed_begin_ops(conv, task);
    if (!err)
        err = feed_op_all_maps(conv);
    return err ? err : feed_op_all_writes(conv);
}

/* rr put the jump in the place of an rdtsc, at which the task stands. */
int feed_convert_patch_trap(struct feed_conv *conv, struct feed_task *task)
{
    struct evq_entry head = feed_head(conv, task, EVQ_TRAP);
    struct evq_regs behind;
    task->stop = FEED_STOP_AT_TRAP;
    if (!conv->space)
        return 0;
    memcpy(&behind, &conv->frame->regs, sizeof(behind));
    behind.r[EVQ_RIP] += RDTSC_BYTES;
    head.compare_mask = EVQ_MASK_TRAP;
    feed_place_ticks(conv, task, &head);
    int err = conv->is_target ? feed_entry_begin(&conv->build, &head, &behind) : 0;
    if (!err)
        err = feed_op_all_maps(conv);
    if (!err)
        err = feed_op_all_writes(conv);
    return err ? err : feed_op_regs(conv, &conv->frame->regs);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The gate before an agent: it applies what passes here without looking again. Entries come from
 * the feed, but also from .wet files, which anybody can write.
 */
#include <string.h>

#include "recorder/feed/feed.h"
#include "recorder/feed/feed_space.h"
#include "recorder/feed/feed_xsave.h"
#include "recorder/ticks/digest_format.h"
#include <wetdbg/errors.h>

enum {
    PROT_ALL = 7,
    CAPTURE_MAX = 65536,
    PLACE_BYTES_MAX = 1 << 20,
    FLAGS_ALL =
        EVQ_FLAG_REGS | EVQ_FLAG_SIGINFO | EVQ_FLAG_FATAL | EVQ_FLAG_TICKS | EVQ_FLAG_BUFFERED,
    PLACE_FLAGS_ALL = EVQ_PLACE_HERE | EVQ_PLACE_STACK | EVQ_PLACE_DATA | EVQ_PLACE_TIME |
                      EVQ_PLACE_AMBIGUOUS | EVQ_PLACE_MID_REP | EVQ_PLACE_HEAP | EVQ_PLACE_LINES,
};

static int fail(const struct evq_entry *entry, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "queue entry for frame %llu: %s",
                       (unsigned long long)entry->frame, what);
}

static bool is_bytes(uint64_t start, uint64_t count)
{
    return count && start <= FEED_ADDRESS_END && count <= FEED_ADDRESS_END - start;
}

static bool is_pages(uint64_t start, uint64_t count)
{
    return is_bytes(start, count) && wd_page_is_start(start | count);
}

static bool is_valid_map(const struct evq_op *op)
{
    if (!is_pages(op->map.start, op->map.size) || op->map.prot > PROT_ALL)
        return false;
    if (op->map.file == EVQ_FILE_NONE)
        return true;
    return wd_page_is_start(op->map.file_off) && op->map.file_bytes <= op->map.size &&
           op->map.file_off <= INT64_MAX - op->map.size;
}

static bool is_valid_xstate(const struct evq_op *op, uint64_t payload_bytes)
{
    return op->xstate.size >= FEED_XSAVE_MIN_BYTES && op->xstate.size <= FEED_XSAVE_MAX_BYTES &&
           payload_bytes == ((op->xstate.size + 7) & ~7ull);
}

static bool is_valid_place(const uint8_t *payload, uint64_t payload_bytes)
{
    struct evq_place place;
    uint64_t lines = 0;
    if (payload_bytes < sizeof(place))
        return false;
    memcpy(&place, payload, sizeof(place));
    if (place.flags & ~(uint64_t)PLACE_FLAGS_ALL || place.stack_bytes > PLACE_BYTES_MAX ||
        place.data_bytes > PLACE_BYTES_MAX || place.heap_bytes > PLACE_BYTES_MAX ||
        place.targets > TCK_TARGETS_MAX)
        return false;
    if (place.flags & EVQ_PLACE_LINES)
        lines = tck_line_count(place.stack_bytes, place.data_bytes, place.heap_bytes) +
                2 * place.targets;
    return payload_bytes == sizeof(place) + 8 * lines;
}

/* The fields of one op whose payload is known to be inside the entry. */
static bool is_valid_op(const struct evq_op *op, const uint8_t *payload, uint64_t payload_bytes)
{
    switch (op->op) {
    case EVQ_OP_REGS:
        return payload_bytes == sizeof(struct evq_regs);
    case EVQ_OP_TASK_NEW:
        return op->task_new.task < EVQ_TASKS_MAX && payload_bytes == sizeof(struct evq_regs);
    case EVQ_OP_XSTATE:
        return is_valid_xstate(op, payload_bytes);
    case EVQ_OP_PLACE:
        return is_valid_place(payload, payload_bytes);
    case EVQ_OP_WRITE:
        return is_bytes(op->range.start, op->range.size) && op->range.size <= EVQ_ENTRY_MAX &&
               payload_bytes == ((op->range.size + 7) & ~7ull);
    default:
        break;
    }
    if (payload_bytes)
        return false;
    switch (op->op) {
    case EVQ_OP_ZERO:
        return is_bytes(op->range.start, op->range.size);
    case EVQ_OP_MAP:
        return is_valid_map(op);
    case EVQ_OP_UNMAP:
    case EVQ_OP_DISCARD:
        return is_pages(op->range.start, op->range.size);
    case EVQ_OP_PROTECT:
        return is_pages(op->protect.start, op->protect.size) && op->protect.prot <= PROT_ALL;
    case EVQ_OP_REMAP:
        return is_pages(op->remap.start, op->remap.size) &&
               is_pages(op->remap.to, op->remap.to_size) && op->remap.stays <= 1;
    case EVQ_OP_CLEAR_SPACE:
        return true;
    case EVQ_OP_CAPTURE:
        return is_bytes(op->capture.start, op->capture.size) && op->capture.size <= CAPTURE_MAX;
    default:
        return false;
    }
}

static int check_head(const struct evq_entry *entry, size_t size_bytes)
{
    if (entry->bytes < sizeof(*entry) || entry->bytes % 8 || entry->bytes > size_bytes ||
        entry->bytes > EVQ_ENTRY_MAX)
        return fail(entry, "its size is out of bounds");
    if (entry->kind < EVQ_OPS || entry->kind > EVQ_END)
        return fail(entry, "it is of no known kind");
    if (entry->flags & ~FLAGS_ALL)
        return fail(entry, "it has unknown flags");
    if (entry->task >= EVQ_TASKS_MAX)
        return fail(entry, "its task number is too large");
    if (entry->compare_mask >> EVQ_REG_COUNT)
        return fail(entry, "it compares registers that do not exist");
    if ((entry->compare_mask || entry->kind == EVQ_PLACE) && !(entry->flags & EVQ_FLAG_REGS))
        return fail(entry, "it compares registers that it does not have");
    return 0;
}

/* Ops are copied out: bytes from a file need not be aligned. */
static int check_ops(const struct evq_entry *entry, const uint8_t *bytes, size_t at)
{
    for (uint32_t i = 0; i < entry->op_count; i++) {
        struct evq_op op;
        if (entry->bytes - at < sizeof(op))
            return fail(entry, "an op lies outside");
        memcpy(&op, bytes + at, sizeof(op));
        if (op.bytes < sizeof(op) || op.bytes % 8 || op.bytes > entry->bytes - at)
            return fail(entry, "an op's size is out of bounds");
        if (!is_valid_op(&op, bytes + at + sizeof(op), op.bytes - sizeof(op)))
            return fail(entry, "an op is malformed");
        if ((op.op == EVQ_OP_PLACE) != (entry->kind == EVQ_PLACE && i == 0))
            return fail(entry, "a place is not where it belongs");
        at += op.bytes;
    }
    if (entry->kind == EVQ_PLACE && !entry->op_count)
        return fail(entry, "an asynchronous event without a place");
    return at == entry->bytes ? 0 : fail(entry, "bytes follow its last op");
}

int evq_entry_check(const void *bytes, size_t size_bytes)
{
    struct evq_entry entry;
    size_t at = sizeof(entry);
    if (size_bytes < sizeof(entry))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "queue entry: only %zu bytes are left", size_bytes);
    memcpy(&entry, bytes, sizeof(entry));
    int err = check_head(&entry, size_bytes);
    if (err)
        return err;
    if (entry.flags & EVQ_FLAG_REGS)
        at += sizeof(struct evq_regs);
    if (at > entry.bytes)
        return fail(&entry, "its registers lie outside");
    return check_ops(&entry, bytes, at);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/trace/stored_entry.h"

#include <string.h>

#include "common/cpuid.h"

/* Puts a discard as one op per view: zeros, or the file mapped again. */
static int discard_for_store(const struct wet_space *space, const struct evq_op *op,
                             struct wd_buf *out, uint32_t *count)
{
    uint64_t end = op->range.start + op->range.size;
    for (size_t i = agt_views_find(&space->views, op->range.start);
         i < space->views.count && space->views.list[i].start < end; i++) {
        const struct agt_view *view = &space->views.list[i];
        const struct wet_object *object = &space->objects[view->file];
        uint64_t from = view->start > op->range.start ? view->start : op->range.start;
        uint64_t to = view->end < end ? view->end : end;
        uint64_t inside = view->file_off + (from - view->start);
        struct evq_op piece = evq_op_range(EVQ_OP_ZERO, from, to - from);
        piece.bytes = sizeof(piece);
        if (object->file != EVQ_FILE_NONE && inside < object->file_bytes) {
            piece.op = EVQ_OP_MAP;
            piece.map.prot = view->prot;
            piece.map.file = object->file;
            piece.map.file_off = object->file_off + inside;
            uint64_t rest = object->file_bytes - inside;
            piece.map.file_bytes = rest < to - from ? rest : to - from;
            piece.map.name = view->name;
        }
        int err = wd_buf_append(out, &piece, sizeof(piece));
        if (err)
            return err;
        ++*count;
    }
    return 0;
}

/* Puts a place by what is known once it has been found: when, and how. */
static int place_for_store(const struct evq_op *op, uint64_t time, struct wd_buf *out)
{
    struct evq_place place;
    memcpy(&place, op + 1, sizeof(place));
    struct evq_place stored = {
        .flags = (place.flags & (EVQ_PLACE_HERE | WET_PLACE_FOUND)) | EVQ_PLACE_TIME, .time = time};
    struct evq_op head = *op;
    head.bytes = sizeof(head) + sizeof(stored); /* without the lines that follow the place */
    int err = wd_buf_append(out, &head, sizeof(head));
    return err ? err : wd_buf_append(out, &stored, sizeof(stored));
}

int wet_entry_for_store(const struct wet_space *space, const struct evq_entry *entry, uint64_t time,
                        struct wd_buf *out)
{
    size_t start = out->size_bytes;
    uint32_t count = 0;
    size_t head = sizeof(*entry) + (evq_entry_regs(entry) ? sizeof(struct evq_regs) : 0);
    int err = wd_buf_append(out, entry, head);
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_DISCARD) {
            err = discard_for_store(space, op, out, &count);
        } else if (op->op == EVQ_OP_PLACE) {
            err = place_for_store(op, time, out);
            count++;
        } else {
            err = wd_buf_append(out, op, op->bytes);
            count++;
        }
    }
    if (err)
        return err;
    struct evq_entry *stored = (struct evq_entry *)(out->data + start);
    stored->bytes = (uint32_t)(out->size_bytes - start);
    stored->op_count = count;
    stored->flags &= (uint16_t)~EVQ_FLAG_TICKS;
    stored->ticks = 0;
    return 0;
}

bool wet_entry_is_reached(const struct evq_entry *entry)
{
    return entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_TRAP ||
           entry->kind == EVQ_FAULT || entry->kind == EVQ_PLACE;
}

int wet_entry_open(struct wd_buf *out, uint32_t task, size_t *at)
{
    struct evq_entry entry = {.kind = EVQ_OPS, .task = task};
    *at = out->size_bytes;
    return wd_buf_append(out, &entry, sizeof(entry));
}

int wet_entry_add_op(struct wd_buf *out, const struct evq_op *op, const void *payload, size_t bytes)
{
    struct evq_op whole = *op;
    whole.bytes = (uint32_t)(sizeof(whole) + ((bytes + 7) & ~(size_t)7));
    int err = wd_buf_append(out, &whole, sizeof(whole));
    if (!err && bytes)
        err = wd_buf_append(out, payload, bytes);
    return err ? err : wd_buf_append_zeros(out, -bytes & 7);
}

struct evq_entry *wet_entry_close(struct wd_buf *out, size_t at, uint32_t op_count)
{
    struct evq_entry *entry = (struct evq_entry *)(out->data + at);
    entry->bytes = (uint32_t)(out->size_bytes - at);
    entry->op_count = op_count;
    return entry;
}

uint32_t wet_xsave_bytes(void)
{
    return wd_cpuid_ask(0xd, 0).ebx;
}

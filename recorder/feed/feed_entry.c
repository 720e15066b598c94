/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/feed/feed_entry.h"

#include <stdbool.h>
#include <string.h>

static struct evq_entry *open_entry(struct feed_builder *builder)
{
    return (struct evq_entry *)(void *)(builder->out->data + builder->at);
}

/* Buffers are allocated whole and entries are multiples of 8, but a caller may hand in a buffer
 * that holds something else before: then headers are not aligned, so they are copied. */
static void patch_header(struct feed_builder *builder, uint16_t kind, uint32_t more_ops)
{
    struct evq_entry head;
    memcpy(&head, open_entry(builder), sizeof(head));
    head.kind = kind;
    head.op_count += more_ops;
    head.bytes = (uint32_t)(builder->out->size_bytes - builder->at);
    memcpy(open_entry(builder), &head, sizeof(head));
}

int feed_entry_begin(struct feed_builder *builder, const struct evq_entry *head,
                     const struct evq_regs *regs)
{
    builder->head = *head;
    if (!builder->out)
        return 0;
    struct evq_entry entry = *head;
    entry.op_count = 0;
    entry.bytes = sizeof(entry) + (regs ? sizeof(*regs) : 0);
    if (regs)
        entry.flags |= EVQ_FLAG_REGS;
    int err = wd_buf_reserve(builder->out, entry.bytes);
    if (err)
        return err;
    builder->at = builder->out->size_bytes;
    err = wd_buf_append(builder->out, &entry, sizeof(entry));
    if (!err && regs)
        err = wd_buf_append(builder->out, regs, sizeof(*regs));
    return err;
}

static bool ends_something(uint16_t kind)
{
    return kind == EVQ_SYSCALL_EXIT || kind == EVQ_TASK_EXIT;
}

static int spill(struct feed_builder *builder)
{
    struct evq_entry next = builder->head;
    if (ends_something(next.kind)) {
        patch_header(builder, EVQ_OPS, 0);
    } else {
        next.kind = EVQ_OPS;
        next.flags &= EVQ_FLAG_FATAL;
        next.compare_mask = 0;
        next.code = 0;
        next.address = 0;
    }
    return feed_entry_begin(builder, &next, NULL);
}

int feed_entry_op(struct feed_builder *builder, const struct evq_op *op, const void *payload,
                  size_t payload_bytes)
{
    if (!builder->out)
        return 0;
    size_t padded = (payload_bytes + 7) & ~(size_t)7;
    if (builder->out->size_bytes - builder->at + sizeof(*op) + padded > EVQ_ENTRY_MAX) {
        int err = spill(builder);
        if (err)
            return err;
    }
    struct evq_op head = *op;
    head.bytes = (uint32_t)(sizeof(head) + padded);
    int err = wd_buf_reserve(builder->out, head.bytes);
    if (err)
        return err;
    err = wd_buf_append(builder->out, &head, sizeof(head));
    if (!err && payload_bytes)
        err = wd_buf_append(builder->out, payload, payload_bytes);
    if (!err && padded != payload_bytes)
        err = wd_buf_append_zeros(builder->out, padded - payload_bytes);
    if (!err)
        patch_header(builder, builder->head.kind, 1);
    return err;
}

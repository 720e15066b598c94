/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading and making the parts of a queue entry (recorder/event/queue.h).
 *
 * Everybody who looks into an entry does it by these functions, the freestanding agent included:
 * they are inline and call nothing. An entry's own size, `bytes`, has to be true; all that lies in
 * the entry is held against it, so that an entry whose ops are damaged ends early and is never read
 * past its end. Whether an entry makes sense is another question, which evq_entry_check() answers
 * (recorder/feed).
 */
#ifndef RECORDER_EVENT_OPS_H
#define RECORDER_EVENT_OPS_H

#include <stddef.h>

#include "recorder/event/queue.h"

/* The registers that an entry compares, or NULL if it has none. */
static inline const struct evq_regs *evq_entry_regs(const struct evq_entry *entry)
{
    const struct evq_regs *regs = (const struct evq_regs *)(entry + 1);
    if (!(entry->flags & EVQ_FLAG_REGS) || entry->bytes < sizeof(*entry) + sizeof(*regs))
        return NULL;
    return regs;
}

/* The op after `op`, the first one if `op` is NULL; NULL at the end, or where no whole op
 * follows. */
static inline const struct evq_op *evq_op_next(const struct evq_entry *entry,
                                               const struct evq_op *op)
{
    const uint8_t *end = (const uint8_t *)entry + entry->bytes;
    const uint8_t *at = op ? (const uint8_t *)op + op->bytes : (const uint8_t *)(entry + 1);
    if (!op && entry->flags & EVQ_FLAG_REGS)
        at += sizeof(struct evq_regs);
    const struct evq_op *next = (const struct evq_op *)at;
    if (at > end || (size_t)(end - at) < sizeof(*next) || next->bytes < sizeof(*next) ||
        next->bytes > (size_t)(end - at))
        return NULL;
    return next;
}

/* What follows an op's header, and how many bytes that are with their padding. */
static inline const uint8_t *evq_op_payload(const struct evq_op *op)
{
    return (const uint8_t *)(op + 1);
}

static inline size_t evq_op_payload_bytes(const struct evq_op *op)
{
    return op->bytes - sizeof(*op);
}

/* The registers that an op brings (EVQ_OP_REGS, EVQ_OP_TASK_NEW), or NULL if they are not there. */
static inline const struct evq_regs *evq_op_regs(const struct evq_op *op)
{
    return evq_op_payload_bytes(op) < sizeof(struct evq_regs)
               ? NULL
               : (const struct evq_regs *)evq_op_payload(op);
}

/* The registers that an entry loads: those of its first EVQ_OP_REGS; NULL if it has none. */
static inline const struct evq_regs *evq_entry_loads(const struct evq_entry *entry)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        if (op->op == EVQ_OP_REGS && evq_op_regs(op))
            return evq_op_regs(op);
    return NULL;
}

/* What an EVQ_PLACE says of where it struck; NULL if the entry is none, or does not say it. */
static inline const struct evq_place *evq_entry_place(const struct evq_entry *entry)
{
    const struct evq_op *op = entry->kind == EVQ_PLACE ? evq_op_next(entry, NULL) : NULL;
    if (!op || op->op != EVQ_OP_PLACE || evq_op_payload_bytes(op) < sizeof(struct evq_place))
        return NULL;
    return (const struct evq_place *)evq_op_payload(op);
}

/* An op of that kind whose operands are 0. All of the union is cleared, also what the kind leaves
 * unused: entries are kept in files, which are to be the same each time. */
static inline struct evq_op evq_op_new(enum evq_opcode kind)
{
    return (struct evq_op){.op = kind, .map = {.start = 0}};
}

/* An op of that kind about [start, start + size), with which the operands of most kinds begin; all
 * else is 0. */
static inline struct evq_op evq_op_range(enum evq_opcode kind, uint64_t start, uint64_t size)
{
    return (struct evq_op){.op = kind, .map = {.start = start, .size = size}};
}

#endif

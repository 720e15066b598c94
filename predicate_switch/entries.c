/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/entries.h"

#include <string.h>

/* What is compared of the registers: as in recordings. */
#define MASK_EVENT (EVQ_MASK_GENERAL | EVQ_BIT(EVQ_EFLAGS))
#define MASK_CALL  (MASK_EVENT | EVQ_BIT(EVQ_ORIG_RAX))
#define MASK_TRAP  (MASK_EVENT & ~(EVQ_BIT(EVQ_RAX) | EVQ_BIT(EVQ_RDX)))

#define WRITE_MAX  (1u << 20) /* bytes of one op */
#define ENTRY_FULL (2u << 20) /* bytes at which an entry takes no more of them */

int psw_entry_begin(struct psw_entry *entry, struct wd_buf *out, const struct evq_entry *head,
                    const struct evq_regs *regs, uint32_t mask)
{
    *entry = (struct psw_entry){.out = out, .at = out->size_bytes, .head = *head, .regs = regs};
    entry->head.op_count = 0;
    entry->head.compare_mask = mask;
    if (regs)
        entry->head.flags |= EVQ_FLAG_REGS;
    int err = wd_buf_append(out, &entry->head, sizeof(entry->head));
    return err || !regs ? err : wd_buf_append(out, regs, sizeof(*regs));
}

int psw_entry_op(struct psw_entry *entry, const struct evq_op *op, const void *payload,
                 size_t bytes)
{
    struct evq_op whole = *op;
    whole.bytes = (uint32_t)(sizeof(whole) + ((bytes + 7) & ~(size_t)7));
    int err = wd_buf_reserve(entry->out, whole.bytes);
    if (err)
        return err;
    wd_buf_append(entry->out, &whole, sizeof(whole));
    if (bytes)
        wd_buf_append(entry->out, payload, bytes);
    wd_buf_append_zeros(entry->out, -bytes & 7);
    entry->head.op_count++;
    return 0;
}

int psw_entry_load(struct psw_entry *entry, const struct evq_regs *regs)
{
    struct evq_op op = evq_op_new(EVQ_OP_REGS);
    return psw_entry_op(entry, &op, regs, sizeof(*regs));
}

/* What is there becomes an EVQ_OPS, and the entry begins behind it. */
static int entry_continue(struct psw_entry *entry)
{
    struct evq_entry head = entry->head;
    entry->head.kind = EVQ_OPS;
    entry->head.number = 0;
    psw_entry_end(entry);
    return psw_entry_begin(entry, entry->out, &head, NULL, 0);
}

int psw_entry_write(struct psw_entry *entry, uint64_t address, const void *bytes, uint64_t size)
{
    const uint8_t *from = bytes;
    while (size) {
        uint64_t piece = size < WRITE_MAX ? size : WRITE_MAX;
        int err = entry->out->size_bytes - entry->at > ENTRY_FULL ? entry_continue(entry) : 0;
        struct evq_op op = evq_op_range(EVQ_OP_WRITE, address, piece);
        if (!err)
            err = psw_entry_op(entry, &op, from, piece);
        if (err)
            return err;
        address += piece;
        from += piece;
        size -= piece;
    }
    return 0;
}

void psw_entry_end(struct psw_entry *entry)
{
    entry->head.bytes = (uint32_t)(entry->out->size_bytes - entry->at);
    memcpy(entry->out->data + entry->at, &entry->head, sizeof(entry->head));
}

int psw_call_enter(struct wd_buf *out, uint32_t task, uint64_t frame, const struct evq_regs *regs)
{
    struct psw_entry entry;
    struct evq_entry head = {.kind = EVQ_SYSCALL_ENTER,
                             .task = task,
                             .frame = frame,
                             .number = (int32_t)regs->r[EVQ_ORIG_RAX]};
    int err = psw_entry_begin(&entry, out, &head, regs, MASK_CALL);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

/* An entry of a kind, with neither registers nor ops. */
static int bare(struct wd_buf *out, enum evq_kind kind, uint32_t task, uint64_t frame)
{
    struct psw_entry entry;
    struct evq_entry head = {.kind = (uint16_t)kind, .task = task, .frame = frame};
    int err = psw_entry_begin(&entry, out, &head, NULL, 0);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

int psw_task_exit(struct wd_buf *out, uint32_t task, uint64_t frame)
{
    return bare(out, EVQ_TASK_EXIT, task, frame);
}

int psw_run_end(struct wd_buf *out, uint32_t task, uint64_t frame)
{
    return bare(out, EVQ_END, task, frame);
}

int psw_trap(struct wd_buf *out, uint32_t task, uint64_t frame, const struct evq_regs *regs,
             const struct evq_regs *loads)
{
    struct psw_entry entry;
    struct evq_entry head = {.kind = EVQ_TRAP, .task = task, .frame = frame};
    int err = psw_entry_begin(&entry, out, &head, regs, MASK_TRAP);
    if (!err)
        err = psw_entry_load(&entry, loads);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

int psw_fault(struct wd_buf *out, uint64_t frame, const struct rep_met *met)
{
    struct psw_entry entry;
    struct evq_entry head = {.kind = EVQ_FAULT,
                             .flags = EVQ_FLAG_SIGINFO,
                             .task = met->task,
                             .frame = frame,
                             .number = met->signo,
                             .code = met->code,
                             .address = met->address};
    int err = psw_entry_begin(&entry, out, &head, &met->regs, MASK_EVENT);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

int psw_place_begin(struct psw_entry *entry, struct wd_buf *out, uint32_t task, uint64_t frame,
                    int number, uint64_t time, const struct evq_regs *regs)
{
    struct evq_entry head = {.kind = EVQ_PLACE, .task = task, .frame = frame, .number = number};
    struct evq_place place = {.flags = EVQ_PLACE_TIME, .time = time};
    struct evq_op op = evq_op_new(EVQ_OP_PLACE);
    int err = psw_entry_begin(entry, out, &head, regs, MASK_EVENT);
    return err ? err : psw_entry_op(entry, &op, &place, sizeof(place));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making entries of the event queue (recorder/event/queue.h) for a run that goes on live.
 *
 * An entry is begun, gets its ops in their order, and is ended. All functions but the last are 0 or
 * -ENOMEM; `out` grows by whole entries once psw_entry_end() was called.
 */
#ifndef PREDICATE_SWITCH_ENTRIES_H
#define PREDICATE_SWITCH_ENTRIES_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "recorder/event/ops.h"
#include "recorder/replay/engine.h"

struct psw_entry {
    struct wd_buf *out;
    size_t at; /* of the entry in `out` */
    struct evq_entry head;
    const struct evq_regs *regs; /* NULL: none are compared */
};

/* Begins an entry as `head` says: kind, task, frame, number, code, address, flags. Its size and ops
 * are counted here. With `regs`, which live until the end, they are compared under `mask`. */
int psw_entry_begin(struct psw_entry *entry, struct wd_buf *out, const struct evq_entry *head,
                    const struct evq_regs *regs, uint32_t mask);

/* Adds an op; of its payload, `bytes` long, a copy. */
int psw_entry_op(struct psw_entry *entry, const struct evq_op *op, const void *payload,
                 size_t bytes);
int psw_entry_load(struct psw_entry *entry, const struct evq_regs *regs); /* EVQ_OP_REGS */

/* Adds EVQ_OP_WRITE of any size. Where an entry is full it becomes an EVQ_OPS, and goes on in
 * another one; so that is for entries that compare nothing. */
int psw_entry_write(struct psw_entry *entry, uint64_t address, const void *bytes, uint64_t size);

void psw_entry_end(struct psw_entry *entry);

/* The events that have no ops but registers. `frame`: the event's number. */

/* `regs` as the entry of a call has to have them; it comes back with `result`. */
int psw_call_enter(struct wd_buf *out, uint32_t task, uint64_t frame, const struct evq_regs *regs);

/* The task is gone. */
int psw_task_exit(struct wd_buf *out, uint32_t task, uint64_t frame);

/* The run ends. */
int psw_run_end(struct wd_buf *out, uint32_t task, uint64_t frame);

/* rdtsc and its kin, which end with `loads`. */
int psw_trap(struct wd_buf *out, uint32_t task, uint64_t frame, const struct evq_regs *regs,
             const struct evq_regs *loads);

/* A fault as it was met. */
int psw_fault(struct wd_buf *out, uint64_t frame, const struct rep_met *met);

/* Begins an event of this time that no instruction made, where the task stands (EVQ_PLACE): ops
 * follow. */
int psw_place_begin(struct psw_entry *entry, struct wd_buf *out, uint32_t task, uint64_t frame,
                    int number, uint64_t time, const struct evq_regs *regs);

#endif

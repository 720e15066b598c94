/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/trace/handler.h"

#include <string.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"

/* Not every signal calls a handler: one that is ignored loads registers too; but a handler is
 * called with the signal's number and, behind its return address, its ucontext. */
int wet_handler_change(const struct evq_entry *entry)
{
    if (entry->kind == EVQ_SYSCALL_ENTER)
        return entry->number == SYS_rt_sigreturn ? -1 : 0;
    if (entry->kind != EVQ_OPS)
        return 0;
    const struct evq_regs *regs = evq_entry_loads(entry);
    return regs && regs->r[EVQ_RDI] == (uint64_t)entry->number &&
           regs->r[EVQ_RDX] == regs->r[EVQ_RSP] + 8;
}

uint64_t wet_handler_return(const struct evq_entry *entry)
{
    uint64_t word = 0, address = evq_entry_loads(entry)->r[EVQ_RSP];
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_WRITE && op->range.start == address &&
            evq_op_payload_bytes(op) >= sizeof(word) && op->range.size >= sizeof(word))
            memcpy(&word, evq_op_payload(op), sizeof(word));
    }
    return word;
}

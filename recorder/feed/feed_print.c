/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Entries as text, for people who debug a replay. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/event/ops.h"
#include "recorder/feed/feed.h"

static const char *const kind_names[] = {
    [EVQ_OPS] = "OPS",
    [EVQ_SYSCALL_ENTER] = "SYSCALL_ENTER",
    [EVQ_SYSCALL_EXIT] = "SYSCALL_EXIT",
    [EVQ_TRAP] = "TRAP",
    [EVQ_FAULT] = "FAULT",
    [EVQ_PLACE] = "PLACE",
    [EVQ_TASK_EXIT] = "TASK_EXIT",
    [EVQ_END] = "END",
    [EVQ_PAD] = "PAD",
};

static const char *const opcode_names[] = {
    [EVQ_OP_REGS] = "REGS",         [EVQ_OP_XSTATE] = "XSTATE",
    [EVQ_OP_WRITE] = "WRITE",       [EVQ_OP_ZERO] = "ZERO",
    [EVQ_OP_MAP] = "MAP",           [EVQ_OP_UNMAP] = "UNMAP",
    [EVQ_OP_PROTECT] = "PROTECT",   [EVQ_OP_REMAP] = "REMAP",
    [EVQ_OP_DISCARD] = "DISCARD",   [EVQ_OP_CLEAR_SPACE] = "CLEAR_SPACE",
    [EVQ_OP_TASK_NEW] = "TASK_NEW", [EVQ_OP_CAPTURE] = "CAPTURE",
    [EVQ_OP_PLACE] = "PLACE",
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

const char *rep_entry_kind_name(unsigned kind)
{
    return kind < COUNT_OF(kind_names) && kind_names[kind] ? kind_names[kind] : "?";
}

const char *rep_opcode_name(unsigned op)
{
    return op < COUNT_OF(opcode_names) && opcode_names[op] ? opcode_names[op] : "?";
}

static void print_regs(const struct evq_regs *regs, FILE *out)
{
    fprintf(out, " rip %#llx rsp %#llx rax %#llx orig_rax %lld rdi %#llx rsi %#llx rdx %#llx",
            (unsigned long long)regs->r[EVQ_RIP], (unsigned long long)regs->r[EVQ_RSP],
            (unsigned long long)regs->r[EVQ_RAX], (long long)regs->r[EVQ_ORIG_RAX],
            (unsigned long long)regs->r[EVQ_RDI], (unsigned long long)regs->r[EVQ_RSI],
            (unsigned long long)regs->r[EVQ_RDX]);
}

static void print_range(const struct evq_op *op, FILE *out)
{
    fprintf(out, " [%#llx, %#llx)", (unsigned long long)op->range.start,
            (unsigned long long)(op->range.start + op->range.size));
}

static void print_map(const struct evq_op *op, FILE *out)
{
    print_range(op, out);
    fprintf(out, " %c%c%c", op->map.prot & PROT_READ ? 'r' : '-',
            op->map.prot & PROT_WRITE ? 'w' : '-', op->map.prot & PROT_EXEC ? 'x' : '-');
    if (op->map.file != EVQ_FILE_NONE)
        fprintf(out, " file %llu from %#llx, %#llx bytes", (unsigned long long)op->map.file,
                (unsigned long long)op->map.file_off, (unsigned long long)op->map.file_bytes);
    if (op->map.name != EVQ_NAME_NONE)
        fprintf(out, " name %llu", (unsigned long long)op->map.name);
}

static void print_digest(const char *what, uint64_t start, uint64_t count, FILE *out)
{
    fprintf(out, ", %s [%#llx, %#llx)", what, (unsigned long long)start,
            (unsigned long long)(start + count));
}

static void print_place(const struct evq_place *place, FILE *out)
{
    fputs(place->flags & EVQ_PLACE_HERE ? " here" : " searched", out);
    if (place->flags & EVQ_PLACE_STACK)
        print_digest("stack", place->stack_start, place->stack_bytes, out);
    if (place->flags & EVQ_PLACE_DATA)
        print_digest("data", place->data_start, place->data_bytes, out);
    if (place->flags & EVQ_PLACE_HEAP)
        print_digest("heap", place->heap_start, place->heap_bytes, out);
    if (place->flags & EVQ_PLACE_LINES)
        fputs(", lines", out);
    if (place->limit)
        fprintf(out, ", limit %llu", (unsigned long long)place->limit);
    if (place->flags & EVQ_PLACE_TIME)
        fprintf(out, ", time %llu", (unsigned long long)place->time);
    if (place->flags & EVQ_PLACE_MID_REP)
        fputs(", within rep", out);
    if (place->flags & EVQ_PLACE_AMBIGUOUS)
        fputs(", ambiguous", out);
}

static void print_op(const struct evq_entry *entry, const struct evq_op *op, FILE *out)
{
    fprintf(out, "    %s", rep_opcode_name(op->op));
    switch (op->op) {
    case EVQ_OP_REGS:
        print_regs(evq_op_regs(op), out);
        break;
    case EVQ_OP_TASK_NEW:
        fprintf(out, " %llu thread %llu", (unsigned long long)op->task_new.task,
                (unsigned long long)op->task_new.tid);
        print_regs(evq_op_regs(op), out);
        break;
    case EVQ_OP_PLACE:
        print_place(evq_entry_place(entry), out);
        break;
    case EVQ_OP_XSTATE:
        fprintf(out, " %llu bytes", (unsigned long long)op->xstate.size);
        break;
    case EVQ_OP_MAP:
        print_map(op, out);
        break;
    case EVQ_OP_PROTECT:
    case EVQ_OP_CAPTURE:
        print_range(op, out);
        fprintf(out, " %llu", (unsigned long long)op->protect.prot);
        break;
    case EVQ_OP_REMAP:
        print_range(op, out);
        fprintf(out, " to [%#llx, %#llx)%s", (unsigned long long)op->remap.to,
                (unsigned long long)(op->remap.to + op->remap.to_size),
                op->remap.stays ? " and stays" : "");
        break;
    case EVQ_OP_CLEAR_SPACE:
        break;
    default:
        print_range(op, out);
        break;
    }
    fputc('\n', out);
}

static void print_head(const struct evq_entry *entry, FILE *out)
{
    fprintf(out, "%llu %s task %u", (unsigned long long)entry->frame,
            rep_entry_kind_name(entry->kind), entry->task);
    if (entry->number || entry->kind == EVQ_SYSCALL_ENTER || entry->kind == EVQ_SYSCALL_EXIT)
        fprintf(out, " number %d", entry->number);
    if (entry->kind == EVQ_FAULT || entry->kind == EVQ_PLACE)
        fprintf(out, " code %lld address %#llx", (long long)entry->code,
                (unsigned long long)entry->address);
    if (entry->compare_mask)
        fprintf(out, " mask %#x", entry->compare_mask);
    if (entry->flags & EVQ_FLAG_FATAL)
        fputs(" fatal", out);
    if (entry->flags & EVQ_FLAG_TICKS)
        fprintf(out, " ticks %llu", (unsigned long long)entry->ticks);
}

int rep_entry_print(const struct evq_entry *entry, FILE *out)
{
    print_head(entry, out);
    if (evq_entry_regs(entry))
        print_regs(evq_entry_regs(entry), out);
    fputc('\n', out);
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));)
        print_op(entry, op, out);
    return ferror(out) ? -EIO : 0;
}

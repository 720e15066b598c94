/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/detours.h"

#include <signal.h>
#include <string.h>

#include "predicate_switch/entries.h"
#include "recorder/insn/insn_eval.h"
#include <wetdbg/errors.h>

#define INT3 0xcc

/* ---- conditions ---- */

bool psw_condition_make(unsigned condition, bool holds, uint64_t *flags, uint64_t *rcx)
{
    uint64_t used = ins_condition_flags(condition), tried = 0;
    if (ins_condition_holds(condition, *flags, *rcx) == holds)
        return true;
    do {
        for (uint64_t count = 0; count < 4; count++) {
            uint64_t other_flags = (*flags & ~used) | tried, other_rcx = count < 3 ? count : *rcx;
            if (ins_condition_holds(condition, other_flags, other_rcx) != holds)
                continue;
            *flags = other_flags;
            *rcx = condition < INS_COND_RCXZ ? *rcx : other_rcx;
            return true;
        }
        tried = (tried - used) & used; /* the next subset */
    } while (tried);
    return false;
}

/* ---- breakpoints ---- */

static struct psw_point *point_at(const struct psw_detours *detours, uint64_t pc)
{
    for (unsigned i = 0; i < detours->point_count; i++)
        if (detours->points[i].pc == pc)
            return (struct psw_point *)&detours->points[i];
    return NULL;
}

static int point_add(struct psw_detours *detours, const struct psw_detour *detour,
                     struct rep_engine *engine)
{
    struct psw_point *point = &detours->points[detours->point_count];
    uint8_t code[15];
    size_t done = 0;
    if (point_at(detours, detour->pc))
        return 0;
    int err = rep_engine_read(engine, detour->pc, code, sizeof(code), &done);
    if (err)
        return err;
    if (!done || ins_decode(code, done, detour->pc, &point->info))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "no instruction is at %#llx yet",
                           (unsigned long long)detour->pc);
    point->pc = detour->pc;
    point->executions = detour->before;
    point->most = detour->most;
    point->byte = code[0];
    detours->point_count++;
    return 0;
}

static int byte_write(struct psw_entry *entry, uint64_t address, uint8_t byte)
{
    return psw_entry_write(entry, address, &byte, 1);
}

int psw_detours_begin(struct psw_detours *detours, const struct psw_detour *items, unsigned count,
                      struct rep_engine *engine, uint64_t *frame, struct wd_buf *out)
{
    struct evq_entry head = {.kind = EVQ_OPS, .task = rep_engine_running(engine)};
    struct psw_entry entry;
    int err = 0;
    *detours = (struct psw_detours){.items = items, .count = count};
    for (unsigned i = 0; i < count && !err; i++)
        err = point_add(detours, &items[i], engine);
    if (err || !count)
        return err;
    head.frame = ++*frame;
    err = psw_entry_begin(&entry, out, &head, NULL, 0);
    for (unsigned i = 0; i < detours->point_count && !err; i++)
        err = byte_write(&entry, detours->points[i].pc, INT3);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

bool psw_detours_met(const struct psw_detours *detours, const struct rep_met *met)
{
    return met->kind == EVQ_FAULT && met->signo == SIGTRAP &&
           point_at(detours, met->regs.r[EVQ_RIP] - 1);
}

/* ---- what happens there ---- */

/* The detour that an execution takes, or NULL. */
static const struct psw_detour *detour_of(const struct psw_detours *detours,
                                          const struct psw_point *point)
{
    for (unsigned i = 0; i < detours->count; i++) {
        const struct psw_detour *each = &detours->items[i];
        if (each->pc == point->pc && point->executions >= each->first &&
            point->executions <= each->last)
            return each;
    }
    return NULL;
}

/* Where a jump leads; 0 for what has to be executed to know. */
static uint64_t target_of(const struct psw_point *point, const struct psw_detour *taken,
                          const struct evq_regs *regs)
{
    const struct ins_info *info = &point->info;
    if (info->klass != INS_JCC)
        return taken && info->klass == INS_JMP_INDIRECT ? taken->to : 0;
    if (taken)
        return taken->to;
    return ins_condition_holds(info->condition, regs->r[EVQ_EFLAGS], regs->r[EVQ_RCX])
               ? info->target
               : point->pc + info->length;
}

static int registers_load(const struct evq_entry *head, const struct evq_regs *regs,
                          const uint8_t *byte, uint64_t pc, struct wd_buf *out)
{
    struct psw_entry entry;
    int err = psw_entry_begin(&entry, out, head, NULL, 0);
    if (!err && byte)
        err = byte_write(&entry, pc, *byte);
    if (!err)
        err = psw_entry_load(&entry, regs);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

/* The instruction itself is there for one execution, with flags by which it is decided; behind it
 * the flags are what they were, since nothing that chooses changes them. */
static int put_back(struct psw_detours *detours, const struct psw_point *point,
                    const struct psw_detour *taken, const struct rep_met *met, uint64_t *frame,
                    struct wd_buf *out)
{
    struct evq_regs regs = met->regs;
    struct evq_entry head = {.kind = EVQ_OPS, .task = met->task, .frame = ++*frame};
    struct psw_entry entry;
    regs.r[EVQ_RIP] = point->pc;
    if (taken && (point->info.condition == INS_COND_NONE ||
                  !psw_condition_make(point->info.condition, taken->to, &regs.r[EVQ_EFLAGS],
                                      &regs.r[EVQ_RCX])))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "nothing to switch at %#llx",
                           (unsigned long long)point->pc);
    int err = registers_load(&head, &regs, &point->byte, point->pc, out);
    detours->busy = met->time + 1;
    if (!err)
        err = psw_place_begin(&entry, out, met->task, ++*frame, 0, detours->busy, &met->regs);
    if (err)
        return err;
    entry.head.compare_mask = 0;
    err = byte_write(&entry, point->pc, INT3);
    if (!err)
        psw_entry_end(&entry);
    return err;
}

int psw_detours_answer(struct psw_detours *detours, const struct rep_met *met, uint64_t *frame,
                       struct wd_buf *out)
{
    struct psw_point *point = point_at(detours, met->regs.r[EVQ_RIP] - 1);
    if (point->executions++ >= point->most)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "limit of executions of what is switched");
    const struct psw_detour *taken = detour_of(detours, point);
    struct evq_regs regs = met->regs;
    int err = psw_fault(out, ++*frame, met);
    regs.r[EVQ_RIP] = target_of(point, taken, &regs);
    if (err)
        return err;
    if (!regs.r[EVQ_RIP])
        return put_back(detours, point, taken, met, frame, out);
    struct evq_entry head = {.kind = EVQ_OPS, .task = met->task, .frame = ++*frame};
    return registers_load(&head, &regs, NULL, 0, out);
}

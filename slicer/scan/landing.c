/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/landing.h"

#include <errno.h>
#include <sys/user.h>

#define EXECS_MAX 256 /* that are looked at */

/* The stack pointer before the statement, if one of its operands tells; or 0. */
static uint64_t stack_of(const struct wet_statement *statement, const uint64_t *slots)
{
    const struct ins_info *info = statement->info;

    for (unsigned m = 0; m < info->mem_count && !info->mems[m].lanes; m++) {
        const struct ins_mem *mem = &info->mems[m];
        if (mem->base == INS_RSP && mem->index < 0 &&
            !(mem->flags & (INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 | INS_MEM_BIT_OFFSET)))
            return slots[statement->slot + m] - (uint64_t)mem->disp;
    }
    return 0;
}

/* Looks at up to *left executions from `e` on of one thread. */
static int look(struct slc_code *code, const struct wet_interval *interval, size_t e, uint32_t task,
                unsigned *left, struct slc_landing *landing)
{
    for (; e < interval->exec_count && *left && !landing->rsp; e++) {
        const struct wet_exec *exec = &interval->execs[e];
        if (exec->task != task)
            continue;
        const struct slc_node *node = slc_code_node(code, exec->node);
        if (!node)
            return -ENOMEM;
        for (uint32_t s = 0; s < node->statement_count && !landing->rsp; s++) {
            const struct wet_statement *statement = &node->wet->statements[s];
            landing->rsp = stack_of(statement, interval->slots + exec->slot_off);
            landing->is_above = statement->info->klass == INS_RET;
        }
        --*left;
    }
    return 0;
}

int slc_landing_find(struct slc_code *code, const struct wet_interval *interval, size_t e,
                     uint32_t task, struct slc_landing *landing)
{
    const struct wet_interval *next;
    unsigned left = EXECS_MAX;

    *landing = (struct slc_landing){.rsp = 0};
    int err = look(code, interval, e, task, &left, landing);
    if (err || landing->rsp || !left ||
        interval->index + 1 == wetdbg_get_info(code->wet)->intervals)
        return err;
    err = wet_interval_get(code->wet, interval->index + 1, &next);
    if (err)
        return err;
    err = look(code, next, 0, task, &left, landing);
    wet_interval_put(code->wet, next);
    return err;
}

int slc_landing_ask(struct wetdbg *wet, wetdbg_time jump, struct slc_landing *landing)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(wet, jump, &state);

    if (err)
        return err;
    *landing = (struct slc_landing){.rsp = wetdbg_state_registers(state)->rsp};
    wetdbg_state_close(state);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/landing.h"

#include <errno.h>
#include <string.h>
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

static bool moves_stack(const struct ins_info *info)
{
    struct ins_regset rsp = {0};

    ins_regset_add_gpr(&rsp, INS_RSP, 0, 8);
    for (unsigned f = 0; f < info->flow_count; f++)
        if (ins_regset_intersects(&info->flows[f].defs, &rsp))
            return true;
    return false;
}

/* What `add rsp, constant` adds, or `sub`, as compilers write them; false for all else. */
static bool constant_of(const uint8_t *code, unsigned length, int64_t *added)
{
    bool is_add = length > 2 && code[2] == 0xc4, is_sub = length > 2 && code[2] == 0xec;
    int32_t wide = 0;

    if (code[0] != 0x48 || !(is_add || is_sub))
        return false;
    if (code[1] == 0x83 && length == 4)
        wide = (int8_t)code[3];
    else if (code[1] == 0x81 && length == 7)
        memcpy(&wide, code + 3, sizeof(wide));
    else
        return false;
    *added = is_add ? wide : -(int64_t)wide;
    return true;
}

struct search {
    unsigned left;  /* executions that may be looked at */
    uint64_t moved; /* by how much constants have moved the stack pointer */
};

/* Passes a statement after the landing. */
static void pass_statement(const struct wet_node *node, const struct wet_statement *statement,
                           const uint64_t *slots, struct search *search,
                           struct slc_landing *landing)
{
    int64_t added = 0;
    uint64_t rsp = stack_of(statement, slots);

    landing->rsp = rsp ? rsp - search->moved : 0;
    if (rsp || !moves_stack(statement->info))
        return;
    if (!constant_of(node->code + statement->byte_off, statement->info->length, &added))
        landing->is_moved = true;
    search->moved += (uint64_t)added;
}

/* Looks at executions from `e` on of one thread. */
static int look(struct slc_code *code, const struct wet_interval *interval, size_t e, uint32_t task,
                struct search *search, struct slc_landing *landing)
{
    for (; e < interval->exec_count && search->left && !landing->rsp; e++) {
        const struct wet_exec *exec = &interval->execs[e];
        if (exec->task != task)
            continue;
        const struct slc_node *node = slc_code_node(code, exec->node);
        if (!node)
            return -ENOMEM;
        for (uint32_t s = 0; s < node->statement_count && !landing->rsp; s++)
            pass_statement(node->wet, &node->wet->statements[s], interval->slots + exec->slot_off,
                           search, landing);
        search->left--;
    }
    return 0;
}

int slc_landing_find(struct slc_code *code, const struct wet_interval *interval, size_t e,
                     uint32_t task, struct slc_landing *landing)
{
    const struct wet_interval *next;
    struct search search = {.left = EXECS_MAX};

    *landing = (struct slc_landing){.rsp = 0};
    int err = look(code, interval, e, task, &search, landing);
    if (err || landing->rsp || !search.left ||
        interval->index + 1 == wetdbg_get_info(code->wet)->intervals)
        return err;
    err = wet_interval_get(code->wet, interval->index + 1, &next);
    if (err)
        return err;
    err = look(code, next, 0, task, &search, landing);
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

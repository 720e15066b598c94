/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/leave.h"

#include <assert.h>
#include <string.h>

#include "recorder/dbi/scratch.h"

void dbi_rip_store(struct emit *e, uint64_t rip)
{
    emit_store_imm_gs(e, AGT_CTX_RIP, (uint32_t)rip);
    emit_store_imm_gs(e, AGT_CTX_RIP + 4, (uint32_t)(rip >> 32));
}

void dbi_leave_emit(struct emit *e, uint64_t rip, enum agt_exit kind)
{
    dbi_rip_store(e, rip);
    emit_store_imm_gs(e, AGT_CTX_EXIT_KIND, kind);
    emit_jmp_gs(e, AGT_CTX_AGENT_EXIT);
}

void dbi_agent_call(struct work *w, enum agt_exit kind, uint32_t arg)
{
    dbi_regs_restore(w, UINT16_MAX);
    emit_store_imm_gs(w->e, AGT_CTX_EXIT_KIND, kind);
    emit_store_imm_gs(w->e, AGT_CTX_EXIT_ARG, arg);
    emit_store_imm_gs(w->e, AGT_CTX_RESUME, 0);
    uint8_t *low = w->e->at - 4;
    emit_store_imm_gs(w->e, AGT_CTX_RESUME + 4, 0);
    uint8_t *high = w->e->at - 4;
    emit_jmp_gs(w->e, AGT_CTX_AGENT_EXIT);
    if (w->e->overflow)
        return;
    uint64_t resume = emit_host(w->e);
    uint32_t parts[2] = {(uint32_t)resume, (uint32_t)(resume >> 32)};
    memcpy(low, &parts[0], 4);
    memcpy(high, &parts[1], 4);
}

void dbi_leave_time_emit(struct work *w, uint64_t rip)
{
    dbi_rip_store(w->cold, rip);
    emit_branch(w->cold, EMIT_JMP, w->shared->time);
}

void dbi_exit_add(struct work *w, unsigned opcode, uint64_t target)
{
    assert(w->out->exit_count < sizeof(w->out->exits) / sizeof(w->out->exits[0]));
    struct dbi_exit_site *site = &w->out->exits[w->out->exit_count++];
    site->target = target;
    site->rel32 = emit_branch(w->e, opcode, 0);
    w->out->falls = opcode == EMIT_JMP;
}

void dbi_emit_leave(struct emit *e, const struct dbi_shared *shared, uint64_t pc)
{
    dbi_rip_store(e, pc);
    emit_branch(e, EMIT_JMP, shared->leave);
}

void dbi_emit_far(struct emit *e, uint64_t host)
{
    emit_jmp_far(e, host);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers and scatters: lists of addresses, of which a mask chooses.
 *
 * Translated code works no address out: it stores index and mask as they are before the
 * instruction, in the ring for whoever reads it (insn_ranges.h), or in the context for the agent,
 * which marks what a scatter writes. Slow, but these are rare, and what faults halfway is the
 * instruction itself.
 */
#include "recorder/dbi/lanes.h"

#include "recorder/dbi/emit_vector.h"
#include "recorder/dbi/leave.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/scratch.h"

/* Whether there are mask registers: where a processor lacks them, the instruction itself is to
 * fault and not what belongs to it. */
static bool has_mask_registers(void)
{
    return __builtin_cpu_supports("avx512f");
}

bool dbi_lanes_store(struct work *w, const struct ins_mem *mem)
{
    if (!(mem->flags & INS_MEM_K))
        emit_store_ymm_gs(w->e, -1, AGT_LANES_OFF, (unsigned)mem->index);
    else if (has_mask_registers())
        emit_store_zmm_gs(w->e, -1, AGT_LANES_OFF, (unsigned)mem->index);
    else
        return false;
    return true;
}

void dbi_lanes_collect(struct work *w, unsigned at, const struct ins_mem *mem)
{
    unsigned index = w->word, mask = w->word + 8;
    w->word += 16;
    w->slot += 16;
    if (!(mem->flags & INS_MEM_K)) {
        emit_store_ymm_gs(w->e, R15, dbi_word_off(w, index), (unsigned)mem->index);
        emit_store_ymm_gs(w->e, R15, dbi_word_off(w, mask), (unsigned)mem->mask);
    } else if (has_mask_registers()) {
        unsigned reg = dbi_reg_borrow(w, at, 0);
        emit_store_zmm_gs(w->e, R15, dbi_word_off(w, index), (unsigned)mem->index);
        emit_mov_mask(w->e, reg, (unsigned)mem->mask);
        dbi_ring_store(w, mask, reg);
        dbi_reg_return(w, reg);
    }
}

void dbi_lanes_mark(struct work *w, unsigned at, const struct ins_mem *mem)
{
    if (!dbi_lanes_store(w, mem))
        return;
    unsigned reg = dbi_reg_borrow(w, at, 0);
    emit_mov_mask(w->e, reg, (unsigned)mem->mask);
    emit_store_gs(w->e, AGT_LANES_OFF + 64, reg);
    dbi_address_get(w, at, mem, reg, 0);
    emit_store_gs(w->e, AGT_CTX_TMP, reg);
    dbi_reg_return(w, reg);
    dbi_agent_call(w, AGT_EXIT_MARK_LANES,
                   mem->size_bytes | AGT_LANES_COUNT(mem->lanes) | AGT_LANES_SCALE(mem->scale) |
                       (mem->flags & INS_MEM_VSIB64 ? AGT_LANES_WIDE : 0) |
                       (mem->flags & INS_MEM_ADDR32 ? AGT_LANES_ADDR32 : 0));
}

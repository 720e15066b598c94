/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program is about to use an address where something of ours is, or next to it
 * (recorder/dbi/wall.c): it gets the fault of an address where nothing is mapped.
 */
#include <string.h>

#include "common/once.h"
#include "common/page.h"
#include "recorder/event/ops.h"
#include "recorder/replay/engine_priv.h"
#include <wetdbg/errors.h>

uint64_t rep_wall_granule(const struct rep_host *host, const struct agt_fault *fault)
{
    uint64_t table = host->base - AGT_WALL_BYTES;
    bool is_wall = host->has_wall && fault->address - table < AGT_WALL_BYTES;
    return is_wall ? (fault->address - table) / WD_PAGE : REP_WALL_NONE;
}

/* The program's registers at a fault. */
static void registers_get(const struct rep_engine *engine, const struct dbi_fault *at,
                          uint64_t gpr[16])
{
    const struct rep_turn *turn = &engine->host.turn;
    uint16_t spilled = at->spilled | 1u << 15;
    for (unsigned i = 0; i < 16; i++)
        gpr[i] = spilled >> i & 1 ? turn->gpr[i] : turn->fault.gpr[i];
}

/* How far from an operand of `size` bytes the one lies that bit number `bits` is in. */
static uint64_t bit_offset(uint64_t bits, unsigned size)
{
    int64_t number = size == 8 ? (int64_t)bits : size == 4 ? (int32_t)bits : (int16_t)bits;
    int64_t width = 8 * (int64_t)size;
    return (uint64_t)((number - ((number % width + width) % width)) / 8);
}

static uint64_t operand_address(const struct rep_engine *engine, const struct ins_mem *mem,
                                const uint64_t gpr[16])
{
    bool has_index = mem->index >= 0 && !(mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64));
    uint64_t index = has_index ? gpr[mem->index] : 0;
    uint64_t address = (uint64_t)mem->disp + (mem->base >= 0 ? gpr[mem->base] : 0);
    address += mem->flags & INS_MEM_INDEX_BYTE ? (uint8_t)index : index * mem->scale;
    if (mem->flags & INS_MEM_BIT_OFFSET)
        address += bit_offset(gpr[mem->bit_reg], mem->size_bytes);
    if (mem->flags & INS_MEM_ADDR32)
        address = (uint32_t)address;
    address += mem->flags & INS_MEM_FS ? engine->host.turn.fs_base : 0;
    return address + (mem->flags & INS_MEM_GS ? engine->host.turn.gs_base : 0);
}

/* The first lane's address in the granule, of those that wall.c has stored the indices of. */
static bool lane_find(const struct rep_engine *engine, const struct ins_mem *mem, uint64_t rest,
                      uint64_t granule, uint64_t *address)
{
    unsigned step = mem->flags & INS_MEM_VSIB32 ? 4 : 8;
    uint8_t indices[32];
    rep_host_lanes(&engine->host, indices, sizeof(indices));
    for (unsigned off = 0; off < sizeof(indices); off += step) {
        int32_t narrow;
        int64_t index;
        memcpy(&narrow, indices + off, 4);
        index = narrow;
        if (step == 8)
            memcpy(&index, indices + off, 8);
        *address = rest + (uint64_t)index * mem->scale;
        if (*address / AGT_WALL_GRANULE % (AGT_WALL_BYTES / WD_PAGE) == granule)
            return true;
    }
    return false;
}

/* Which operand's address was looked at in that granule, in the order of wall.c. */
static bool walled_find(const struct rep_engine *engine, const struct ins_info *info,
                        const uint64_t gpr[16], uint64_t granule, const struct ins_mem **operand,
                        uint64_t *address)
{
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = *operand = &info->mems[m];
        *address = operand_address(engine, mem, gpr);
        if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64)) {
            if (lane_find(engine, mem, *address, granule, address))
                return true;
            continue;
        }
        uint64_t seen = dbi_wall_is_plain(mem) ? gpr[mem->base] : *address;
        if (seen / AGT_WALL_GRANULE % (AGT_WALL_BYTES / WD_PAGE) == granule)
            return true;
    }
    return false;
}

/*
 * Which byte of a wide operand a fault names is the processor's choice, and an operand that is not
 * aligned as it has to be is another fault: what was recorded of this instruction tells, as far as
 * it can be true.
 */
static void fault_settle(struct rep_engine *engine, uint64_t pc, unsigned operand_bytes)
{
    struct agt_fault *fault = &engine->host.turn.fault;
    const struct evq_entry *entry = rep_current_entry(engine);
    const uint32_t told = EVQ_FLAG_SIGINFO | EVQ_FLAG_REGS;
    if (!entry || entry->kind != EVQ_FAULT || (entry->flags & told) != told ||
        evq_entry_regs(entry)->r[EVQ_RIP] != pc)
        return;
    bool is_other_byte = entry->address - fault->address < operand_bytes;
    if (entry->code != SI_KERNEL && !is_other_byte)
        return;
    fault->signo = (uint64_t)entry->number;
    fault->code = (uint64_t)entry->code;
    fault->address = entry->address;
}

int rep_wall_fault(struct rep_engine *engine, const struct dbi_fault *at, uint64_t granule)
{
    struct agt_fault *fault = &engine->host.turn.fault;
    const struct dbi_fragment *fragment = at->fragment;
    uint64_t off = at->pc - fragment->pc, gpr[16], address;
    const struct ins_mem *operand;
    struct ins_info info;
    registers_get(engine, at, gpr);
    if (off >= fragment->code_bytes ||
        ins_decode(fragment->code + off, fragment->code_bytes - off, at->pc, &info) ||
        !walled_find(engine, &info, gpr, granule, &operand, &address))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the replay process met the wall at %#llx with no address",
                           (unsigned long long)at->pc);
    int err = rep_log_drain(engine);
    if (err)
        return err;
    bool is_stack = operand->base == INS_RSP || operand->base == INS_RBP;
    bool is_wild = !rep_is_canonical(address);
    fault->signo = is_wild && is_stack ? SIGBUS : SIGSEGV;
    fault->code = is_wild ? SI_KERNEL : SEGV_MAPERR;
    fault->address = is_wild ? 0 : address;
    fault->trapno = !is_wild ? 14 : is_stack ? 12 : 13; /* page, stack, general protection */
    fault_settle(engine, at->pc, operand->size_bytes);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a memory operand touched, from the slots of an execution. */
#include <string.h>

#include "slicer/code.h"

/* After the operands of a rep instruction: rcx before, rcx after, first address register after. */
static struct slc_range rep_range(const struct wet_statement *statement, unsigned operand,
                                  const uint64_t *slots)
{
    const struct ins_info *info = statement->info;
    const uint64_t *at = slots + statement->slot;
    const uint64_t *rep = at + info->mem_count;
    uint64_t size = info->mems[operand].size_bytes;
    uint64_t count = rep[0] - rep[1];
    uint64_t moved = rep[2] - at[0];

    if (info->mems[operand].flags & INS_MEM_ADDR32) {
        count &= UINT32_MAX;
        moved = (uint64_t)(int64_t)(int32_t)moved;
    }
    uint64_t bytes = count * size;
    bool is_down = count && moved == 0 - count * info->mems[0].size_bytes;
    return (struct slc_range){is_down ? at[operand] - bytes + size : at[operand], bytes};
}

struct slc_range slc_operand_range(const struct wet_statement *statement, unsigned operand,
                                   const uint64_t *slots)
{
    const struct ins_mem *mem = &statement->info->mems[operand];

    if (mem->flags & INS_MEM_REP)
        return rep_range(statement, operand, slots);
    return (struct slc_range){slots[statement->slot + operand], mem->size_bytes};
}

/* As many as the index register's declared pieces hold; which of them the mask let through is not
 * looked at. */
static unsigned lane_ranges(const struct wet_statement *statement, unsigned operand,
                            const uint64_t *slots, struct slc_range *ranges)
{
    const struct ins_mem *mem = &statement->info->mems[operand];
    const uint8_t piece_bytes[INS_VEC_PIECES] = {4, 4, 8, 16, 32};
    struct ins_regset uses = ins_addr_uses(statement->info, operand);
    unsigned index_bytes = mem->flags & INS_MEM_VSIB32 ? 4 : 8;
    unsigned bytes = 0, count = 0;

    for (unsigned p = 0; p < INS_VEC_PIECES && mem->index >= 0; p++)
        if (ins_regset_has(&uses, INS_LOC_VEC + INS_VEC_PIECES * (unsigned)mem->index + p))
            bytes += piece_bytes[p];
    const uint64_t *at = slots + statement->slot + operand;
    for (unsigned off = 0; off + index_bytes <= bytes && count < SLC_LANES_MAX;
         off += index_bytes) {
        int64_t index;
        if (index_bytes == 4) {
            int32_t narrow;
            memcpy(&narrow, (const uint8_t *)(at + 1) + off, sizeof(narrow));
            index = narrow;
        } else {
            memcpy(&index, (const uint8_t *)(at + 1) + off, sizeof(index));
        }
        uint64_t address = at[0] + (uint64_t)index * mem->scale;
        ranges[count++] = (struct slc_range){address, mem->size_bytes};
    }
    return count;
}

unsigned slc_operand_ranges(const struct wet_statement *statement, unsigned operand,
                            const uint64_t *slots, struct slc_range ranges[SLC_LANES_MAX])
{
    const struct ins_mem *mem = &statement->info->mems[operand];

    if (mem->flags & INS_MEM_LANES && mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
        return lane_ranges(statement, operand, slots, ranges);
    ranges[0] = slc_operand_range(statement, operand, slots);
    return 1;
}

/* Byte i comes from the source byte that element i's read finds, or from where an earlier element
 * got it. */
uint64_t slc_moved_from(const struct wet_statement *statement, unsigned to, const uint64_t *slots,
                        uint64_t address)
{
    unsigned source = to == 0 ? 1 : 0;
    struct slc_range written = slc_operand_range(statement, to, slots);
    struct slc_range read = slc_operand_range(statement, source, slots);
    uint64_t element = statement->info->mems[to].size_bytes;
    /* Downward the first element is the highest one. */
    bool is_down = written.address != slots[statement->slot + to];
    uint64_t elements = written.size_bytes / element;

    for (uint64_t off = address - written.address;;) {
        uint64_t at = read.address + off;
        uint64_t rank = is_down ? elements - 1 - off / element : off / element;
        uint64_t next = at - written.address;
        if (next >= written.size_bytes)
            return at;
        uint64_t next_rank = is_down ? elements - 1 - next / element : next / element;
        if (next_rank >= rank)
            return at;
        off = next;
    }
}

/* The general register whose three pieces are exactly this set, if calls preserve it; or -1. */
static int saved_register(const struct ins_regset *set)
{
    static const uint8_t saved[] = {INS_RBX, INS_RBP, 12, 13, 14, 15};

    for (unsigned i = 0; i < sizeof(saved); i++) {
        struct ins_regset whole = {0};
        ins_regset_add_gpr(&whole, saved[i], 0, 8);
        if (memcmp(&whole, set, sizeof(whole)) == 0)
            return saved[i];
    }
    return -1;
}

static bool is_slot(const struct ins_info *info, uint8_t mask)
{
    for (unsigned i = 0; i < info->mem_count; i++)
        if (mask == 1u << i)
            return info->mems[i].flags & INS_MEM_IMPLICIT && info->mems[i].size_bytes == 8 &&
                   !(info->mems[i].flags & (INS_MEM_REP | INS_MEM_LANES));
    return false;
}

int slc_pushed_register(const struct ins_info *info)
{
    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        if (flow->kinds & INS_FLOW_COPY && info->klass == INS_PLAIN &&
            is_slot(info, flow->mem_defs))
            return saved_register(&flow->value_uses);
    }
    return -1;
}

int slc_popped_register(const struct ins_info *info)
{
    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        if (flow->kinds & INS_FLOW_COPY && info->klass == INS_PLAIN &&
            is_slot(info, flow->mem_uses))
            return saved_register(&flow->defs);
    }
    return -1;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/insn/insn_ranges.h"

#include <string.h>

unsigned ins_slot_count(const struct ins_info *info)
{
    unsigned slots = info->mem_count;
    bool is_rep = false;

    for (unsigned m = 0; m < info->mem_count; m++) {
        slots += info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 16 : 0;
        is_rep |= (info->mems[m].flags & INS_MEM_REP) != 0;
    }
    return slots + (is_rep ? 3 : 0);
}

static struct ins_range rep_range(const struct ins_info *info, unsigned operand,
                                  const uint64_t *slots)
{
    const uint64_t *rep = slots + info->mem_count;
    uint64_t size = info->mems[operand].size_bytes;
    uint64_t count = rep[0] - rep[1];
    uint64_t moved = rep[2] - slots[0];

    if (info->mems[operand].flags & INS_MEM_ADDR32) {
        count &= UINT32_MAX;
        moved = (uint64_t)(int64_t)(int32_t)moved;
    }
    uint64_t bytes = count * size;
    bool is_down = count && moved == 0 - count * info->mems[0].size_bytes;
    return (struct ins_range){is_down ? slots[operand] - bytes + size : slots[operand], bytes};
}

static unsigned lane_ranges(const struct ins_info *info, unsigned operand, const uint64_t *slots,
                            struct ins_range *ranges)
{
    static const uint8_t piece_bytes[INS_VEC_PIECES] = {4, 4, 8, 16, 32};
    const struct ins_mem *mem = &info->mems[operand];
    struct ins_regset uses = ins_addr_uses(info, operand);
    unsigned index_bytes = mem->flags & INS_MEM_VSIB32 ? 4 : 8;
    unsigned bytes = 0, count = 0;

    for (unsigned p = 0; p < INS_VEC_PIECES && mem->index >= 0; p++)
        if (ins_regset_has(&uses, INS_LOC_VEC + INS_VEC_PIECES * (unsigned)mem->index + p))
            bytes += piece_bytes[p];
    const uint64_t *at = slots + operand;
    for (unsigned off = 0; off + index_bytes <= bytes && count < INS_RANGES_MAX;
         off += index_bytes) {
        int64_t index = 0;
        if (index_bytes == 4) {
            int32_t narrow;
            memcpy(&narrow, (const uint8_t *)(at + 1) + off, sizeof narrow);
            index = narrow;
        } else {
            memcpy(&index, (const uint8_t *)(at + 1) + off, sizeof index);
        }
        uint64_t address = at[0] + (uint64_t)index * mem->scale;
        ranges[count++] = (struct ins_range){address, mem->size_bytes};
    }
    return count;
}

unsigned ins_operand_ranges(const struct ins_info *info, unsigned operand, const uint64_t *slots,
                            struct ins_range ranges[INS_RANGES_MAX])
{
    const struct ins_mem *mem = &info->mems[operand];

    if (mem->flags & INS_MEM_LANES && mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
        return lane_ranges(info, operand, slots, ranges);
    ranges[0] = mem->flags & INS_MEM_REP ? rep_range(info, operand, slots)
                                         : (struct ins_range){slots[operand], mem->size_bytes};
    return 1;
}

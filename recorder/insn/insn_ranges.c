/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/insn/insn_ranges.h"

#include <string.h>

#include "recorder/insn/insn_image.h"
#include "recorder/insn/insn_pick.h"

unsigned ins_slot_count(const struct ins_info *info)
{
    unsigned slots = info->mem_count;
    bool is_rep = false;

    for (unsigned m = 0; m < info->mem_count; m++) {
        slots += info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 16 : 0;
        is_rep |= (info->mems[m].flags & INS_MEM_REP) != 0;
    }
    return slots + (is_rep ? 3 : 0) + info->choice.slots;
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

static int64_t index_at(const struct ins_mem *mem, const uint64_t *images, unsigned lane)
{
    int32_t narrow;

    if (mem->flags & INS_MEM_VSIB64)
        return (int64_t)images[lane];
    memcpy(&narrow, (const uint8_t *)images + 4 * lane, sizeof(narrow));
    return narrow;
}

static bool is_chosen(const struct ins_mem *mem, const uint64_t *images, unsigned lane)
{
    const uint64_t *mask = images + 8;

    if (mem->flags & INS_MEM_K)
        return mask[0] >> lane & 1;
    return ((const uint8_t *)mask)[(lane + 1) * mem->size_bytes - 1] & 0x80;
}

static unsigned lane_ranges(const struct ins_mem *mem, const uint64_t *slots,
                            struct ins_range *ranges)
{
    uint64_t cut = mem->flags & INS_MEM_ADDR32 ? UINT32_MAX : UINT64_MAX;
    unsigned count = 0;

    for (unsigned lane = 0; lane < mem->lanes && lane < INS_RANGES_MAX; lane++) {
        if (!is_chosen(mem, slots + 1, lane))
            continue;
        uint64_t address = slots[0] + (uint64_t)index_at(mem, slots + 1, lane) * mem->scale;
        ranges[count++] = (struct ins_range){address & cut, mem->size_bytes};
    }
    return count;
}

/* Which bytes of a memory operand were chosen: bytes in a row are one range. */
static unsigned chosen_ranges(const struct ins_info *info, unsigned operand, const uint64_t *slots,
                              struct ins_range *ranges)
{
    struct ins_pick pick;
    struct ins_picked picked;
    uint64_t bytes;
    unsigned count = 0;

    if (info->choice.from[0] == INS_PLACE_COMPUTED &&
        info->choice.to != INS_PLACE_MEMORY + operand) {
        ranges[0] = (struct ins_range){slots[operand], info->mems[operand].size_bytes};
        return 1;
    }
    ins_pick_get(info, slots, &pick);
    if (info->choice.to == INS_PLACE_MEMORY + operand) {
        bytes = ins_pick_written(&pick) & UINT64_MAX >> (INS_PICK_BYTES - info->choice.bytes);
    } else {
        ins_pick_sources(&pick, UINT64_MAX, &picked);
        bytes = 0;
        for (unsigned i = 0; i < picked.count; i++)
            bytes |= picked.place[i] == INS_PLACE_MEMORY + operand ? picked.bytes[i] : 0;
        if (info->choice.selector == INS_PLACE_MEMORY + operand)
            bytes |= picked.selector;
    }
    for (unsigned at = 0, run; bytes; bytes >>= run, at += run) {
        uint64_t rest = ~bytes;
        run = bytes & 1 ? (rest ? (unsigned)__builtin_ctzll(rest) : 64)
                        : (unsigned)__builtin_ctzll(bytes);
        if (bytes & 1)
            ranges[count++] = (struct ins_range){slots[operand] + at, run};
        if (run == 64)
            break;
    }
    return count;
}

bool ins_ranges_are_exact(const struct ins_info *info, unsigned operand)
{
    return info->mems[operand].flags & INS_MEM_REP || info->choice.kind == INS_CHOICE_BYTES ||
           (info->choice.kind == INS_CHOICE_IMAGE && ins_image_is_exact(info->mnemonic));
}

unsigned ins_operand_ranges(const struct ins_info *info, unsigned operand, const uint64_t *slots,
                            struct ins_range ranges[INS_RANGES_MAX])
{
    const struct ins_mem *mem = &info->mems[operand];

    if (mem->flags & INS_MEM_LANES && mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
        return lane_ranges(mem, slots + operand, ranges);
    if (mem->flags & INS_MEM_LANES && ins_is_pick(info))
        return chosen_ranges(info, operand, slots, ranges);
    if (mem->flags & INS_MEM_SIZE_BOUND)
        return ins_image_ranges(info, slots, ranges);
    ranges[0] = mem->flags & INS_MEM_REP ? rep_range(info, operand, slots)
                                         : (struct ins_range){slots[operand], mem->size_bytes};
    return 1;
}

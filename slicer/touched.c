/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a memory operand touched, from the slots of an execution. */
#include <string.h>

#include "slicer/scan/code_summary.h"

struct ins_range slc_operand_range(const struct wet_statement *statement, unsigned operand,
                                   const uint64_t *slots)
{
    struct ins_range ranges[INS_RANGES_MAX] = {{0, 0}};

    slc_operand_ranges(statement, operand, slots, ranges);
    return ranges[0];
}

unsigned slc_operand_ranges(const struct wet_statement *statement, unsigned operand,
                            const uint64_t *slots, struct ins_range ranges[INS_RANGES_MAX])
{
    return ins_operand_ranges(statement->info, operand, slots + statement->slot, ranges);
}

/* Byte i comes from the source byte that element i reads, or from where an earlier element got
 * that. */
uint64_t slc_moved_from(const struct wet_statement *statement, unsigned to, const uint64_t *slots,
                        uint64_t address)
{
    unsigned source = to == 0 ? 1 : 0;
    struct ins_range written = slc_operand_range(statement, to, slots);
    struct ins_range read = slc_operand_range(statement, source, slots);
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

int slc_restored_register(const struct slc_node *node, uint32_t statement, const uint64_t *slots,
                          uint64_t *slot)
{
    const struct wet_statement *own = &node->wet->statements[statement];
    int reg = node->popped[statement];
    unsigned operand = 0;

    if (reg < 0)
        return -1;
    while (!(own->info->mems[operand].flags & INS_MEM_IMPLICIT))
        operand++;
    *slot = slots[own->slot + operand];
    for (uint32_t i = node->store_count; i-- > 0;) {
        const struct slc_store *store = &node->stores[i];
        if (store->statement >= statement)
            continue;
        if (store->is_range)
            return reg;
        uint64_t at = slots[store->slot];
        if (*slot - at < store->size_bytes || at - *slot < 8)
            return at == *slot && node->pushed[store->statement] == reg ? reg : -1;
    }
    return reg;
}

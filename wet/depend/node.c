/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an execution of a fragment uses and defines, from its instructions. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"
#include "recorder/insn/insn_ranges.h"
#include "wet/depend/depend_priv.h"
#include <wetdbg/errors.h>

/* ---- groups of registers ---- */

static void group_add(struct dep_groups *groups, unsigned first, unsigned count)
{
    assert(groups->count < INS_LOC_COUNT && first + count <= INS_LOC_COUNT);
    for (unsigned l = first; l < first + count; l++) {
        ins_regset_add(&groups->sets[groups->count], l);
        groups->of[l] = (uint8_t)groups->count;
    }
    groups->count++;
}

void dep_groups_init(struct dep_groups *groups)
{
    memset(groups, 0, sizeof(*groups));
    for (unsigned r = 0; r < INS_GPR_COUNT; r++)
        group_add(groups, INS_LOC_GPR + INS_GPR_PIECES * r, INS_GPR_PIECES);
    group_add(groups, INS_LOC_CF, INS_LOC_DF - INS_LOC_CF);
    group_add(groups, INS_LOC_DF, 1);
    for (unsigned l = INS_LOC_VEC; l < INS_LOC_K; l += INS_VEC_PIECES)
        group_add(groups, l, INS_VEC_PIECES);
    for (unsigned l = INS_LOC_K; l < INS_LOC_COUNT; l++)
        group_add(groups, l, 1);
}

void dep_groups_refine(struct dep_groups *groups, const struct ins_regset *set,
                       struct ins_regset *changed)
{
    for (unsigned l = ins_regset_next(set, 0); l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1)) {
        struct ins_regset *group = &groups->sets[groups->of[l]], out = *group, in = *group;
        ins_regset_remove(&out, set);
        if (ins_regset_is_empty(&out))
            continue;
        assert(groups->count < INS_LOC_COUNT);
        ins_regset_join(changed, group);
        ins_regset_remove(&in, &out);
        *group = out;
        for (unsigned i = l; i < INS_LOC_COUNT; i = ins_regset_next(&in, i + 1))
            groups->of[i] = (uint8_t)groups->count;
        groups->sets[groups->count++] = in;
    }
}

int dep_groups_validate(const struct dep_groups *groups)
{
    unsigned total = 0;

    if (groups->count > INS_LOC_COUNT)
        return wd_fail_defect("%u groups of %u locations", groups->count, INS_LOC_COUNT);
    for (unsigned l = 0; l < INS_LOC_COUNT; l++)
        if (groups->of[l] >= groups->count || !ins_regset_has(&groups->sets[groups->of[l]], l))
            return wd_fail_defect("location %u is not in its group %u", l, groups->of[l]);
    for (unsigned g = 0; g < groups->count; g++)
        for (unsigned i = 0; i < 4; i++)
            total += (unsigned)__builtin_popcountll(groups->sets[g].bits[i]);
    if (total != INS_LOC_COUNT)
        return wd_fail_defect("groups have %u locations of %u", total, INS_LOC_COUNT);
    return 0;
}

/* ---- reading the code ---- */

/* Whether an operand is hard: only the slots tell its size, or it lies in several places. */
static bool is_hard(const struct ins_mem *mem)
{
    return mem->flags &
           (INS_MEM_REP | INS_MEM_LANES | INS_MEM_VSIB32 | INS_MEM_VSIB64 | INS_MEM_SIZE_BOUND);
}

/* What is read of a node before it is known how much it takes. */
struct reading {
    struct dep_node *node;
    const struct dbi_fragment *fragment;
    struct dep_operand operands[DEP_OPERANDS_MAX];
    struct ins_info hard[DEP_STATEMENTS_MAX]; /* instructions that have hard operands */
    uint32_t hard_count;
};

static void operand_add(struct reading *reading, const struct ins_info *info, unsigned m,
                        unsigned access)
{
    struct dep_node *node = reading->node;
    bool hard = is_hard(&info->mems[m]);
    struct dbi_slot slot = dbi_slot_get(reading->fragment, node->slot_count + (hard ? 0 : m));
    struct dep_operand operand = {.more = slot.more,
                                  .word = slot.word,
                                  .access = (uint8_t)(access | (hard ? DEP_HARD : 0)),
                                  .size_bytes = hard ? 0 : info->mems[m].size_bytes,
                                  .operand = (uint8_t)m};

    if (hard)
        operand.info = &reading->hard[reading->hard_count];
    reading->operands[node->operand_count++] = operand;
    node->load_count += (access & DEP_LOAD) != 0;
}

static void statement_operands(struct reading *reading, const struct ins_info *info)
{
    unsigned used = 0, defined = 0;
    bool has_hard = false;

    for (unsigned f = 0; f < info->flow_count; f++) {
        used |= info->flows[f].mem_uses | info->flows[f].mem_may_defs;
        defined |= info->flows[f].mem_defs | info->flows[f].mem_may_defs;
    }
    for (unsigned m = 0; m < info->mem_count; m++)
        if (used >> m & 1)
            operand_add(reading, info, m, DEP_LOAD);
    for (unsigned m = 0; m < info->mem_count; m++)
        if (defined >> m & 1)
            operand_add(reading, info, m, DEP_STORE);
    for (unsigned m = 0; m < info->mem_count; m++)
        has_hard |= is_hard(&info->mems[m]);
    if (has_hard)
        reading->hard[reading->hard_count++] = *info;
}

/* Adds an instruction's uses of registers that the node has not defined itself before. */
static void statement_registers(struct dep_node *node, const struct ins_info *info)
{
    struct ins_regset uses = {0}, defines = {0};

    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        ins_regset_join(&uses, &flow->value_uses);
        ins_regset_join(&uses, &flow->cond_uses);
        ins_regset_join(&uses, &flow->may_defs);
        ins_regset_join(&defines, &flow->defs);
        ins_regset_join(&defines, &flow->may_defs);
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        struct ins_regset address = ins_addr_uses(info, m);
        ins_regset_join(&uses, &address);
    }
    ins_regset_remove(&uses, &node->defines);
    ins_regset_join(&node->uses, &uses);
    ins_regset_join(&node->defines, &defines);
}

static void node_read(struct reading *reading, const struct dbi_fragment *fragment)
{
    struct dep_node *node = reading->node;
    uint32_t off = 0;

    for (uint32_t s = 0; s < fragment->insn_count; s++) {
        struct ins_info info;
        uint64_t pc = fragment->pc + off;
        /* bytes that are no instruction use and define nothing */
        if (ins_decode(fragment->code + off, fragment->code_bytes - off, pc, &info))
            info = (struct ins_info){.length = 1, .klass = INS_TRAP};
        off += info.length;
        statement_registers(node, &info);
        statement_operands(reading, &info);
        node->slot_count += ins_slot_count(&info);
    }
}

/* Keeps of what was read as much as there is. */
static int node_keep(struct dep_node *node, const struct reading *reading)
{
    size_t hard_bytes = reading->hard_count * sizeof(*node->infos);
    size_t operand_bytes = node->operand_count * sizeof(*node->operands);

    node->operands = malloc(operand_bytes + 1);
    node->infos = malloc(hard_bytes + 1);
    if (!node->operands || !node->infos)
        return -ENOMEM;
    memcpy(node->operands, reading->operands, operand_bytes);
    memcpy(node->infos, reading->hard, hard_bytes);
    for (unsigned i = 0; i < node->operand_count; i++)
        if (node->operands[i].access & DEP_HARD)
            node->operands[i].info = node->infos + (node->operands[i].info - reading->hard);
    return 0;
}

int dep_node_make(const struct dbi_fragment *fragment, struct dep_node **out)
{
    struct dep_node *node = calloc(1, sizeof(*node));
    struct reading reading; /* large: not cleared */

    if (!node)
        return -ENOMEM;
    *out = node;
    if (fragment->insn_count > DEP_STATEMENTS_MAX)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "a fragment of %u instructions",
                           fragment->insn_count);
    reading.node = node;
    reading.fragment = fragment;
    reading.hard_count = 0;
    node->is = (struct wet_label_node){.pc = fragment->pc,
                                       .code = fragment->code,
                                       .code_bytes = fragment->code_bytes,
                                       .statement_count = fragment->insn_count};
    node_read(&reading, fragment);
    node->word_count = fragment->slots ? fragment->word_count : node->slot_count;
    return node_keep(node, &reading);
}

int dep_node_group(struct dep_node *node, const struct dep_groups *groups, struct dep_lists *lists)
{
    struct ins_regset sets[INS_LOC_COUNT];

    lists->input_count = 0;
    for (unsigned l = ins_regset_next(&node->uses, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&node->uses, l + 1)) {
        const struct ins_regset *group = &groups->sets[groups->of[l]];
        if (ins_regset_next(group, 0) != l)
            continue;
        lists->inputs[lists->input_count] = (uint8_t)l;
        sets[lists->input_count++] = *group;
    }
    struct ins_regset *kept = malloc(lists->input_count * sizeof(*kept) + 1);
    if (!kept)
        return -ENOMEM;
    memcpy(kept, sets, lists->input_count * sizeof(*kept));
    free(node->input_sets);
    node->input_sets = kept;
    node->is.inputs = kept;
    node->is.input_count = lists->input_count;
    return 0;
}

void dep_node_free(struct dep_node *node)
{
    if (!node)
        return;
    free(node->infos);
    free(node->input_sets);
    free(node->operands);
    free(node);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an execution of a fragment uses and defines, from its instructions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_ranges.h"
#include "wet/depend/depend_priv.h"

/* ---- groups of registers ---- */

static void group_add(struct dep_groups *groups, unsigned first, unsigned count)
{
    for (unsigned l = first; l < first + count; l++) {
        groups->of[l] = (uint8_t)groups->count;
        ins_regset_add(&groups->sets[groups->count], l);
    }
    groups->count++;
}

void dep_groups_init(struct dep_groups *groups)
{
    memset(groups, 0, sizeof *groups);
    for (unsigned r = 0; r < INS_GPR_COUNT; r++)
        group_add(groups, INS_LOC_GPR + INS_GPR_PIECES * r, INS_GPR_PIECES);
    group_add(groups, INS_LOC_CF, INS_LOC_DF - INS_LOC_CF);
    group_add(groups, INS_LOC_DF, 1);
    for (unsigned l = INS_LOC_VEC; l < INS_LOC_K; l += INS_VEC_PIECES)
        group_add(groups, l, INS_VEC_PIECES);
    for (unsigned l = INS_LOC_K; l < INS_LOC_COUNT; l++)
        group_add(groups, l, 1);
}

bool dep_groups_refine(struct dep_groups *groups, const struct ins_regset *set,
                       void (*split)(void *arg, unsigned old, unsigned made), void *arg)
{
    bool is_refined = false;

    for (unsigned g = 0, count = groups->count; g < count; g++) {
        struct ins_regset in = groups->sets[g], out = groups->sets[g];
        for (unsigned i = 0; i < 4; i++)
            in.bits[i] &= set->bits[i];
        ins_regset_remove(&out, set);
        if (ins_regset_is_empty(&in) || ins_regset_is_empty(&out))
            continue;
        unsigned made = groups->count++;
        groups->sets[g] = out;
        groups->sets[made] = in;
        for (unsigned l = ins_regset_next(&in, 0); l < INS_LOC_COUNT;
             l = ins_regset_next(&in, l + 1))
            groups->of[l] = (uint8_t)made;
        split(arg, g, made);
        is_refined = true;
    }
    return is_refined;
}

/* ---- reading the code ---- */

/* Of its size only the slots tell, or it lies in several places. */
static bool is_hard(const struct ins_mem *mem)
{
    return mem->flags & (INS_MEM_REP | INS_MEM_LANES | INS_MEM_VSIB32 | INS_MEM_VSIB64) ||
           mem->size_bytes == 0 || mem->size_bytes > 64;
}

static void operand_add(struct dep_node *node, uint32_t s, unsigned m, unsigned slot,
                        unsigned access, struct dep_span *nowhere)
{
    const struct ins_mem *mem = &node->infos[s].mems[m];
    bool hard = is_hard(mem);
    struct dep_operand operand = {.near = nowhere,
                                  .slot = (uint16_t)(hard ? slot : slot + m),
                                  .access = (uint8_t)(access | (hard ? DEP_HARD : 0)),
                                  .size_bytes = (uint8_t)(hard ? 0 : mem->size_bytes),
                                  .statement = (uint8_t)s,
                                  .operand = (uint8_t)m};
    node->operands[node->operand_count++] = operand;
}

static void statement_operands(struct dep_node *node, uint32_t s, unsigned slot,
                               struct dep_span *nowhere)
{
    const struct ins_info *info = &node->infos[s];
    unsigned used = 0, defined = 0;

    for (unsigned f = 0; f < info->flow_count; f++) {
        used |= info->flows[f].mem_uses | info->flows[f].mem_may_defs;
        defined |= info->flows[f].mem_defs | info->flows[f].mem_may_defs;
    }
    for (unsigned m = 0; m < info->mem_count; m++)
        if (used >> m & 1)
            operand_add(node, s, m, slot, DEP_LOAD, nowhere);
    for (unsigned m = 0; m < info->mem_count; m++)
        if (defined >> m & 1)
            operand_add(node, s, m, slot, DEP_STORE, nowhere);
}

/* Uses of what the node has not defined itself before. */
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

static int node_read(struct dep_node *node, const struct dbi_fragment *fragment,
                     struct dep_span *nowhere)
{
    uint32_t off = 0;

    for (uint32_t s = 0; s < fragment->insn_count; s++) {
        struct ins_info *info = &node->infos[s];
        uint64_t pc = fragment->pc + off;
        /* bytes that are no instruction use and define nothing */
        if (ins_decode(fragment->code + off, fragment->code_bytes - off, pc, info))
            *info = (struct ins_info){.length = 1, .klass = INS_TRAP};
        off += info->length;
        statement_registers(node, info);
        statement_operands(node, s, node->slot_count, nowhere);
        node->slot_count += ins_slot_count(info);
    }
    return 0;
}

int dep_node_make(const struct dbi_fragment *fragment, struct dep_span *nowhere,
                  struct dep_node **out)
{
    struct dep_node *node = calloc(1, sizeof *node);

    if (!node)
        return -ENOMEM;
    *out = node;
    node->infos = calloc(fragment->insn_count, sizeof *node->infos);
    node->operands = calloc((size_t)fragment->insn_count * 2 * INS_MEM_MAX, sizeof *node->operands);
    if (!node->infos || !node->operands)
        return -ENOMEM;
    node->is = (struct wet_label_node){
        .pc = fragment->pc, .infos = node->infos, .statement_count = fragment->insn_count};
    return node_read(node, fragment, nowhere);
}

/* Groups that lie in the set, then DEP_NO_GROUP up to a whole step. */
static unsigned list_groups(const struct dep_groups *groups, const struct ins_regset *set,
                            uint8_t *list)
{
    unsigned count = 0;

    for (unsigned g = 0; g < groups->count; g++)
        if (ins_regset_intersects(&groups->sets[g], set))
            list[count++] = (uint8_t)g;
    for (unsigned i = count; i % DEP_LIST_STEP; i++)
        list[i] = DEP_NO_GROUP;
    return count;
}

static size_t whole_steps(size_t count)
{
    return (count + DEP_LIST_STEP - 1) / DEP_LIST_STEP * DEP_LIST_STEP;
}

static void plan_operands(struct dep_plan *plan, const struct dep_node *node)
{
    plan->operand_count = (uint16_t)node->operand_count;
    for (unsigned i = 0; i < node->operand_count; i++) {
        const struct dep_operand *operand = &node->operands[i];
        plan->operands[i] = *operand;
        plan->has_hard |= (operand->access & DEP_HARD) != 0;
        plan->loads += (operand->access & DEP_LOAD) != 0;
        plan->labels_max += operand->access == DEP_LOAD ? 2 + 2 * operand->size_bytes : 0;
    }
}

int dep_node_group(struct dep_node *node, const struct dep_groups *groups)
{
    uint8_t inputs[INS_LOC_COUNT + DEP_LIST_STEP], defs[INS_LOC_COUNT + DEP_LIST_STEP];
    unsigned input_count = list_groups(groups, &node->uses, inputs);
    unsigned def_count = list_groups(groups, &node->defines, defs);
    size_t operand_bytes = node->operand_count * sizeof(struct dep_operand);
    size_t input_bytes = whole_steps(input_count), def_bytes = whole_steps(def_count);
    struct dep_plan *plan = calloc(1, sizeof *plan + operand_bytes + input_bytes + def_bytes);
    struct ins_regset *sets = calloc(input_count + 1, sizeof *sets);

    if (!plan || !sets) {
        free(plan);
        free(sets);
        return -ENOMEM;
    }
    uint8_t *lists = (uint8_t *)plan->operands + operand_bytes;
    memcpy(lists, inputs, input_bytes);
    memcpy(lists + input_bytes, defs, def_bytes);
    plan->node = node;
    plan->inputs = lists;
    plan->defs = lists + input_bytes;
    plan->input_count = (uint16_t)input_count;
    plan->def_count = (uint16_t)def_count;
    plan->statement_count = (uint16_t)node->is.statement_count;
    plan->labels_max = (uint32_t)input_bytes;
    plan_operands(plan, node);
    for (unsigned i = 0; i < input_count; i++)
        sets[i] = groups->sets[inputs[i]];
    free(node->plan);
    free(node->input_sets);
    node->plan = plan;
    node->input_sets = sets;
    node->is.inputs = sets;
    node->is.input_count = input_count;
    return 0;
}

void dep_node_free(struct dep_node *node)
{
    if (!node)
        return;
    free(node->infos);
    free(node->plan);
    free(node->input_sets);
    free(node->operands);
    free(node);
}

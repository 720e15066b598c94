/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/glance.h"

#include <errno.h>
#include <stdlib.h>

#include "slicer/forward/forward_memo.h"

static void join_way(struct ins_regset *touches, const struct slc_way *way)
{
    for (unsigned i = 0; i < 4; i++)
        touches->bits[i] |= way->word[i].uses | way->word[i].address_uses;
    for (unsigned left = way->halves; left; left &= left - 1)
        ins_regset_add(touches, SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)));
    if (!way->is_move || way->move.from_memory)
        return;
    for (unsigned p = 0; p < slc_shape_of(way->move.from)->count; p++)
        ins_regset_add(touches, way->move.from + p);
}

static size_t operand_count(const struct slc_node *node)
{
    size_t count = 0;

    for (uint32_t s = 0; s < node->statement_count; s++)
        count += node->wet->statements[s].info->mem_count;
    return count;
}

/* ---- what memos are about ---- */

/* What is marked, as values and as addresses, if all ways are. */
static struct ins_regset all_hits(const struct slc_op *op)
{
    struct ins_regset values = {0}, addresses = {0};

    for (unsigned f = 0; f < op->way_count; f++)
        for (unsigned i = 0; i < 4; i++) {
            values.bits[i] |= op->ways[f].word[i].value_hits;
            addresses.bits[i] |= op->ways[f].word[i].address_hits;
        }
    for (unsigned i = 0; i < 4; i++)
        values.bits[i] &= addresses.bits[i];
    return values;
}

static void find_registers(struct slc_glance *glance, const struct slc_node *node)
{
    struct ins_regset defined = {0};

    glance->words = 1;
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct slc_op *op = &node->compiled.ops[s];
        struct ins_regset uses = {0}, hits = all_hits(op), perhaps;
        for (unsigned i = 0; i < 4; i++)
            perhaps.bits[i] = op->word[i].touches & ~op->word[i].defines;
        for (unsigned f = 0; f < op->way_count; f++)
            join_way(&uses, &op->ways[f]);
        if (!(op->flags & SLC_OP_NARROW))
            glance->words = 4;
        glance->has_rest |= op->tops != NULL; /* it defines but one of eight */
        for (unsigned i = 0; i < 4; i++)
            glance->has_rest |= (perhaps.bits[i] & ~hits.bits[i]) != 0;
        for (unsigned i = 0; i < 4; i++) { /* what is perhaps defined keeps marks */
            uses.bits[i] |= perhaps.bits[i];
            glance->uses.bits[i] |= uses.bits[i] & ~defined.bits[i];
            glance->defines.bits[i] |= op->word[i].touches | op->word[i].defines;
            defined.bits[i] |= op->word[i].defines;
        }
    }
}

/* Operands that an instruction's ways load, as bits. */
static unsigned loads_of(const struct slc_op *op)
{
    unsigned loads = 0;

    for (unsigned f = 0; f < op->way_count; f++) {
        loads |= op->ways[f].loads;
        if (op->ways[f].is_move && op->ways[f].move.from_memory)
            loads |= 1u << op->ways[f].move.operand;
    }
    return loads;
}

static bool add_pairs(struct slc_glance *glance, const struct slc_node *node, uint32_t end,
                      struct slc_touched load, bool is_pop)
{
    for (uint32_t s = 0; s < end; s++) {
        const struct slc_op *op = &node->compiled.ops[s];
        if (!(op->flags & SLC_OP_STORE))
            continue;
        if (glance->pair_count == SLC_GLANCE_PAIRS_MAX)
            return false;
        glance->pairs[glance->pair_count++] =
            (struct slc_operands){{op->store_slot, op->store_bytes}, load, is_pop};
    }
    return true;
}

/* False if there are too many. */
static bool find_operands(struct slc_glance *glance, const struct slc_node *node)
{
    bool fits = true;

    for (uint32_t s = 0; s < node->statement_count && fits; s++) {
        const struct slc_op *op = &node->compiled.ops[s];
        for (unsigned loads = loads_of(op); loads && fits; loads &= loads - 1) {
            unsigned m = (unsigned)__builtin_ctz(loads);
            const struct slc_touched load = {(uint16_t)(op->slot + m), op->load_bytes[m]};
            fits = glance->load_count < SLC_GLANCE_LOADS_MAX &&
                   add_pairs(glance, node, s, load, op->popped >= 0);
            if (fits)
                glance->loads[glance->load_count++] = load;
        }
        if (op->pushed >= 0 && fits) {
            fits = glance->push_count < SLC_GLANCE_PUSHES_MAX;
            if (fits)
                glance->pushed[glance->push_count++] = (uint8_t)op->pushed;
        }
        if (op->popped < 0 || !fits)
            continue;
        uint32_t slot = slc_stack_slot(&node->wet->statements[s]);
        fits = glance->pop_count < SLC_GLANCE_POPS_MAX && slot != SLC_UNKNOWN;
        if (fits)
            glance->pops[glance->pop_count++] = (struct slc_popping){s, (uint16_t)slot};
    }
    return fits;
}

static void *shrunk(void *list, size_t bytes)
{
    void *fitting = realloc(list, bytes + 1);
    return fitting ? fitting : list;
}

static int find_shape(struct slc_glance *glance, const struct slc_node *node)
{
    if (!glance->is_plain || node->statement_count > 64)
        return 0;
    glance->loads = malloc(SLC_GLANCE_LOADS_MAX * sizeof(*glance->loads));
    glance->pairs = malloc(SLC_GLANCE_PAIRS_MAX * sizeof(*glance->pairs));
    glance->pops = malloc(SLC_GLANCE_POPS_MAX * sizeof(*glance->pops));
    if (!glance->loads || !glance->pairs || !glance->pops)
        return -ENOMEM;
    find_registers(glance, node);
    glance->is_fit = find_operands(glance, node) && node->compiled.pick_slots <= SLC_FWD_PICKS_MAX;
    glance->loads = shrunk(glance->loads, glance->load_count * sizeof(*glance->loads));
    glance->pairs = shrunk(glance->pairs, glance->pair_count * sizeof(*glance->pairs));
    glance->pops = shrunk(glance->pops, glance->pop_count * sizeof(*glance->pops));
    return 0;
}

/* ---- all of it ---- */

struct slc_glance *slc_glance_make(const struct slc_node *node)
{
    struct slc_glance *glance =
        malloc(sizeof(*glance) + operand_count(node) * sizeof(glance->operands[0]));

    if (!glance)
        return NULL;
    *glance = (struct slc_glance){.is_plain = true};
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct slc_op *op = &node->compiled.ops[s];
        unsigned operands = node->wet->statements[s].info->mem_count;
        glance->is_plain &= !(op->flags & SLC_OP_HARD);
        for (unsigned i = 0; i < 4; i++)
            glance->touches.bits[i] |= op->word[i].touches;
        for (unsigned f = 0; f < op->way_count && glance->is_plain; f++)
            join_way(&glance->touches, &op->ways[f]);
        for (unsigned m = 0; m < operands && glance->is_plain; m++)
            glance->operands[glance->operand_count++] =
                (struct slc_touched){(uint16_t)(op->slot + m), op->load_bytes[m]};
    }
    if (find_shape(glance, node)) {
        slc_glance_free(glance);
        return NULL;
    }
    return glance;
}

void slc_glance_free(struct slc_glance *glance)
{
    if (!glance)
        return;
    slc_fwd_memos_free(glance->memos);
    slc_fwd_memos_free(glance->whole);
    free(glance->loads);
    free(glance->pairs);
    free(glance->pops);
    free(glance->classes);
    free(glance);
}

int slc_glance_classes(struct slc_glance *glance, struct slc_code *code, struct slc_node *node)
{
    glance->classes = malloc((size_t)node->statement_count * sizeof(*glance->classes));
    if (!glance->classes)
        return -ENOMEM;
    for (uint32_t s = 0; s < node->statement_count; s++) {
        struct slc_op *op = &node->compiled.ops[s];
        unsigned c = 0;
        if (op->klass == SLC_UNKNOWN)
            op->klass = slc_code_class(code, op->pc_index);
        if (op->klass == SLC_UNKNOWN)
            return -ENOMEM;
        while (c < glance->class_count && glance->classes[c] != op->klass)
            c++;
        if (c == glance->class_count)
            glance->classes[glance->class_count++] = op->klass;
    }
    glance->all_lets = glance->class_count > 31 ? UINT32_MAX : (1u << glance->class_count) - 1;
    glance->is_fit &= glance->class_count <= SLC_GLANCE_CLASSES_MAX;
    return 0;
}

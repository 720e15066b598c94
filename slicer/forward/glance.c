/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/glance.h"

#include <errno.h>
#include <stdlib.h>

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
    return glance;
}

void slc_glance_free(struct slc_glance *glance)
{
    if (!glance)
        return;
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
    return 0;
}

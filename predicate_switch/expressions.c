/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Branches of one expression: conditional blocks of one source line, each entered from one before
 * it, that together lead to two places. Looked for in the graph, since the run need not have come
 * to all of them.
 */
#include <string.h>

#include "predicate_switch/predicates.h"
#include <wetdbg/model.h>

#define MEMBERS_MAX 32

struct expression {
    const struct wetdbg_graph *graph;
    const char *file;
    uint32_t line;
    uint32_t members[MEMBERS_MAX]; /* blocks */
    uint32_t count;
    uint32_t exits[2];
    uint32_t exit_count; /* 3: too many */
};

static bool is_member(const struct expression *expression, uint32_t block)
{
    for (uint32_t i = 0; i < expression->count; i++)
        if (expression->members[i] == block)
            return true;
    return false;
}

/* Whether a block goes on with the expression that a block before it began. */
static bool goes_on(struct wetdbg_model *model, const struct expression *expression,
                    const struct wetdbg_block *from, uint32_t index)
{
    struct wetdbg_line line;

    if (index == WETDBG_BLOCK_EXIT || expression->count == MEMBERS_MAX)
        return false;
    const struct wetdbg_block *block = wetdbg_graph_block(expression->graph, index);
    return block->kind == WETDBG_BLOCK_END_BRANCH && block->start > from->last &&
           wetdbg_line_of_instruction(model, block->last, &line) == 0 && line.file &&
           line.line == expression->line && strcmp(line.file, expression->file) == 0;
}

static void add_exit(struct expression *expression, uint32_t block)
{
    for (uint32_t i = 0; i < expression->exit_count && i < 2; i++)
        if (expression->exits[i] == block)
            return;
    if (expression->exit_count < 2)
        expression->exits[expression->exit_count] = block;
    if (expression->exit_count < 3)
        expression->exit_count++;
}

static void find_members(struct wetdbg_model *model, struct expression *expression)
{
    for (uint32_t i = 0; i < expression->count; i++) {
        const struct wetdbg_block *block =
            wetdbg_graph_block(expression->graph, expression->members[i]);
        for (uint32_t s = 0; s < block->successor_count; s++)
            if (!is_member(expression, block->successors[s]) &&
                goes_on(model, expression, block, block->successors[s]))
                expression->members[expression->count++] = block->successors[s];
    }
}

static void find_exits(struct expression *expression)
{
    for (uint32_t i = 0; i < expression->count; i++) {
        const struct wetdbg_block *block =
            wetdbg_graph_block(expression->graph, expression->members[i]);
        for (uint32_t s = 0; s < block->successor_count; s++)
            if (!is_member(expression, block->successors[s]))
                add_exit(expression, block->successors[s]);
    }
}

/* Whether an expression begins with a branch. */
static bool find_expression(struct wetdbg_model *model, const struct wetdbg_predicate *first,
                            struct expression *expression)
{
    uint32_t index;

    *expression = (struct expression){.file = first->file, .line = first->line, .count = 1};
    if (wetdbg_graph_at(model, first->pc, &expression->graph) ||
        wetdbg_graph_find(expression->graph, first->pc, &index))
        return false;
    const struct wetdbg_block *block = wetdbg_graph_block(expression->graph, index);
    if (block->kind != WETDBG_BLOCK_END_BRANCH || block->last != first->pc)
        return false;
    expression->members[0] = index;
    find_members(model, expression);
    find_exits(expression);
    return expression->count > 1 && expression->exit_count == 2 &&
           expression->exits[0] != WETDBG_BLOCK_EXIT && expression->exits[1] != WETDBG_BLOCK_EXIT;
}

static void enter(struct psw_predicates *all, const struct expression *expression, uint32_t number)
{
    for (uint32_t i = 0; i < expression->count; i++) {
        uint64_t pc = wetdbg_graph_block(expression->graph, expression->members[i])->last;
        uint32_t at = psw_predicates_at(all, pc);
        if (at == PSW_NONE)
            continue;
        all->items[at].expression = number;
        for (unsigned e = 0; e < 2; e++)
            all->statics[at].exits[e] =
                wetdbg_graph_block(expression->graph, expression->exits[e])->start;
    }
}

void psw_expressions_find(struct psw_predicates *all)
{
    struct wetdbg_model *model = wetdbg_get_model(all->wet);
    struct expression expression;
    uint32_t number = 0;

    for (uint32_t i = 0; i < all->count; i++) {
        const struct wetdbg_predicate *item = &all->items[i];
        if (item->kind == WETDBG_PREDICATE_BRANCH && item->file && !item->expression &&
            find_expression(model, item, &expression))
            enter(all, &expression, ++number);
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/sides.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "slicer/state_view.h"
#include <wetdbg/caller.h>
#include <wetdbg/model.h>

/* Of a side; what is beyond them is not looked at. */
#define SIDE_BLOCKS_MAX    256u
#define SIDE_FUNCTIONS_MAX 16u

struct finder {
    struct psw_sides *sides;
    const struct psw_predicates *predicates;
    struct wetdbg_model *model;
    /* The side that is being made. */
    uint32_t first;
    uint64_t functions[SIDE_FUNCTIONS_MAX]; /* that it calls */
    uint32_t function_count;
};

/* ---- blocks ---- */

static uint32_t *place_of(const struct psw_blocks *blocks, uint64_t start)
{
    return wd_index_find(&blocks->by_start, wd_hash_u64(start) >> 32, n,
                         blocks->items[n].start == start);
}

uint32_t psw_block_at(const struct psw_blocks *blocks, uint64_t start)
{
    uint32_t n = blocks->count ? *place_of(blocks, start) : 0;

    return n ? n - 1 : PSW_NONE;
}

static int make_block(struct psw_blocks *blocks, const struct wetdbg_block *block,
                      uint64_t function, uint32_t *index)
{
    if (wd_grow(blocks->items, blocks->capacity, blocks->count + 1) ||
        wd_index_room(&blocks->by_start, blocks->count, 1024, i,
                      place_of(blocks, blocks->items[i].start)))
        return -ENOMEM;
    uint32_t *place = place_of(blocks, block->start);
    if (!*place) {
        blocks->items[blocks->count] =
            (struct psw_block){.start = block->start, .end = block->end, .function = function};
        *place = ++blocks->count;
    }
    *index = *place - 1;
    return 0;
}

/* ---- a side ---- */

/* 1 if the block was not there yet, 0 if it was or the side is full, -ENOMEM. */
static int add_block(struct finder *finder, const struct wetdbg_block *block, uint64_t function,
                     uint32_t *index)
{
    struct psw_sides *sides = finder->sides;
    int err = make_block(&sides->blocks, block, function, index);

    if (err || sides->blocks.items[*index].side == sides->count + 1 ||
        sides->member_count - finder->first == SIDE_BLOCKS_MAX)
        return err;
    if (wd_grow(sides->members, sides->member_capacity, sides->member_count + 1))
        return -ENOMEM;
    sides->blocks.items[*index].side = sides->count + 1;
    sides->members[sides->member_count++] = *index;
    return 1;
}

static void add_function(struct finder *finder, uint64_t entry)
{
    for (uint32_t i = 0; i < finder->function_count; i++)
        if (finder->functions[i] == entry)
            return;
    if (finder->function_count < SIDE_FUNCTIONS_MAX)
        finder->functions[finder->function_count++] = entry;
}

/* Finds the own functions that a block calls by name. 0 or -ENOMEM. */
static int find_calls(struct finder *finder, struct psw_block *block)
{
    struct psw_blocks *blocks = &finder->sides->blocks;
    uint8_t code[SLC_INSN_BYTES];
    struct ins_info info;

    block->has_calls = true;
    block->first_call = blocks->call_count;
    for (uint64_t pc = block->start; pc < block->end; pc += info.length) {
        if (!slc_decode_unrun(finder->model, pc, block->end, code, &info))
            break;
        if (info.klass != INS_CALL || !wetdbg_is_own(finder->predicates->wet, info.target))
            continue;
        if (wd_grow(blocks->calls, blocks->call_capacity, blocks->call_count + 1))
            return -ENOMEM;
        blocks->calls[blocks->call_count++] = info.target;
        block->call_count++;
    }
    return 0;
}

static int add_calls(struct finder *finder, uint32_t index)
{
    struct psw_block *block = &finder->sides->blocks.items[index];
    int err = block->has_calls ? 0 : find_calls(finder, block);

    for (uint32_t i = 0; i < block->call_count && !err; i++)
        add_function(finder, finder->sides->blocks.calls[block->first_call + i]);
    return err;
}

/* Adds what can be reached from a block without passing `end`. */
static int add_reached(struct finder *finder, const struct wetdbg_graph *graph, uint32_t from,
                       uint32_t end)
{
    uint32_t *stack = NULL, count = 0, capacity = 0;
    uint64_t entry = wetdbg_graph_entry(graph);
    int result = wd_grow(stack, capacity, 1);

    if (!result)
        stack[count++] = from;
    while (result >= 0 && count) {
        uint32_t index = stack[--count];
        if (index == end || index == WETDBG_BLOCK_EXIT)
            continue;
        const struct wetdbg_block *block = wetdbg_graph_block(graph, index);
        uint32_t member;
        result = add_block(finder, block, entry, &member);
        if (result <= 0)
            continue;
        result = add_calls(finder, member);
        if (result || wd_grow(stack, capacity, count + block->successor_count)) {
            result = -ENOMEM;
            break;
        }
        for (uint32_t s = 0; s < block->successor_count; s++)
            stack[count++] = block->successors[s];
    }
    free(stack);
    return result < 0 ? result : 0;
}

static int add_callees(struct finder *finder)
{
    const struct wetdbg_graph *graph;
    uint32_t entry;
    int err = 0;

    for (uint32_t i = 0; i < finder->function_count && !err; i++)
        if (wetdbg_graph_at(finder->model, finder->functions[i], &graph) == 0 &&
            wetdbg_graph_find(graph, finder->functions[i], &entry) == 0)
            err = add_reached(finder, graph, entry, WETDBG_BLOCK_EXIT);
    return err;
}

static int add_side(struct finder *finder, uint32_t predicate, uint32_t way)
{
    struct psw_sides *sides = finder->sides;
    uint64_t pc = finder->predicates->items[predicate].pc;
    const struct wetdbg_graph *graph;
    uint32_t block, target;

    if (wetdbg_graph_at(finder->model, pc, &graph) || wetdbg_graph_find(graph, pc, &block) ||
        wetdbg_graph_find(graph, psw_ways(finder->predicates, predicate)[way], &target))
        return 0;
    finder->first = sides->member_count;
    finder->function_count = 0;
    int err = add_reached(finder, graph, target, wetdbg_graph_block(graph, block)->ipdom);
    if (!err)
        err = add_callees(finder);
    if (err || wd_grow(sides->items, sides->capacity, sides->count + 1))
        return -ENOMEM;
    sides->items[sides->count++] =
        (struct psw_side){predicate, way, finder->first, sides->member_count - finder->first};
    return 0;
}

int psw_sides_find(struct psw_sides *sides, const struct psw_predicates *predicates)
{
    struct finder finder = {
        .sides = sides, .predicates = predicates, .model = wetdbg_get_model(predicates->wet)};
    int err = 0;

    *sides = (struct psw_sides){.count = 0};
    for (uint32_t p = 0; p < predicates->count; p++) {
        enum wetdbg_predicate_kind kind = predicates->items[p].kind;
        bool has_sides = kind == WETDBG_PREDICATE_BRANCH || kind == WETDBG_PREDICATE_TABLE;
        for (uint32_t w = 0; w < predicates->statics[p].way_count && has_sides && !err; w++)
            err = add_side(&finder, p, w);
    }
    return err;
}

void psw_sides_fini(struct psw_sides *sides)
{
    free(sides->blocks.items);
    free(sides->blocks.calls);
    wd_index_fini(&sides->blocks.by_start);
    free(sides->items);
    free(sides->members);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forward from the definition to the points where its value is handed on, if the use is in another
 * function; then backward from these points to all definitions that come there.
 */
#include "predicate_switch/reaching.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "slicer/state_view.h"
#include <wetdbg/slice.h>

#define POINTS_MAX 64u /* at which one definition is handed on to other functions */

/* What some instructions in a row do to registers. */
struct effect {
    struct ins_regset defs, may_defs;
    bool has_call;
};

struct block_code {
    struct effect effect; /* of all of it, once it is known */
    bool is_known;
};

/* A function. Arrays are by block of its graph. */
struct code {
    uint64_t entry;
    const struct wetdbg_graph *graph;
    uint32_t block_count;
    struct block_code *blocks;
    uint32_t *first_preds; /* one more, for the end of the last */
    uint32_t *preds;
    uint32_t *marks; /* by which search it was met */
    uint32_t *stack;
    uint32_t search;
};

struct psw_reaching {
    struct wetdbg_model *model;
    struct code *codes;
    uint32_t count, capacity;
    struct wd_index by_entry;
};

/* Where a register is read, or handed on: the instruction, and its block. */
struct point {
    uint64_t pc;
    uint32_t block;
};

struct points {
    struct point items[POINTS_MAX];
    uint32_t count;
    bool is_returned; /* it comes to the function's end, and all its ends are one point */
};

/* ---- functions ---- */

static void code_fini(struct code *code)
{
    free(code->blocks);
    free(code->first_preds);
    free(code->preds);
    free(code->marks);
    free(code->stack);
}

/* Turns the graph's edges round. */
static int find_preds(struct code *code)
{
    uint32_t edges = 0;

    for (uint32_t b = 0; b < code->block_count; b++) {
        const struct wetdbg_block *block = wetdbg_graph_block(code->graph, b);
        edges += block->successor_count;
        for (uint32_t s = 0; s < block->successor_count; s++)
            if (block->successors[s] != WETDBG_BLOCK_EXIT)
                code->first_preds[block->successors[s] + 1]++;
    }
    for (uint32_t b = 0; b < code->block_count; b++)
        code->first_preds[b + 1] += code->first_preds[b];
    code->preds = malloc((edges + 1) * sizeof(*code->preds));
    if (!code->preds)
        return -ENOMEM;
    for (uint32_t b = 0; b < code->block_count; b++) {
        const struct wetdbg_block *block = wetdbg_graph_block(code->graph, b);
        for (uint32_t s = 0; s < block->successor_count; s++)
            if (block->successors[s] != WETDBG_BLOCK_EXIT)
                code->preds[code->first_preds[block->successors[s]] +
                            code->marks[block->successors[s]]++] = b;
    }
    memset(code->marks, 0, code->block_count * sizeof(*code->marks));
    return 0;
}

static int code_init(struct code *code, uint64_t entry, const struct wetdbg_graph *graph)
{
    size_t count = wetdbg_graph_block_count(graph);

    *code = (struct code){.entry = entry, .graph = graph, .block_count = (uint32_t)count};
    code->blocks = calloc(count + 1, sizeof(*code->blocks));
    code->first_preds = calloc(count + 1, sizeof(*code->first_preds));
    code->marks = calloc(count + 1, sizeof(*code->marks));
    code->stack = calloc(count + 1, sizeof(*code->stack));
    if (!code->blocks || !code->first_preds || !code->marks || !code->stack)
        return -ENOMEM;
    return find_preds(code);
}

static uint32_t *place_of(const struct psw_reaching *reaching, uint64_t entry)
{
    return wd_index_find(&reaching->by_entry, wd_hash_u64(entry) >> 32, n,
                         reaching->codes[n].entry == entry);
}

static int make_room(struct psw_reaching *reaching)
{
    if (wd_grow(reaching->codes, reaching->capacity, reaching->count + 1))
        return -ENOMEM;
    return wd_index_room(&reaching->by_entry, reaching->count, 256, i,
                         place_of(reaching, reaching->codes[i].entry));
}

/* The function that has an instruction: *out is NULL if the model knows none. 0 or -ENOMEM. */
static int find_code(struct psw_reaching *reaching, uint64_t pc, struct code **out)
{
    const struct wetdbg_graph *graph;

    *out = NULL;
    if (wetdbg_graph_at(reaching->model, pc, &graph))
        return 0;
    int err = make_room(reaching);
    if (err)
        return err;
    uint64_t entry = wetdbg_graph_entry(graph);
    uint32_t *place = place_of(reaching, entry);
    struct code *code = &reaching->codes[*place ? *place - 1 : reaching->count];
    /* An address that the graph did not contain before made another one of it. */
    bool is_there =
        *place && code->graph == graph && code->block_count == wetdbg_graph_block_count(graph);
    if (!is_there) {
        if (*place)
            code_fini(code);
        else
            *place = ++reaching->count;
        err = code_init(code, entry, graph);
    }
    if (!err)
        *out = code;
    return err;
}

/* ---- instructions ---- */

/* Where functions return what they return: rax and rdx, xmm0 and xmm1. */
static bool is_result(unsigned location)
{
    unsigned number;
    enum wetdbg_location_kind kind = wetdbg_location_kind(location, &number);

    return (kind == WETDBG_LOCATION_GENERAL && (number == INS_RAX || number == INS_RDX)) ||
           (kind == WETDBG_LOCATION_VECTOR && number < 2);
}

static bool defines(const struct effect *effect, unsigned location)
{
    return ins_regset_has(&effect->defs, location) || (effect->has_call && is_result(location));
}

static bool may_define(const struct effect *effect, unsigned location)
{
    return defines(effect, location) || ins_regset_has(&effect->may_defs, location);
}

static bool is_call(const struct ins_info *info)
{
    return info->klass == INS_CALL || info->klass == INS_CALL_INDIRECT;
}

static void add_effect(struct effect *effect, const struct ins_info *info)
{
    effect->has_call |= is_call(info);
    for (unsigned f = 0; f < info->flow_count; f++) {
        ins_regset_join(&effect->defs, &info->flows[f].defs);
        ins_regset_join(&effect->may_defs, &info->flows[f].may_defs);
    }
}

/* What the instructions from `pc` up to `until` do. */
static struct effect effect_of(const struct psw_reaching *reaching, uint64_t pc, uint64_t until)
{
    struct effect effect = {.has_call = false};
    uint8_t code[SLC_INSN_BYTES];
    struct ins_info info;

    for (; pc < until && slc_decode_unrun(reaching->model, pc, until, code, &info);
         pc += info.length)
        add_effect(&effect, &info);
    return effect;
}

static const struct effect *effect_of_block(const struct psw_reaching *reaching, struct code *code,
                                            uint32_t index)
{
    struct block_code *known = &code->blocks[index];

    if (!known->is_known) {
        const struct wetdbg_block *block = wetdbg_graph_block(code->graph, index);
        known->effect = effect_of(reaching, block->start, block->end);
        known->is_known = true;
    }
    return &known->effect;
}

/* ---- forward: where a definition is handed on ---- */

static void add_point(struct points *points, uint64_t pc, uint32_t block)
{
    if (points->count < POINTS_MAX)
        points->items[points->count++] = (struct point){pc, block};
}

static bool is_exit(const struct wetdbg_block *block)
{
    return block->kind == WETDBG_BLOCK_END_RETURN || block->kind == WETDBG_BLOCK_END_TAIL;
}

/* Passes the instructions of a block from `pc` on: whether the definition comes to its end. */
static bool pass_block(const struct psw_reaching *reaching, const struct code *code, uint32_t index,
                       uint64_t pc, unsigned location, struct points *points)
{
    const struct wetdbg_block *block = wetdbg_graph_block(code->graph, index);
    uint8_t bytes[SLC_INSN_BYTES];
    struct ins_info info;

    for (; pc < block->end; pc += info.length) {
        struct effect effect = {.has_call = false};
        if (!slc_decode_unrun(reaching->model, pc, block->end, bytes, &info))
            return false;
        if (is_call(&info))
            add_point(points, pc, index);
        add_effect(&effect, &info);
        if (defines(&effect, location))
            return false;
    }
    points->is_returned |= is_exit(block);
    return true;
}

static uint32_t push_successors(struct code *code, uint32_t index, uint32_t count)
{
    const struct wetdbg_block *block = wetdbg_graph_block(code->graph, index);

    for (uint32_t s = 0; s < block->successor_count; s++) {
        uint32_t next = block->successors[s];
        if (next == WETDBG_BLOCK_EXIT || code->marks[next] == code->search)
            continue;
        code->marks[next] = code->search;
        code->stack[count++] = next;
    }
    return count;
}

static void find_points(const struct psw_reaching *reaching, struct code *code, uint64_t definition,
                        uint32_t block, unsigned location, struct points *points)
{
    uint64_t end = wetdbg_graph_block(code->graph, block)->end;
    uint8_t bytes[SLC_INSN_BYTES];
    struct ins_info info;
    uint32_t count = 0;

    if (!slc_decode_unrun(reaching->model, definition, end, bytes, &info))
        return;
    code->search++;
    if (pass_block(reaching, code, block, definition + info.length, location, points))
        count = push_successors(code, block, 0);
    while (count) {
        uint32_t index = code->stack[--count];
        uint64_t start = wetdbg_graph_block(code->graph, index)->start;
        if (pass_block(reaching, code, index, start, location, points))
            count = push_successors(code, index, count);
    }
    for (uint32_t b = 0; b < code->block_count && points->is_returned; b++) {
        const struct wetdbg_block *each = wetdbg_graph_block(code->graph, b);
        if (is_exit(each))
            add_point(points, each->last, b);
    }
}

/* ---- backward: what else comes there ---- */

static uint32_t push_preds(struct code *code, uint32_t index, uint32_t count)
{
    for (uint32_t p = code->first_preds[index]; p < code->first_preds[index + 1]; p++) {
        uint32_t next = code->preds[p];
        if (code->marks[next] == code->search)
            continue;
        code->marks[next] = code->search;
        code->stack[count++] = next;
    }
    return count;
}

static void find_definitions(const struct psw_reaching *reaching, struct code *code,
                             const struct points *points, unsigned location, psw_reaching_fn *fn,
                             void *arg)
{
    uint32_t count = 0;

    code->search++;
    for (uint32_t i = 0; i < points->count; i++) {
        uint64_t start = wetdbg_graph_block(code->graph, points->items[i].block)->start;
        struct effect before = effect_of(reaching, start, points->items[i].pc);
        if (!defines(&before, location))
            count = push_preds(code, points->items[i].block, count);
        else if (points->is_returned)
            fn(arg, start);
    }
    while (count) {
        uint32_t index = code->stack[--count];
        const struct effect *effect = effect_of_block(reaching, code, index);
        if (may_define(effect, location))
            fn(arg, wetdbg_graph_block(code->graph, index)->start);
        if (!defines(effect, location))
            count = push_preds(code, index, count);
    }
}

int psw_reaching_each(struct psw_reaching *reaching, uint64_t definition, uint64_t use,
                      unsigned location, psw_reaching_fn *fn, void *arg)
{
    struct points points = {.count = 0};
    struct code *code, *other;
    uint32_t block;
    int err = find_code(reaching, use, &other);
    uint64_t entry = other ? other->entry : 0;

    if (!err)
        err = find_code(reaching, definition, &code);
    if (err || !code || wetdbg_graph_find(code->graph, definition, &block))
        return err;
    if (entry == code->entry && wetdbg_graph_find(code->graph, use, &points.items[0].block) == 0)
        points.items[points.count++].pc = use;
    else
        find_points(reaching, code, definition, block, location, &points);
    find_definitions(reaching, code, &points, location, fn, arg);
    return 0;
}

/* ---- life ---- */

int psw_reaching_new(struct wetdbg_model *model, struct psw_reaching **out)
{
    struct psw_reaching *reaching = calloc(1, sizeof(*reaching));

    if (!reaching)
        return -ENOMEM;
    reaching->model = model;
    *out = reaching;
    return 0;
}

void psw_reaching_free(struct psw_reaching *reaching)
{
    if (!reaching)
        return;
    for (uint32_t i = 0; i < reaching->count; i++)
        code_fini(&reaching->codes[i]);
    free(reaching->codes);
    wd_index_fini(&reaching->by_entry);
    free(reaching);
}

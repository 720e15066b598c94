/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions are looked at once for each address, whichever nodes they are in. */
#include "predicate_switch/predicates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>

#define NOT_ONE PSW_NONE /* of an address: looked at, and no predicate */

/* ---- addresses that were looked at ---- */

struct seen {
    uint64_t pc;
    uint32_t predicate; /* or NOT_ONE */
};

struct finder {
    struct psw_predicates *all;
    const struct wetdbg_candidates_options *options;
    struct seen *seen;
    uint32_t seen_count, seen_capacity;
    struct wd_index by_pc;
};

static uint32_t *place_of(const struct finder *finder, uint64_t pc)
{
    return wd_index_find(&finder->by_pc, wd_hash_u64(pc) >> 32, n, finder->seen[n].pc == pc);
}

/* The place of an address, with room for one more. */
static int make_place(struct finder *finder, uint64_t pc, uint32_t **place)
{
    if (wd_index_room(&finder->by_pc, finder->seen_count, 1024, i,
                      place_of(finder, finder->seen[i].pc)))
        return -ENOMEM;
    *place = place_of(finder, pc);
    return 0;
}

/* ---- ways ---- */

static int add_way(struct psw_predicates *all, struct psw_static *predicate, uint64_t to)
{
    for (uint32_t i = 0; i < predicate->way_count; i++)
        if (all->ways[predicate->first_way + i] == to)
            return 0;
    if (wd_grow(all->ways, all->way_capacity, all->way_count + 1))
        return -ENOMEM;
    all->ways[all->way_count++] = to;
    predicate->way_count++;
    return 0;
}

/* Where a table's jump went in the run, then the rest of the table, as far as the graph knows it:
 * within its own function. */
static int add_table(struct psw_predicates *all, struct psw_static *predicate, uint64_t pc)
{
    struct wetdbg_model *model = wetdbg_get_model(all->wet);
    const struct wetdbg_graph *graph;
    uint32_t index;
    size_t count;
    const struct wetdbg_jump *jumps = wetdbg_jumps(all->wet, &count);
    int err = 0;

    if (wetdbg_graph_at(model, pc, &graph) || wetdbg_graph_find(graph, pc, &index))
        return 0;
    const struct wetdbg_block *block = wetdbg_graph_block(graph, index);
    if (block->kind != WETDBG_BLOCK_END_INDIRECT || block->last != pc)
        return 0;
    for (size_t i = wd_bisect(0, count, n, jumps[n].jump < pc); i < count && jumps[i].jump == pc;
         i++) {
        uint32_t target;
        if (!err && wetdbg_graph_find(graph, jumps[i].target, &target) == 0)
            err = add_way(all, predicate, jumps[i].target);
    }
    for (uint32_t s = 0; s < block->successor_count && !err; s++)
        if (block->successors[s] != WETDBG_BLOCK_EXIT)
            err = add_way(all, predicate, wetdbg_graph_block(graph, block->successors[s])->start);
    return err;
}

static int add_ways(struct psw_predicates *all, struct psw_static *predicate,
                    enum wetdbg_predicate_kind kind, const struct wet_statement *statement)
{
    uint64_t ways[2] = {0, 1};

    predicate->first_way = all->way_count;
    if (kind == WETDBG_PREDICATE_TABLE)
        return add_table(all, predicate, statement->pc);
    if (kind == WETDBG_PREDICATE_BRANCH) {
        ways[0] = statement->pc + statement->info->length;
        ways[1] = statement->info->target;
    }
    int err = add_way(all, predicate, ways[0]);
    return err ? err : add_way(all, predicate, ways[1]);
}

/* ---- predicates ---- */

/* Counting loops (loop, loope...) also change their counter: no predicates. */
static bool is_kind(const struct ins_info *info, enum wetdbg_predicate_kind *kind)
{
    bool is_counting = info->condition != INS_COND_NONE && info->condition >= INS_COND_LOOP;

    if (info->klass == INS_JCC && !is_counting)
        *kind = WETDBG_PREDICATE_BRANCH;
    else if (info->klass == INS_JMP_INDIRECT)
        *kind = WETDBG_PREDICATE_TABLE;
    else if (info->flags & INS_IS_CMOV)
        *kind = WETDBG_PREDICATE_CMOV;
    else if (info->klass == INS_PLAIN && info->condition != INS_COND_NONE)
        *kind = WETDBG_PREDICATE_SETCC;
    else
        return false;
    return true;
}

static bool is_loader(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_module module;

    return wetdbg_module_at(model, pc, &module) || strncmp(module.name, "ld-", 3) == 0 ||
           module.name[0] == '[';
}

static bool is_wanted(const struct finder *finder, uint64_t pc)
{
    struct wetdbg *wet = finder->all->wet;

    return wetdbg_is_own(wet, pc) ||
           (finder->options->libraries && !is_loader(wetdbg_get_model(wet), pc));
}

static void find_line(struct wetdbg_model *model, struct wetdbg_predicate *item)
{
    struct wetdbg_function function;
    struct wetdbg_line line;

    if (wetdbg_line_of_instruction(model, item->pc, &line) == 0) {
        item->file = line.file;
        item->line = line.line;
        item->function = line.function;
    }
    if (!item->function && wetdbg_function_at(model, item->pc, &function) == 0)
        item->function = function.name;
}

/* A new one, if it is wanted and has two ways at least; else *predicate becomes NOT_ONE. */
static int add_predicate(struct finder *finder, enum wetdbg_predicate_kind kind,
                         const struct wet_statement *statement, uint32_t *predicate)
{
    struct wetdbg_predicate found = {.pc = statement->pc, .kind = kind};
    const struct wetdbg_candidates_options *options = finder->options;
    struct psw_predicates *all = finder->all;

    *predicate = NOT_ONE;
    find_line(wetdbg_get_model(all->wet), &found);
    if (options->is_wanted && !options->is_wanted(options->arg, &found))
        return 0;
    if (wd_grow(all->items, all->capacity, all->count + 1) ||
        wd_grow(all->statics, all->static_capacity, all->count + 1))
        return -ENOMEM;
    struct psw_static *ways = &all->statics[all->count];
    *ways = (struct psw_static){0};
    int err = add_ways(all, ways, kind, statement);
    if (err || ways->way_count < 2)
        return err;
    all->items[all->count] = found;
    *predicate = all->count++;
    return 0;
}

static int look_at(struct finder *finder, const struct wet_statement *statement,
                   uint32_t *predicate)
{
    enum wetdbg_predicate_kind kind;
    uint32_t *place;

    *predicate = NOT_ONE;
    if (!is_kind(statement->info, &kind))
        return 0;
    int err = make_place(finder, statement->pc, &place);
    if (err || *place) {
        if (!err)
            *predicate = finder->seen[*place - 1].predicate;
        return err;
    }
    if (is_wanted(finder, statement->pc))
        err = add_predicate(finder, kind, statement, predicate);
    if (err || wd_grow(finder->seen, finder->seen_capacity, finder->seen_count + 1))
        return -ENOMEM;
    finder->seen[finder->seen_count] = (struct seen){statement->pc, *predicate};
    *place = ++finder->seen_count;
    return 0;
}

/* ---- nodes ---- */

static int add_spots(struct finder *finder, const struct wet_node *node)
{
    struct psw_predicates *all = finder->all;
    int err = 0;

    for (uint32_t i = 0; i < node->statement_count && !err; i++) {
        uint32_t predicate;
        err = look_at(finder, &node->statements[i], &predicate);
        if (err || predicate == NOT_ONE)
            continue;
        if (wd_grow(all->spots, all->spot_capacity, all->spot_count + 1))
            return -ENOMEM;
        all->spots[all->spot_count++] = (struct psw_spot){predicate, i};
        all->items[predicate].instances += node->executions;
    }
    return err;
}

static int find_in_nodes(struct finder *finder)
{
    struct psw_predicates *all = finder->all;
    int err = 0;

    for (uint32_t id = 0; id < all->node_limit && !err; id++) {
        const struct wet_node *node = wet_get_node(all->wet, id);
        all->first_spots[id] = all->spot_count;
        if (node && node->executions)
            err = add_spots(finder, node);
    }
    all->first_spots[all->node_limit] = all->spot_count;
    return err;
}

/* ---- order of address ---- */

struct place {
    uint64_t pc;
    uint32_t old;
};

static int by_pc(const void *a, const void *b)
{
    uint64_t x = ((const struct place *)a)->pc, y = ((const struct place *)b)->pc;

    return x < y ? -1 : x > y;
}

static int sort(struct psw_predicates *all)
{
    struct place *places = calloc(all->count + 1, sizeof(*places));
    struct wetdbg_predicate *items = calloc(all->count + 1, sizeof(*items));
    struct psw_static *statics = calloc(all->count + 1, sizeof(*statics));
    uint32_t *news = calloc(all->count + 1, sizeof(*news));
    int err = places && items && statics && news ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < all->count && !err; i++)
        places[i] = (struct place){all->items[i].pc, i};
    if (!err)
        qsort(places, all->count, sizeof(*places), by_pc);
    for (uint32_t i = 0; i < all->count && !err; i++) {
        items[i] = all->items[places[i].old];
        statics[i] = all->statics[places[i].old];
        news[places[i].old] = i;
    }
    for (uint32_t i = 0; i < all->spot_count && !err; i++)
        all->spots[i].predicate = news[all->spots[i].predicate];
    if (!err) {
        free(all->items);
        free(all->statics);
        all->items = items;
        all->statics = statics;
        all->capacity = all->static_capacity = all->count + 1;
        items = NULL;
        statics = NULL;
    }
    free(items);
    free(statics);
    free(places);
    free(news);
    return err;
}

int psw_predicates_find(struct psw_predicates *all, struct wetdbg *wet,
                        const struct wetdbg_candidates_options *options)
{
    struct finder finder = {.all = all, .options = options};

    *all = (struct psw_predicates){.wet = wet, .node_limit = wet_node_limit(wet)};
    all->first_spots = calloc((size_t)all->node_limit + 1, sizeof(*all->first_spots));
    int err = all->first_spots ? find_in_nodes(&finder) : -ENOMEM;
    if (!err)
        err = sort(all);
    if (!err)
        psw_expressions_find(all);
    free(finder.seen);
    wd_index_fini(&finder.by_pc);
    return err;
}

void psw_predicates_fini(struct psw_predicates *all)
{
    free(all->items);
    free(all->statics);
    free(all->ways);
    free(all->spots);
    free(all->first_spots);
}

uint32_t psw_predicates_at(const struct psw_predicates *all, uint64_t pc)
{
    size_t at = wd_bisect(0, all->count, i, all->items[i].pc < pc);

    return at < all->count && all->items[at].pc == pc ? (uint32_t)at : PSW_NONE;
}

uint32_t psw_way_find(const struct psw_predicates *all, uint32_t predicate, uint64_t to)
{
    const uint64_t *ways = psw_ways(all, predicate);

    for (uint32_t i = 0; i < all->statics[predicate].way_count; i++)
        if (ways[i] == to)
            return i;
    return PSW_NONE;
}

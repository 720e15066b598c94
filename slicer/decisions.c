/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include "slicer/slice_priv.h"
#include <wetdbg/caller.h>
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>

/* What is known of the branches at one address. */
struct found {
    struct wetdbg_decision is;
    const char *file; /* the model's */
    uint32_t line;
};

struct gather {
    struct found *items; /* by address */
    uint32_t count, capacity;
    struct wd_index by_pc;
};

static uint32_t *place_of(const struct gather *gather, uint64_t pc)
{
    return wd_index_find(&gather->by_pc, wd_hash_u64(pc) >> 32, n,
                         gather->items[n].is.instance.pc == pc);
}

static int add(struct gather *gather, const struct wetdbg_slice_instance *instance)
{
    if (wd_grow(gather->items, gather->capacity, gather->count + 1) ||
        wd_index_room(&gather->by_pc, gather->count, 256, i,
                      place_of(gather, gather->items[i].is.instance.pc)))
        return -ENOMEM;
    gather->items[gather->count] =
        (struct found){.is = {.instance = *instance, .instances = 1, .branches = 1}};
    *place_of(gather, instance->pc) = ++gather->count;
    return 0;
}

/* Which of two instances to show: the nearer one, of those the later. */
static bool is_better(const struct wetdbg_slice_instance *a, const struct wetdbg_slice_instance *b)
{
    return a->distance != b->distance ? a->distance < b->distance : a->time > b->time;
}

static int note(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct gather *gather = arg;

    if (instance->edge != WETDBG_EDGE_CONTROL && instance->edge != WETDBG_EDGE_IMPLICIT &&
        instance->edge != WETDBG_EDGE_NONE)
        return 0;
    uint32_t at = gather->count ? *place_of(gather, instance->pc) : 0;
    if (!at)
        return add(gather, instance);
    struct found *found = &gather->items[at - 1];
    found->is.instances++;
    if (is_better(instance, &found->is.instance))
        found->is.instance = *instance;
    return 0;
}

/* ---- choosing ---- */

/* The block that ends with a branch of own code which could go on in several ways, or NULL. */
static const struct wetdbg_block *branch_block(struct wetdbg *wet, uint64_t pc)
{
    const struct wetdbg_graph *graph;
    uint32_t index;

    if (!wetdbg_is_own(wet, pc) || wetdbg_graph_at(wetdbg_get_model(wet), pc, &graph) ||
        wetdbg_graph_find(graph, pc, &index))
        return NULL;
    const struct wetdbg_block *block = wetdbg_graph_block(graph, index);
    bool is_branch =
        block->kind == WETDBG_BLOCK_END_BRANCH || block->kind == WETDBG_BLOCK_END_INDIRECT;
    return is_branch && block->last == pc && block->successor_count > 1 ? block : NULL;
}

static int by_line(const void *a, const void *b)
{
    const struct found *x = a, *y = b;

    int order = strcmp(x->file ? x->file : "", y->file ? y->file : "");

    if (order)
        return order;
    if (x->line != y->line)
        return x->line < y->line ? -1 : 1;
    if (x->is.instance.pc == y->is.instance.pc)
        return 0;
    return is_better(&x->is.instance, &y->is.instance) ? -1 : 1;
}

static int by_distance(const void *a, const void *b)
{
    const struct wetdbg_slice_instance *x = &((const struct found *)a)->is.instance;
    const struct wetdbg_slice_instance *y = &((const struct found *)b)->is.instance;

    return is_better(x, y) ? -1 : is_better(y, x);
}

/* Keeps branches of own code, one for each line, the nearest first. */
static void choose(struct wetdbg *wet, struct gather *gather)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_line line;
    uint32_t kept = 0, count = 0;

    for (uint32_t i = 0; i < gather->count; i++) {
        struct found *found = &gather->items[i];
        if (!branch_block(wet, found->is.instance.pc))
            continue;
        if (wetdbg_line_of_instruction(model, found->is.instance.pc, &line) == 0) {
            found->file = line.file;
            found->line = line.line;
        }
        gather->items[kept++] = *found;
    }
    if (kept)
        qsort(gather->items, kept, sizeof(*gather->items), by_line);
    for (uint32_t i = 0; i < kept; i++) {
        struct found *found = &gather->items[i];
        struct found *last = count ? &gather->items[count - 1] : NULL;
        if (last && last->file && found->file && strcmp(last->file, found->file) == 0 &&
            last->line == found->line) {
            last->is.instances += found->is.instances;
            last->is.branches += found->is.branches;
        } else {
            gather->items[count++] = *found;
        }
    }
    if (count)
        qsort(gather->items, count, sizeof(*gather->items), by_distance);
    gather->count = count;
}

/* ---- what came of them ---- */

/* Where a thread went from the branch at a time; 0: that was its last instruction. */
static int find_next(struct wetdbg *wet, wetdbg_time time, uint64_t *next)
{
    uint64_t count = wetdbg_get_info(wet)->intervals, first = wetdbg_interval_at(wet, time);
    uint32_t task = UINT32_MAX;
    int err = 0;

    *next = 0;
    for (uint64_t k = first; k < count && k < first + 2 && !*next && !err; k++) {
        const struct wet_interval *interval;
        err = wet_interval_get(wet, k, &interval);
        if (err)
            break;
        size_t at = wd_bisect(0, interval->exec_count, i,
                              interval->first_time + interval->execs[i].time_off <= time);
        if (k == first && at)
            task = interval->execs[at - 1].task;
        for (; at < interval->exec_count && !*next; at++)
            if (interval->execs[at].task == task) {
                const struct wet_node *node = wet_get_node(wet, interval->execs[at].node);
                *next = node ? node->pc : 0;
            }
        wet_interval_put(wet, interval);
    }
    return err;
}

static int complete(struct wetdbg *wet, struct wetdbg_decision *decision)
{
    const struct wetdbg_graph *graph;
    int err = find_next(wet, decision->instance.time, &decision->went);
    const struct wetdbg_block *block = err ? NULL : branch_block(wet, decision->instance.pc);

    if (!block || wetdbg_graph_at(wetdbg_get_model(wet), decision->instance.pc, &graph))
        return err;
    for (uint32_t s = 0; s < block->successor_count && block->successor_count == 2; s++) {
        const struct wetdbg_block *next = block->successors[s] == WETDBG_BLOCK_EXIT
                                              ? NULL
                                              : wetdbg_graph_block(graph, block->successors[s]);
        if (!next || (decision->went >= next->start && decision->went < next->end))
            continue;
        decision->other = next->start;
        decision->is_way_out = next->kind == WETDBG_BLOCK_END_STOP;
    }
    return 0;
}

int wetdbg_slice_decisions(const struct wetdbg_slice *slice, size_t limit,
                           struct wetdbg_decision **decisions, size_t *count)
{
    struct gather gather = {.count = 0};

    if (!slice->options.record_parents)
        return wetdbg_fail(-EINVAL, "decisions are those of a slice that records distances");
    int err = wetdbg_slice_each_instance(slice, NULL, 0, note, &gather);
    if (!err)
        choose(slice->wet, &gather);
    *count = limit && gather.count > limit ? limit : gather.count;
    *decisions = err ? NULL : malloc((*count + 1) * sizeof(**decisions));
    if (!err && !*decisions)
        err = -ENOMEM;
    for (size_t i = 0; i < *count && !err; i++) {
        (*decisions)[i] = gather.items[i].is;
        err = complete(slice->wet, &(*decisions)[i]);
    }
    if (err)
        free(*decisions);
    free(gather.items);
    wd_index_fini(&gather.by_pc);
    return err;
}

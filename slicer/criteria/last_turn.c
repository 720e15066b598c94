/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/criteria/last_turn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "slicer/slice_session.h"
#include "slicer/state_view.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

#define FRAMES_MAX 1024

/* A frame of own code that has not turned away yet. */
struct watch {
    uint64_t slot; /* of the frame's return address */
    unsigned depth;
    const struct wetdbg_graph *graph;
    uint32_t site;  /* block of the code, or of the call that led there */
    bool *can_come; /* by block: a way of one edge or more leads to `site` */
    bool is_over;
};

struct walk {
    struct wetdbg *wet;
    struct wetdbg_model *model;
    struct slc_code code;
    uint32_t task;
    uint64_t *slots; /* of all frames, the outermost first */
    size_t slot_count, slot_capacity;
    struct watch *watches; /* the innermost first */
    size_t watch_count, watch_capacity;
    size_t open; /* that are not over */
    const struct slc_node
        *last;             /* executed by the thread, whose jump is looked at with the next one */
    wetdbg_time last_time; /* of its last instruction */
    struct slc_turn *turns;
    size_t turn_count, turn_capacity;
};

/* ---- where a frame may come again ---- */

/* The edges of a graph, the other way round: those that lead to block b come from
 * from[first[b]], ..., from[first[b + 1] - 1]. */
struct edges {
    uint32_t *first, *from;
};

static void free_edges(struct edges *edges)
{
    free(edges->first);
    free(edges->from);
}

/* Goes through all edges; with `from` NULL it counts them, in first[b + 1] those that lead to b. */
static void list_edges(const struct wetdbg_graph *graph, uint32_t *first, uint32_t *from)
{
    for (uint32_t i = 0; i < wetdbg_graph_block_count(graph); i++) {
        const struct wetdbg_block *block = wetdbg_graph_block(graph, i);
        for (uint32_t s = 0; s < block->successor_count; s++) {
            uint32_t to = block->successors[s];
            if (to == WETDBG_BLOCK_EXIT)
                continue;
            if (from)
                from[first[to]++] = i;
            else
                first[to + 1]++;
        }
    }
}

static int make_edges(const struct wetdbg_graph *graph, struct edges *edges)
{
    uint32_t count = wetdbg_graph_block_count(graph);

    edges->from = NULL;
    edges->first = calloc((size_t)count + 2, sizeof(*edges->first));
    if (!edges->first)
        return -ENOMEM;
    list_edges(graph, edges->first, NULL);
    for (uint32_t b = 0; b < count; b++)
        edges->first[b + 1] += edges->first[b];
    edges->from = malloc(((size_t)edges->first[count] + 1) * sizeof(*edges->from));
    if (!edges->from)
        return -ENOMEM;
    list_edges(graph, edges->first, edges->from);
    /* each place has moved on to where the next one began */
    memmove(edges->first + 1, edges->first, count * sizeof(*edges->first));
    edges->first[0] = 0;
    return 0;
}

/* Back from `site`, edge by edge; each block is looked at once. */
static int find_ways(struct watch *watch)
{
    uint32_t count = wetdbg_graph_block_count(watch->graph), *met;
    size_t met_count = 0;
    struct edges edges;
    int err = make_edges(watch->graph, &edges);

    watch->can_come = calloc((size_t)count + 1, sizeof(*watch->can_come));
    met = malloc(((size_t)count + 1) * sizeof(*met));
    if (!watch->can_come || !met)
        err = -ENOMEM;
    if (!err)
        met[met_count++] = watch->site;
    for (size_t at = 0; at < met_count; at++)
        for (uint32_t e = edges.first[met[at]]; e < edges.first[met[at] + 1]; e++) {
            uint32_t before = edges.from[e];
            if (!watch->can_come[before] && before != watch->site)
                met[met_count++] = before;
            watch->can_come[before] = true;
        }
    free(met);
    free_edges(&edges);
    return err;
}

/* The graph of the function around an address, which need not be where an instruction begins. */
static const struct wetdbg_graph *graph_around(struct walk *walk, uint64_t pc)
{
    const struct wetdbg_graph *graph;
    struct wetdbg_function function;

    if (!wetdbg_is_own(walk->wet, pc) || wetdbg_function_at(walk->model, pc, &function) ||
        wetdbg_graph_at(walk->model, function.start, &graph))
        return NULL;
    return graph;
}

static int add_watch(struct walk *walk, uint64_t pc, uint64_t slot, unsigned depth)
{
    struct watch watch = {.slot = slot, .depth = depth};

    watch.graph = graph_around(walk, pc);
    if (!watch.graph)
        return 0;
    /* a frame's address may lie inside its call */
    for (unsigned back = 0; back < 16; back++)
        if (wetdbg_graph_find(watch.graph, pc - back, &watch.site) == 0) {
            if (wd_grow(walk->watches, walk->watch_capacity, walk->watch_count + 1) ||
                find_ways(&watch)) {
                free(watch.can_come);
                return -ENOMEM;
            }
            walk->watches[walk->watch_count++] = watch;
            walk->open++;
            return 0;
        }
    return 0;
}

/* ---- the stack at the start ---- */

static int add_frames(struct walk *walk, struct wetdbg_state *state)
{
    struct wetdbg_frame_regs regs = slc_frame_regs(state);
    uint64_t pcs[FRAMES_MAX];
    int result = 1, err = 0;

    for (unsigned depth = 0; depth < FRAMES_MAX && result > 0; depth++) {
        pcs[depth] = wetdbg_frame_lookup_pc(&regs);
        graph_around(walk, pcs[depth]); /* which may make another one void */
        result = wetdbg_unwind(walk->model, &regs, slc_read_memory, state);
        if (result == -WETDBG_ERR_INTERRUPTED)
            return result;
        uint64_t slot = result > 0 ? regs.value[WETDBG_REG_RSP] - 8 : UINT64_MAX;
        if (wd_grow(walk->slots, walk->slot_capacity, walk->slot_count + 1))
            return -ENOMEM;
        walk->slots[walk->slot_count++] = slot;
    }
    for (unsigned depth = 0; depth < walk->slot_count && !err; depth++)
        err = add_watch(walk, pcs[depth], walk->slots[depth], depth);
    for (size_t i = 0; i < walk->slot_count / 2; i++) {
        uint64_t slot = walk->slots[i];
        walk->slots[i] = walk->slots[walk->slot_count - 1 - i];
        walk->slots[walk->slot_count - 1 - i] = slot;
    }
    return err;
}

/* ---- the way on ---- */

static void end_watch(struct walk *walk, struct watch *watch)
{
    walk->open -= !watch->is_over;
    watch->is_over = true;
}

static void leave_frames(struct walk *walk, uint64_t slot)
{
    while (walk->slot_count && walk->slots[walk->slot_count - 1] <= slot)
        walk->slot_count--;
    for (size_t i = 0; i < walk->watch_count && walk->watches[i].slot <= slot; i++)
        end_watch(walk, &walk->watches[i]);
}

/* Looks at a branch in the frame on top, which went to `next`. */
static int pass_branch(struct walk *walk, uint64_t next)
{
    uint64_t slot = walk->slot_count ? walk->slots[walk->slot_count - 1] : 0;
    uint32_t from, to;

    for (size_t i = 0; i < walk->watch_count; i++) {
        struct watch *watch = &walk->watches[i];
        if (watch->slot != slot || watch->is_over ||
            wetdbg_graph_find(watch->graph, walk->last->last_pc, &from) ||
            wetdbg_graph_find(watch->graph, next, &to))
            continue;
        if (!watch->can_come[from] || to == watch->site || watch->can_come[to])
            continue;
        end_watch(walk, watch);
        if (wd_grow(walk->turns, walk->turn_capacity, walk->turn_count + 1))
            return -ENOMEM;
        walk->turns[walk->turn_count++] =
            (struct slc_turn){walk->last_time, walk->last->last_pc, watch->depth};
    }
    return 0;
}

static int pass_exec(struct walk *walk, const struct wet_interval *interval,
                     const struct wet_exec *exec)
{
    struct slc_node *node = slc_code_node(&walk->code, exec->node);
    const uint64_t *slots = interval->slots + exec->slot_off;
    int err = 0;

    if (!node)
        return -ENOMEM;
    if (walk->last && walk->last->flags & SLC_NODE_BRANCH)
        err = pass_branch(walk, node->wet->pc);
    walk->last = node;
    walk->last_time = interval->first_time + exec->time_off + node->statement_count - 1;
    if (node->flags & SLC_NODE_RET)
        leave_frames(walk, slots[node->exit_slot]);
    if (node->flags & SLC_NODE_CALL && !err) {
        if (wd_grow(walk->slots, walk->slot_capacity, walk->slot_count + 1))
            return -ENOMEM;
        walk->slots[walk->slot_count++] = slots[node->exit_slot];
    }
    return err;
}

static int walk_on(struct walk *walk, wetdbg_time time)
{
    uint64_t count = wetdbg_get_info(walk->wet)->intervals;
    int err = 0;

    for (uint64_t k = wetdbg_interval_at(walk->wet, time); k < count && walk->open && !err; k++) {
        const struct wet_interval *interval;
        err = wet_interval_get(walk->wet, k, &interval);
        if (err)
            break;
        size_t first = wd_bisect(0, interval->exec_count, i,
                                 interval->first_time + interval->execs[i].time_off <= time);
        for (size_t i = first ? first - 1 : 0; i < interval->exec_count && walk->open && !err; i++)
            if (interval->execs[i].task == walk->task)
                err = pass_exec(walk, interval, &interval->execs[i]);
        wet_interval_put(walk->wet, interval);
    }
    return err;
}

static int start(struct walk *walk, wetdbg_time time)
{
    struct wetdbg_state *state;
    int err = slc_code_init(&walk->code, walk->wet, false, false);

    if (!err)
        err = slc_tell_jumps(walk->wet);
    if (!err)
        err = wetdbg_state_open(walk->wet, time, &state);
    if (err)
        return err;
    walk->task = wetdbg_state_task(state);
    err = add_frames(walk, state);
    wetdbg_state_close(state);
    return err;
}

int slc_last_turns(struct wetdbg *wet, wetdbg_time time, struct slc_turn **turns, size_t *count,
                   bool *is_left)
{
    struct walk walk = {.wet = wet, .model = wetdbg_get_model(wet)};
    int err = start(&walk, time);

    if (!err)
        err = walk_on(&walk, time);
    *is_left = walk.open > 0;
    for (size_t i = 0; i < walk.watch_count; i++)
        free(walk.watches[i].can_come);
    free(walk.watches);
    free(walk.slots);
    slc_code_fini(&walk.code);
    if (err) {
        free(walk.turns);
        return err;
    }
    *turns = walk.turns;
    *count = walk.turn_count;
    return 0;
}

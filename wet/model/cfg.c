/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds a function's control-flow graph by decoding from its entry.
 *
 * 1. Discovery: a worklist of addresses; from each, decode straight on until something that does
 *    not fall through, or code already decoded. Each instruction remembers the one it was reached
 *    from, which gives jumptable.c a path to every indirect jump.
 * 2. Blocks: from each leader along the instructions to the next leader. (Not by address: code may
 *    jump into an instruction, as glibc does past a lock prefix, so two blocks can share bytes.)
 * 3. Successors.
 *
 * Work is proportional to the code reached. Symbol boundaries bound the function, except that a
 * jump into the inside of another function, or to a cold part, joins that range to the graph.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/graph.h"
#include "wet/model/insn_flow.h"
#include "wet/model/jumptable.h"

#define NO_INSN   UINT32_MAX
#define PARTS_MAX 64

/* What discovery knows of one instruction. */
struct node {
    uint64_t pc;
    uint64_t target; /* of direct branches */
    uint32_t prev;   /* the instruction it was first reached from, or NO_INSN */
    uint32_t block;  /* from phase 2 on */
    uint32_t jump;   /* of an indirect jump: its index in `jumps` */
    uint8_t length;
    uint8_t kind; /* enum mdl_insn_kind */
    uint8_t is_direct;
    uint8_t is_leader;
    uint8_t never_returns; /* calls, and jumps that are calls at a function's end */
};

/* An indirect jump and the targets known for it. */
struct jump {
    struct mdl_addresses targets;
    bool is_complete;
    int leaves; /* one of the targets is outside */
};

struct pending {
    uint64_t pc;
    uint32_t prev;
};

struct builder {
    struct mdl_mod *mod;
    const struct mdl_functions *functions;
    struct mdl_graphs *graphs;
    struct wetdbg_graph *graph; /* parts[].block_of holds 1 + node index until the end */
    struct node *nodes;
    uint32_t node_count;
    uint32_t node_capacity;
    struct pending *worklist;
    size_t pending_count;
    size_t pending_capacity;
    struct jump *jumps;
    uint32_t jump_count;
    bool may_return; /* a return was met, or a way out of the function whose end is not known */
    bool asks;       /* for may_return, and nothing else */
};

int mdl_addresses_add(struct mdl_addresses *list, uint64_t address)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] == address)
            return 0;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 8;
        uint64_t *grown = reallocarray(list->items, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = address;
    return 1;
}

int mdl_graphs_get(struct mdl_mod *mod, struct mdl_graphs **graphs)
{
    if (!mod->graphs)
        mod->graphs = calloc(1, sizeof(*mod->graphs));
    *graphs = mod->graphs;
    return mod->graphs ? 0 : -ENOMEM;
}

void mdl_graph_free(struct wetdbg_graph *graph)
{
    if (!graph)
        return;
    for (size_t i = 0; i < graph->part_count; i++)
        free(graph->parts[i].block_of);
    free(graph->parts);
    free(graph->blocks);
    free(graph->successors);
    free(graph->successor_first);
    free(graph->landings);
    for (unsigned i = 0; i < MDL_CONTROL_FORMS; i++) {
        free(graph->control[i].controller_first);
        free(graph->control[i].controller_pcs);
        mdl_postdom_fini(&graph->control[i].postdom);
    }
    free(graph);
}

/* ---- Parts ------------------------------------------------------------------------------- */

static struct mdl_graph_part *part_at(const struct wetdbg_graph *graph, uint64_t pc)
{
    for (size_t i = 0; i < graph->part_count; i++)
        if (pc - graph->parts[i].start < graph->parts[i].size_bytes)
            return &graph->parts[i];
    return NULL;
}

static int add_landings(struct builder *b, const struct mdl_function_entry *entry)
{
    struct wetdbg_graph *graph = b->graph;
    struct mdl_landing *landings = NULL, *grown;
    size_t count = 0;
    int result =
        entry->lsda ? mdl_lsda_read(b->mod, entry->lsda, entry->start, &landings, &count) : 0;

    if (result < 0 || count == 0)
        return result;
    grown = reallocarray(graph->landings, graph->landing_count + count, sizeof(*grown));
    if (grown) {
        memcpy(grown + graph->landing_count, landings, count * sizeof(*grown));
        graph->landings = grown;
        graph->landing_count += count;
    }
    free(landings);
    return grown ? 0 : -ENOMEM;
}

static int add_part(struct builder *b, const struct mdl_function_entry *entry)
{
    struct wetdbg_graph *graph = b->graph;
    struct mdl_graph_part *grown =
        reallocarray(graph->parts, graph->part_count + 1, sizeof(*grown));
    size_t available = 0;
    uint64_t size = entry->end - entry->start;

    if (!grown)
        return -ENOMEM;
    graph->parts = grown;
    if (!mdl_mod_bytes(b->mod, entry->start, &available))
        available = 0;
    if (size > available)
        size = available;
    grown[graph->part_count].start = entry->start;
    grown[graph->part_count].size_bytes = size;
    grown[graph->part_count].block_of = calloc(size + 1, sizeof(uint32_t));
    if (!grown[graph->part_count].block_of)
        return -ENOMEM;
    graph->part_count++;
    return add_landings(b, entry);
}

int mdl_cfg_is_part(const struct mdl_function_entry *entry, uint64_t target)
{
    if (entry->flags & WETDBG_FUNCTION_PLT)
        return 0;
    if (target != entry->start)
        return 1;
    if (entry->flags & WETDBG_FUNCTION_COLD)
        return 1;
    return entry->is_continuation && !(entry->flags & WETDBG_FUNCTION_SYMBOL);
}

/* 1 if the target is in the graph's code, joining another part if it belongs to this function;
 * 0 if it is elsewhere; -ENOMEM. */
static int find_inside(struct builder *b, uint64_t target)
{
    const struct mdl_function_entry *entry;
    uint32_t index;
    int result;

    if (part_at(b->graph, target))
        return 1;
    index = mdl_functions_find(b->functions, target);
    if (index == MDL_NO_FUNCTION || b->graph->part_count >= PARTS_MAX)
        return 0;
    entry = &b->functions->entries[index];
    if (!mdl_cfg_is_part(entry, target))
        return 0;
    result = add_part(b, entry);
    return result < 0 ? result : part_at(b->graph, target) != NULL;
}

/* ---- Discovery --------------------------------------------------------------------------- */

static struct node *node_at(const struct builder *b, uint64_t pc)
{
    const struct mdl_graph_part *part = part_at(b->graph, pc);
    uint32_t number = part ? part->block_of[pc - part->start] : 0;

    return number ? &b->nodes[number - 1] : NULL;
}

static int push_target(struct builder *b, uint64_t pc, uint32_t prev)
{
    int inside = find_inside(b, pc);

    if (inside <= 0)
        return inside;
    if (b->pending_count == b->pending_capacity) {
        size_t capacity = b->pending_capacity ? b->pending_capacity * 2 : 64;
        struct pending *grown = reallocarray(b->worklist, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        b->worklist = grown;
        b->pending_capacity = capacity;
    }
    b->worklist[b->pending_count++] = (struct pending){pc, prev};
    return 1;
}

static int add_node(struct builder *b, const struct mdl_insn *insn, uint32_t prev)
{
    struct mdl_graph_part *part = part_at(b->graph, insn->pc);

    if (b->node_count == b->node_capacity) {
        uint32_t capacity = b->node_capacity ? b->node_capacity * 2 : 128;
        struct node *grown =
            capacity > b->node_capacity ? reallocarray(b->nodes, capacity, sizeof(*grown)) : NULL;

        if (!grown)
            return -ENOMEM;
        b->nodes = grown;
        b->node_capacity = capacity;
    }
    b->nodes[b->node_count++] = (struct node){
        .pc = insn->pc,
        .target = insn->target,
        .prev = prev,
        .block = NO_INSN,
        .jump = NO_INSN,
        .length = insn->length,
        .kind = (uint8_t)insn->kind,
        .is_direct = insn->is_direct != 0,
    };
    part->block_of[insn->pc - part->start] = b->node_count;
    return 0;
}

static bool is_lost(const struct mdl_functions *functions, uint64_t target)
{
    uint32_t index = mdl_functions_find(functions, target);

    return index != MDL_NO_FUNCTION && functions->entries[index].start == target &&
           functions->entries[index].never_returns;
}

/* Whether what a call or jump leads to is known never to return. */
static bool never_returns(const struct builder *b, const struct mdl_insn *insn)
{
    const struct mdl_slot *slot = insn->slot ? mdl_functions_slot(b->functions, insn->slot) : NULL;

    return insn->is_direct ? is_lost(b->functions, insn->target) : slot && slot->never_returns;
}

/* Adds one known target of an indirect jump and, if it is inside, what follows it. */
static int add_jump_target(struct builder *b, struct jump *jump, uint64_t target, uint32_t from)
{
    int inside = push_target(b, target, from);

    if (inside == 0)
        jump->leaves = 1;
    if (inside <= 0)
        return inside;
    return mdl_addresses_add(&jump->targets, target) < 0 ? -ENOMEM : 0;
}

/* Orders and removes repetitions: tables repeat the default case. */
static int compare_addresses(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static size_t sort_unique(uint64_t *items, size_t count)
{
    size_t kept = 0;

    qsort(items, count, sizeof(*items), compare_addresses);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || items[kept - 1] != items[i])
            items[kept++] = items[i];
    return kept;
}

/* The way that led to a node, oldest first. */
static size_t collect_path(const struct builder *b, uint32_t node, uint64_t *path)
{
    size_t count = 0;

    for (; node != NO_INSN && count < MDL_JUMPTABLE_PATH_MAX; node = b->nodes[node].prev)
        path[count++] = b->nodes[node].pc;
    for (size_t i = 0; i < count / 2; i++) {
        uint64_t swap = path[i];

        path[i] = path[count - 1 - i];
        path[count - 1 - i] = swap;
    }
    return count;
}

/* Takes a decoded table, unless an entry leads outside: then it was misread. */
static int take_table(struct builder *b, struct jump *jump, uint32_t node, uint64_t *targets,
                      size_t count)
{
    count = sort_unique(targets, count);
    for (size_t i = 0; i < count; i++) {
        int inside = find_inside(b, targets[i]);

        if (inside <= 0)
            return inside;
    }
    jump->targets.items = targets;
    jump->targets.count = jump->targets.capacity = count;
    for (size_t i = 0; i < count; i++)
        if (push_target(b, targets[i], node) < 0)
            return -ENOMEM;
    jump->is_complete = true;
    return 1;
}

static int resolve_jump(struct builder *b, uint32_t node)
{
    struct mdl_addresses *seen = mdl_addrmap_get(&b->graphs->targets, b->nodes[node].pc);
    uint64_t path[MDL_JUMPTABLE_PATH_MAX], *targets = NULL;
    struct jump *jump, *grown = reallocarray(b->jumps, b->jump_count + 1, sizeof(*grown));
    size_t count;
    int result;

    if (!grown)
        return -ENOMEM;
    b->jumps = grown;
    b->nodes[node].jump = b->jump_count;
    jump = &b->jumps[b->jump_count++];
    memset(jump, 0, sizeof(*jump));
    result = mdl_jumptable_resolve(b->mod, path, collect_path(b, node, path), &targets, &count);
    if (result == -ENOMEM)
        return result;
    if (result == 0) {
        result = take_table(b, jump, node, targets, count);
        if (!jump->targets.items)
            free(targets);
        if (result < 0)
            return result;
    }
    for (size_t i = 0; seen && i < seen->count; i++) {
        result = add_jump_target(b, jump, seen->items[i], node);
        if (result < 0)
            return result;
    }
    b->may_return |= jump->leaves || jump->targets.count == 0;
    return 0;
}

/* A jump. 0 or -ENOMEM. */
static int follow_jump(struct builder *b, const struct mdl_insn *insn, uint32_t node)
{
    bool is_slot = insn->slot && mdl_functions_slot(b->functions, insn->slot);
    int inside = insn->is_direct ? push_target(b, insn->target, node) : 0;

    if (inside)
        return inside < 0 ? inside : 0;
    if (!insn->is_direct && !is_slot)
        return resolve_jump(b, node);
    b->nodes[node].never_returns = never_returns(b, insn);
    b->may_return |= !b->nodes[node].never_returns;
    return 0;
}

static int follow_branch(struct builder *b, const struct mdl_insn *insn, uint32_t node)
{
    int inside = push_target(b, insn->target, node);

    b->may_return |= inside == 0 && !never_returns(b, insn);
    return inside < 0 ? inside : 1;
}

/* Follows an instruction. 1: goes on with the next address, 0: does not, -ENOMEM. */
static int follow(struct builder *b, const struct mdl_insn *insn, uint32_t node)
{
    switch (insn->kind) {
    case MDL_INSN_CALL:
        b->nodes[node].never_returns = never_returns(b, insn);
        return !b->nodes[node].never_returns;
    case MDL_INSN_BRANCH:
        return follow_branch(b, insn, node);
    case MDL_INSN_JUMP:
        return follow_jump(b, insn, node);
    case MDL_INSN_RETURN:
        b->may_return = true;
        return 0;
    case MDL_INSN_STOP:
        return 0;
    default:
        return 1;
    }
}

/* Decodes from one address until the flow ends or meets known code. */
static int discover_run(struct builder *b, uint64_t pc, uint32_t prev)
{
    bool is_first = true;
    int result = 1; /* 0: the flow ends here; -ENOMEM */

    while (result > 0) {
        struct node *known;
        struct mdl_insn insn;
        size_t available;
        const uint8_t *bytes;

        if (!part_at(b->graph, pc)) {
            /* off the end: into a cold part or code without symbol, or after a lost call */
            bool is_call = prev != NO_INSN && b->nodes[prev].kind == MDL_INSN_CALL;
            int inside = is_call ? 0 : find_inside(b, pc);

            b->may_return |= !is_call && inside == 0;
            if (inside > 0)
                inside = push_target(b, pc, prev);
            return inside < 0 ? inside : 0;
        }
        known = node_at(b, pc);
        if (known) {
            known->is_leader = true;
            return 0;
        }
        bytes = mdl_mod_bytes(b->mod, pc, &available);
        if (!bytes || mdl_decode(pc, bytes, available, &insn) < 0) {
            b->may_return = true; /* or not: nobody knows */
            return 0;
        }
        if (add_node(b, &insn, prev) < 0)
            return -ENOMEM;
        prev = b->node_count - 1;
        b->nodes[prev].is_leader = (uint8_t)is_first;
        is_first = insn.kind == MDL_INSN_BRANCH;
        result = follow(b, &insn, prev);
        pc += insn.length;
    }
    return result;
}

static int discover(struct builder *b)
{
    struct mdl_addresses *more = mdl_addrmap_get(&b->graphs->more_entries, b->graph->entry);
    int result = push_target(b, b->graph->entry, NO_INSN);
    size_t landing = 0;

    for (size_t i = 0; result >= 0 && more && i < more->count; i++)
        result = push_target(b, more->items[i], NO_INSN);
    /* first in, first out would need less backtracking in paths, but order does not matter for
     * the result: a path is looked at only as far as it is a path */
    do {
        while (result >= 0 && b->pending_count && !(b->asks && b->may_return)) {
            struct pending next = b->worklist[--b->pending_count];

            result = discover_run(b, next.pc, next.prev);
        }
        /* what only exceptions lead to; parts that were joined have landings of their own */
        for (; result >= 0 && landing < b->graph->landing_count; landing++)
            result = push_target(b, b->graph->landings[landing].pad, NO_INSN);
    } while (result >= 0 && b->pending_count && !(b->asks && b->may_return));
    return result < 0 ? -ENOMEM : 0;
}

/* ---- Blocks ------------------------------------------------------------------------------ */

static int compare_leaders(const void *left, const void *right)
{
    const struct wetdbg_block *a = left, *b = right;

    return a->start < b->start ? -1 : a->start > b->start;
}

/* The instruction that follows in the same block, or NULL. */
static struct node *next_in_block(const struct builder *b, const struct node *node)
{
    struct node *next;

    if (node->kind == MDL_INSN_JUMP || node->kind == MDL_INSN_BRANCH ||
        node->kind == MDL_INSN_RETURN || node->kind == MDL_INSN_STOP || node->never_returns)
        return NULL;
    next = node_at(b, node->pc + node->length);
    return next && !next->is_leader ? next : NULL;
}

static int make_blocks(struct builder *b)
{
    struct wetdbg_graph *graph = b->graph;
    uint32_t count = 0;

    for (uint32_t i = 0; i < b->node_count; i++)
        count += b->nodes[i].is_leader;
    graph->blocks = calloc((size_t)count + 1, sizeof(*graph->blocks));
    if (!graph->blocks)
        return -ENOMEM;
    for (uint32_t i = 0; i < b->node_count; i++)
        if (b->nodes[i].is_leader)
            graph->blocks[graph->block_count++].start = b->nodes[i].pc;
    qsort(graph->blocks, count, sizeof(*graph->blocks), compare_leaders);
    for (uint32_t i = 0; i < count; i++) {
        struct wetdbg_block *block = &graph->blocks[i];
        struct node *node = node_at(b, block->start), *last = node;

        for (; node; node = next_in_block(b, node)) {
            node->block = i;
            last = node;
        }
        block->last = last->pc;
        block->end = last->pc + last->length;
    }
    return 0;
}

/* ---- Successors -------------------------------------------------------------------------- */

/* Collects the successors of one block after the other. */
struct edges {
    uint32_t *targets;
    size_t count;
    size_t capacity;
    uint32_t *mark; /* per block, and last for the exit: 1 + block it is a successor of */
    uint32_t block;
    uint32_t block_count;
};

static int add_edge(struct edges *edges, uint32_t target)
{
    uint32_t *mark = &edges->mark[target == WETDBG_BLOCK_EXIT ? edges->block_count : target];

    if (*mark == edges->block + 1)
        return 0;
    *mark = edges->block + 1;
    if (edges->count == edges->capacity) {
        size_t capacity = edges->capacity ? edges->capacity * 2 : 64;
        uint32_t *grown =
            capacity < UINT32_MAX ? reallocarray(edges->targets, capacity, sizeof(*grown)) : NULL;

        if (!grown)
            return -ENOMEM;
        edges->targets = grown;
        edges->capacity = capacity;
    }
    edges->targets[edges->count++] = target;
    return 0;
}

/* The edge to an address: its block, or the exit if it is not part of this graph. */
static int add_edge_to(const struct builder *b, struct edges *edges, uint64_t pc)
{
    struct node *node = node_at(b, pc);

    return add_edge(edges, node ? node->block : WETDBG_BLOCK_EXIT);
}

/* Falling on: to nothing if no instruction could be decoded there, or past the end after a call
 * (which then did not return). */
static int add_fall_edge(const struct builder *b, struct edges *edges, struct wetdbg_block *block,
                         const struct node *last)
{
    uint64_t next = block->end;

    if (node_at(b, next))
        return add_edge_to(b, edges, next);
    if (part_at(b->graph, next) || last->kind == MDL_INSN_CALL) {
        if (last->kind != MDL_INSN_BRANCH)
            block->kind = WETDBG_BLOCK_END_STOP;
        return 0;
    }
    if (last->kind != MDL_INSN_BRANCH)
        block->kind = WETDBG_BLOCK_END_TAIL;
    return add_edge(edges, WETDBG_BLOCK_EXIT);
}

static int add_indirect_edges(const struct builder *b, struct edges *edges,
                              struct wetdbg_block *block, const struct node *last)
{
    const struct jump *jump = last->jump == NO_INSN ? NULL : &b->jumps[last->jump];

    if (!jump) { /* through the slot of another module's function */
        block->kind = WETDBG_BLOCK_END_TAIL;
        return add_edge(edges, WETDBG_BLOCK_EXIT);
    }
    block->kind = WETDBG_BLOCK_END_INDIRECT;
    block->is_complete = jump->is_complete;
    for (size_t i = 0; i < jump->targets.count; i++)
        if (add_edge_to(b, edges, jump->targets.items[i]) < 0)
            return -ENOMEM;
    if (jump->leaves || jump->targets.count == 0)
        return add_edge(edges, WETDBG_BLOCK_EXIT);
    return 0;
}

static int add_block_edges(const struct builder *b, struct edges *edges, struct wetdbg_block *block)
{
    const struct node *last = node_at(b, block->last);

    block->is_complete = true;
    block->kind = WETDBG_BLOCK_END_FALL;
    switch (last->kind) {
    case MDL_INSN_RETURN:
        block->kind = WETDBG_BLOCK_END_RETURN;
        return add_edge(edges, WETDBG_BLOCK_EXIT);
    case MDL_INSN_STOP:
        block->kind = WETDBG_BLOCK_END_STOP;
        return 0;
    case MDL_INSN_BRANCH:
        block->kind = WETDBG_BLOCK_END_BRANCH;
        if (add_fall_edge(b, edges, block, last) < 0)
            return -ENOMEM;
        return add_edge_to(b, edges, last->target);
    case MDL_INSN_JUMP:
        if (last->never_returns) {
            block->kind = WETDBG_BLOCK_END_STOP;
            return 0;
        }
        if (!last->is_direct)
            return add_indirect_edges(b, edges, block, last);
        block->kind = node_at(b, last->target) ? WETDBG_BLOCK_END_JUMP : WETDBG_BLOCK_END_TAIL;
        return add_edge_to(b, edges, last->target);
    default:
        if (last->never_returns) {
            block->kind = WETDBG_BLOCK_END_STOP;
            return 0;
        }
        return add_fall_edge(b, edges, block, last);
    }
}

static int make_successors(struct builder *b)
{
    struct wetdbg_graph *graph = b->graph;
    struct edges edges = {.block_count = graph->block_count};
    int result = 0;

    edges.mark = calloc((size_t)graph->block_count + 1, sizeof(*edges.mark));
    graph->successor_first = calloc((size_t)graph->block_count + 1, sizeof(uint32_t));
    if (!edges.mark || !graph->successor_first)
        result = -ENOMEM;
    for (uint32_t i = 0; result == 0 && i < graph->block_count; i++) {
        edges.block = i;
        result = add_block_edges(b, &edges, &graph->blocks[i]);
        graph->successor_first[i + 1] = (uint32_t)edges.count;
    }
    free(edges.mark);
    graph->successors = edges.targets;
    for (uint32_t i = 0; result == 0 && i < graph->block_count; i++) {
        graph->blocks[i].successors = graph->successors + graph->successor_first[i];
        graph->blocks[i].successor_count =
            graph->successor_first[i + 1] - graph->successor_first[i];
    }
    return result;
}

/* Turns the parts' node numbers into block numbers. */
static void index_blocks(struct builder *b)
{
    for (uint32_t i = 0; i < b->node_count; i++) {
        struct mdl_graph_part *part = part_at(b->graph, b->nodes[i].pc);
        uint32_t block = b->nodes[i].block;

        part->block_of[b->nodes[i].pc - part->start] = block == NO_INSN ? 0 : block + 1;
    }
}

static void builder_fini(struct builder *b)
{
    for (uint32_t i = 0; i < b->jump_count; i++)
        free(b->jumps[i].targets.items);
    free(b->jumps);
    free(b->nodes);
    free(b->worklist);
}

/* Makes a graph that holds the function's instructions, not yet as blocks. */
static int start_graph(struct builder *b, uint32_t function)
{
    const struct mdl_function_entry *entry = &b->functions->entries[function];

    b->graph = calloc(1, sizeof(*b->graph));
    if (!b->graph)
        return -ENOMEM;
    b->graph->entry = entry->start;
    int result = add_part(b, entry);
    return result ? result : discover(b);
}

int mdl_cfg_may_return(struct mdl_mod *mod, struct mdl_graphs *graphs, uint32_t function)
{
    struct builder b = {.mod = mod, .graphs = graphs, .functions = mod->functions, .asks = true};
    int result = start_graph(&b, function);

    builder_fini(&b);
    mdl_graph_free(b.graph);
    return result < 0 ? result : b.may_return;
}

int mdl_cfg_build(struct mdl_mod *mod, struct mdl_graphs *graphs, uint32_t function,
                  struct wetdbg_graph **graph)
{
    struct builder b = {.mod = mod, .graphs = graphs, .functions = mod->functions};
    int result = start_graph(&b, function);

    if (result == 0)
        result = make_blocks(&b);
    if (result == 0)
        result = make_successors(&b);
    if (result == 0)
        index_blocks(&b);
    builder_fini(&b);
    if (result < 0) {
        mdl_graph_free(b.graph);
        return result;
    }
    *graph = b.graph;
    return 0;
}

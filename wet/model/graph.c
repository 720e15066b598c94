/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cache of a module's graphs, and what is asked of them. A graph is keyed by its function's
 * entry; pieces that compilers split off belong to the graph of the function that jumps to them.
 */
#include "wet/model/graph.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/insn_flow.h"
#include "wet/model/noreturn.h"
#include <wetdbg/errors.h>

#define OWNER_HOPS_MAX 8

void mdl_graphs_free(struct mdl_graphs *graphs)
{
    if (!graphs)
        return;
    for (size_t i = 0; i < graphs->by_entry.slot_count; i++)
        mdl_graph_free(graphs->by_entry.slots[i].value);
    for (size_t i = 0; i < graphs->targets.slot_count; i++) {
        struct mdl_addresses *list = graphs->targets.slots[i].value;

        if (list)
            free(list->items);
        free(list);
    }
    for (size_t i = 0; i < graphs->more_entries.slot_count; i++) {
        struct mdl_addresses *list = graphs->more_entries.slots[i].value;

        if (list)
            free(list->items);
        free(list);
    }
    mdl_addrmap_fini(&graphs->by_entry);
    mdl_addrmap_fini(&graphs->targets);
    mdl_addrmap_fini(&graphs->more_entries);
    free(graphs);
}

/* Adds to the list of addresses kept at a key; as mdl_addresses_add(). */
static int list_add(struct mdl_addrmap *map, uint64_t key, uint64_t address)
{
    struct mdl_addresses *list = mdl_addrmap_get(map, key);

    if (!list) {
        list = calloc(1, sizeof(*list));
        if (!list || mdl_addrmap_set(map, key, list) < 0) {
            free(list);
            return -ENOMEM;
        }
    }
    return mdl_addresses_add(list, address);
}

/* ---- Whose part is it? ------------------------------------------------------------------- */

/* Whether the function looks like a part that was split off from another one. */
static bool is_split_off(const struct mdl_function_entry *entry)
{
    return mdl_cfg_is_part(entry, entry->start);
}

/* "f.cold" belongs to f if there is one f only. */
static uint64_t owner_by_name(const struct mdl_functions *functions,
                              const struct mdl_function_entry *entry)
{
    const char *cold = strstr(entry->name, ".cold");
    char name[512];
    size_t first, end;
    size_t length = cold ? (size_t)(cold - entry->name) : 0;

    if (length == 0 || length >= sizeof(name))
        return 0;
    memcpy(name, entry->name, length);
    name[length] = '\0';
    mdl_functions_by_name(functions, name, &first, &end);
    if (first == end || functions->names[first].start != functions->names[end - 1].start)
        return 0;
    return functions->names[first].start;
}

/* Looks at one function's direct jumps: those to a split-off part make it that part's owner. */
static void claim_parts(struct mdl_mod *mod, const struct mdl_function_entry *from)
{
    uint64_t pc = from->start;

    while (pc < from->end) {
        struct mdl_insn insn;
        size_t available;
        const uint8_t *bytes = mdl_mod_bytes(mod, pc, &available);
        uint32_t index;

        if (!bytes)
            return;
        if (mdl_decode(pc, bytes, available, &insn) < 0) {
            pc++;
            continue;
        }
        pc += insn.length;
        if ((insn.kind != MDL_INSN_JUMP && insn.kind != MDL_INSN_BRANCH) || !insn.is_direct ||
            insn.target - from->start < from->end - from->start)
            continue;
        index = mdl_functions_find(mod->functions, insn.target);
        if (index != MDL_NO_FUNCTION && is_split_off(&mod->functions->entries[index]) &&
            mod->functions->entries[index].owner == 0)
            mod->functions->entries[index].owner = from->start;
    }
}

/* Sweeps the module once. About 50 ms for a C library, and only when a run enters such a part. */
static void find_owners(struct mdl_mod *mod)
{
    if (mod->functions->owners_known)
        return;
    mod->functions->owners_known = 1;
    for (size_t i = 0; i < mod->functions->count; i++)
        if (mod->functions->entries[i].parent == MDL_NO_FUNCTION)
            claim_parts(mod, &mod->functions->entries[i]);
}

/* The function whose graph has the part: itself, unless it was split off. */
static uint32_t owner_of(struct mdl_mod *mod, uint32_t index)
{
    for (int hop = 0; hop < OWNER_HOPS_MAX; hop++) {
        struct mdl_function_entry *entry = &mod->functions->entries[index];
        uint32_t owner;

        if (!is_split_off(entry))
            return index;
        if (entry->owner == 0)
            entry->owner = owner_by_name(mod->functions, entry);
        if (entry->owner == 0)
            find_owners(mod);
        owner = entry->owner ? mdl_functions_find(mod->functions, entry->owner) : MDL_NO_FUNCTION;
        if (owner == MDL_NO_FUNCTION || owner == index)
            return index;
        index = owner;
    }
    return index;
}

/* ---- Building and caching ---------------------------------------------------------------- */

static int compare_pcs(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

/* The landing pads that blocks depend on, as a growing list. */
struct pad_list {
    struct pad {
        uint32_t block;
        uint64_t pc; /* of the pad */
    } * items;
    size_t count, capacity;
};

static int pad_add(struct pad_list *list, uint32_t block, uint64_t pc)
{
    for (size_t i = list->count; i-- > 0 && list->items[i].pc == pc;)
        if (list->items[i].block == block)
            return 0;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 64;
        struct pad *grown = reallocarray(list->items, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct pad){block, pc};
    return 0;
}

/*
 * The call at the end of `call` may return or land on a pad: blocks that then run for certain, but
 * not if it returns, depend on the landing (Ferrante, Ottenstein and Warren's rule for an edge from
 * the call to the pad; that edge itself is left out of the graph, or all code would depend on all
 * calls before it). A call that never returns decides nothing: the branch before it does.
 */
static int add_dependents(const struct wetdbg_graph *graph, const struct mdl_postdom *postdom,
                          uint32_t call, uint64_t pad_pc, uint32_t pad, uint32_t *mark,
                          uint32_t stamp, struct pad_list *list)
{
    if (graph->blocks[call].kind == WETDBG_BLOCK_END_STOP)
        call = postdom->cd_first[call] < postdom->cd_first[call + 1]
                   ? postdom->controllers[postdom->cd_first[call]]
                   : 0;
    for (uint32_t at = call; at != MDL_NODE_EXIT && mark[at] != stamp; at = postdom->ipdom[at])
        mark[at] = stamp;
    for (; pad != MDL_NODE_EXIT && mark[pad] != stamp; pad = postdom->ipdom[pad])
        if (pad_add(list, pad, pad_pc) < 0)
            return -ENOMEM;
    return 0;
}

static int compare_landings(const void *left, const void *right)
{
    const struct mdl_landing *a = left, *b = right;

    return a->pad < b->pad ? -1 : a->pad > b->pad;
}

/* Lists what depends on landing pads. */
static int find_pads(const struct wetdbg_graph *graph, const struct mdl_postdom *postdom,
                     struct pad_list *list)
{
    uint32_t *mark = calloc((size_t)graph->block_count + 1, sizeof(*mark)), stamp = 0;
    int result = mark ? 0 : -ENOMEM;

    for (size_t i = 0; result == 0 && i < graph->landing_count; i++) {
        const struct mdl_landing *landing = &graph->landings[i];
        uint32_t pad;

        if (wetdbg_graph_find(graph, landing->pad, &pad) < 0)
            continue;
        for (uint32_t call = 0; result == 0 && call < graph->block_count; call++)
            if (graph->blocks[call].start < landing->end &&
                graph->blocks[call].end > landing->start)
                result =
                    add_dependents(graph, postdom, call, landing->pad, pad, mark, ++stamp, list);
    }
    free(mark);
    return result;
}

/* Puts branches and landing pads together. */
static int make_controllers(const struct wetdbg_graph *graph, struct mdl_control *control,
                            const struct pad_list *pads)
{
    const struct mdl_postdom *postdom = &control->postdom;
    uint32_t count = graph->block_count, *fill;
    size_t total = postdom->cd_first[count] + pads->count;

    control->controller_first = calloc((size_t)count + 2, sizeof(*control->controller_first));
    control->controller_pcs = calloc(total + 1, sizeof(*control->controller_pcs));
    fill = control->controller_first + 1; /* ends up as the start of the next one */
    if (!control->controller_first || !control->controller_pcs)
        return -ENOMEM;
    for (size_t i = 0; i < pads->count; i++)
        control->controller_first[pads->items[i].block + 2]++;
    for (uint32_t i = 0; i < count; i++)
        control->controller_first[i + 2] +=
            control->controller_first[i + 1] + postdom->cd_first[i + 1] - postdom->cd_first[i];
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t c = postdom->cd_first[i]; c < postdom->cd_first[i + 1]; c++)
            control->controller_pcs[fill[i]++] = graph->blocks[postdom->controllers[c]].last;
    for (size_t i = 0; i < pads->count; i++)
        control->controller_pcs[fill[pads->items[i].block]++] = pads->items[i].pc;
    for (uint32_t i = 0; i < count; i++)
        qsort(control->controller_pcs + control->controller_first[i],
              control->controller_first[i + 1] - control->controller_first[i], sizeof(uint64_t),
              compare_pcs);
    return 0;
}

/* ---- Calls that never return as ways out -------------------------------------------------- */

/* Where a block that stops leads to: the pads of the exceptions that it may throw, or the exit.
 * Returns how many, of which those that are in `targets` are no repetitions. */
static uint32_t add_ways_out(const struct wetdbg_graph *graph, uint32_t block, uint32_t *targets)
{
    uint64_t last = graph->blocks[block].last;
    uint32_t count = 0, pad;

    for (size_t i = 0; i < graph->landing_count; i++) {
        const struct mdl_landing *landing = &graph->landings[i]; /* sorted by pad */

        if (last - landing->start < landing->end - landing->start &&
            wetdbg_graph_find(graph, landing->pad, &pad) == 0 &&
            (count == 0 || targets[count - 1] != pad))
            targets[count++] = pad;
    }
    if (count == 0)
        targets[count++] = MDL_NODE_EXIT;
    return count;
}

/* The graph with ways out of blocks that stop; its arrays are to be freed. */
static int open_ways_out(const struct wetdbg_graph *graph, uint32_t **first, uint32_t **targets)
{
    uint32_t count = graph->block_count, at = 0;
    size_t room = graph->successor_first[count] + count + 1;

    for (uint32_t i = 0; i < count; i++)
        if (graph->blocks[i].successor_count == 0)
            room += graph->landing_count;
    *first = reallocarray(NULL, (size_t)count + 1, sizeof(**first));
    *targets = reallocarray(NULL, room, sizeof(**targets));
    if (!*first || !*targets)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        const struct wetdbg_block *block = &graph->blocks[i];

        (*first)[i] = at;
        for (uint32_t s = 0; s < block->successor_count; s++)
            (*targets)[at++] = block->successors[s];
        if (block->successor_count == 0)
            at += add_ways_out(graph, i, *targets + at);
    }
    (*first)[count] = at;
    return 0;
}

/* Post-dominators and controllers in one form, of a graph that has blocks and successors. */
static int make_control(const struct wetdbg_graph *graph, enum mdl_control_form form,
                        struct mdl_control *control)
{
    uint32_t *first = NULL, *targets = NULL;
    struct pad_list pads = {0};
    struct mdl_digraph digraph = {
        .node_count = graph->block_count,
        .first = graph->successor_first,
        .targets = graph->successors,
    };
    int result = 0;

    if (control->is_made)
        return 0;
    if (form == MDL_CONTROL_EXITS) {
        result = open_ways_out(graph, &first, &targets);
        digraph.first = first;
        digraph.targets = targets;
    }
    if (result == 0)
        result = mdl_postdom_compute(&digraph, &control->postdom);
    if (result == 0 && graph->landing_count)
        result = find_pads(graph, &control->postdom, &pads);
    if (result == 0)
        result = make_controllers(graph, control, &pads);
    control->is_made = result == 0;
    free(pads.items);
    free(first);
    free(targets);
    return result;
}

static void control_clear(struct mdl_control *control)
{
    free(control->controller_first);
    free(control->controller_pcs);
    mdl_postdom_fini(&control->postdom);
    *control = (struct mdl_control){.is_made = false};
}

/* The form that most are asked for, and what blocks say of it. */
static int analyse(struct wetdbg_graph *graph)
{
    struct mdl_control *control = &graph->control[MDL_CONTROL_EXITS];

    if (graph->landing_count)
        qsort(graph->landings, graph->landing_count, sizeof(*graph->landings), compare_landings);
    int result = make_control(graph, MDL_CONTROL_EXITS, control);
    for (uint32_t i = 0; result == 0 && i < graph->block_count; i++)
        graph->blocks[i].ipdom = control->postdom.ipdom[i];
    return result;
}

/* The graph of a function, from the cache or built. */
static int graph_of(struct mdl_mod *mod, uint32_t index, struct wetdbg_graph **graph)
{
    uint64_t entry = mod->functions->entries[index].start;
    struct mdl_graphs *graphs;
    struct wetdbg_graph *made;
    int result = mdl_graphs_get(mod, &graphs);

    if (result < 0)
        return result;
    *graph = mdl_addrmap_get(&graphs->by_entry, entry);
    if (*graph)
        return 0;
    result = mdl_noreturn_find(mod, graphs);
    if (result == 0)
        result = mdl_cfg_build(mod, graphs, index, &made);
    if (result < 0)
        return result;
    result = analyse(made);
    if (result == 0)
        result = mdl_addrmap_set(&graphs->by_entry, entry, made);
    if (result < 0) {
        mdl_graph_free(made);
        return result;
    }
    *graph = made;
    return 0;
}

static void drop_graph(struct mdl_mod *mod, uint64_t entry)
{
    if (!mod->graphs || !mdl_addrmap_get(&mod->graphs->by_entry, entry))
        return;
    mdl_graph_free(mdl_addrmap_get(&mod->graphs->by_entry, entry));
    mdl_addrmap_set(&mod->graphs->by_entry, entry, NULL);
}

int wetdbg_graph_find(const struct wetdbg_graph *graph, uint64_t pc, uint32_t *index)
{
    for (size_t i = 0; i < graph->part_count; i++) {
        const struct mdl_graph_part *part = &graph->parts[i];

        if (pc - part->start < part->size_bytes && part->block_of[pc - part->start]) {
            *index = part->block_of[pc - part->start] - 1;
            return 0;
        }
    }
    return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

/* The function's graph, which lacks pc, once more with pc as a further entry: unless it is one
 * already. */
static int graph_with_entry(struct mdl_mod *mod, uint32_t index, uint64_t pc,
                            struct wetdbg_graph **graph)
{
    uint64_t entry = mod->functions->entries[index].start;
    int added = list_add(&mod->graphs->more_entries, entry, pc);

    if (added <= 0)
        return added;
    drop_graph(mod, entry);
    return graph_of(mod, index, graph);
}

/* Graph and block of an instruction. */
static int locate(struct wetdbg_model *model, uint64_t pc, struct wetdbg_graph **graph,
                  uint32_t *block)
{
    struct mdl_mod *mod;
    uint32_t index, owner;
    int result = mdl_function_need(model, pc, &mod, &index);

    if (result < 0)
        return result;
    owner = owner_of(mod, index);
    result = graph_of(mod, owner, graph);
    if (result < 0 || wetdbg_graph_find(*graph, pc, block) == 0)
        return result;
    if (owner != index) { /* not joined after all: a graph of its own */
        result = graph_of(mod, index, graph);
        if (result < 0 || wetdbg_graph_find(*graph, pc, block) == 0)
            return result;
    }
    result = graph_with_entry(mod, index, pc, graph);
    if (result < 0)
        return result;
    if (wetdbg_graph_find(*graph, pc, block) < 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no instruction at 0x%llx (%s+0x%llx)",
                           (unsigned long long)pc, mod->info.name,
                           (unsigned long long)(pc - mod->info.bias));
    return 0;
}

/* ---- What is asked ----------------------------------------------------------------------- */

int wetdbg_graph_at(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_graph **graph)
{
    struct wetdbg_graph *found;
    uint32_t block;
    int result = locate(model, pc, &found, &block);

    if (result == 0)
        *graph = found;
    return result;
}

uint64_t wetdbg_graph_entry(const struct wetdbg_graph *graph)
{
    return graph->entry;
}

uint32_t wetdbg_graph_block_count(const struct wetdbg_graph *graph)
{
    return graph->block_count;
}

const struct wetdbg_block *wetdbg_graph_block(const struct wetdbg_graph *graph, uint32_t index)
{
    return index < graph->block_count ? &graph->blocks[index] : NULL;
}

/* The block of an instruction, and who controls what in its function. */
static int control_at(struct wetdbg_model *model, uint64_t pc, enum mdl_control_form form,
                      struct wetdbg_graph **graph, uint32_t *block, struct mdl_control **control)
{
    int result = locate(model, pc, graph, block);

    if (result < 0)
        return result;
    *control = &(*graph)->control[form];
    result = make_control(*graph, form, *control);
    if (result < 0)
        control_clear(*control);
    return result;
}

static int controllers_of(struct wetdbg_model *model, uint64_t pc, enum mdl_control_form form,
                          const uint64_t **branch_pcs, size_t *count)
{
    struct wetdbg_graph *graph;
    struct mdl_control *control;
    uint32_t block;
    int result = control_at(model, pc, form, &graph, &block, &control);

    if (result < 0)
        return result;
    *branch_pcs = control->controller_pcs + control->controller_first[block];
    *count = control->controller_first[block + 1] - control->controller_first[block];
    return 0;
}

int wetdbg_controllers(struct wetdbg_model *model, uint64_t pc, const uint64_t **branch_pcs,
                       size_t *count)
{
    return controllers_of(model, pc, MDL_CONTROL_EXITS, branch_pcs, count);
}

int wetdbg_controllers_no_exits(struct wetdbg_model *model, uint64_t pc,
                                const uint64_t **branch_pcs, size_t *count)
{
    return controllers_of(model, pc, MDL_CONTROL_NO_EXITS, branch_pcs, count);
}

static int ipdom_of(struct wetdbg_model *model, uint64_t pc, enum mdl_control_form form,
                    uint64_t *ipdom_pc)
{
    struct wetdbg_graph *graph;
    struct mdl_control *control;
    uint32_t block;
    int result = control_at(model, pc, form, &graph, &block, &control);

    if (result < 0)
        return result;
    block = control->postdom.ipdom[block];
    *ipdom_pc = block == MDL_NODE_EXIT ? 0 : graph->blocks[block].start;
    return 0;
}

int wetdbg_ipdom(struct wetdbg_model *model, uint64_t pc, uint64_t *ipdom_pc)
{
    return ipdom_of(model, pc, MDL_CONTROL_EXITS, ipdom_pc);
}

int wetdbg_ipdom_no_exits(struct wetdbg_model *model, uint64_t pc, uint64_t *ipdom_pc)
{
    return ipdom_of(model, pc, MDL_CONTROL_NO_EXITS, ipdom_pc);
}

/* ---- What the run shows ------------------------------------------------------------------ */

/* Whether the graph has the edge from the jump at `from` to `to` already. */
static bool has_edge(const struct wetdbg_graph *graph, uint64_t from, uint64_t to, int joins)
{
    const struct wetdbg_block *block;
    uint32_t index;

    if (wetdbg_graph_find(graph, from, &index) < 0)
        return true; /* unreached: nothing depends on it */
    block = &graph->blocks[index];
    for (uint32_t i = 0; i < block->successor_count; i++) {
        uint32_t target = block->successors[i];

        if (target == WETDBG_BLOCK_EXIT ? !joins : graph->blocks[target].start == to)
            return true;
    }
    return false;
}

/* Whether a jump to `to` is one within this graph's function. */
static bool joins_graph(const struct mdl_mod *mod, const struct wetdbg_graph *graph, uint64_t to)
{
    uint32_t index;

    for (size_t i = 0; i < graph->part_count; i++)
        if (to - graph->parts[i].start < graph->parts[i].size_bytes)
            return true;
    index = mdl_functions_find(mod->functions, to);
    return index != MDL_NO_FUNCTION && mdl_cfg_is_part(&mod->functions->entries[index], to);
}

int mdl_add_indirect_target(struct wetdbg_model *model, uint64_t from, uint64_t to)
{
    struct mdl_graphs *graphs = NULL;
    struct mdl_mod *mod;
    uint32_t index;
    int changed = 0;
    int result = mdl_function_need(model, from, &mod, &index);

    if (result == 0)
        result = mdl_graphs_get(mod, &graphs);
    if (result < 0)
        return result;
    if (mod->functions->entries[index].flags & WETDBG_FUNCTION_PLT)
        return 0;
    result = list_add(&graphs->targets, from, to);
    if (result <= 0)
        return result;
    for (size_t i = 0; i < graphs->by_entry.slot_count; i++) {
        struct wetdbg_graph *graph = graphs->by_entry.slots[i].value;

        if (!graph || has_edge(graph, from, to, joins_graph(mod, graph, to)))
            continue;
        mdl_graph_free(graph);
        graphs->by_entry.slots[i].value = NULL;
        changed = 1;
    }
    return changed;
}

/* Splits a guessed function at pc. */
static int split_entry(struct mdl_mod *mod, uint32_t index, uint64_t pc)
{
    struct mdl_functions *table = mod->functions;
    struct mdl_function_entry *grown =
        reallocarray(table->entries, table->count + 1, sizeof(*grown));
    const char *name = mdl_strings_format(&mod->model->strings, "%s+0x%llx", mod->info.name,
                                          (unsigned long long)(pc - mod->info.bias));
    struct mdl_function_entry *made;

    if (grown)
        table->entries = grown;
    if (!grown || !name)
        return -ENOMEM;
    made = &grown[index + 1];
    memmove(made + 1, made, (table->count - index - 1) * sizeof(*made));
    table->count++;
    *made = grown[index];
    made->start = pc;
    made->name = name;
    made->owner = 0;
    grown[index].end = pc;
    for (size_t i = 0; i < table->count; i++)
        if (grown[i].parent != MDL_NO_FUNCTION && grown[i].parent > index)
            grown[i].parent++;
    return 0;
}

int mdl_add_entry(struct wetdbg_model *model, uint64_t pc)
{
    const struct mdl_function_entry *entry;
    struct mdl_mod *mod;
    uint32_t index;
    int result = mdl_function_need(model, pc, &mod, &index);

    if (result < 0)
        return result;
    entry = &mod->functions->entries[index];
    if (entry->start == pc || !(entry->flags & WETDBG_FUNCTION_GUESSED))
        return 0;
    drop_graph(mod, entry->start);
    result = split_entry(mod, index, pc);
    return result < 0 ? result : 1;
}

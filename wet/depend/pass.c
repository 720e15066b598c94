/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pass over one stretch of the ring: nodes learned when first met, their code run, blocks
 * given. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/checked.h"
#include "recorder/insn/insn_ranges.h"
#include "wet/depend/depend_priv.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

/* Words of a block: so few that it stays in the second-level cache. */
#define BLOCK_WORDS 32768
#define NUMBER_MAX  (UINT32_MAX - 1)
/* What the code may put there until it comes back, and beyond it with its last wide store. */
#define ENTER_ROOM ((size_t)DEP_ENTER_WORDS * DEP_EXECUTION_WORDS + DEP_ROW)
/* Bytes of an operand that are looked at at once. */
#define RUN_MAX (UINT64_C(1) << 30)

/* ---- blocks ---- */

static void block_begin(struct dep_finder *finder)
{
    finder->machine->out = finder->words;
    finder->block_first = finder->number;
}

static int block_give(struct dep_finder *finder)
{
    uint64_t base = finder->base;
    struct wet_label_block block = {.first = base + finder->block_first + 1,
                                    .executions = finder->number - finder->block_first,
                                    .nodes = finder->label_nodes,
                                    .words = finder->words,
                                    .word_count = (size_t)(finder->machine->out - finder->words),
                                    .base = base,
                                    .old = finder->old,
                                    .old_count = finder->old_count};
    int err = 0;

    assert(finder->machine->out >= finder->words && finder->number >= finder->block_first);
    finder->result->executions += block.executions;
    finder->result->memory_labels += finder->block_loads;
    finder->result->register_labels +=
        block.word_count - block.executions - finder->block_loads - finder->block_more;
    finder->block_loads = 0;
    finder->block_more = 0;
    if (finder->options->labels && block.executions)
        err = finder->options->labels(finder->options->arg, &block);
    block_begin(finder);
    return err;
}

/* Makes room for `more` words behind `out`, and for all that the code may yet put there. Gives
 * where `out` is then. */
static uint32_t *words_reserve(struct dep_finder *finder, uint32_t *out, size_t more)
{
    size_t used = (size_t)(out - finder->words), room = used + more + ENTER_ROOM;

    assert(out >= finder->words && used <= finder->word_room);
    return wd_grow(finder->words, finder->word_room, room) ? NULL : finder->words + used;
}

static int number_next(struct dep_finder *finder)
{
    if (finder->number >= finder->number_max) {
        int err = dep_renumber(finder);
        if (err)
            return err;
    }
    assert(finder->number < finder->number_max);
    finder->number++;
    return 0;
}

/* ---- operands that the code leaves to us ---- */

/* Labels of several bytes, from many ranges, as they are put together. */
struct runs {
    uint32_t label, bytes, count;
};

/* Adds the words of an operand: one label if all bytes have it. */
static uint32_t *runs_add(struct dep_finder *finder, struct runs *runs, uint32_t label,
                          uint32_t bytes, uint32_t *out)
{
    assert(bytes);
    if (runs->bytes && (label != runs->label || runs->bytes > UINT32_MAX - bytes)) {
        out = words_reserve(finder, out, 4);
        if (!out)
            return NULL;
        *out++ = runs->label;
        *out++ = runs->bytes;
        runs->count++;
        runs->bytes = 0;
    }
    runs->label = label;
    runs->bytes += bytes;
    return out;
}

static uint32_t *runs_end(struct dep_finder *finder, struct runs *runs, size_t head, uint32_t *out)
{
    uint32_t *words = finder->words + head;

    if (runs->bytes) {
        *out++ = runs->label;
        *out++ = runs->bytes;
        runs->count++;
    }
    if (runs->count == 1) { /* one label after all */
        *words = runs->label;
        return words + 1;
    }
    words[0] = WET_LABEL_RUNS;
    words[1] = runs->count;
    finder->result->split_labels++;
    finder->block_more += (size_t)(out - words) - 1;
    return out;
}

static uint32_t *ranges_load(struct dep_finder *finder, const struct ins_range *ranges,
                             unsigned count, uint32_t *out)
{
    size_t head = (size_t)(out - finder->words);
    struct runs runs = {0};

    out = words_reserve(finder, out, 4);
    if (out)
        out += 2;
    for (unsigned r = 0; r < count; r++)
        for (uint64_t at = 0, run; out && at < ranges[r].size_bytes; at += run) {
            uint64_t left = ranges[r].size_bytes - at;
            uint32_t label;
            run = dep_shadow_run(&finder->machine->shadow, ranges[r].address + at,
                                 left < RUN_MAX ? left : RUN_MAX, &label);
            out = runs_add(finder, &runs, label, (uint32_t)run, out);
        }
    return out ? runs_end(finder, &runs, head, out) : NULL;
}

/* dep_machine.slow */
static uint32_t *operand_pass(struct dep_machine *machine, const struct dep_operand *operand,
                              const uint64_t *record, uint32_t *out, uint32_t number)
{
    struct dep_finder *finder = machine->finder;
    uint64_t address = (operand->word ? record[operand->word] : 0) + (uint64_t)operand->more;
    struct ins_range ranges[INS_RANGES_MAX] = {{address, operand->size_bytes}};
    unsigned count = 1;

    if (operand->access & DEP_HARD) {
        count = ins_operand_ranges(operand->info, operand->operand, record + operand->word, ranges);
    }
    if (operand->access & DEP_LOAD) {
        out = ranges_load(finder, ranges, count, out);
        return out ? words_reserve(finder, out, 0) : NULL;
    }
    for (unsigned r = 0; r < count; r++)
        if (dep_shadow_fill(&machine->shadow, ranges[r].address, ranges[r].size_bytes, number))
            return NULL;
    return out;
}

/* ---- nodes ---- */

/* Takes the code from all nodes that use something of the set, or from all (NULL). */
static void codes_forget(struct dep_finder *finder, const struct ins_regset *set)
{
    for (size_t id = 0; id < finder->node_count; id++) {
        const struct dep_node *node = finder->nodes[id];
        if (node && (!set || ins_regset_intersects(&node->uses, set)))
            finder->machine->codes[id] = 0;
    }
}

/* Makes groups as fine as the node needs them; the lists of what is in the block do not change
 * under it. */
static int groups_refine(struct dep_finder *finder, const struct dep_node *node)
{
    struct ins_regset changed = {0};

    dep_groups_refine(&finder->groups, &node->uses, &changed);
    dep_groups_refine(&finder->groups, &node->defines, &changed);
    if (ins_regset_is_empty(&changed))
        return 0;
    codes_forget(finder, &changed);
    int err = wd_checked(dep_groups_validate(&finder->groups));
    return err ? err : block_give(finder);
}

static int node_meet(struct dep_finder *finder, size_t id)
{
    struct dep_node *node = NULL;
    int err = dep_node_make(finder->fragments[id], &node);

    if (err) {
        dep_node_free(node);
        return err;
    }
    finder->nodes[id] = node;
    finder->label_nodes[id] = &node->is;
    return groups_refine(finder, node);
}

/* Learns a node that was met and has no code: none yet, or none for the groups there are now. */
static int node_learn(struct dep_finder *finder, size_t id)
{
    if (id >= finder->node_count || !finder->fragments[id])
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
    int err = finder->nodes[id] ? 0 : node_meet(finder, id);
    struct dep_node *node = finder->nodes[id];
    struct dep_lists lists;
    if (err)
        return err;
    err = dep_node_group(node, &finder->groups, &lists);
    uint32_t *place = &finder->machine->codes[id];
    if (!err)
        err = dep_code_make(&finder->code, node, &lists, (uint32_t)id, place);
    if (err == -ENOSPC) {
        dep_code_forget(&finder->code);
        codes_forget(finder, NULL);
        err = dep_code_make(&finder->code, node, &lists, (uint32_t)id, place);
    }
    return err;
}

static int room_for(struct dep_finder *finder, size_t count)
{
    size_t fragments = finder->node_room, nodes = fragments, label_nodes = fragments;

    if (count > AGT_COUNT_MAX)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "more than %u fragments", AGT_COUNT_MAX);
    if (wd_grow(finder->fragments, fragments, count) || wd_grow(finder->nodes, nodes, count) ||
        wd_grow(finder->label_nodes, label_nodes, count))
        return -ENOMEM;
    finder->node_room = fragments;
    return 0;
}

int dep_finder_add(struct dep_finder *finder, const struct dbi_fragment *fragment)
{
    int err = room_for(finder, finder->node_count + 1);
    size_t id = finder->node_count;

    if (err)
        return err;
    assert(id < finder->node_room);
    finder->fragments[id] = fragment;
    finder->nodes[id] = NULL;
    finder->label_nodes[id] = NULL;
    finder->node_count++;
    return 0;
}

int dep_finder_learn(struct dep_finder *finder, const struct rep_engine *engine)
{
    size_t count = rep_engine_fragment_count(engine);
    int err = 0;

    while (!err && finder->node_count < count)
        err = dep_finder_add(finder, rep_engine_fragment(engine, (uint32_t)finder->node_count));
    return err;
}

/* ---- set-up ---- */

int dep_finder_init(struct dep_finder *finder)
{
    dep_groups_init(&finder->groups);
    finder->number_max = finder->options->number_max ? finder->options->number_max : NUMBER_MAX;
    finder->machine = calloc(1, sizeof(*finder->machine));
    finder->word_room = BLOCK_WORDS + ENTER_ROOM;
    finder->words = malloc(finder->word_room * sizeof(*finder->words));
    if (!finder->machine || !finder->words)
        return -ENOMEM;
    finder->machine->finder = finder;
    finder->machine->slow = operand_pass;
    block_begin(finder);
    return dep_code_init(&finder->code);
}

void dep_finder_fini(struct dep_finder *finder)
{
    for (size_t i = 0; i < finder->node_count; i++)
        dep_node_free(finder->nodes[i]);
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        free(finder->tasks[i]);
    if (finder->machine)
        dep_shadow_fini(&finder->machine->shadow);
    dep_code_fini(&finder->code);
    free(finder->machine);
    free(finder->fragments);
    free(finder->nodes);
    free(finder->label_nodes);
    free(finder->old);
    free(finder->words);
}

/* ---- the pass ---- */

/* Runs code until it comes back. */
static int code_run(struct dep_finder *finder)
{
    struct dep_machine *machine = finder->machine;

    assert((size_t)(machine->out - finder->words) + ENTER_ROOM <= finder->word_room);
    machine->number_twice = (uint64_t)finder->number << 32 | finder->number;
    enum dep_status status = finder->code.enter(machine);
    finder->number = (uint32_t)machine->number_twice;
    finder->block_loads += dep_counted_loads(machine->counted);
    finder->result->instructions += dep_counted_instructions(machine->counted);
    switch (status) {
    case DEP_UNKNOWN:
        return node_learn(finder, agt_ring_fragment(machine->words[0]));
    case DEP_NO_MEMORY:
        return -ENOMEM;
    default:
        return 0;
    }
}

/* Passes the executions in words [*at, end) of the ring. */
static int words_pass(struct dep_finder *finder, const struct dep_stretch *stretch, size_t *at,
                      size_t end, uint32_t slot)
{
    struct dep_machine *machine = finder->machine;
    struct dep_task *task = dep_task_get(finder, slot);
    int err = task ? 0 : -ENOMEM;

    while (!err && *at < end) {
        if (finder->number >= finder->number_max) {
            err = block_give(finder);
            err = err ? err : dep_renumber(finder);
            if (err)
                break;
            block_begin(finder);
        }
        /* an execution has one word at least: so many numbers suffice */
        size_t left = finder->number_max - finder->number, count = end - *at;
        count = count < left ? count : left;
        machine->last = task->last;
        machine->words = stretch->words + *at;
        machine->end = machine->words + (count < DEP_ENTER_WORDS ? count : DEP_ENTER_WORDS);
        err = code_run(finder);
        *at = (size_t)(machine->words - stretch->words);
        if (!err && (size_t)(machine->out - finder->words) >= BLOCK_WORDS)
            err = block_give(finder);
    }
    if (!err && *at > end)
        err = wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
    return err;
}

/* Passes an event, which has a number of its own: the block ends before it. */
static int event_pass(struct dep_finder *finder, const struct evq_entry *entry)
{
    int err = block_give(finder);

    if (!err)
        err = number_next(finder);
    if (!err)
        err = dep_entry_pass(finder, entry, finder->number);
    block_begin(finder);
    return err;
}

/* Who runs up to a mark is known once an entry is reached: looks ahead for it. */
static uint32_t runner_find(const struct dep_stretch *stretch, size_t ahead)
{
    while (ahead < stretch->marks.size_bytes) {
        const struct evq_entry *next =
            (const void *)(stretch->marks.data + ahead + sizeof(struct dep_mark));
        if (wet_entry_is_reached(next))
            return next->task;
        ahead += sizeof(struct dep_mark) + next->bytes;
    }
    return stretch->running;
}

int dep_stretch_validate(const struct dep_stretch *stretch)
{
    uint64_t words = 0;

    if (stretch->running >= EVQ_TASKS_MAX)
        return wd_fail_defect("a stretch ends in task %u", stretch->running);
    for (size_t m = 0, bytes; m < stretch->marks.size_bytes; m += bytes) {
        const struct dep_mark *mark = (const void *)(stretch->marks.data + m);
        const struct evq_entry *entry = (const struct evq_entry *)(mark + 1);
        size_t left = stretch->marks.size_bytes - m;
        if (left < sizeof(*mark) + sizeof(*entry) || entry->bytes < sizeof(*entry) ||
            entry->bytes > left - sizeof(*mark))
            return wd_fail_defect("the mark at byte %zu of a stretch is not whole", m);
        if (mark->ring_words < words)
            return wd_fail_defect("the mark at byte %zu of a stretch is before another one", m);
        words = mark->ring_words;
        bytes = sizeof(*mark) + entry->bytes;
    }
    return 0;
}

int dep_finder_pass(struct dep_finder *finder, const struct dep_stretch *stretch)
{
    size_t at = 0;
    int err = wd_checked(dep_stretch_validate(stretch));

    for (size_t m = 0; !err && m < stretch->marks.size_bytes;) {
        const struct dep_mark *mark = (const void *)(stretch->marks.data + m);
        const struct evq_entry *entry = (const struct evq_entry *)(mark + 1);
        if (mark->ring_words > stretch->word_count)
            return wetdbg_fail(-WETDBG_ERR_MACHINE, "the replay process sent a damaged ring");
        err = words_pass(finder, stretch, &at, mark->ring_words, runner_find(stretch, m));
        if (!err)
            err = event_pass(finder, entry);
        m += sizeof(*mark) + entry->bytes;
    }
    if (!err)
        err = words_pass(finder, stretch, &at, stretch->word_count, stretch->running);
    return err ? err : block_give(finder);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pass over one stretch of the ring: labels out, last definitions kept. */
#include <emmintrin.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "common/err.h"
#include "recorder/insn/insn_ranges.h"
#include "wet/depend/depend_priv.h"
#include "wet/trace/entry.h"

#define BLOCK_LABELS 16384
#define BLOCK_EXECS  4096
#define NUMBER_MAX   (UINT32_MAX - 1)

/* ---- set-up ---- */

int dep_finder_init(struct dep_finder *finder, const struct rep_range *ranges, size_t range_count)
{
    dep_groups_init(&finder->groups);
    return dep_shadow_init(&finder->shadow, ranges, range_count);
}

void dep_finder_fini(struct dep_finder *finder)
{
    for (size_t i = 0; i < finder->node_count; i++)
        if (finder->briefs[i].plan)
            dep_node_free(finder->briefs[i].plan->node);
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++)
        free(finder->tasks[i]);
    free(finder->briefs);
    dep_shadow_fini(&finder->shadow);
    wd_buf_fini(&finder->labels);
    wd_buf_fini(&finder->numbers);
    wd_buf_fini(&finder->block_nodes);
}

static void group_split(void *arg, unsigned old, unsigned made)
{
    struct dep_finder *finder = arg;

    for (unsigned t = 0; t < EVQ_TASKS_MAX; t++)
        if (finder->tasks[t])
            finder->tasks[t]->last[made] = finder->tasks[t]->last[old];
}

static int brief_make(struct dep_finder *finder, struct dep_node *node, size_t id)
{
    int err = dep_node_group(node, &finder->groups);

    if (!err)
        finder->briefs[id] = (struct dep_brief){node->plan, node->slot_count};
    return err;
}

static int node_learn(struct dep_finder *finder, const struct dbi_fragment *fragment,
                      bool *is_refined)
{
    struct dep_span *nowhere = &finder->shadow.spans[finder->shadow.count];
    struct dep_node *node = NULL;
    size_t id = finder->node_count++;
    int err = fragment ? dep_node_make(fragment, nowhere, &node) : 0;

    finder->briefs[id] = (struct dep_brief){0};
    if (!err && node) {
        *is_refined |= dep_groups_refine(&finder->groups, &node->uses, group_split, finder);
        *is_refined |= dep_groups_refine(&finder->groups, &node->defines, group_split, finder);
        err = brief_make(finder, node, id);
    }
    if (err)
        dep_node_free(node);
    return err;
}

int dep_finder_learn(struct dep_finder *finder, const struct rep_engine *engine)
{
    size_t count = rep_engine_fragment_count(engine);
    bool is_refined = false;
    int err = 0;

    if (count > finder->node_room) {
        size_t room = count * 2;
        struct dep_brief *briefs = realloc(finder->briefs, room * sizeof *briefs);
        if (!briefs)
            return -ENOMEM;
        finder->briefs = briefs;
        finder->node_room = room;
    }
    while (!err && finder->node_count < count)
        err = node_learn(finder, rep_engine_fragment(engine, (uint32_t)finder->node_count),
                         &is_refined);
    for (size_t i = 0; !err && is_refined && i < finder->node_count; i++)
        if (finder->briefs[i].plan)
            err = brief_make(finder, finder->briefs[i].plan->node, i);
    return err;
}

static struct dep_task *task_get(struct dep_finder *finder, uint32_t slot)
{
    if (slot >= EVQ_TASKS_MAX)
        return NULL;
    if (!finder->tasks[slot])
        finder->tasks[slot] = calloc(1, sizeof(struct dep_task));
    return finder->tasks[slot];
}

static int number_next(struct dep_finder *finder)
{
    if (finder->number == NUMBER_MAX)
        return wd_fail(-WD_ERR_UNSUPPORTED,
                       "dependences of more than %u executions cannot be labelled", NUMBER_MAX);
    finder->number++;
    return 0;
}

/* ---- blocks ---- */

static int block_give(struct dep_finder *finder)
{
    struct wet_label_block block = {
        .numbers = (const uint32_t *)finder->numbers.data,
        .nodes = (const struct wet_label_node *const *)finder->block_nodes.data,
        .executions = finder->numbers.size_bytes / sizeof(uint32_t),
        .labels = (const uint32_t *)finder->labels.data,
        .label_count = finder->labels.size_bytes / sizeof(uint32_t)};
    int err = 0;

    if (finder->options->labels && block.executions)
        err = finder->options->labels(finder->options->arg, &block);
    finder->labels.size_bytes = finder->numbers.size_bytes = finder->block_nodes.size_bytes = 0;
    return err;
}

/* Notes whose labels follow, for a reader. */
static int exec_note(struct dep_finder *finder, const struct dep_plan *plan)
{
    uint32_t number = (uint32_t)finder->number;
    const struct wet_label_node *is = &plan->node->is;
    int err = wd_buf_append(&finder->numbers, &number, sizeof number);

    return err ? err : wd_buf_append(&finder->block_nodes, &is, sizeof is);
}

static inline bool block_is_full(const struct dep_finder *finder)
{
    return finder->labels.size_bytes >= BLOCK_LABELS * sizeof(uint32_t) ||
           finder->numbers.size_bytes >= BLOCK_EXECS * sizeof(uint32_t);
}

/* ---- operands of usual sizes ---- */

static inline bool is_uniform(const uint32_t *labels, unsigned bytes)
{
    __m128i first = _mm_set1_epi32((int)labels[0]), same;

    switch (bytes) {
    case 1:
        return true;
    case 2:
        return labels[0] == labels[1];
    case 4:
        same = _mm_cmpeq_epi32(first, _mm_loadu_si128((const __m128i *)labels));
        return _mm_movemask_epi8(same) == 0xffff;
    case 8:
        same =
            _mm_and_si128(_mm_cmpeq_epi32(first, _mm_loadu_si128((const __m128i *)labels)),
                          _mm_cmpeq_epi32(first, _mm_loadu_si128((const __m128i *)(labels + 4))));
        return _mm_movemask_epi8(same) == 0xffff;
    default:
        for (unsigned i = 1; i < bytes; i++)
            if (labels[i] != labels[0])
                return false;
        return true;
    }
}

/* The labels of bytes that do not all have the same: runs. Room for 2 + 2 * bytes. */
static uint32_t *runs_put(uint32_t *out, const uint32_t *labels, uint64_t bytes)
{
    uint32_t *count = out + 1;

    out[0] = WET_LABEL_RUNS;
    *count = 0;
    out += 2;
    for (uint64_t i = 0, from = 0; i < bytes; i++) {
        if (i + 1 < bytes && labels[i + 1] == labels[from])
            continue;
        *out++ = labels[from];
        *out++ = (uint32_t)(i + 1 - from);
        from = i + 1;
        ++*count;
    }
    return out;
}

static inline void labels_set(uint32_t *labels, unsigned bytes, uint32_t label)
{
    __m128i wide = _mm_set1_epi32((int)label);

    switch (bytes) {
    case 1:
        labels[0] = label;
        break;
    case 2:
        labels[0] = labels[1] = label;
        break;
    case 4:
        _mm_storeu_si128((__m128i *)labels, wide);
        break;
    case 8:
        _mm_storeu_si128((__m128i *)labels, wide);
        _mm_storeu_si128((__m128i *)(labels + 4), wide);
        break;
    default:
        for (unsigned i = 0; i < bytes; i++)
            labels[i] = label;
    }
}

/* Where the labels of an operand are; NULL if its bytes are in no span, or not all in one. */
static inline uint32_t *operand_labels(const struct dep_finder *finder, struct dep_operand *operand,
                                       uint64_t address)
{
    const struct dep_span *span = operand->near;

    if (__builtin_expect(
            span->bytes == 0 || address - span->start > span->bytes - operand->size_bytes, 0)) {
        span = operand->near = dep_shadow_find(&finder->shadow, address, operand->size_bytes);
        if (!span->bytes)
            return NULL;
    }
    return span->labels + (address - span->start);
}

/* ---- operands of all kinds ---- */

static int range_load(struct dep_finder *finder, const struct ins_range *ranges, unsigned count)
{
    struct wd_buf *out = &finder->labels;
    size_t head = out->size_bytes;
    uint32_t start[2] = {WET_LABEL_RUNS, 0}, runs = 0;
    uint32_t run[2] = {0, 0};
    int err = wd_buf_append(out, start, sizeof start);

    for (unsigned r = 0; r < count; r++)
        for (uint64_t i = 0; !err && i < ranges[r].size_bytes; i++) {
            uint32_t label = dep_shadow_get(&finder->shadow, ranges[r].address + i);
            if (run[1] && (label != run[0] || run[1] == UINT32_MAX)) {
                err = wd_buf_append(out, run, sizeof run);
                runs++;
                run[1] = 0;
            }
            run[0] = label;
            run[1]++;
        }
    if (!err && run[1]) {
        err = wd_buf_append(out, run, sizeof run);
        runs++;
    }
    if (!err)
        memcpy(out->data + head + sizeof(uint32_t), &runs, sizeof runs);
    if (!err && runs == 1) { /* one label after all */
        memcpy(out->data + head, run, sizeof(uint32_t));
        out->size_bytes = head + sizeof(uint32_t);
    } else {
        finder->result->split_labels++;
    }
    return err;
}

static int operand_hard(struct dep_finder *finder, const struct dep_plan *plan,
                        const struct dep_operand *operand, const uint64_t *slots, uint32_t number)
{
    struct ins_range ranges[INS_RANGES_MAX];
    unsigned count = ins_operand_ranges(&plan->node->infos[operand->statement], operand->operand,
                                        slots + operand->slot, ranges);

    if (operand->access & DEP_LOAD)
        return range_load(finder, ranges, count);
    for (unsigned r = 0; r < count; r++)
        dep_shadow_fill(&finder->shadow, ranges[r].address, ranges[r].size_bytes, number);
    return 0;
}

/* Operands of a node of which some are hard; slower, the same otherwise. */
static int operands_hard(struct dep_finder *finder, struct dep_plan *plan, const uint64_t *slots,
                         uint32_t number)
{
    int err = 0;

    for (unsigned i = 0; !err && i < plan->operand_count; i++) {
        struct dep_operand *operand = &plan->operands[i];
        if (operand->access & DEP_HARD) {
            err = operand_hard(finder, plan, operand, slots, number);
            continue;
        }
        struct ins_range range = {slots[operand->slot], operand->size_bytes};
        if (operand->access == DEP_LOAD)
            err = range_load(finder, &range, 1);
        else
            dep_shadow_fill(&finder->shadow, range.address, range.size_bytes, number);
    }
    return err;
}

static inline uint32_t *operands_pass(struct dep_finder *finder, struct dep_plan *plan,
                                      const uint64_t *slots, uint32_t number, uint32_t *out)
{
    for (unsigned i = 0; i < plan->operand_count; i++) {
        struct dep_operand *operand = &plan->operands[i];
        uint32_t *labels = operand_labels(finder, operand, slots[operand->slot]);
        if (__builtin_expect(!labels, 0)) {
            if (operand->access == DEP_LOAD)
                *out++ = 0;
        } else if (operand->access == DEP_STORE) {
            labels_set(labels, operand->size_bytes, number);
        } else if (__builtin_expect(is_uniform(labels, operand->size_bytes), 1)) {
            *out++ = labels[0];
        } else {
            out = runs_put(out, labels, operand->size_bytes);
            finder->result->split_labels++;
        }
    }
    return out;
}

/* ---- executions ---- */

/* A whole step more than needed may be written: there is room, and what follows comes over it. */
static inline uint32_t *inputs_pass(const struct dep_plan *plan, const uint32_t *last,
                                    uint32_t *out)
{
    for (unsigned i = 0; i < plan->input_count; i += DEP_LIST_STEP)
#pragma GCC unroll 8
        for (unsigned k = 0; k < DEP_LIST_STEP; k++)
            out[i + k] = last[plan->inputs[i + k]];
    return out + plan->input_count;
}

static inline void defs_pass(const struct dep_plan *plan, uint32_t *last, uint32_t number)
{
    for (unsigned i = 0; i < plan->def_count; i += DEP_LIST_STEP)
#pragma GCC unroll 8
        for (unsigned k = 0; k < DEP_LIST_STEP; k++)
            last[plan->defs[i + k]] = number;
}

static inline int exec_pass(struct dep_finder *finder, struct dep_task *task, struct dep_plan *plan,
                            const uint64_t *slots)
{
    struct wd_buf *labels = &finder->labels;
    uint32_t number = (uint32_t)finder->number;
    int err = finder->options->labels ? exec_note(finder, plan) : 0;

    if (!err && labels->capacity_bytes - labels->size_bytes < plan->labels_max * sizeof(uint32_t))
        err = wd_buf_reserve(labels, (plan->labels_max + BLOCK_LABELS) * sizeof(uint32_t));
    if (err)
        return err;
    uint32_t *out = inputs_pass(plan, task->last, (uint32_t *)(labels->data + labels->size_bytes));
    if (__builtin_expect(!plan->has_hard, 1))
        out = operands_pass(finder, plan, slots, number, out);
    labels->size_bytes = (size_t)((uint8_t *)out - labels->data);
    if (plan->has_hard)
        err = operands_hard(finder, plan, slots, number);
    defs_pass(plan, task->last, number);
    return err;
}

static inline const struct dep_brief *brief_at(const struct dep_finder *finder,
                                               const struct dep_stretch *stretch, size_t at)
{
    static const struct dep_brief none;
    uint32_t id = (uint32_t)stretch->words[at];

    return id < finder->node_count ? &finder->briefs[id] : &none;
}

/* Executions in words [*at, end) of the ring. */
static int words_pass(struct dep_finder *finder, const struct dep_stretch *stretch, size_t *at,
                      size_t end, uint32_t slot)
{
    struct dep_task *task = task_get(finder, slot);
    struct wet_depend_result sum = *finder->result;
    int err = task ? 0 : -ENOMEM;

    while (!err && *at < end) {
        const struct dep_brief *brief = brief_at(finder, stretch, *at);
        struct dep_plan *plan = brief->plan;
        const uint64_t *slots = stretch->words + *at + 1;
        if (!plan || brief->slot_count > stretch->word_count - *at - 1)
            return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        *at += 1 + brief->slot_count;
        if (*at < end)
            __builtin_prefetch(brief_at(finder, stretch, *at)->plan);
        err = number_next(finder);
        if (!err)
            err = exec_pass(finder, task, plan, slots);
        sum.register_labels += plan->input_count;
        sum.memory_labels += plan->loads;
        sum.instructions += plan->statement_count;
        sum.executions++;
        if (!err && block_is_full(finder))
            err = block_give(finder);
    }
    sum.split_labels = finder->result->split_labels;
    *finder->result = sum;
    return err;
}

/* ---- events ---- */

static void registers_define(struct dep_finder *finder, struct dep_task *task, unsigned first,
                             unsigned end, uint32_t number)
{
    for (unsigned l = first; l < end; l++)
        task->last[finder->groups.of[l]] = number;
}

/* A call's exit defines its result and what the instruction itself clobbers; else all is loaded. */
static void regs_pass(struct dep_finder *finder, struct dep_task *task,
                      const struct evq_entry *entry, uint32_t number)
{
    static const uint8_t of_call[] = {INS_RAX, INS_RCX, 11};

    if (entry->kind != EVQ_SYSCALL_EXIT || entry->number == SYS_rt_sigreturn) {
        registers_define(finder, task, INS_LOC_GPR, INS_LOC_VEC, number);
        registers_define(finder, task, INS_LOC_FS_BASE, INS_LOC_PKRU, number);
        return;
    }
    for (unsigned i = 0; i < sizeof of_call; i++) {
        unsigned first = INS_LOC_GPR + INS_GPR_PIECES * of_call[i];
        registers_define(finder, task, first, first + INS_GPR_PIECES, number);
    }
}

static void remap_pass(struct dep_finder *finder, const struct evq_op *op)
{
    uint64_t kept = op->b < op->d ? op->b : op->d;

    if (op->a != op->c)
        dep_shadow_copy(&finder->shadow, op->c, op->a, kept);
    if (op->d > kept)
        dep_shadow_fill(&finder->shadow, op->c + kept, op->d - kept, 0);
    if (op->a != op->c)
        dep_shadow_fill(&finder->shadow, op->a, op->b, 0);
    else if (op->b > kept)
        dep_shadow_fill(&finder->shadow, op->a + kept, op->b - kept, 0);
}

static int op_pass(struct dep_finder *finder, const struct evq_entry *entry,
                   const struct evq_op *op, uint32_t number)
{
    struct dep_task *task = task_get(finder, entry->task), *made;

    if (!task)
        return -ENOMEM;
    switch (op->op) {
    case EVQ_OP_REGS:
        /* rdtsc and kin define what they define as instructions */
        if (entry->kind != EVQ_TRAP)
            regs_pass(finder, task, entry, number);
        return 0;
    case EVQ_OP_XSTATE:
        registers_define(finder, task, INS_LOC_VEC, INS_LOC_FS_BASE, number);
        return 0;
    case EVQ_OP_WRITE:
    case EVQ_OP_ZERO:
        dep_shadow_fill(&finder->shadow, op->a, op->b, number);
        return 0;
    case EVQ_OP_MAP:
    case EVQ_OP_UNMAP:
    case EVQ_OP_DISCARD:
        dep_shadow_fill(&finder->shadow, op->a, op->b, 0);
        return 0;
    case EVQ_OP_REMAP:
        remap_pass(finder, op);
        return 0;
    case EVQ_OP_CLEAR_SPACE:
        for (size_t i = 0; i < finder->shadow.count; i++)
            dep_shadow_fill(&finder->shadow, finder->shadow.spans[i].start,
                            finder->shadow.spans[i].bytes, 0);
        return 0;
    case EVQ_OP_TASK_NEW:
        made = op->a < EVQ_TASKS_MAX ? task_get(finder, (uint32_t)op->a) : NULL;
        if (!made)
            return -ENOMEM;
        *made = *task;
        registers_define(finder, made, INS_LOC_GPR, INS_LOC_GPR + INS_GPR_PIECES, number);
        return 0;
    default:
        return 0;
    }
}

static int entry_pass(struct dep_finder *finder, const struct evq_entry *entry)
{
    int err = number_next(finder);

    for (const struct evq_op *op = NULL; !err && (op = wet_entry_op(entry, op));)
        err = op_pass(finder, entry, op, (uint32_t)finder->number);
    return err;
}

int dep_finder_pass(struct dep_finder *finder, const struct dep_stretch *stretch)
{
    size_t at = 0;
    int err = 0;

    /* who runs up to a mark is known once an entry is reached: look ahead for it */
    for (size_t m = 0, ahead = 0; !err && m < stretch->marks.size_bytes;) {
        const struct dep_mark *mark = (const void *)(stretch->marks.data + m);
        const struct evq_entry *entry = (const struct evq_entry *)(mark + 1);
        uint32_t running = stretch->running;
        for (ahead = m; ahead < stretch->marks.size_bytes;) {
            const struct evq_entry *next =
                (const void *)(stretch->marks.data + ahead + sizeof(struct dep_mark));
            if (wet_entry_is_reached(next)) {
                running = next->task;
                break;
            }
            ahead += sizeof(struct dep_mark) + next->bytes;
        }
        if (mark->ring_words > stretch->word_count)
            return wd_fail(-WD_ERR_MACHINE, "the replay process sent a damaged ring");
        err = words_pass(finder, stretch, &at, mark->ring_words, running);
        if (!err)
            err = entry_pass(finder, entry);
        m += sizeof *mark + entry->bytes;
    }
    if (!err)
        err = words_pass(finder, stretch, &at, stretch->word_count, stretch->running);
    return err ? err : block_give(finder);
}

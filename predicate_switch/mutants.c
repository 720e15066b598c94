/* SPDX-License-Identifier: GPL-3.0-or-later */
/* <wetdbg/mutate.h>: own instructions that ran, each with the time of its first execution; their
 * mutations, in the order in which they should be tried; and the runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "predicate_switch/batches.h"
#include "predicate_switch/mutations.h"
#include "wet/intervals.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/mutate.h>

#define LISTED_MAX (1u << 22)

const char *wetdbg_mutation_name(enum wetdbg_mutation mutation)
{
    static const char *const names[] = {
        [WETDBG_MUTATION_COMPARISON] = "comparison", [WETDBG_MUTATION_ALWAYS] = "always",
        [WETDBG_MUTATION_NEVER] = "never",           [WETDBG_MUTATION_CONSTANT] = "constant",
        [WETDBG_MUTATION_OPERATOR] = "operator",     [WETDBG_MUTATION_EXTENSION] = "extension",
        [WETDBG_MUTATION_VARIABLE] = "variable",     [WETDBG_MUTATION_MEMBER] = "member",
        [WETDBG_MUTATION_LEFT_OUT] = "left-out"};
    return mutation < sizeof(names) / sizeof(*names) ? names[mutation] : "?";
}

/* ---- what ran ---- */

/* An own instruction; `code` is the wet's. */
struct ran {
    uint64_t pc;
    wetdbg_time time; /* of its first execution */
    const uint8_t *code;
    uint8_t length;
};

struct listed {
    struct wetdbg_mutant mutant;
    uint64_t turn;
};

struct mutating {
    struct wetdbg *wet;
    struct wetdbg_trials *trials;
    const struct wetdbg_mutant_options *options;
    struct wetdbg_mutant_result *result;
    wetdbg_time *first; /* by node: its first execution; 0: it has none, or is not own */
    struct ran *ran;
    size_t ran_count, ran_capacity;
    struct psw_variable *variables; /* of one function */
    size_t variable_count, variable_capacity;
    struct listed *list;
    size_t count, capacity, item_capacity;
    double began;
};

static bool is_interrupted(const struct mutating *work)
{
    return work->options->interrupted && *work->options->interrupted;
}

static bool is_own(const struct mutating *work, const struct wet_node *node)
{
    return node && node->executions && wetdbg_is_own(work->wet, node->pc);
}

/* Whether an interval executes a node that has not been met. Runs nothing. */
static bool has_new(const struct mutating *work, const uint32_t *own, size_t own_count, uint64_t k)
{
    for (size_t i = 0; i < own_count; i++)
        if (!work->first[own[i]] && wet_node_executions_in(work->wet, own[i], k))
            return true;
    return false;
}

static int interval_look(struct mutating *work, const bool *are_own, uint64_t k)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(work->wet, k, &interval);
    if (err)
        return err;
    for (size_t i = 0; i < interval->exec_count; i++) {
        const struct wet_exec *exec = &interval->execs[i];
        if (are_own[exec->node] && !work->first[exec->node])
            work->first[exec->node] = interval->first_time + exec->time_off;
    }
    wet_interval_put(work->wet, interval);
    return 0;
}

static int firsts_find(struct mutating *work, const bool *are_own, const uint32_t *own,
                       size_t own_count)
{
    uint64_t intervals = wetdbg_get_info(work->wet)->intervals;
    int err = 0;
    for (uint64_t k = 0; k < intervals && !err; k++) {
        if (is_interrupted(work))
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        else if (has_new(work, own, own_count, k))
            err = interval_look(work, are_own, k);
    }
    return err;
}

static int node_take(struct mutating *work, const struct wet_node *node)
{
    if (wd_grow(work->ran, work->ran_capacity, work->ran_count + node->statement_count))
        return -ENOMEM;
    for (uint32_t i = 0; i < node->statement_count; i++) {
        const struct wet_statement *statement = &node->statements[i];
        work->ran[work->ran_count++] = (struct ran){.pc = statement->pc,
                                                    .time = work->first[node->id] + i,
                                                    .code = node->code + statement->byte_off,
                                                    .length = (uint8_t)statement->info->length};
    }
    return 0;
}

static int by_pc(const void *left, const void *right)
{
    const struct ran *a = left, *b = right;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    return a->time < b->time ? -1 : a->time > b->time;
}

/* An instruction may be in several nodes: its first one counts. */
static void ran_join(struct mutating *work)
{
    size_t kept = 0;
    if (work->ran_count)
        qsort(work->ran, work->ran_count, sizeof(*work->ran), by_pc);
    for (size_t i = 0; i < work->ran_count; i++)
        if (!kept || work->ran[kept - 1].pc != work->ran[i].pc)
            work->ran[kept++] = work->ran[i];
    work->ran_count = kept;
}

static int ran_find(struct mutating *work)
{
    uint32_t limit = wet_node_limit(work->wet);
    bool *are_own = calloc(limit + 1, sizeof(*are_own));
    uint32_t *own = calloc(limit + 1, sizeof(*own));
    size_t count = 0;
    work->first = calloc(limit + 1, sizeof(*work->first));
    int err = are_own && own && work->first ? 0 : -ENOMEM;
    for (uint32_t id = 0; id < limit && !err; id++)
        if (is_own(work, wet_get_node(work->wet, id))) {
            are_own[id] = true;
            own[count++] = id;
        }
    if (!err)
        err = firsts_find(work, are_own, own, count);
    for (size_t i = 0; i < count && !err; i++)
        if (work->first[own[i]])
            err = node_take(work, wet_get_node(work->wet, own[i]));
    free(are_own);
    free(own);
    if (!err)
        ran_join(work);
    return err;
}

/* ---- what to try ---- */

/* A line that is suspected more has its unlikely mutants tried before another one's likely ones:
 * both count, as factors. */
static uint64_t turn_of(uint32_t rank, unsigned round)
{
    static const unsigned factors[] = {1, 3, 8, 16};
    return ((uint64_t)rank + 8) * factors[round < 3 ? round : 3];
}

static int mutations_list(struct mutating *work, const struct ran *ran, uint32_t rank)
{
    struct psw_mutation found[PSW_MUTATIONS_MAX];
    unsigned count = psw_mutations_of(ran->code, ran->length, ran->pc, work->variables,
                                      work->variable_count, found);
    if (wd_grow(work->list, work->capacity, work->count + count))
        return -ENOMEM;
    for (unsigned i = 0; i < count && work->count < LISTED_MAX; i++) {
        struct listed *item = &work->list[work->count++];
        *item = (struct listed){.mutant = {.mutation = found[i].kind,
                                           .pc = ran->pc,
                                           .time = ran->time,
                                           .length = ran->length,
                                           .offset = found[i].offset,
                                           .size = found[i].size,
                                           .was = found[i].was,
                                           .is = found[i].is,
                                           .rank = rank},
                                .turn = turn_of(rank, found[i].round)};
        memcpy(item->mutant.code, ran->code, ran->length);
        memcpy(item->mutant.bytes, found[i].bytes, sizeof(found[i].bytes));
    }
    return 0;
}

static int variable_take(struct mutating *work, const struct psw_variable *variable)
{
    for (size_t i = 0; i < work->variable_count; i++)
        if (!memcmp(&work->variables[i], variable, sizeof(*variable)))
            return 0;
    if (wd_grow(work->variables, work->variable_capacity, work->variable_count + 1))
        return -ENOMEM;
    work->variables[work->variable_count++] = *variable;
    return 0;
}

static int variables_find(struct mutating *work, size_t from, size_t to)
{
    work->variable_count = 0;
    for (size_t i = from; i < to; i++) {
        struct psw_variable variable;
        memset(&variable, 0, sizeof(variable));
        if (psw_mutation_variable(work->ran[i].code, work->ran[i].length, work->ran[i].pc,
                                  &variable) &&
            variable_take(work, &variable))
            return -ENOMEM;
    }
    return 0;
}

/* Of the instructions of one function. */
static int function_list(struct mutating *work, size_t from, size_t to)
{
    const struct wetdbg_mutant_options *options = work->options;
    int err = variables_find(work, from, to);
    for (size_t i = from; i < to && !err; i++) {
        const struct ran *ran = &work->ran[i];
        if (options->until && ran->time >= options->until)
            continue;
        uint32_t rank = options->rank ? options->rank(options->rank_arg, ran->pc) : 0;
        if (rank != UINT32_MAX)
            err = mutations_list(work, ran, rank);
    }
    return err;
}

/* All of them is an order: two of one instruction differ in bytes. */
static int by_turn(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    if (a->mutant.rank != b->mutant.rank)
        return a->mutant.rank < b->mutant.rank ? -1 : 1;
    if (a->mutant.pc != b->mutant.pc)
        return a->mutant.pc < b->mutant.pc ? -1 : 1;
    if (a->mutant.mutation != b->mutant.mutation)
        return a->mutant.mutation < b->mutant.mutation ? -1 : 1;
    if (a->mutant.offset != b->mutant.offset)
        return a->mutant.offset < b->mutant.offset ? -1 : 1;
    return memcmp(a->mutant.bytes, b->mutant.bytes, sizeof(a->mutant.bytes));
}

static int list_make(struct mutating *work)
{
    struct wetdbg_model *model = wetdbg_get_model(work->wet);
    struct wetdbg_function function;
    int err = 0;
    for (size_t from = 0, to; from < work->ran_count && !err; from = to) {
        bool is_known = wetdbg_function_at(model, work->ran[from].pc, &function) == 0;
        for (to = from + 1; to < work->ran_count && is_known && work->ran[to].pc < function.end;
             to++)
            ;
        err = function_list(work, from, to);
    }
    if (!err && work->count)
        qsort(work->list, work->count, sizeof(*work->list), by_turn);
    work->result->listed = work->count;
    return err;
}

/* ---- runs ---- */

static void plan_make(void *arg, size_t index, struct psw_plan *plan)
{
    const struct mutating *work = arg;
    const struct wetdbg_mutant *mutant = &work->list[index].mutant;
    *plan = (struct psw_plan){.change = {.kind = PSW_SET, .time = mutant->time},
                              .address = mutant->pc + mutant->offset,
                              .size = mutant->size};
    memcpy(plan->bytes, mutant->bytes, sizeof(plan->bytes));
}

static int answer_take(void *arg, size_t index, const struct wetdbg_trial_answer *answer)
{
    struct mutating *work = arg;
    struct wetdbg_mutant_result *result = work->result;
    if (wd_grow(result->items, work->item_capacity, result->count + 1))
        return -ENOMEM;
    result->items[result->count] = work->list[index].mutant;
    result->items[result->count++].verdict = answer->verdict;
    result->unresolved += answer->verdict == WETDBG_VERDICT_UNRESOLVED;
    result->repairing += answer->verdict >= WETDBG_VERDICT_NO_CRASH;
    return 0;
}

static int runs_make(struct mutating *work)
{
    const struct wetdbg_mutant_options *options = work->options;
    struct psw_batches batches = {
        .trials = work->trials,
        .count = work->count,
        .plan = plan_make,
        .answered = answer_take,
        .arg = work,
        .budget_trials = options->budget_trials,
        .deadline = options->budget_seconds > 0 ? work->began + options->budget_seconds : 0,
        .interrupted = options->interrupted,
        .progress = options->progress,
        .progress_arg = options->arg};
    int err = psw_batches_run(&batches);
    work->result->is_interrupted = batches.is_interrupted;
    return err;
}

/* ---- answers ---- */

static int by_worth(const void *left, const void *right)
{
    const struct wetdbg_mutant *a = left, *b = right;
    if (a->verdict != b->verdict)
        return a->verdict > b->verdict ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    if (a->mutation != b->mutation)
        return a->mutation < b->mutation ? -1 : 1;
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

void wetdbg_mutant_result_fini(struct wetdbg_mutant_result *result)
{
    free(result->items);
    *result = (struct wetdbg_mutant_result){0};
}

int wetdbg_mutants_find(struct wetdbg_trials *trials, const struct wetdbg_mutant_options *options,
                        struct wetdbg_mutant_result *result)
{
    struct mutating work = {.wet = trials->wet,
                            .trials = trials,
                            .options = options,
                            .result = result,
                            .began = wd_seconds()};
    *result = (struct wetdbg_mutant_result){0};
    int err = ran_find(&work);
    if (!err)
        err = list_make(&work);
    if (!err)
        err = runs_make(&work);
    if (err == -WETDBG_ERR_INTERRUPTED && is_interrupted(&work)) {
        result->is_interrupted = true;
        err = 0;
    }
    if (result->count)
        qsort(result->items, result->count, sizeof(*result->items), by_worth);
    result->seconds = wd_seconds() - work.began;
    free(work.first);
    free(work.ran);
    free(work.variables);
    free(work.list);
    if (err)
        wetdbg_mutant_result_fini(result);
    return err;
}

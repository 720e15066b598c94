/* SPDX-License-Identifier: GPL-3.0-or-later */
/* <wetdbg/replace.h>: all replacements are listed, sorted into rounds, and tried in batches by
 * time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "predicate_switch/batches.h"
#include "predicate_switch/made_values.h"
#include "predicate_switch/switcher.h"
#include "predicate_switch/trials.h"
#include <wetdbg/errors.h>
#include <wetdbg/replace.h>

#define INSTANCES        8  /* of an instruction, if nobody says */
#define ALTERNATIVES_MAX 10 /* of an instance */
#define LISTED_MAX       (1u << 22)

struct listed {
    struct wetdbg_replacement item;
    unsigned round;
};

struct replacing {
    struct wetdbg *wet;
    struct wetdbg_trials *trials;
    const struct wetdbg_replacement_options *options;
    struct wetdbg_replacement_result *result;
    struct listed *list;
    size_t count, capacity, item_capacity;
    double began;
};

/* ---- what to try ---- */

/* A register is that of the thread that goes on then. */
static bool is_same_thread(struct wetdbg *wet, wetdbg_time time)
{
    const struct wetdbg_thread *next = wetdbg_thread_at(wet, time + 1);
    return next && next == wetdbg_thread_at(wet, time);
}

static int instance_list(struct replacing *work, const struct psw_made *made, unsigned nth)
{
    const struct psw_made_instance *instance = &made->instances[nth];
    uint64_t values[ALTERNATIVES_MAX];
    unsigned count = psw_made_alternatives(made, instance->value, values, ALTERNATIVES_MAX);
    if (!is_same_thread(work->wet, instance->time))
        return 0;
    for (unsigned i = 0; i < count && work->count < LISTED_MAX; i++) {
        if (wd_grow(work->list, work->capacity, work->count + 1))
            return -ENOMEM;
        work->list[work->count++] =
            (struct listed){.item = {.time = instance->time,
                                     .pc = made->pc,
                                     .line = made->line,
                                     .reg = made->reg,
                                     .address = made->reg < 0 ? instance->address : 0,
                                     .size = made->size,
                                     .was = instance->value,
                                     .is = values[i],
                                     .distance = instance->distance},
                            .round = nth + i};
    }
    return 0;
}

static int by_distance(const void *left, const void *right)
{
    const struct psw_made_instance *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->time > b->time ? -1 : a->time < b->time;
}

/* All of them is an order: two of one instance differ by their value. */
static int by_round(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    if (a->round != b->round)
        return a->round < b->round ? -1 : 1;
    if (a->item.distance != b->item.distance)
        return a->item.distance < b->item.distance ? -1 : 1;
    if (a->item.time != b->item.time)
        return a->item.time > b->item.time ? -1 : 1;
    if (a->item.reg != b->item.reg)
        return a->item.reg < b->item.reg ? -1 : 1;
    return a->item.is < b->item.is ? -1 : a->item.is > b->item.is;
}

static int list_make(struct replacing *work, struct psw_made_values *made)
{
    int err = 0;
    for (size_t i = 0; i < made->count && !err; i++) {
        struct psw_made *one = &made->items[i];
        qsort(one->instances, one->instance_count, sizeof(*one->instances), by_distance);
        for (unsigned k = 0; k < one->instance_count && !err; k++)
            err = instance_list(work, one, k);
    }
    if (!err && work->count)
        qsort(work->list, work->count, sizeof(*work->list), by_round);
    work->result->listed = work->count;
    return err;
}

/* ---- runs ---- */

static bool is_interrupted(void *arg)
{
    const struct replacing *work = arg;
    return work->options->interrupted && *work->options->interrupted;
}

static void plan_make(void *arg, size_t index, struct psw_plan *plan)
{
    const struct replacing *work = arg;
    const struct wetdbg_replacement *item = &work->list[index].item;
    *plan = (struct psw_plan){.change = {.kind = PSW_SET, .time = item->time + 1}};
    if (item->reg < 0) {
        plan->writes[0].address = item->address;
        plan->writes[0].size = item->size;
        memcpy(plan->writes[0].bytes, &item->is, sizeof(item->is));
    } else {
        plan->change.reg = evq_reg_of_gpr[item->reg & 15];
        plan->change.value = item->is;
        plan->change.mask = UINT64_MAX;
    }
}

static int answer_take(void *arg, size_t index, const struct wetdbg_trial_answer *answer)
{
    struct replacing *work = arg;
    struct wetdbg_replacement_result *result = work->result;
    struct wetdbg_replacement *item = &work->list[index].item;
    struct wetdbg_replacement_counts *line = &result->lines[item->line];
    item->verdict = answer->verdict;
    result->tried++;
    line->tried++;
    line->verdicts[answer->verdict]++;
    result->unresolved += answer->verdict == WETDBG_VERDICT_UNRESOLVED;
    if (answer->verdict < WETDBG_VERDICT_NO_CRASH)
        return 0;
    if (wd_grow(result->items, work->item_capacity, result->count + 1))
        return -ENOMEM;
    result->items[result->count++] = *item;
    return 0;
}

static int runs_make(struct replacing *work)
{
    const struct wetdbg_replacement_options *options = work->options;
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
    const struct wetdbg_replacement *a = left, *b = right;
    if (a->verdict != b->verdict)
        return a->verdict > b->verdict ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    if (a->time != b->time)
        return a->time > b->time ? -1 : 1;
    if (a->reg != b->reg)
        return a->reg < b->reg ? -1 : 1;
    return a->is < b->is ? -1 : a->is > b->is;
}

void wetdbg_replacement_result_fini(struct wetdbg_replacement_result *result)
{
    free(result->items);
    free(result->lines);
    *result = (struct wetdbg_replacement_result){0};
}

static int find(struct replacing *work, const struct wetdbg_slice *slice)
{
    const struct wetdbg_replacement_options *options = work->options;
    struct psw_made_values made;
    size_t count;
    wetdbg_slice_lines(slice, &count);
    work->result->lines = calloc(count + 1, sizeof(*work->result->lines));
    if (!work->result->lines)
        return -ENOMEM;
    int err = psw_made_values_find(&made, work->wet, slice,
                                   options->instances ? options->instances : INSTANCES,
                                   options->until ? options->until : UINT64_MAX, options->passing,
                                   options->passing_count, is_interrupted, work);
    if (!err)
        err = list_make(work, &made);
    psw_made_values_fini(&made);
    return err ? err : runs_make(work);
}

int wetdbg_replacements_find(struct wetdbg_trials *trials, const struct wetdbg_slice *slice,
                             const struct wetdbg_replacement_options *options,
                             struct wetdbg_replacement_result *result)
{
    struct replacing work = {.wet = trials->wet,
                             .trials = trials,
                             .options = options,
                             .result = result,
                             .began = wd_seconds()};
    *result = (struct wetdbg_replacement_result){0};
    int err = find(&work, slice);
    if (result->count)
        qsort(result->items, result->count, sizeof(*result->items), by_worth);
    result->seconds = wd_seconds() - work.began;
    free(work.list);
    if (err)
        wetdbg_replacement_result_fini(result);
    return err;
}

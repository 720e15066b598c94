/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/bisect.h"
#include "predicate_switch/candidates_priv.h"
#include <wetdbg/errors.h>

const char *wetdbg_predicate_kind_name(enum wetdbg_predicate_kind kind)
{
    static const char *const names[] = {"branch", "switch", "cmov", "setcc"};

    return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

wetdbg_time wetdbg_failure_time(const struct wetdbg_criterion *criterion)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);

    return info->written ? info->written : info->time;
}

/* ---- predicates ---- */

int wetdbg_candidates_find(struct wetdbg *wet, const struct wetdbg_candidates_options *options,
                           struct wetdbg_candidates **out)
{
    struct wetdbg_candidates *candidates = calloc(1, sizeof(*candidates));
    const struct wetdbg_info *info = wetdbg_get_info(wet);

    if (!candidates)
        return -ENOMEM;
    candidates->wet = wet;
    candidates->options = *options;
    if (!options->until || options->until > info->last_time + 1)
        candidates->options.until = info->last_time + 1;
    int err = psw_predicates_find(&candidates->predicates, wet, options);
    if (!err)
        err = psw_instances_init(&candidates->instances, &candidates->predicates,
                                 options->is_unwanted, options->arg);
    if (!err && candidates->predicates.count == 0)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "there is nothing to switch: no branch of the program's own code ran%s",
                          options->libraries ? ", nor one of its libraries" : "");
    if (err)
        wetdbg_candidates_free(candidates);
    else
        *out = candidates;
    return err;
}

void wetdbg_candidates_free(struct wetdbg_candidates *candidates)
{
    if (!candidates)
        return;
    psw_instances_fini(&candidates->instances);
    psw_predicates_fini(&candidates->predicates);
    free(candidates);
}

const struct wetdbg_predicate *
wetdbg_candidates_predicates(const struct wetdbg_candidates *candidates, size_t *count)
{
    *count = candidates->predicates.count;
    return candidates->predicates.items;
}

int wetdbg_candidates_count(struct wetdbg_candidates *candidates, uint64_t *count)
{
    wetdbg_time until = candidates->options.until;
    uint64_t last = wetdbg_interval_at(candidates->wet, until), sum = 0;
    const struct psw_predicates *predicates = &candidates->predicates;
    const struct psw_list *list;
    int err = psw_instances_of(&candidates->instances, last, &list);

    if (err)
        return err;
    for (uint32_t id = 0; id < predicates->node_limit; id++)
        for (uint64_t k = 0; k < last; k++)
            if (predicates->first_spots[id] < predicates->first_spots[id + 1])
                sum += (uint64_t)(predicates->first_spots[id + 1] - predicates->first_spots[id]) *
                       wet_node_executions_in(candidates->wet, id, k);
    *count = sum + wd_bisect(0, list->count, i, list->first_time + list->items[i].time_off < until);
    return 0;
}

int psw_instances_before(struct wetdbg_candidates *candidates, uint32_t predicate, wetdbg_time time,
                         uint64_t *count)
{
    uint64_t interval = wetdbg_interval_at(candidates->wet, time);
    const struct psw_list *list;
    int err = psw_instances_of(&candidates->instances, interval, &list);

    if (err)
        return err;
    *count = psw_count_before(&candidates->predicates, predicate, interval);
    for (size_t i = 0; i < list->count && list->first_time + list->items[i].time_off < time; i++)
        *count += list->items[i].predicate == predicate;
    return 0;
}

int psw_instance_first(struct wetdbg_candidates *candidates, uint32_t predicate, wetdbg_time *time)
{
    return wetdbg_find_instance(candidates->wet, &candidates->predicates.items[predicate].pc, 1, 1,
                                time);
}

/* ---- choices ---- */

static int add(struct psw_choices *choices, const struct wetdbg_candidate *candidate)
{
    if (wd_grow(choices->items, choices->capacity, choices->count + 1))
        return -ENOMEM;
    choices->items[choices->count++] = *candidate;
    return 0;
}

static bool has_way(const struct psw_choices *choices, uint64_t to)
{
    for (size_t i = 0; i < choices->count; i++)
        if (choices->items[i].to == to)
            return true;
    return false;
}

/* The exit of the expression that a branch decided, the other way; 0 if it decided nothing. */
static uint64_t other_exit(const struct psw_static *is, uint64_t went)
{
    if (!is->exits[0] || (went != is->exits[0] && went != is->exits[1]))
        return 0;
    return went == is->exits[0] ? is->exits[1] : is->exits[0];
}

int psw_choices_make(struct wetdbg_candidates *candidates, const struct psw_list *list, size_t at,
                     struct psw_choices *choices)
{
    const struct psw_predicates *predicates = &candidates->predicates;
    struct psw_instance item = list->items[at];
    const struct psw_static *is = &predicates->statics[item.predicate];
    const uint64_t *ways = psw_ways(predicates, item.predicate);
    struct wetdbg_candidate candidate = {
        .predicate = item.predicate,
        .instance = item.ordinal + 1,
        .time = list->first_time + item.time_off,
        .pc = predicates->items[item.predicate].pc,
    };
    uint64_t interval = list->interval;
    int err = 0;

    choices->count = 0;
    if (item.way == PSW_NONE)
        err = psw_instance_way(&candidates->instances, candidate.time, item.predicate, &item.way);
    if (err || item.way == PSW_NONE)
        return err;
    candidate.instance += psw_count_before(predicates, item.predicate, interval);
    candidate.went = ways[item.way];
    uint64_t exit = other_exit(is, candidate.went);
    for (uint32_t i = 0; i < is->way_count && !err; i++) {
        candidate.to = ways[i];
        candidate.is_expression = exit && exit == ways[i];
        if (i != item.way)
            err = add(choices, &candidate);
    }
    if (err || !exit || has_way(choices, exit))
        return err;
    candidate.to = exit;
    candidate.is_expression = true;
    return add(choices, &candidate);
}

int wetdbg_candidates_at(struct wetdbg_candidates *candidates, wetdbg_time time,
                         struct wetdbg_candidate *list, size_t max, size_t *count)
{
    const struct wetdbg_info *info = wetdbg_get_info(candidates->wet);
    struct psw_choices choices = {.count = 0};
    const struct psw_list *instances;
    size_t at;

    if (time < info->first_time || time >= candidates->options.until)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "time %llu is not before the failure",
                           (unsigned long long)time);
    int err = psw_instances_of(&candidates->instances, wetdbg_interval_at(candidates->wet, time),
                               &instances);
    if (!err && psw_instance_find(instances, time, &at))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there is nothing to switch at time %llu",
                          (unsigned long long)time);
    if (!err)
        err = psw_choices_make(candidates, instances, at, &choices);
    for (size_t i = 0; i < choices.count && i < max; i++)
        list[i] = choices.items[i];
    if (!err)
        *count = choices.count;
    free(choices.items);
    return err;
}

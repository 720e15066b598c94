/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which ways passing runs took: their predicates are found as the failing run's are, and all of
 * their intervals listed. */
#include <errno.h>
#include <stdlib.h>

#include "predicate_switch/order_priv.h"
#include <wetdbg/spectrum.h>

/* Marks the ways that a run took, by place in its own ways. */
static int mark(struct psw_instances *instances, bool *marks)
{
    const struct psw_predicates *predicates = instances->predicates;
    uint64_t intervals = wetdbg_get_info(predicates->wet)->intervals;
    const struct psw_list *list;
    int err = 0;

    for (uint64_t k = 0; k < intervals && !err; k++) {
        err = psw_has_instances(predicates, k) ? psw_instances_of(instances, k, &list) : 1;
        for (size_t i = 0; !err && i < list->count; i++)
            if (list->items[i].way != PSW_NONE)
                marks[predicates->statics[list->items[i].predicate].first_way +
                      list->items[i].way] = true;
        err = err == 1 ? 0 : err;
    }
    return err;
}

/* Adds what a run took to the counts of the failing one. What has no counterpart there was not
 * taken. */
static void add(const struct psw_predicates *failing, const struct psw_predicates *passing,
                const bool *marks, uint32_t *taken)
{
    for (uint32_t p = 0; p < failing->count; p++) {
        const struct psw_static *is = &failing->statics[p];
        bool is_place = failing->items[p].kind == WETDBG_PREDICATE_BRANCH ||
                        failing->items[p].kind == WETDBG_PREDICATE_TABLE;
        uint64_t pc;
        if (wetdbg_pc_in_other(failing->wet, failing->items[p].pc, passing->wet, &pc))
            continue;
        uint32_t other = psw_predicates_at(passing, pc);
        for (uint32_t w = 0; w < is->way_count && other != PSW_NONE; w++) {
            uint64_t to = failing->ways[is->first_way + w];
            if (is_place && wetdbg_pc_in_other(failing->wet, to, passing->wet, &to))
                continue;
            uint32_t way = psw_way_find(passing, other, to);
            if (way != PSW_NONE && marks[passing->statics[other].first_way + way])
                taken[is->first_way + w]++;
        }
    }
}

static int count_one(struct wetdbg_candidates *candidates, struct wetdbg *wet, uint32_t *taken)
{
    struct psw_predicates predicates;
    struct psw_instances instances = {.predicates = NULL};
    bool *marks = NULL;
    int err = psw_predicates_find(&predicates, wet, &candidates->options);

    if (!err)
        err = psw_instances_init(&instances, &predicates, candidates->options.is_unwanted,
                                 candidates->options.arg);
    if (!err && !(marks = calloc((size_t)predicates.way_count + 1, sizeof(*marks))))
        err = -ENOMEM;
    if (!err)
        err = mark(&instances, marks);
    if (!err)
        add(&candidates->predicates, &predicates, marks, taken);
    free(marks);
    psw_instances_fini(&instances);
    psw_predicates_fini(&predicates);
    return err;
}

int psw_taken_count(struct wetdbg_candidates *candidates, struct wetdbg *const *passing,
                    size_t passing_count, uint32_t **taken)
{
    uint32_t *counts = calloc((size_t)candidates->predicates.way_count + 1, sizeof(*counts));
    int err = counts ? 0 : -ENOMEM;

    for (size_t i = 0; i < passing_count && !err; i++) {
        err = wetdbg_check_same_program(candidates->wet, passing[i], "a passing run");
        if (!err)
            err = count_one(candidates, passing[i], counts);
    }
    if (err)
        free(counts);
    else
        *taken = counts;
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mutants that make the failing run right, made in runs that passed. */
#include <errno.h>
#include <string.h>

#include "common/clock.h"
#include <wetdbg/errors.h>
#include <wetdbg/mutate.h>
#include <wetdbg/spectrum.h>
#include <wetdbg/switch.h>

#define LINE_MOST 4u /* mutants of a rank that are held against a run */

struct holding {
    struct wetdbg *wet, *passing;
    struct wetdbg_switcher *switcher; /* of the passing run; NULL: nothing has asked for it */
    const struct wetdbg_mutant_options *options;
    double deadline; /* of wd_seconds(); 0: none */
};

static bool is_over(const struct holding *holding)
{
    return (holding->options->interrupted && *holding->options->interrupted) ||
           (holding->deadline > 0 && wd_seconds() >= holding->deadline);
}

/* The same change in the passing run, from the first execution there on. -WETDBG_ERR_NOT_FOUND:
 * there is none, or the code is not there in the same way. */
static int change_make(const struct holding *holding, const struct wetdbg_mutant *mutant,
                       struct wetdbg_change *change)
{
    uint64_t pc, cave = 0;
    int err = wetdbg_pc_in_other(holding->wet, mutant->pc, holding->passing, &pc);
    if (!err && mutant->cave_size)
        err = wetdbg_pc_in_other(holding->wet, mutant->cave, holding->passing, &cave);
    if (!err && mutant->cave_size && cave - pc != mutant->cave - mutant->pc)
        err = wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    if (err)
        return err;
    *change = (struct wetdbg_change){.kind = WETDBG_CHANGE_VALUE,
                                     .address = pc + mutant->offset,
                                     .size = mutant->size,
                                     .more = {.address = cave, .size = mutant->cave_size}};
    memcpy(change->bytes, mutant->bytes, mutant->size);
    memcpy(change->more.bytes, mutant->cave_bytes, mutant->cave_size);
    return wetdbg_find_instance(holding->passing, &pc, 1, 1, &change->time);
}

/* A run that cannot be told to the end says nothing. */
static void take(const struct holding *holding, const struct wetdbg_switch_result *result,
                 struct wetdbg_mutant *mutant)
{
    bool has_ended = result->end == WETDBG_SWITCH_EXIT;
    bool is_same = has_ended && !result->output_differs &&
                   result->wait_status == wetdbg_get_info(holding->passing)->wait_status;
    if (result->end == WETDBG_SWITCH_UNRESOLVED)
        return;
    mutant->held++;
    mutant->broken += !is_same;
}

static int hold(struct holding *holding, struct wetdbg_mutant *mutant)
{
    struct wetdbg_switch_result result;
    struct wetdbg_change change;
    int err = change_make(holding, mutant, &change);
    if (!err && !holding->switcher)
        err = wetdbg_switcher_open(holding->passing, &holding->switcher);
    if (!err)
        err = wetdbg_switcher_run(holding->switcher, &change, 0, NULL, NULL, &result);
    if (!err)
        take(holding, &result, mutant);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

/* The first ones of each rank, which are next to each other. */
static int all_hold(struct holding *holding, struct wetdbg_mutant_result *result)
{
    unsigned of_rank = 0;
    int err = 0;
    for (size_t i = 0; i < result->count && !err && !is_over(holding); i++) {
        struct wetdbg_mutant *mutant = &result->items[i];
        if (mutant->verdict != WETDBG_VERDICT_EXACT)
            break; /* they come first */
        of_rank = i && mutant->rank == mutant[-1].rank ? of_rank + 1 : 1;
        if (of_rank <= LINE_MOST && !mutant->broken)
            err = hold(holding, mutant);
    }
    return err;
}

int wetdbg_mutants_hold_against(struct wetdbg *wet, struct wetdbg_mutant_result *result,
                                struct wetdbg *const *passing, size_t passing_count,
                                const struct wetdbg_mutant_options *options)
{
    double budget = options->budget_seconds;
    struct holding holding = {
        .wet = wet, .options = options, .deadline = budget > 0 ? wd_seconds() + budget : 0};
    int err = 0;
    for (size_t i = 0; i < passing_count && !err && !is_over(&holding); i++) {
        holding.passing = passing[i];
        err = all_hold(&holding, result);
        wetdbg_switcher_close(holding.switcher);
        holding.switcher = NULL;
    }
    return err;
}

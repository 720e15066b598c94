/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ddmin over units from coarse to fine: the items of each reduction are the groups that are
 * left. */
#include <stdlib.h>

#include "delta/delta_priv.h"
#include "delta/reduction.h"
#include <wetdbg/errors.h>

struct stage {
    const struct wetdbg_delta_unit *unit; /* NULL: each delta */
    const struct dlt_set *left;           /* deltas, before this stage */
    uint32_t *groups;                     /* items */
    size_t count;
};

static void group_range(const struct stage *stage, size_t item, size_t *first, size_t *end)
{
    uint32_t g = stage->groups[item];
    *first = stage->unit ? stage->unit->starts[g] : g;
    *end = stage->unit ? dlt_unit_end(stage->unit, g, stage->left->count) : g + 1;
}

/* All that is left, without the groups that are not among the items. */
static void stage_form(void *arg, const struct dlt_set *items, struct dlt_set *deltas)
{
    const struct stage *stage = arg;
    dlt_set_copy(deltas, stage->left);
    for (size_t i = 0; i < stage->count; i++) {
        size_t first, end;
        if (dlt_set_has(items, i))
            continue;
        group_range(stage, i, &first, &end);
        dlt_set_remove(deltas, first, end);
    }
}

/* One span for each group of the coarser unit, which is known to be needed; one for all in the
 * first stage. */
static int spans_make(const struct stage *stage, const struct wetdbg_delta_unit *coarser,
                      struct dlt_span **spans, size_t *count)
{
    struct dlt_span *made = malloc((stage->count + 1) * sizeof(*made));
    size_t found = 0, c = 0;
    if (!made)
        return -ENOMEM;
    for (uint32_t i = 0; i < stage->count; i++) {
        size_t first, end, before = c;
        group_range(stage, i, &first, &end);
        while (coarser && dlt_unit_end(coarser, c, stage->left->count) <= first)
            c++;
        if (!found || c != before)
            made[found++] = (struct dlt_span){.first = i, .is_needed = true};
        made[found - 1].end = i + 1;
    }
    *spans = made;
    *count = found;
    return 0;
}

/* `gone`, of the last unit, is how many single groups went; NULL: single groups are not asked
 * for. */
static int stage_run(struct dlt_asker *asker, struct stage *stage,
                     const struct wetdbg_delta_unit *coarser, size_t *gone, struct dlt_set *left)
{
    struct dlt_reduction reduction = {.asker = asker, .arg = stage, .form = stage_form};
    struct dlt_span *spans = NULL;
    size_t count;
    int err = dlt_set_init(&reduction.items, stage->count);
    if (!err)
        err = dlt_set_init(&reduction.tried, stage->count);
    if (!err)
        err = spans_make(stage, coarser, &spans, &count);
    if (!err) {
        dlt_set_add(&reduction.items, 0, stage->count);
        err = dlt_reduce_by_halves(&reduction, &spans, &count);
    }
    if (!err && gone)
        err = dlt_reduce_by_items(&reduction, gone);
    if (!err)
        stage_form(stage, &reduction.items, left);
    free(spans);
    dlt_set_fini(&reduction.tried);
    dlt_set_fini(&reduction.items);
    return err;
}

/* One unit: takes away from `fail` what it can. */
static int minimize_by(struct dlt_asker *asker, const struct wetdbg_delta_unit *unit,
                       const struct wetdbg_delta_unit *coarser, size_t *gone, struct dlt_set *fail)
{
    struct dlt_set before = {0};
    struct stage stage = {.unit = unit, .left = &before};
    int err = dlt_set_init(&before, fail->count);
    if (!err) {
        dlt_set_copy(&before, fail);
        err = dlt_unit_groups(unit, &before, &stage.groups, &stage.count);
    }
    if (!err)
        err = stage_run(asker, &stage, coarser, gone, fail);
    free(stage.groups);
    dlt_set_fini(&before);
    return err;
}

/* All units, and again from the coarsest one while it helped to ask for single groups. */
static int minimize(struct dlt_asker *asker, const struct wetdbg_delta_unit *units,
                    size_t unit_count, struct dlt_set *fail)
{
    size_t gone = 1;
    int err = dlt_ask_ends(asker, fail->count, false);
    dlt_set_add(fail, 0, fail->count);
    while (!err && gone) {
        if (!unit_count)
            err = minimize_by(asker, NULL, NULL, &gone, fail);
        for (size_t u = 0; !err && u < unit_count; u++)
            err = minimize_by(asker, &units[u], u ? &units[u - 1] : NULL,
                              u + 1 == unit_count ? &gone : NULL, fail);
    }
    return err;
}

int wetdbg_delta_minimize(const struct wetdbg_delta_tests *tests, size_t count,
                          const struct wetdbg_delta_unit *units, size_t unit_count,
                          struct wetdbg_delta_result *result)
{
    struct dlt_asker *asker = NULL;
    struct dlt_set pass = {0}, fail = {0};
    int err = dlt_units_check(count, units, unit_count);
    if (!err)
        err = dlt_asker_open(tests, count, &asker);
    if (!err)
        err = dlt_set_init(&fail, count);
    if (!err)
        err = minimize(asker, units, unit_count, &fail);
    if (!err)
        err = dlt_result_make(asker, &pass, &fail, result);
    dlt_set_fini(&fail);
    dlt_asker_close(asker);
    return err;
}

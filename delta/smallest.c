/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/smallest.h"

#include <string.h>

static int take(struct dlt_set *set, const uint64_t *words, size_t count)
{
    int err = set->words ? 0 : dlt_set_init(set, count);
    if (!err)
        memcpy(set->words, words, (count + 63) / 64 * sizeof(*words));
    return err;
}

int dlt_smallest_begin(struct dlt_smallest *smallest, unsigned slot,
                       const struct wetdbg_delta_set *set)
{
    return take(&smallest->slots[slot], set->words, set->count);
}

int dlt_smallest_learn(struct dlt_smallest *smallest, unsigned slot, bool is_live)
{
    const struct dlt_set *tested = &smallest->slots[slot];
    struct dlt_set *found = &smallest->found[is_live];
    if (found->words && dlt_set_size(found) <= dlt_set_size(tested))
        return 0;
    return take(found, tested->words, tested->count);
}

const struct dlt_set *dlt_smallest_get(const struct dlt_smallest *smallest, bool only_real)
{
    const struct dlt_set *real = &smallest->found[0], *live = &smallest->found[1];
    bool is_live =
        !only_real && live->words && (!real->words || dlt_set_size(live) < dlt_set_size(real));
    return is_live ? live : real->words ? real : NULL;
}

void dlt_smallest_fini(struct dlt_smallest *smallest)
{
    for (unsigned i = 0; i < WETDBG_DELTA_JOBS_MAX; i++)
        dlt_set_fini(&smallest->slots[i]);
    dlt_set_fini(&smallest->found[0]);
    dlt_set_fini(&smallest->found[1]);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "delta/delta_priv.h"
#include <wetdbg/errors.h>

void wetdbg_delta_result_fini(struct wetdbg_delta_result *result)
{
    free(result->pass);
    free(result->fail);
    *result = (struct wetdbg_delta_result){0};
}

int dlt_ask_ends(struct dlt_asker *asker, size_t count, bool has_to_pass)
{
    struct dlt_set set;
    enum wetdbg_delta_outcome all, none;
    int err = dlt_set_init(&set, count);
    if (!err)
        err = dlt_ask(asker, &set, &none);
    if (!err) {
        dlt_set_add(&set, 0, count);
        err = dlt_ask(asker, &set, &all);
    }
    dlt_set_fini(&set);
    if (err)
        return err;
    if (all != WETDBG_DELTA_FAIL)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "all deltas together do not fail");
    if (none == WETDBG_DELTA_FAIL)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "it fails without any delta, too");
    if (has_to_pass && none != WETDBG_DELTA_PASS)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "it does not pass without any delta");
    return 0;
}

int dlt_result_make(const struct dlt_asker *asker, struct dlt_set *pass, struct dlt_set *fail,
                    struct wetdbg_delta_result *result)
{
    int err = pass->words ? 0 : dlt_set_init(pass, fail->count);
    if (err)
        return err;
    *result = (struct wetdbg_delta_result){
        .pass = pass->words, .fail = fail->words, .count = fail->count};
    dlt_asker_count(asker, result);
    pass->words = fail->words = NULL;
    return 0;
}

/* Whether each start of `coarse` is one of `fine`. */
static bool is_refined(const struct wetdbg_delta_unit *coarse, const struct wetdbg_delta_unit *fine)
{
    size_t f = 0;
    for (size_t c = 0; c < coarse->count; c++) {
        while (f < fine->count && fine->starts[f] < coarse->starts[c])
            f++;
        if (f == fine->count || fine->starts[f] != coarse->starts[c])
            return false;
    }
    return true;
}

int dlt_units_check(size_t count, const struct wetdbg_delta_unit *units, size_t unit_count)
{
    for (size_t u = 0; u < unit_count; u++) {
        const struct wetdbg_delta_unit *unit = &units[u];
        if (count && (!unit->count || unit->starts[0] != 0))
            return wetdbg_fail(-EINVAL, "unit %zu does not begin with delta 0", u);
        for (size_t g = 0; g < unit->count; g++)
            if (unit->starts[g] >= count || (g && unit->starts[g] <= unit->starts[g - 1]))
                return wetdbg_fail(-EINVAL, "group %zu of unit %zu is empty", g, u);
        if (u && !is_refined(&units[u - 1], unit))
            return wetdbg_fail(-EINVAL, "unit %zu does not refine the one before", u);
    }
    return 0;
}

int dlt_unit_groups(const struct wetdbg_delta_unit *unit, const struct dlt_set *set,
                    uint32_t **groups, size_t *count)
{
    size_t found = 0, g = 0;
    uint32_t *made = malloc((dlt_set_size(set) + 1) * sizeof(*made));
    if (!made)
        return -ENOMEM;
    for (size_t i = dlt_set_next(set, 0); i < set->count; i = dlt_set_next(set, i)) {
        while (unit && dlt_unit_end(unit, g, set->count) <= i)
            g++;
        made[found++] = unit ? (uint32_t)g : (uint32_t)i;
        i = unit ? dlt_unit_end(unit, g, set->count) : i + 1;
    }
    *groups = made;
    *count = found;
    return 0;
}

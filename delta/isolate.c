/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dd (TSE 2002, section 4). One step asks, for the parts D1 to Dn of the difference, first whether
 * some p ∪ Di fails, then whether some f − Di passes; what the two rows found decides the other two
 * rules without further tests. The second row begins with the last part, so that of equal answers p
 * keeps the front of the input: of 2,048 equal bytes, the one that matters is then the first that
 * is one too many.
 */
#include <stdlib.h>

#include "delta/delta_priv.h"
#include <wetdbg/errors.h>

struct search {
    struct dlt_asker *asker;
    const struct wetdbg_delta_unit *unit; /* NULL: each delta */
    struct dlt_set pass, fail;
    struct dlt_set next; /* room for what becomes one of them */
    uint32_t *groups;    /* those of fail − pass */
    size_t group_count;
    size_t parts;
    uint8_t *outcomes; /* of this step's two rows */
};

static size_t group_first(const struct search *search, size_t at)
{
    uint32_t g = search->groups[at];
    return search->unit ? search->unit->starts[g] : g;
}

static size_t group_end(const struct search *search, size_t at)
{
    uint32_t g = search->groups[at];
    return search->unit ? dlt_unit_end(search->unit, g, search->fail.count) : g + 1;
}

/* Where part i begins among the groups; part `parts` would begin behind the last. */
static size_t part_first(const struct search *search, size_t i)
{
    return search->group_count * i / search->parts;
}

static void part_range(const struct search *search, size_t i, size_t *first, size_t *end)
{
    *first = group_first(search, part_first(search, i));
    *end = group_end(search, part_first(search, i + 1) - 1);
}

/* Which part candidate i of the two rows is about. */
static size_t part_of(const struct search *search, size_t i)
{
    return i < search->parts ? i : 2 * search->parts - 1 - i;
}

/* pass ∪ Di, or fail − Di. What of a part's range is in both or in neither stays so. */
static void part_apply(const struct search *search, size_t i, struct dlt_set *set)
{
    size_t first, end;
    bool adds = i < search->parts;
    part_range(search, part_of(search, i), &first, &end);
    dlt_set_copy(set, adds ? &search->pass : &search->fail);
    dlt_set_take(set, adds ? &search->fail : &search->pass, first, end);
}

static unsigned candidate(void *arg, size_t i, struct dlt_set *set)
{
    const struct search *search = arg;
    part_apply(search, i, set);
    return DLT_ONLY(i < search->parts ? WETDBG_DELTA_FAIL : WETDBG_DELTA_PASS);
}

/* The groups of what is left of the difference. */
static int groups_find(struct search *search)
{
    struct dlt_set difference;
    int err = dlt_set_init(&difference, search->fail.count);
    if (err)
        return err;
    for (size_t w = 0; w < (difference.count + 63) / 64; w++)
        difference.words[w] = search->fail.words[w] & ~search->pass.words[w];
    free(search->groups);
    search->groups = NULL;
    err = dlt_unit_groups(search->unit, &difference, &search->groups, &search->group_count);
    dlt_asker_set_left(search->asker, search->group_count);
    dlt_set_fini(&difference);
    return err;
}

/* The first candidate of a row whose outcome is this one; 2 * parts if none is. */
static size_t row_find(const struct search *search, size_t first, enum wetdbg_delta_outcome outcome)
{
    for (size_t i = first; i < first + search->parts; i++)
        if (search->outcomes[i] == outcome)
            return i;
    return 2 * search->parts;
}

/* By the rules 3 and 4: neither row was ended. */
static void step_by_rest(struct search *search)
{
    size_t more = row_find(search, 0, WETDBG_DELTA_PASS);
    size_t less = row_find(search, search->parts, WETDBG_DELTA_FAIL);
    struct dlt_set *changed = more < search->parts ? &search->pass : &search->fail;
    size_t i = more < search->parts ? more : less, first, end;
    if (i == 2 * search->parts) {
        search->parts = 2 * search->parts;
        return;
    }
    part_range(search, part_of(search, i), &first, &end);
    dlt_set_take(changed, changed == &search->pass ? &search->fail : &search->pass, first, end);
    search->parts = search->parts > 2 ? search->parts - 1 : 2;
}

/* A candidate becomes one of the two ends. */
static void end_set(struct search *search, struct dlt_set *end, size_t i)
{
    part_apply(search, i, &search->next);
    dlt_set_copy(end, &search->next);
    search->parts = 2;
}

/* One step. *is_done if no rule applies and no part can be divided. */
static int step(struct search *search, bool *is_done)
{
    size_t hit, before = search->parts;
    search->outcomes = malloc(2 * search->parts);
    if (!search->outcomes)
        return -ENOMEM;
    int err =
        dlt_ask_first(search->asker, 2 * search->parts, candidate, search, &hit, search->outcomes);
    if (!err && hit < search->parts) {
        end_set(search, &search->fail, hit);
    } else if (!err && hit < 2 * search->parts) {
        end_set(search, &search->pass, hit);
    } else if (!err) {
        bool is_single = search->parts == search->group_count;
        step_by_rest(search);
        *is_done = is_single && search->parts == 2 * before;
    }
    free(search->outcomes);
    search->outcomes = NULL;
    return err;
}

/* Down to one group, or to no rule. */
static int isolate_by(struct search *search, size_t parts)
{
    bool is_done = false;
    int err = groups_find(search);
    search->parts = parts;
    while (!err && search->group_count > 1 && !is_done) {
        if (search->parts > search->group_count)
            search->parts = search->group_count;
        err = step(search, &is_done);
        if (!err && !is_done)
            err = groups_find(search);
    }
    return err;
}

static int isolate(struct search *search, const struct wetdbg_delta_unit *units, size_t unit_count)
{
    size_t parts = 2;
    int err = dlt_ask_ends(search->asker, search->fail.count, true);
    dlt_set_add(&search->fail, 0, search->fail.count);
    if (!err && !unit_count)
        return isolate_by(search, parts);
    for (size_t u = 0; !err && u < unit_count; u++) {
        search->unit = &units[u];
        err = isolate_by(search, parts);
        parts = search->group_count > 2 ? search->group_count : 2;
    }
    return err;
}

int wetdbg_delta_isolate(const struct wetdbg_delta_tests *tests, size_t count,
                         const struct wetdbg_delta_unit *units, size_t unit_count,
                         struct wetdbg_delta_result *result)
{
    struct search search = {0};
    int err = dlt_units_check(count, units, unit_count);
    if (!err)
        err = dlt_asker_open(tests, count, &search.asker);
    if (!err)
        err = dlt_set_init(&search.pass, count);
    if (!err)
        err = dlt_set_init(&search.fail, count);
    if (!err)
        err = dlt_set_init(&search.next, count);
    if (!err)
        err = isolate(&search, units, unit_count);
    if (!err)
        err = dlt_result_make(search.asker, &search.pass, &search.fail, result);
    dlt_set_fini(&search.pass);
    dlt_set_fini(&search.fail);
    dlt_set_fini(&search.next);
    free(search.groups);
    dlt_asker_close(search.asker);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A row is asked through a window: candidates from the first that is undecided on, at most four per
 * job. Each is known, or its test runs in a slot, or an earlier one of the same key is running.
 * With one job the window never runs ahead: the next test starts when the one before is decided.
 */
#include "delta/asker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/hash.h"
#include <wetdbg/errors.h>

#define WINDOW_PER_JOB 4

struct known {
    struct wetdbg_delta_key key;
    enum wetdbg_delta_outcome outcome;
};

struct place {
    struct wetdbg_delta_key key;
    unsigned wanted;
    bool is_known;
    enum wetdbg_delta_outcome outcome;
};

struct slot {
    bool is_busy;
    struct wetdbg_delta_key key;
};

struct dlt_asker {
    const struct wetdbg_delta_tests *tests;
    unsigned jobs;
    struct slot slots[WETDBG_DELTA_JOBS_MAX];
    struct place window[WETDBG_DELTA_JOBS_MAX * WINDOW_PER_JOB];
    struct dlt_set candidate;
    enum wetdbg_delta_outcome at_once; /* of a test that was done when it started */
    struct known *known;
    size_t known_count, known_capacity;
    struct wd_index index;
    uint64_t tests_made, recalled;
    size_t left;
};

/* ---- what is known ---- */

static bool is_same(const struct wetdbg_delta_key *a, const struct wetdbg_delta_key *b)
{
    return a->low == b->low && a->high == b->high;
}

static uint32_t *known_place(struct dlt_asker *asker, const struct wetdbg_delta_key *key)
{
    return wd_index_find(&asker->index, key->low, n, is_same(&asker->known[n].key, key));
}

static int index_grow(struct dlt_asker *asker)
{
    if (2 * (asker->known_count + 1) <= asker->index.capacity)
        return 0;
    int err = wd_index_renew(&asker->index, asker->index.capacity ? 2 * asker->index.capacity : 64);
    for (size_t i = 0; !err && i < asker->known_count; i++)
        *known_place(asker, &asker->known[i].key) = (uint32_t)(i + 1);
    return err;
}

static int known_add(struct dlt_asker *asker, const struct wetdbg_delta_key *key,
                     enum wetdbg_delta_outcome outcome)
{
    int err = index_grow(asker);
    if (!err)
        err = wd_grow(asker->known, asker->known_capacity, asker->known_count + 1);
    if (err)
        return err;
    uint32_t *place = known_place(asker, key);
    if (*place)
        return 0;
    asker->known[asker->known_count++] = (struct known){.key = *key, .outcome = outcome};
    *place = (uint32_t)asker->known_count;
    return 0;
}

/* Whether the outcome is known, in this search or from one before. 0, 1 or an error. */
static int known_look(struct dlt_asker *asker, struct place *place)
{
    uint32_t n = asker->known_count ? *known_place(asker, &place->key) : 0;
    if (n) {
        place->outcome = asker->known[n - 1].outcome;
        place->is_known = true;
        asker->recalled++;
        return 1;
    }
    if (!asker->tests->recall)
        return 0;
    int err = asker->tests->recall(asker->tests->context, &place->key, &place->outcome);
    if (err == -WETDBG_ERR_NOT_FOUND)
        return 0;
    if (!err)
        err = known_add(asker, &place->key, place->outcome);
    asker->recalled += !err;
    place->is_known = !err;
    return err ? err : 1;
}

static void key_make(struct dlt_asker *asker, struct wetdbg_delta_key *key)
{
    struct wetdbg_delta_set view = dlt_set_view(&asker->candidate);
    if (asker->tests->key) {
        asker->tests->key(asker->tests->context, &view, key);
        return;
    }
    XXH128_hash_t hash = XXH3_128bits(view.words, (view.count + 63) / 64 * sizeof(*view.words));
    *key = (struct wetdbg_delta_key){.low = hash.low64, .high = hash.high64};
}

/* ---- tests that run ---- */

static int slot_start(struct dlt_asker *asker, unsigned s, const struct wetdbg_delta_key *key)
{
    const struct wetdbg_delta_tests *tests = asker->tests;
    struct wetdbg_delta_set view = dlt_set_view(&asker->candidate);
    int err = tests->test ? tests->test(tests->context, &view, &asker->at_once)
                          : tests->start(tests->context, s, &view);
    asker->slots[s] = (struct slot){.is_busy = !err, .key = *key};
    asker->tests_made += !err;
    return err;
}

static void slots_cancel(struct dlt_asker *asker)
{
    for (unsigned s = 0; s < asker->jobs; s++) {
        if (asker->slots[s].is_busy && !asker->tests->test)
            asker->tests->cancel(asker->tests->context, s);
        asker->slots[s].is_busy = false;
    }
}

/* Waits for one test, and enters its outcome wherever it is waited for, in [first, end). */
static int slot_finish(struct dlt_asker *asker, size_t first, size_t end, size_t window)
{
    const struct wetdbg_delta_tests *tests = asker->tests;
    enum wetdbg_delta_outcome outcome = asker->at_once;
    unsigned s = 0;
    int err = tests->test ? 0 : tests->finish(tests->context, &s, &outcome);
    if (err)
        return err;
    struct slot *slot = &asker->slots[s];
    slot->is_busy = false;
    err = known_add(asker, &slot->key, outcome);
    if (!err && tests->learned)
        err = tests->learned(tests->context, &slot->key, outcome);
    for (size_t i = first; i < end; i++) {
        struct place *place = &asker->window[i % window];
        if (!place->is_known && is_same(&place->key, &slot->key)) {
            place->is_known = true;
            place->outcome = outcome;
        }
    }
    if (tests->progress)
        tests->progress(tests->context, asker->tests_made, asker->left);
    return err;
}

/* A free slot, -1 if there is none, or -2 if a test of the same key runs already. */
static int slot_for(const struct dlt_asker *asker, const struct wetdbg_delta_key *key)
{
    int found = -1;
    for (unsigned s = 0; s < asker->jobs; s++) {
        if (asker->slots[s].is_busy && is_same(&asker->slots[s].key, key))
            return -2;
        if (!asker->slots[s].is_busy && found < 0)
            found = (int)s;
    }
    return found;
}

static bool has_free_slot(const struct dlt_asker *asker)
{
    for (unsigned s = 0; s < asker->jobs; s++)
        if (!asker->slots[s].is_busy)
            return true;
    return false;
}

/* ---- rows ---- */

struct row {
    size_t count, decided, next, window;
    dlt_candidate_fn make;
    void *arg;
    uint8_t *outcomes;
};

/* Passes over what is known. True if a candidate ends the row. */
static bool row_decide(struct dlt_asker *asker, struct row *row)
{
    for (; row->decided < row->next; row->decided++) {
        const struct place *place = &asker->window[row->decided % row->window];
        if (!place->is_known)
            return false;
        if (place->wanted & DLT_ONLY(place->outcome))
            return true;
        if (row->outcomes)
            row->outcomes[row->decided] = (uint8_t)place->outcome;
    }
    return false;
}

/* Looks at further candidates, and starts tests, while there are slots. */
static int row_fill(struct dlt_asker *asker, struct row *row)
{
    while (row->next < row->count && row->next < row->decided + row->window &&
           has_free_slot(asker)) {
        struct place *place = &asker->window[row->next % row->window];
        *place = (struct place){.wanted = row->make(row->arg, row->next, &asker->candidate)};
        key_make(asker, &place->key);
        row->next++;
        int found = known_look(asker, place);
        if (found < 0)
            return found;
        if (found && place->wanted & DLT_ONLY(place->outcome)) {
            row->count = row->next; /* nothing behind it is needed */
            return 0;
        }
        int s = found ? -2 : slot_for(asker, &place->key);
        int err = s >= 0 ? slot_start(asker, (unsigned)s, &place->key) : 0;
        if (err)
            return err;
    }
    return 0;
}

int dlt_ask_first(struct dlt_asker *asker, size_t count, dlt_candidate_fn make, void *arg,
                  size_t *hit, uint8_t *outcomes)
{
    struct row row = {.count = count, .make = make, .arg = arg, .outcomes = outcomes};
    row.window = (size_t)asker->jobs * WINDOW_PER_JOB;
    int err = 0;
    while (!err && !row_decide(asker, &row) && row.decided < row.count) {
        err = row_fill(asker, &row);
        const struct place *first = &asker->window[row.decided % row.window];
        if (!err && row.decided < row.next && !first->is_known)
            err = slot_finish(asker, row.decided, row.next, row.window);
    }
    slots_cancel(asker);
    if (!err)
        *hit = row.decided;
    return err;
}

static unsigned one_candidate(void *arg, size_t i, struct dlt_set *set)
{
    (void)i;
    dlt_set_copy(set, arg);
    return 0;
}

int dlt_ask(struct dlt_asker *asker, const struct dlt_set *set, enum wetdbg_delta_outcome *outcome)
{
    uint8_t found;
    size_t hit;
    int err = dlt_ask_first(asker, 1, one_candidate, (void *)set, &hit, &found);
    if (!err)
        *outcome = found;
    return err;
}

/* ---- life ---- */

int dlt_asker_open(const struct wetdbg_delta_tests *tests, size_t count, struct dlt_asker **out)
{
    unsigned jobs = tests->test || !tests->jobs ? 1 : tests->jobs;
    if (count > WETDBG_DELTA_COUNT_MAX || jobs > WETDBG_DELTA_JOBS_MAX)
        return -EINVAL;
    struct dlt_asker *asker = calloc(1, sizeof(*asker));
    if (!asker)
        return -ENOMEM;
    asker->tests = tests;
    asker->jobs = jobs;
    asker->left = count;
    int err = dlt_set_init(&asker->candidate, count);
    if (err)
        dlt_asker_close(asker);
    else
        *out = asker;
    return err;
}

void dlt_asker_close(struct dlt_asker *asker)
{
    if (!asker)
        return;
    dlt_set_fini(&asker->candidate);
    wd_index_fini(&asker->index);
    free(asker->known);
    free(asker);
}

void dlt_asker_set_left(struct dlt_asker *asker, size_t left)
{
    asker->left = left;
}

void dlt_asker_count(const struct dlt_asker *asker, struct wetdbg_delta_result *result)
{
    result->tests = asker->tests_made;
    result->recalled = asker->recalled;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The searches against oracles that are made up: minimality by brute force, the same answer for any
 * number of jobs, and the number of tests against ddmin as the paper prints it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* after the above */
#include <cmocka.h>

#include "common/array.h"
#include "tests/delta/plain_ddmin.h"
#include <wetdbg/delta.h>
#include <wetdbg/errors.h>

#define COUNT_MAX 2048

/* ---- oracles ---- */

enum kind {
    NEEDS,     /* fails with all needed deltas in it */
    NEEDS_ANY, /* fails with some needed delta: not unique, and monotone */
    /* as NEEDS; unresolved if a delta is there without its partner, the delta 1 after an even
     * one */
    PAIRED,
    RANDOM, /* anything, by a hash of the set */
    PARITY, /* NEEDS, and an even number of others: not monotone */
    KIND_COUNT,
};

struct oracle {
    enum kind kind;
    size_t count;
    uint64_t seed;
    uint8_t needed[COUNT_MAX];
    unsigned calls;
    /* for tests that run side by side */
    struct {
        bool is_busy;
        unsigned ends_at;
        enum wetdbg_delta_outcome outcome;
    } slots[WETDBG_DELTA_JOBS_MAX];
    unsigned clock, cancelled;
    uint64_t (*asked)[2]; /* keys of all sets, to see that none is asked for twice */
    size_t asked_count, asked_capacity;
};

static uint64_t mix(uint64_t x)
{
    x ^= x >> 31;
    x *= UINT64_C(0x7fb5d329728ea185);
    x ^= x >> 27;
    x *= UINT64_C(0x81dadef4bc2dd44d);
    return x ^ x >> 33;
}

static uint64_t hash_of(const struct oracle *oracle, const struct wetdbg_delta_set *set)
{
    uint64_t hash = oracle->seed;
    for (size_t w = 0; w < (set->count + 63) / 64; w++)
        hash = mix(hash ^ set->words[w] ^ (w << 7));
    return hash;
}

static size_t size_of(const struct wetdbg_delta_set *set)
{
    size_t size = 0;
    for (size_t i = 0; i < set->count; i++)
        size += wetdbg_delta_has(set, i);
    return size;
}

static bool has_all(const struct oracle *oracle, const struct wetdbg_delta_set *set, bool any)
{
    for (size_t i = 0; i < set->count; i++)
        if (oracle->needed[i] && wetdbg_delta_has(set, i) == any)
            return any;
    return !any;
}

static bool is_paired(const struct wetdbg_delta_set *set)
{
    for (size_t i = 0; i + 1 < set->count; i += 2)
        if (wetdbg_delta_has(set, i) != wetdbg_delta_has(set, i + 1))
            return false;
    return true;
}

static enum wetdbg_delta_outcome judge(const struct oracle *oracle,
                                       const struct wetdbg_delta_set *set)
{
    size_t size = size_of(set);
    bool holds = has_all(oracle, set, oracle->kind == NEEDS_ANY);
    if (size == 0)
        return WETDBG_DELTA_PASS;
    if (size == set->count)
        return WETDBG_DELTA_FAIL;
    if (oracle->kind == PAIRED && !is_paired(set))
        return WETDBG_DELTA_UNRESOLVED;
    if (oracle->kind == RANDOM)
        return (enum wetdbg_delta_outcome)(hash_of(oracle, set) % 3);
    if (oracle->kind == PARITY && holds && size % 2 != set->count % 2)
        return WETDBG_DELTA_UNRESOLVED;
    return holds ? WETDBG_DELTA_FAIL : WETDBG_DELTA_PASS;
}

static void oracle_make(struct oracle *oracle, enum kind kind, size_t count, size_t needed,
                        uint64_t seed)
{
    *oracle = (struct oracle){.kind = kind, .count = count, .seed = seed};
    for (size_t i = 0; i < needed; i++) {
        seed = mix(seed + i + 1);
        oracle->needed[seed % count] = 1;
    }
}

static int test_one(void *context, const struct wetdbg_delta_set *set,
                    enum wetdbg_delta_outcome *outcome)
{
    struct oracle *oracle = context;
    uint64_t key[2] = {hash_of(oracle, set), size_of(set)};
    for (size_t i = 0; i < oracle->asked_count; i++)
        assert_memory_not_equal(oracle->asked[i], key, sizeof(key));
    assert_int_equal(wd_grow(oracle->asked, oracle->asked_capacity, oracle->asked_count + 1), 0);
    memcpy(oracle->asked[oracle->asked_count++], key, sizeof(key));
    oracle->calls++;
    *outcome = judge(oracle, set);
    return 0;
}

/* Tests that take from 1 to 8 ticks of a clock, so that they end in another order than they
 * began. */
static int start_one(void *context, unsigned slot, const struct wetdbg_delta_set *set)
{
    struct oracle *oracle = context;
    assert_false(oracle->slots[slot].is_busy);
    int err = test_one(context, set, &oracle->slots[slot].outcome);
    oracle->slots[slot].is_busy = true;
    oracle->slots[slot].ends_at = oracle->clock + 1 + (unsigned)(hash_of(oracle, set) >> 5) % 8;
    return err;
}

static int finish_one(void *context, unsigned *slot, enum wetdbg_delta_outcome *outcome)
{
    struct oracle *oracle = context;
    unsigned found = WETDBG_DELTA_JOBS_MAX;
    for (unsigned s = 0; s < WETDBG_DELTA_JOBS_MAX; s++)
        if (oracle->slots[s].is_busy && (found == WETDBG_DELTA_JOBS_MAX ||
                                         oracle->slots[s].ends_at < oracle->slots[found].ends_at))
            found = s;
    assert_int_not_equal(found, WETDBG_DELTA_JOBS_MAX);
    oracle->clock = oracle->slots[found].ends_at;
    oracle->slots[found].is_busy = false;
    *slot = found;
    *outcome = oracle->slots[found].outcome;
    return 0;
}

static void cancel_one(void *context, unsigned slot)
{
    struct oracle *oracle = context;
    assert_true(oracle->slots[slot].is_busy);
    oracle->slots[slot].is_busy = false;
    /* it may be asked for again */
    oracle->asked_count = 0;
    oracle->cancelled++;
}

static struct wetdbg_delta_tests tests_of(struct oracle *oracle, unsigned jobs)
{
    struct wetdbg_delta_tests tests = {.context = oracle, .jobs = jobs};
    if (jobs)
        tests.start = start_one, tests.finish = finish_one, tests.cancel = cancel_one;
    else
        tests.test = test_one;
    return tests;
}

/* ---- units ---- */

/* Groups of `size` deltas. For the caller to free. */
static uint32_t *starts_make(size_t count, size_t size, struct wetdbg_delta_unit *unit)
{
    uint32_t *starts = calloc(count + 1, sizeof(*starts));
    *unit = (struct wetdbg_delta_unit){.starts = starts};
    for (size_t i = 0; i < count; i += size)
        starts[unit->count++] = (uint32_t)i;
    return starts;
}

/* The set with the group of i (of `size` deltas) taken from another one. */
static enum wetdbg_delta_outcome judge_changed(const struct oracle *oracle, const uint64_t *words,
                                               const uint64_t *from, size_t i, size_t size)
{
    uint64_t changed[COUNT_MAX / 64 + 1];
    memcpy(changed, words, (oracle->count + 63) / 64 * 8);
    for (size_t d = i; d < i + size && d < oracle->count; d++) {
        uint64_t bit = UINT64_C(1) << (d % 64);
        changed[d / 64] = (changed[d / 64] & ~bit) | (from[d / 64] & bit);
    }
    return judge(oracle, &(struct wetdbg_delta_set){.words = changed, .count = oracle->count});
}

static bool group_has(const uint64_t *words, const uint64_t *but, size_t count, size_t i,
                      size_t size)
{
    for (size_t d = i; d < i + size && d < count; d++)
        if ((words[d / 64] & ~but[d / 64]) >> (d % 64) & 1)
            return true;
    return false;
}

static void check_minimal(const struct oracle *oracle, const struct wetdbg_delta_result *result,
                          size_t size)
{
    static const uint64_t none[COUNT_MAX / 64 + 1];
    struct wetdbg_delta_set fail = {.words = result->fail, .count = oracle->count};
    assert_int_equal(judge(oracle, &fail), WETDBG_DELTA_FAIL);
    for (size_t i = 0; i < oracle->count; i += size)
        if (group_has(result->fail, none, oracle->count, i, size) &&
            judge_changed(oracle, result->fail, none, i, size) == WETDBG_DELTA_FAIL)
            fail_msg("kind %d, %zu deltas, seed %#lx: %zu can go", oracle->kind, oracle->count,
                     oracle->seed, i);
}

static void check_isolated(const struct oracle *oracle, const struct wetdbg_delta_result *result,
                           size_t size)
{
    struct wetdbg_delta_set fail = {.words = result->fail, .count = oracle->count},
                            pass = {.words = result->pass, .count = oracle->count};
    size_t groups = 0;
    assert_int_equal(judge(oracle, &fail), WETDBG_DELTA_FAIL);
    assert_int_equal(judge(oracle, &pass), WETDBG_DELTA_PASS);
    for (size_t w = 0; w < (oracle->count + 63) / 64; w++)
        assert_int_equal(pass.words[w] & ~fail.words[w], 0);
    for (size_t i = 0; i < oracle->count; i += size)
        groups += group_has(fail.words, pass.words, oracle->count, i, size);
    assert_true(groups >= 1);
    for (size_t i = 0; i < oracle->count && groups > 1; i += size) {
        if (!group_has(fail.words, pass.words, oracle->count, i, size))
            continue;
        assert_int_equal(judge_changed(oracle, pass.words, fail.words, i, size),
                         WETDBG_DELTA_UNRESOLVED);
        assert_int_equal(judge_changed(oracle, fail.words, pass.words, i, size),
                         WETDBG_DELTA_UNRESOLVED);
    }
}

/* ---- minimality ---- */

typedef int (*search_fn)(const struct wetdbg_delta_tests *tests, size_t count,
                         const struct wetdbg_delta_unit *units, size_t unit_count,
                         struct wetdbg_delta_result *result);
typedef void (*check_fn)(const struct oracle *oracle, const struct wetdbg_delta_result *result,
                         size_t size);

/* One search by groups of 12, then 4, then `last`; with several jobs the same result. */
static void search_and_check(search_fn search, check_fn check, enum kind kind, size_t count,
                             size_t needed, uint64_t seed)
{
    static const size_t sizes[] = {12, 4, 1};
    size_t unit_count = seed % 4;
    struct wetdbg_delta_unit units[3];
    uint32_t *starts[3];
    struct wetdbg_delta_result first;
    for (size_t u = 0; u < 3; u++)
        starts[u] = starts_make(count, sizes[u], &units[u]);
    for (unsigned jobs = 0; jobs <= 5; jobs++) {
        struct oracle oracle;
        struct wetdbg_delta_result result;
        oracle_make(&oracle, kind, count, needed, seed);
        struct wetdbg_delta_tests tests = tests_of(&oracle, jobs);
        assert_int_equal(search(&tests, count, units, unit_count, &result), 0);
        check(&oracle, &result, unit_count ? sizes[unit_count - 1] : 1);
        assert_int_equal(result.tests, oracle.calls);
        if (jobs) {
            assert_memory_equal(first.fail, result.fail, (count + 63) / 64 * 8);
            assert_memory_equal(first.pass, result.pass, (count + 63) / 64 * 8);
            wetdbg_delta_result_fini(&result);
        } else {
            first = result;
        }
        free(oracle.asked);
    }
    wetdbg_delta_result_fini(&first);
    for (size_t u = 0; u < 3; u++)
        free(starts[u]);
}

static void search_many(search_fn search, check_fn check)
{
    for (uint64_t seed = 1; seed <= 150; seed++)
        for (enum kind kind = 0; kind < KIND_COUNT; kind++) {
            size_t count = 1 + mix(seed * KIND_COUNT + kind) % 90;
            search_and_check(search, check, kind, count, 1 + seed % 5, seed);
        }
}

static void ddmin_is_minimal_by_brute_force_for_any_jobs(void **state)
{
    (void)state;
    search_many(wetdbg_delta_minimize, check_minimal);
}

static void dd_is_minimal_by_brute_force_for_any_jobs(void **state)
{
    (void)state;
    search_many(wetdbg_delta_isolate, check_isolated);
}

/* ---- the number of tests ---- */

static void dd_of_monotone_oracle_takes_two_logarithms(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct oracle oracle;
        struct wetdbg_delta_result result;
        oracle_make(&oracle, NEEDS, 1024, 1 + seed % 7, seed);
        struct wetdbg_delta_tests tests = tests_of(&oracle, 0);
        assert_int_equal(wetdbg_delta_isolate(&tests, 1024, NULL, 0, &result), 0);
        assert_true(result.tests <= 2 + 2 * 10);
        wetdbg_delta_result_fini(&result);
        free(oracle.asked);
    }
}

/* Content decides, not which of equal bytes it is: of 2,048 equal deltas more than 1,024 fail. */
static void key_by_size(void *context, const struct wetdbg_delta_set *set,
                        struct wetdbg_delta_key *key)
{
    (void)context;
    *key = (struct wetdbg_delta_key){.low = size_of(set)};
}

static int test_by_size(void *context, const struct wetdbg_delta_set *set,
                        enum wetdbg_delta_outcome *outcome)
{
    (void)context;
    *outcome = size_of(set) > 1024 ? WETDBG_DELTA_FAIL : WETDBG_DELTA_PASS;
    return 0;
}

static void dd_keeps_the_front_of_equal_deltas(void **state)
{
    (void)state;
    struct wetdbg_delta_tests tests = {.test = test_by_size, .key = key_by_size};
    struct wetdbg_delta_result result;
    assert_int_equal(wetdbg_delta_isolate(&tests, 2048, NULL, 0, &result), 0);
    for (size_t i = 0; i < 2048; i++) {
        assert_int_equal(result.pass[i / 64] >> (i % 64) & 1, i < 1024);
        assert_int_equal(result.fail[i / 64] >> (i % 64) & 1, i < 1025);
    }
    assert_true(result.tests <= 2 + 11);
    wetdbg_delta_result_fini(&result);
}

struct plain_run {
    struct oracle *oracle;
    unsigned calls;
};

static bool plain_fails(void *arg, const uint8_t *kept, size_t count)
{
    struct plain_run *run = arg;
    uint64_t words[COUNT_MAX / 64 + 1] = {0};
    for (size_t i = 0; i < count; i++)
        words[i / 64] |= (uint64_t)kept[i] << (i % 64);
    run->calls++;
    return judge(run->oracle, &(struct wetdbg_delta_set){.words = words, .count = count}) ==
           WETDBG_DELTA_FAIL;
}

/* Inputs of 600 deltas of which 1 to 20 are needed, and of pairs. What one and two need a plain
 * ddmin finds by bisection, too. */
static void ddmin_takes_half_the_tests_of_a_plain_one(void **state)
{
    unsigned ours = 0, plain = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static uint8_t kept[COUNT_MAX];
        struct oracle oracle;
        struct wetdbg_delta_result result;
        oracle_make(&oracle, seed % 2 ? NEEDS : PAIRED, 600, 1 + seed % 20, seed);
        struct wetdbg_delta_tests tests = tests_of(&oracle, 0);
        struct plain_run run = {.oracle = &oracle};
        assert_int_equal(wetdbg_delta_minimize(&tests, 600, NULL, 0, &result), 0);
        memset(kept, 1, 600);
        plain_ddmin(plain_fails, &run, kept, 600);
        ours += (unsigned)result.tests;
        plain += run.calls;
        wetdbg_delta_result_fini(&result);
        free(oracle.asked);
    }
    print_message("%u tests, %u of a plain ddmin\n", ours, plain);
    assert_true(2 * ours <= plain);
}

/* ---- trees ---- */

struct tree_case {
    struct oracle oracle;
    struct wetdbg_delta_node nodes[256];
    size_t count;
};

/* A random tree over [first, end): siblings side by side, some with a separator of one delta. */
static void tree_grow(struct tree_case *tree, uint32_t parent, uint32_t first, uint32_t end,
                      uint64_t seed)
{
    uint32_t at = first + 1;
    bool has_sibling = false;
    while (at + 2 < end && tree->count < 255) {
        seed = mix(seed + at);
        uint32_t size = 1 + (uint32_t)(seed % ((end - at) / 2 + 1));
        bool is_separated = has_sibling && seed >> 20 & 1;
        uint32_t start = at + is_separated;
        if (start + size >= end)
            break;
        uint32_t node = (uint32_t)tree->count++;
        tree->nodes[node] = (struct wetdbg_delta_node){
            .parent = parent,
            .first = start,
            .end = start + size,
            .separator_first = is_separated ? at : 0,
            .separator_end = is_separated ? start : 0,
        };
        tree_grow(tree, node, start, start + size, seed);
        has_sibling = true;
        at = start + size;
    }
}

/* The deltas of what is left without `gone`, as the header says. */
static void tree_form(const struct tree_case *tree, const bool *gone, uint64_t *words)
{
    bool lost[256] = {0};
    memset(words, 0, (COUNT_MAX / 64 + 1) * sizeof(*words));
    for (size_t d = 0; d < tree->oracle.count; d++)
        words[d / 64] |= UINT64_C(1) << (d % 64);
    for (size_t i = 0; i < tree->count; i++) {
        const struct wetdbg_delta_node *node = &tree->nodes[i];
        bool is_first = true;
        lost[i] = gone[i] || (node->parent != WETDBG_DELTA_NO_NODE && lost[node->parent]);
        for (size_t j = 0; j < i; j++)
            if (tree->nodes[j].parent == node->parent && !lost[j])
                is_first = false;
        for (uint32_t d = node->first; d < node->end && lost[i]; d++)
            words[d / 64] &= ~(UINT64_C(1) << (d % 64));
        for (uint32_t d = node->separator_first; d < node->separator_end && (lost[i] || is_first);
             d++)
            words[d / 64] &= ~(UINT64_C(1) << (d % 64));
    }
}

/* Whether the result is what some nodes that went make, and no further one can go. */
static void check_tree(const struct tree_case *tree, const struct wetdbg_delta_result *result)
{
    uint64_t words[COUNT_MAX / 64 + 1];
    bool gone[256];
    for (size_t i = 0; i < tree->count; i++) {
        gone[i] = true;
        for (uint32_t d = tree->nodes[i].first; d < tree->nodes[i].end; d++)
            if (result->fail[d / 64] >> (d % 64) & 1)
                gone[i] = false;
    }
    tree_form(tree, gone, words);
    assert_memory_equal(words, result->fail, (tree->oracle.count + 63) / 64 * 8);
    struct wetdbg_delta_set set = {.words = words, .count = tree->oracle.count};
    assert_int_equal(judge(&tree->oracle, &set), WETDBG_DELTA_FAIL);
    for (size_t i = 0; i < tree->count; i++) {
        if (gone[i])
            continue;
        gone[i] = true;
        tree_form(tree, gone, words);
        assert_int_not_equal(judge(&tree->oracle, &set), WETDBG_DELTA_FAIL);
        gone[i] = false;
    }
}

static void hdd_is_tree_minimal_by_brute_force_for_any_jobs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        struct tree_case tree = {.count = 0};
        struct wetdbg_delta_result first, result;
        size_t count = 5 + mix(seed) % 120;
        enum kind kind = seed % KIND_COUNT;
        oracle_make(&tree.oracle, kind == PAIRED ? NEEDS : kind, count, 1 + seed % 4, seed);
        tree_grow(&tree, WETDBG_DELTA_NO_NODE, 0, (uint32_t)count, seed);
        for (unsigned jobs = 0; jobs <= 3; jobs += 3) {
            struct wetdbg_delta_tests tests = tests_of(&tree.oracle, jobs);
            assert_int_equal(
                wetdbg_delta_minimize_tree(&tests, count, tree.nodes, tree.count, &result), 0);
            check_tree(&tree, &result);
            if (jobs)
                assert_memory_equal(first.fail, result.fail, (count + 63) / 64 * 8);
            else
                first = result;
            tree.oracle.asked_count = 0;
        }
        wetdbg_delta_result_fini(&first);
        wetdbg_delta_result_fini(&result);
        free(tree.oracle.asked);
    }
}

/* ---- refusals ---- */

static int test_always(void *context, const struct wetdbg_delta_set *set,
                       enum wetdbg_delta_outcome *outcome)
{
    (void)set;
    *outcome = *(enum wetdbg_delta_outcome *)context;
    return 0;
}

static int test_broken(void *context, const struct wetdbg_delta_set *set,
                       enum wetdbg_delta_outcome *outcome)
{
    (void)context, (void)set, (void)outcome;
    return wetdbg_fail(-EIO, "it broke");
}

static void oracles_that_say_one_thing_are_refused(void **state)
{
    (void)state;
    for (enum wetdbg_delta_outcome outcome = 0; outcome <= WETDBG_DELTA_FAIL; outcome++) {
        struct wetdbg_delta_tests tests = {.context = &outcome, .test = test_always};
        struct wetdbg_delta_result result;
        assert_int_equal(wetdbg_delta_minimize(&tests, 9, NULL, 0, &result), -WETDBG_ERR_USAGE);
        assert_int_equal(wetdbg_delta_isolate(&tests, 9, NULL, 0, &result), -WETDBG_ERR_USAGE);
        assert_int_equal(wetdbg_delta_minimize_tree(&tests, 9, NULL, 0, &result),
                         -WETDBG_ERR_USAGE);
    }
}

static void errors_of_tests_come_back(void **state)
{
    (void)state;
    struct wetdbg_delta_tests tests = {.test = test_broken};
    struct wetdbg_delta_result result;
    assert_int_equal(wetdbg_delta_minimize(&tests, 9, NULL, 0, &result), -EIO);
    assert_string_equal(wetdbg_error(-EIO), "it broke");
}

static void units_and_nodes_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const uint32_t late[] = {1}, twice[] = {0, 2, 2}, far[] = {0, 9}, halves[] = {0, 4},
                          thirds[] = {0, 3, 6};
    const struct wetdbg_delta_unit bad[][2] = {
        {{late, 1}}, {{twice, 3}}, {{far, 2}}, {{halves, 2}, {thirds, 3}}};
    static const struct wetdbg_delta_node outside[] = {{.parent = WETDBG_DELTA_NO_NODE, .end = 5},
                                                       {.parent = 0, .first = 4, .end = 6}},
                                          later[] = {{.parent = 0, .end = 5}};
    struct oracle oracle;
    struct wetdbg_delta_result result;
    oracle_make(&oracle, NEEDS, 9, 1, 1);
    struct wetdbg_delta_tests tests = tests_of(&oracle, 0);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(wetdbg_delta_minimize(&tests, 9, bad[i], i == 3 ? 2 : 1, &result),
                         -EINVAL);
    assert_int_equal(wetdbg_delta_minimize_tree(&tests, 9, outside, 2, &result), -EINVAL);
    assert_int_equal(wetdbg_delta_minimize_tree(&tests, 9, later, 1, &result), -EINVAL);
    assert_int_equal(oracle.calls, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ddmin_is_minimal_by_brute_force_for_any_jobs),
        cmocka_unit_test(dd_is_minimal_by_brute_force_for_any_jobs),
        cmocka_unit_test(dd_of_monotone_oracle_takes_two_logarithms),
        cmocka_unit_test(dd_keeps_the_front_of_equal_deltas),
        cmocka_unit_test(ddmin_takes_half_the_tests_of_a_plain_one),
        cmocka_unit_test(hdd_is_tree_minimal_by_brute_force_for_any_jobs),
        cmocka_unit_test(oracles_that_say_one_thing_are_refused),
        cmocka_unit_test(errors_of_tests_come_back),
        cmocka_unit_test(units_and_nodes_that_make_no_sense_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

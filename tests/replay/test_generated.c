/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Generated code and code that modifies itself. Each case ends in a system call that has what its
 * functions computed in a register, so a replay that gets to the end has computed the same.
 * Counting and collecting must cut the run into the same fragments, however the cache came to hold
 * them. (The cases write to their pages often enough for both ways of noticing it, memory.c.)
 */
#include <stdlib.h>
#include <string.h>

#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include <wetdbg/errors.h>

/* How often code of certain bytes ran at an address. */
struct ran {
    uint64_t pc;
    uint32_t code_bytes;
    uint64_t hash, count;
};

struct tally {
    struct ran *list;
    size_t count;
    uint64_t instructions;
};

static uint64_t hash_of(const struct dbi_fragment *fragment)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (unsigned i = 0; i < fragment->code_bytes; i++)
        hash = (hash ^ fragment->code[i]) * 0x100000001b3ull;
    return hash;
}

static int ran_compare(const void *a, const void *b)
{
    const struct ran *x = a, *y = b;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return x->hash < y->hash ? -1 : x->hash > y->hash;
}

/* Takes the counts by fragment, and makes them counts by code. */
static void tally_make(struct tally *tally, const struct rep_engine *engine, const uint64_t *counts)
{
    uint32_t fragments = rep_engine_fragment_count(engine);
    size_t to = 0;
    *tally = (struct tally){.list = calloc(fragments + 1, sizeof(*tally->list))};
    for (uint32_t id = 0; id < fragments; id++) {
        const struct dbi_fragment *fragment = rep_engine_fragment(engine, id);
        if (!counts[id])
            continue;
        tally->instructions += counts[id] * fragment->insn_count;
        tally->list[tally->count++] = (struct ran){.pc = fragment->pc,
                                                   .code_bytes = fragment->code_bytes,
                                                   .hash = hash_of(fragment),
                                                   .count = counts[id]};
    }
    qsort(tally->list, tally->count, sizeof(*tally->list), ran_compare);
    for (size_t i = 0; i < tally->count; i++) {
        if (to && !ran_compare(&tally->list[to - 1], &tally->list[i]))
            tally->list[to - 1].count += tally->list[i].count;
        else
            tally->list[to++] = tally->list[i];
    }
    tally->count = to;
}

static void counts_of_counters(const struct unit_replay *replay, uint64_t *counts)
{
    for (uint32_t id = 0; id < rep_engine_fragment_count(replay->engine); id++)
        counts[id] = rep_engine_executions(replay->engine, id);
}

static void counts_of_ring(const struct unit_replay *replay, uint64_t *counts)
{
    size_t bytes;
    const uint64_t *ring = rep_engine_ring(replay->engine, &bytes);
    for (size_t at = 0; at < bytes / 8;) {
        uint32_t id = agt_ring_fragment(ring[at]);
        assert_true(id < rep_engine_fragment_count(replay->engine));
        counts[id]++;
        at += 1 + rep_engine_fragment(replay->engine, id)->word_count;
    }
}

static uint64_t replay_in(const char *dir, enum dbi_mode mode, struct tally *tally)
{
    struct unit_replay replay;
    unit_check(unit_open(&replay, dir, NULL, mode), dir);
    unit_check(unit_run_to_end(&replay), dir);
    uint64_t time = rep_engine_time(replay.engine);
    if (tally) {
        uint64_t *counts = calloc(rep_engine_fragment_count(replay.engine), sizeof(*counts));
        (mode == DBI_COUNT ? counts_of_counters : counts_of_ring)(&replay, counts);
        tally_make(tally, replay.engine, counts);
        assert_int_equal(tally->instructions, time);
        free(counts);
    }
    unit_close(&replay);
    return time;
}

static void modes_agree(const char *dir)
{
    struct tally counted, collected;
    uint64_t time = replay_in(dir, DBI_PLAIN, NULL);
    assert_int_equal(replay_in(dir, DBI_COUNT, &counted), time);
    assert_int_equal(replay_in(dir, DBI_COLLECT, &collected), time);
    assert_int_equal(counted.count, collected.count);
    for (size_t i = 0; i < counted.count; i++) {
        const struct ran *a = &counted.list[i], *b = &collected.list[i];
        if (ran_compare(a, b) || a->count != b->count || a->code_bytes != b->code_bytes)
            fail_msg("%#llx ran %llu times when counting, %#llx %llu times when collecting",
                     (unsigned long long)a->pc, (unsigned long long)a->count,
                     (unsigned long long)b->pc, (unsigned long long)b->count);
    }
    free(counted.list);
    free(collected.list);
}

static void case_replays(const char *name, const char *argument)
{
    const char *argv[] = {GUEST, name, argument, NULL};
    struct spawn_result result = spawn(argv, NULL);
    assert_int_equal(result.status, 0); /* the case itself works */
    spawn_result_fini(&result);
    char *dir = unit_record(unit_work, name, argv);
    modes_agree(dir);
    free(dir);
}

#define CASE(test, name, argument)                                                                 \
    static void test(void **state)                                                                 \
    {                                                                                              \
        (void)state;                                                                               \
        case_replays(name, argument);                                                              \
    }

CASE(rewritten_function_replays, "rewritten", NULL)
CASE(loop_that_changes_itself_replays, "itself", NULL)
CASE(stores_of_any_kind_into_what_comes_next_replay, "stores", NULL)
CASE(writing_and_running_by_turns_replays, "either_or", NULL)
CASE(code_read_from_a_file_replays, "read", NULL)
CASE(other_code_at_the_same_address_replays, "mapped", NULL)
CASE(moved_code_replays, "moved", NULL)
CASE(libraries_at_the_same_address_replay, "libraries", LIBRARIES)
CASE(data_beside_code_replays, "beside", NULL)

/* Where fragments end depends on which places are looked for, so only the time is compared. */
static void signals_that_strike_generated_code_are_placed(void **state)
{
    const char *argv[] = {GUEST, "interrupted", NULL};
    char *dir = unit_record(unit_work, "interrupted", argv);
    (void)state;
    uint64_t time = replay_in(dir, DBI_PLAIN, NULL);
    struct tally counted;
    assert_int_equal(replay_in(dir, DBI_COUNT, &counted), time);
    free(counted.list);
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewritten_function_replays),
        cmocka_unit_test(loop_that_changes_itself_replays),
        cmocka_unit_test(stores_of_any_kind_into_what_comes_next_replay),
        cmocka_unit_test(writing_and_running_by_turns_replays),
        cmocka_unit_test(code_read_from_a_file_replays),
        cmocka_unit_test(other_code_at_the_same_address_replays),
        cmocka_unit_test(moved_code_replays),
        cmocka_unit_test(libraries_at_the_same_address_replay),
        cmocka_unit_test(data_beside_code_replays),
        cmocka_unit_test(signals_that_strike_generated_code_are_placed),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}

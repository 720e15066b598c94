/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Searches, held against a naive account: each state of the run is looked at in turn, and what
 * stops there is worked out from the run itself. Hits, ignore counts and what stopped agree at each
 * stop, either way.
 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdlib.h>
#include <string.h>

#include "tests/breaks/lot_run.h"
#include <wetdbg/breaks.h>

#define BREAKS     5
#define RUNS       400
#define MOVES      12
#define LAST_STATE (LOT_INSTRUCTIONS + 1)

/* Of a condition: the first byte of memory has this value. */
struct wanted {
    int value; /* -1: no condition */
    unsigned asked;
};

struct drawn {
    struct wetdbg_break is[BREAKS];
    struct wetdbg_break *list[BREAKS];
    struct wanted wanted[BREAKS];
    uint64_t pcs[BREAKS][2];
    /* the naive account */
    uint64_t hits[BREAKS], ignore[BREAKS];
};

static int holds(void *arg, const struct wetdbg_stop *stop, struct wetdbg_state *state)
{
    struct wanted *wanted = arg;
    uint8_t byte;
    assert_int_equal(wetdbg_state_read(state, LOT_MEMORY, &byte, 1), 0);
    assert_int_equal(byte, lot.memory[stop->time][0]);
    wanted->asked++;
    return byte == wanted->value;
}

static bool takes(void *arg, const struct wetdbg_event *event)
{
    const struct wanted *wanted = arg;
    return event->number == wanted->value;
}

static void draw_one(struct drawn *drawn, unsigned i)
{
    struct wetdbg_break *is = &drawn->is[i];
    static const enum wetdbg_break_kind kinds[] = {
        WETDBG_BREAK_CODE,       WETDBG_BREAK_CODE,         WETDBG_BREAK_WATCH,
        WETDBG_BREAK_READ_WATCH, WETDBG_BREAK_ACCESS_WATCH, WETDBG_BREAK_CATCH,
    };
    is->kind = kinds[rand() % 6];
    is->is_enabled = rand() % 4 != 0;
    drawn->pcs[i][0] = 0x400 + (uint64_t)(rand() % LOT_PCS);
    drawn->pcs[i][1] = 0x400 + LOT_PCS;
    is->pcs = drawn->pcs[i];
    is->pc_count = 2;
    uint64_t start = LOT_MEMORY + (uint64_t)(rand() % LOT_BYTES);
    is->range = (struct wetdbg_range){start, start + 1};
    is->arg = &drawn->wanted[i];
    drawn->wanted[i].value = rand() % 3;
    if (is->kind == WETDBG_BREAK_CATCH)
        is->takes = takes;
    else if (rand() % 3 == 0)
        is->holds = holds;
    if (rand() % 4 == 0)
        is->thread = wetdbg_thread_of(lot_wet(), (uint32_t)(rand() % 2), 1);
    if (rand() % 3 == 0)
        is->ignore = (uint64_t)(rand() % 40);
    drawn->ignore[i] = is->ignore;
    drawn->list[i] = is;
}

/* ---- the naive account ---- */

/* Whether a break stops at a state, but for its ignore count. */
static bool stops_at(const struct wetdbg_break *is, wetdbg_time state, bool is_back)
{
    const struct wanted *wanted = is->arg;
    bool is_code = is->kind == WETDBG_BREAK_CODE;
    wetdbg_time at = is_code || is_back ? state : state - 1;
    if (is->kind == WETDBG_BREAK_CATCH) {
        /* a call stops before its instruction, its end behind it */
        for (int end = 0; end < 2; end++) {
            wetdbg_time t = state - (wetdbg_time)end;
            if (t >= 1 && t <= LOT_INSTRUCTIONS && lot.at[t].is_kernel &&
                lot.at[t].value == wanted->value &&
                (!is->thread || is->thread->index == lot.at[t].thread))
                return true;
        }
        return false;
    }
    if (at < 1 || at > LOT_INSTRUCTIONS || (is->thread && is->thread->index != lot.at[at].thread))
        return false;
    const struct lot_instruction *done = &lot.at[at];
    int byte = (int)(is->range.start - LOT_MEMORY);
    bool is_written = done->writes == byte;
    bool is_changed = is_written && lot.memory[at][byte] != lot.memory[at + 1][byte];
    bool is_stop = false;
    if (is_code)
        is_stop = done->pc == is->pcs[0];
    else if (is->kind == WETDBG_BREAK_WATCH)
        is_stop = is_changed;
    else if (is->kind == WETDBG_BREAK_READ_WATCH)
        is_stop = done->reads == byte;
    else
        is_stop = done->reads == byte || is_changed || (is_written && !done->is_kernel);
    return is_stop && (!is->holds || lot.memory[state][0] == wanted->value);
}

/* The next stop, counting on; 0: none. */
static wetdbg_time naive_find(struct drawn *drawn, wetdbg_time from, bool is_back, bool *is_hit)
{
    wetdbg_time state = from;
    memset(is_hit, 0, BREAKS * sizeof(*is_hit));
    for (;;) {
        bool stops = false;
        state = is_back ? state - 1 : state + 1;
        if (state < 1 || state > LAST_STATE)
            return 0;
        for (unsigned i = 0; i < BREAKS; i++) {
            if (!drawn->is[i].is_enabled || !stops_at(&drawn->is[i], state, is_back))
                continue;
            drawn->hits[i]++;
            is_hit[i] = drawn->ignore[i] == 0;
            drawn->ignore[i] -= drawn->ignore[i] != 0;
            stops |= is_hit[i];
        }
        if (stops)
            return state;
    }
}

/* ---- tests ---- */

static void check_move(struct wetdbg_breaks *breaks, struct drawn *drawn, unsigned seed,
                       bool is_back, wetdbg_time *state)
{
    bool is_hit[BREAKS];
    wetdbg_time found = 0;
    wetdbg_time expected = naive_find(drawn, *state, is_back, is_hit);
    int result = wetdbg_breaks_find(breaks, drawn->list, BREAKS, *state, is_back ? 1 : LAST_STATE,
                                    is_back, &found);
    if (result != (expected != 0) || (expected && found != expected))
        fail_msg("seed %u, from %d %s: result %d at %d, not %d", seed, (int)*state,
                 is_back ? "back" : "forward", result, (int)found, (int)expected);
    for (unsigned i = 0; i < BREAKS; i++) {
        if (drawn->is[i].hits != drawn->hits[i] || drawn->is[i].ignore != drawn->ignore[i] ||
            (expected && drawn->is[i].is_hit != is_hit[i]))
            fail_msg("seed %u, break %u (kind %d) from %d to %d: %d hits, not %d; hit %d", seed, i,
                     (int)drawn->is[i].kind, (int)*state, (int)expected, (int)drawn->is[i].hits,
                     (int)drawn->hits[i], drawn->is[i].is_hit);
        if (expected && is_hit[i])
            assert_int_equal(drawn->is[i].stop.time, expected);
    }
    *state = expected ? expected : is_back ? 1 : LAST_STATE;
}

static void stops_and_counts_are_those_of_a_naive_account(void **state)
{
    (void)state;
    for (unsigned seed = 0; seed < RUNS; seed++) {
        struct drawn drawn;
        struct wetdbg_breaks *breaks;
        memset(&drawn, 0, sizeof(drawn));
        lot_draw(seed);
        for (unsigned i = 0; i < BREAKS; i++)
            draw_one(&drawn, i);
        assert_int_equal(wetdbg_breaks_open(lot_wet(), &breaks), 0);
        wetdbg_time at = 1 + (wetdbg_time)(rand() % LAST_STATE);
        for (unsigned i = 0; i < MOVES; i++)
            check_move(breaks, &drawn, seed, rand() % 2 == 0, &at);
        wetdbg_breaks_close(breaks);
    }
}

static void what_is_ignored_is_counted_without_running(void **state)
{
    uint64_t pc = 0x400;
    struct wetdbg_break is = {.kind = WETDBG_BREAK_CODE,
                              .is_enabled = true,
                              .pcs = &pc,
                              .pc_count = 1,
                              .ignore = 1 << 20};
    struct wetdbg_break *list = &is;
    struct wetdbg_breaks *breaks;
    wetdbg_time time;
    uint64_t all = 0;
    (void)state;
    lot_draw(7);
    for (unsigned t = 2; t <= LOT_INSTRUCTIONS; t++)
        all += lot.at[t].pc == pc;
    assert_int_equal(wetdbg_breaks_open(lot_wet(), &breaks), 0);
    assert_int_equal(wetdbg_breaks_find(breaks, &list, 1, 1, LAST_STATE, false, &time), 0);
    assert_int_equal(is.hits, all);
    assert_int_equal(is.ignore, (1 << 20) - all);
    assert_int_equal(lot.intervals_run, 1); /* the first one, of which a state is left out */
    wetdbg_breaks_close(breaks);
}

static void a_search_goes_no_further_than_it_is_told(void **state)
{
    uint64_t pc;
    struct wetdbg_break is = {
        .kind = WETDBG_BREAK_CODE, .is_enabled = true, .pcs = &pc, .pc_count = 1};
    struct wetdbg_break *list = &is;
    struct wetdbg_breaks *breaks;
    wetdbg_time time;
    (void)state;
    lot_draw(3);
    pc = lot.at[100].pc;
    assert_int_equal(wetdbg_breaks_open(lot_wet(), &breaks), 0);
    assert_int_equal(wetdbg_breaks_find(breaks, &list, 1, 99, 100, false, &time), 1);
    assert_int_equal(time, 100);
    assert_int_equal(wetdbg_breaks_find(breaks, &list, 1, 100, 100, false, &time), 0);
    assert_int_equal(wetdbg_breaks_find(breaks, &list, 1, 101, 100, true, &time), 1);
    assert_int_equal(wetdbg_breaks_find(breaks, &list, 1, 100, 100, true, &time), 0);
    is.is_enabled = false;
    assert_int_equal(wetdbg_breaks_find(breaks, &list, 1, 99, 100, false, &time), 0);
    wetdbg_breaks_close(breaks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_and_counts_are_those_of_a_naive_account),
        cmocka_unit_test(what_is_ignored_is_counted_without_running),
        cmocka_unit_test(a_search_goes_no_further_than_it_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

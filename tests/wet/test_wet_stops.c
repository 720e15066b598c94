/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stops in code that offers none for thousands of instructions: see guests/carried.c. */
#include "tests/wet/wet_fixture.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include "wet/query/wet_priv.h"
#include <wetdbg/errors.h>

#define CHAIN 8000u /* instructions */

static int run_crash(void **state)
{
    return fixture_open(state, 20000, (const char *const[]){CARRIED, NULL});
}

static int run_placed(void **state)
{
    for (unsigned tries = 0; tries < 20; tries++) {
        if (fixture_open(state, 10000000, (const char *const[]){CARRIED, "signals", NULL}))
            return -1;
        if (wetdbg_get_info(((const struct fixture *)*state)->whole)->places)
            return 0;
        fixture_close(state);
    }
    return -1;
}

RUN(run_repmovs, REPMOVS)

/* The guest ends by a fault, at which no flag is dead: with nothing left to stop at, what came next
 * was taken for a divergence. */
static void states_are_had_where_nothing_stops(void **state)
{
    const struct fixture *fixture = *state;
    const struct evq_regs *regs;
    struct wetdbg_state *at;
    uint64_t last = wetdbg_get_info(fixture->whole)->instructions, end_pc = 0;
    for (uint64_t back = 0; back < CHAIN; back += back % 2 ? 613 : 612) {
        ok(wetdbg_state_open(fixture->whole, last - back, &at));
        regs = wet_state_regs(at);
        /* adc of 4 bytes, jmp of 2 */
        if (!back)
            end_pc = regs->r[EVQ_RIP];
        assert_int_equal(end_pc - regs->r[EVQ_RIP], back / 2 * 6 + (back % 2 ? 4 : 0));
        wetdbg_state_close(at);
    }
}

struct pieces {
    struct wetdbg *wet;
    uint64_t last;
};

static int goes_on(void *arg)
{
    struct pieces *pieces = arg;
    assert_true(rep_engine_time(pieces->wet->engine) > pieces->last);
    pieces->last = rep_engine_time(pieces->wet->engine);
    return 0;
}

static void forget_pieces(void *arg)
{
    ((struct pieces *)arg)->last = 0;
}

/* Stops that may come late must not come after the place of a signal. */
static void places_are_met_where_nothing_stops(void **state)
{
    const struct fixture *fixture = *state;
    struct wetdbg *wet = fixture->whole;
    for (uint64_t k = 0; k < wetdbg_get_info(wet)->intervals; k++) {
        struct pieces pieces = {.wet = wet};
        struct wet_rerun rerun = {.wet = wet, .k = k, .restart_fn = forget_pieces, .arg = &pieces};
        ok(wet_rerun_pieces(&rerun, 2000, goes_on));
        wet_rerun_fini(&rerun);
    }
}

#define PARTS_MAX 20
#define FILLED    UINT64_C(0x0102030405060708) /* with it, the guest's first rep fills memory */

/* When signals came. */
struct parts {
    wetdbg_time times[PARTS_MAX];
    size_t count;
};

static int part_note(void *arg, const struct wetdbg_event *event)
{
    struct parts *parts = arg;
    if (event->kind == WETDBG_EVENT_SIGNAL && parts->count < PARTS_MAX)
        parts->times[parts->count++] = event->time;
    return 0;
}

static struct evq_regs regs_at(struct wetdbg *wet, wetdbg_time time)
{
    struct wetdbg_state *at;
    struct evq_regs regs;
    ok(wetdbg_state_open(wet, time, &at));
    regs = *wet_state_regs(at);
    wetdbg_state_close(at);
    return regs;
}

/* A signal leaves a rep instruction after some turns, which count as an execution. The state before
 * that execution could not be had: the turns were run for the signal's sake when it was reached. */
static void states_are_had_before_parts_of_a_rep(void **state)
{
    const struct fixture *fixture = *state;
    struct parts parts = {0};
    unsigned inside = 0;
    ok(wetdbg_each_event(fixture->whole, part_note, &parts));
    for (size_t i = 0; i < parts.count; i++) {
        struct evq_regs before = regs_at(fixture->whole, parts.times[i]);
        struct evq_regs after = regs_at(fixture->whole, parts.times[i] + 1);
        uint64_t moved = 8 * (before.r[EVQ_RCX] - after.r[EVQ_RCX]);
        uint8_t byte;
        struct wetdbg_state *at;
        if (before.r[EVQ_RAX] != FILLED || before.r[EVQ_RCX] <= after.r[EVQ_RCX])
            continue; /* it came elsewhere, or before the first turn */
        inside++;
        for (unsigned k = 0; k < 2; k++) {
            ok(wetdbg_state_open(fixture->whole, parts.times[i] + k, &at));
            ok(wetdbg_state_read(at, before.r[EVQ_RDI] + moved - 1, &byte, 1));
            assert_int_equal(byte, k ? FILLED >> 56 : 0);
            wetdbg_state_close(at);
        }
    }
    assert_true(inside > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_are_had_where_nothing_stops, run_crash,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(places_are_met_where_nothing_stops, run_placed,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(states_are_had_before_parts_of_a_rep, run_repmovs,
                                        fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

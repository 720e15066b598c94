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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(states_are_had_where_nothing_stops, run_crash,
                                        fixture_close),
        cmocka_unit_test_setup_teardown(places_are_met_where_nothing_stops, run_placed,
                                        fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Odd instructions (odd_program.S) in every mode. The program makes a system call after each
 * group, at which replay compares all registers with those that the processor had.
 */
#include <stdlib.h>

#include "tests/record/spawn.h"
#include "tests/replay/written_lines.h"
#include "tests/skipped.h"

static char *work, *trace;

static int setup(void **state)
{
    const char *argv[] = {ODD_PROGRAM, NULL};
    (void)state;
    if (!dbi_has_fsgsbase())
        skipped_say("test_replay_instructions", "instructions for segment bases: this kernel does "
                                                "not let programs use them (FSGSBASE)");
    work = scratch_new();
    trace = unit_record(work, "odd", argv);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(trace);
    scratch_free(work);
    return 0;
}

static uint64_t run_in(enum dbi_mode mode, const char *what)
{
    struct unit_replay replay;
    unit_check(unit_open(&replay, trace, NULL, mode), what);
    unit_check(unit_run_to_end(&replay), what);
    const struct rep_info *info = rep_feed_info(replay.feed);
    assert_true(info->has_wait_status);
    assert_int_equal(info->wait_status, 0);
    uint64_t time = rep_engine_time(replay.engine);
    unit_close(&replay);
    return time;
}

static void odd_instructions_replay_in_every_mode(void **state)
{
    (void)state;
    uint64_t plain = run_in(DBI_PLAIN, "plain");
    assert_true(plain > 30000);
    assert_int_equal(run_in(DBI_COUNT, "count"), plain);
    assert_int_equal(run_in(DBI_COLLECT, "collect"), plain);
}

static void odd_instructions_report_the_lines_they_write(void **state)
{
    (void)state;
    lines_verify(trace, 60, "a stop every 60 instructions");
    lines_verify(trace, 700, "a stop every 700 instructions");
}

/* The loops in it run for thousands of instructions with live flags. */
static void loops_with_live_flags_stop_in_time(void **state)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    (void)state;
    for (enum dbi_mode mode = DBI_PLAIN; mode <= DBI_COLLECT; mode++, why = REP_STOP_TIME) {
        unit_check(unit_open(&replay, trace, NULL, mode), "open");
        for (uint64_t before = 0; why == REP_STOP_TIME; before = rep_engine_time(replay.engine)) {
            unit_check(rep_engine_run(replay.engine, &replay.source, 100, false, &why), "run");
            assert_in_range(rep_engine_time(replay.engine) - before, 1, 1000);
        }
        unit_close(&replay);
    }
}

/* Stopping everywhere, at the very instruction, changes nothing. */
static void exact_stops_are_exact(void **state)
{
    struct unit_replay replay;
    enum rep_stop why = REP_STOP_TIME;
    uint64_t goal = 0;
    (void)state;
    for (enum dbi_mode mode = DBI_PLAIN; mode <= DBI_COLLECT; mode++, why = REP_STOP_TIME) {
        unit_check(unit_open(&replay, trace, NULL, mode), "open");
        for (goal = 0; why == REP_STOP_TIME;) {
            uint64_t step = 1 + goal * 7919 % 61;
            unit_check(rep_engine_run(replay.engine, &replay.source, step, true, &why), "run");
            goal += step;
            if (why == REP_STOP_TIME)
                assert_int_equal(rep_engine_time(replay.engine), goal);
        }
        unit_close(&replay);
    }
}

/* When the guest first faults. */
static uint64_t fault_time(const char *recording)
{
    struct unit_replay replay;
    uint64_t time = 0;
    unit_check(unit_open(&replay, recording, NULL, DBI_PLAIN), "open");
    unit_check(unit_run_to_end(&replay), "run");
    const struct unit_event *events = (const struct unit_event *)replay.events.data;
    for (size_t i = 0; i < replay.events.size_bytes / sizeof(*events) && !time; i++)
        time = events[i].kind == EVQ_FAULT ? events[i].time : 0;
    unit_close(&replay);
    assert_int_not_equal(time, 0);
    return time;
}

/* On the way to some of the stops the clock has used the flags when the fault comes. */
static void flags_at_faults_are_the_recorded_ones(void **state)
{
    const char *argv[] = {GUEST_DEAD_FLAGS, NULL};
    char *recording = unit_record(work, "dead_flags", argv);
    uint64_t fault = fault_time(recording);
    enum rep_stop why;
    (void)state;
    for (uint64_t goal = fault + 100; goal < fault + 160; goal++) {
        struct unit_replay replay;
        unit_check(unit_open(&replay, recording, NULL, DBI_PLAIN), "open");
        unit_check(rep_engine_run(replay.engine, &replay.source, goal, true, &why), "a stop");
        assert_int_equal(rep_engine_time(replay.engine), goal);
        unit_check(unit_run_to_end(&replay), "from there");
        assert_int_equal(rep_feed_info(replay.feed)->wait_status, 0);
        unit_close(&replay);
    }
    free(recording);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(odd_instructions_replay_in_every_mode),
        cmocka_unit_test(odd_instructions_report_the_lines_they_write),
        cmocka_unit_test(loops_with_live_flags_stop_in_time),
        cmocka_unit_test(exact_stops_are_exact),
        cmocka_unit_test(flags_at_faults_are_the_recorded_ones),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gathers and scatters by mask registers in every mode, where the processor has them. */
#include <stdlib.h>

#include "tests/record/spawn.h"
#include "tests/replay/written_lines.h"

static uint64_t run_in(const char *trace, enum dbi_mode mode, const char *what)
{
    struct unit_replay replay;
    unit_check(unit_open(&replay, trace, NULL, mode), what);
    unit_check(unit_run_to_end(&replay), what);
    assert_int_equal(rep_feed_info(replay.feed)->wait_status, 0);
    uint64_t time = rep_engine_time(replay.engine);
    unit_close(&replay);
    return time;
}

static void lists_of_addresses_replay_in_every_mode(void **state)
{
    const char *argv[] = {GUEST, NULL};
    (void)state;
    char *trace = unit_record(unit_work, "lanes", argv);
    uint64_t plain = run_in(trace, DBI_PLAIN, "plain");
    assert_int_equal(run_in(trace, DBI_COUNT, "count"), plain);
    assert_int_equal(run_in(trace, DBI_COLLECT, "collect"), plain);
    lines_verify(trace, 2000, "a stop every 2000 instructions");
    free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_addresses_replay_in_every_mode),
    };
    if (!__builtin_cpu_supports("avx512f")) {
        printf("SKIPPED: test_replay_lanes: the processor has no AVX-512\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions that only a kernel may execute: the program gets the signals that it got. */
#include <stdlib.h>

#include "tests/replay/replay_unit.h"

static void instructions_of_a_kernel_fault_as_recorded(void **state)
{
    const char *argv[] = {GUEST, NULL};
    char *dir = unit_record(unit_work, "privileged", argv);
    struct unit_replay replay;
    uint64_t time = 0;
    (void)state;
    for (enum dbi_mode mode = DBI_PLAIN; mode <= DBI_COLLECT; mode++) {
        unit_check(unit_open(&replay, dir, NULL, mode), "open");
        unit_check(unit_run_to_end(&replay), "privileged");
        assert_int_equal(rep_feed_info(replay.feed)->wait_status, 0);
        if (mode != DBI_PLAIN)
            assert_int_equal(rep_engine_time(replay.engine), time);
        time = rep_engine_time(replay.engine);
        unit_close(&replay);
    }
    free(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(instructions_of_a_kernel_fault_as_recorded),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}

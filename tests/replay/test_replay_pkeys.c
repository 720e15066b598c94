/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program that uses protection keys, in every mode, where the processor has them. */
#include <stdlib.h>
#include <sys/wait.h>

#include "tests/record/spawn.h"
#include "tests/replay/written_lines.h"

static void protection_keys_replay_in_every_mode(void **state)
{
    static const enum dbi_mode modes[] = {DBI_PLAIN, DBI_COUNT, DBI_COLLECT};
    const char *argv[] = {GUEST, NULL};
    uint64_t times[3];
    (void)state;
    char *trace = unit_record(unit_work, "pkeys", argv);
    for (size_t i = 0; i < 3; i++) {
        struct unit_replay replay;
        unit_check(unit_open(&replay, trace, NULL, modes[i]), "pkeys");
        unit_check(unit_run_to_end(&replay), "pkeys");
        assert_int_equal(rep_feed_info(replay.feed)->wait_status, 0);
        times[i] = rep_engine_time(replay.engine);
        unit_close(&replay);
    }
    assert_int_equal(times[0], times[1]);
    assert_int_equal(times[0], times[2]);
    lines_verify(trace, 20000, "a stop every 20000 instructions");
    free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protection_keys_replay_in_every_mode),
    };
    const char *argv[] = {GUEST, NULL};
    struct spawn_result native = spawn(argv, NULL);
    bool has_keys = !WIFEXITED(native.status) || WEXITSTATUS(native.status) != 77;
    spawn_result_fini(&native);
    if (!has_keys) {
        printf("SKIPPED: test_replay_pkeys: the processor or the kernel has no protection keys\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}

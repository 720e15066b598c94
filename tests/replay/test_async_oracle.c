/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs with threads and asynchronous signals, replayed, against the single-stepping oracle,
 * which finds the places of their events by itself. With the argument "all": both builds of every
 * program here; else a selection. Left out are those that wait in loops of so few instructions
 * that the oracle, which stops at every turn, is not done in minutes.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/record/spawn.h"
#include "tests/replay/oracle_compare.h"

static const struct {
    const char *name;
    const char *build; /* that the selection takes; NULL: none */
} programs[] = {
    {"thread_join", NULL},
    {"thread_queue", "O2_pie"},
    {"thread_tls", NULL},
    {"thread_cancel", NULL},
    {"thread_robust", NULL},
    {"thread_cleartid", "O0_static"},
    {"thread_mainexit", NULL},
    {"thread_exec", NULL},
    {"thread_fork", NULL},
    {"thread_race", NULL},
    {"thread_sync", NULL},
    {"thread_exitgroup", NULL},
    {"thread_crash", NULL},
    {"thread_many", NULL},
    {"thread_vector", "O0_static"},
    {"signal_altstack", NULL},
    {"signal_nested", "O2_pie"},
    {"signal_restart", NULL},
    {"signal_threadtimer", "O0_static"},
    {"signal_tgkill", NULL},
    {"signal_wait", NULL},
    {"signal_stop", NULL},
    {"signal_repmovs", "O2_pie"},
};

static bool all;

static void program_check(const char *name, const char *build)
{
    char program[512], what[64];
    struct compare_report report;
    snprintf(what, sizeof(what), "%s_%s", name, build);
    snprintf(program, sizeof(program), "%s/%s", PROGRAMS_DIR, what);
    const char *argv[] = {program, NULL};
    char *dir = unit_record(unit_work, what, argv);
    compare_with_oracle(dir, what, all ? 6 : 4, all ? 10000 : 2000, 40, &report);
    compare_report_print(what, &report);
    free(dir);
}

static void threads_and_signals_replay_as_the_oracle_steps(void **state)
{
    const char *only = getenv("REPLAY_PROGRAM");
    (void)state;
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        if (only && strcmp(only, programs[i].name))
            continue;
        if (all || (only && !programs[i].build)) {
            program_check(programs[i].name, "O0_static");
            program_check(programs[i].name, "O2_pie");
        } else if (programs[i].build) {
            program_check(programs[i].name, programs[i].build);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_and_signals_replay_as_the_oracle_steps),
    };
    all = argc > 1 && !strcmp(argv[1], "all");
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unmodified programs of the system, replayed plainly and counting. Each recorded event is a
 * check of all registers, so a replay that gets to the end has done what was recorded.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/record/spawn.h"
#include "tests/replay/replay_unit.h"
#include "tests/skipped.h"
#include <wetdbg/errors.h>

static const struct {
    const char *name;
    const char *argv[6]; /* argv[0] is looked for; the program is left out, aloud, without it */
    const char *process; /* that is replayed; NULL: the default */
} programs[] = {
    {"ls", {"/bin/ls", "-l", "/usr"}, NULL},
    {"gzip", {"/bin/gzip", "-c", TEXT}, NULL},
    {"sort", {"/usr/bin/sort", TEXT}, NULL},
    {"sed", {"/bin/sed", "-n", "s/the \\(.*\\)/<\\1>/p", TEXT}, NULL},
    {"awk", {"/usr/bin/awk", "{ n[$1]++ } END { for (w in n) print w, n[w] }", TEXT}, NULL},
    {"bc", {"/bin/sh", "-c", "echo 'scale=60; e(1); 2^300' | bc -l"}, "bc"},
    {"perl", {"/usr/bin/perl", "-e", "my %h; $h{$_ * 7 % 13} .= $_ for 1..500; print %h"}, NULL},
    {"sqlite3",
     {"/usr/bin/sqlite3", ":memory:",
      "create table t(a,b); insert into t values(1,'x'),(2,'y'); select sum(a), max(b) from t"},
     NULL},
    {"find", {"/usr/bin/find", "/usr/share/doc", "-maxdepth", "1", "-name", "*z*"}, NULL},
    {"tar", {"/bin/tar", "-cf", "/dev/null", "-C", "/usr/share/perl5", "."}, NULL},
    {"sh", {"/bin/sh", "-c", "ls >/dev/null; exec wc -c " TEXT}, NULL},
    {"git", {"/usr/bin/git", "--version"}, NULL},
};

static unsigned present;

static void row_print(const char *name, const struct unit_replay *replay, const char *result)
{
    print_message("%-10s %10llu %14llu  %s\n", name,
                  (unsigned long long)rep_engine_entries(replay->engine),
                  (unsigned long long)rep_engine_time(replay->engine), result);
}

static bool replay_in(size_t i, const char *dir, enum dbi_mode mode, uint64_t *time)
{
    struct unit_replay replay;
    unit_check(unit_open(&replay, dir, programs[i].process, mode), programs[i].name);
    int err = unit_run_to_end(&replay);
    row_print(mode == DBI_PLAIN ? programs[i].name : "  counting", &replay,
              err ? wetdbg_error(err) : "ok");
    *time = rep_engine_time(replay.engine);
    unit_close(&replay);
    return !err;
}

static void programs_of_the_system_replay(void **state)
{
    unsigned failures = 0;
    (void)state;
    print_message("%-10s %10s %14s  %s\n", "program", "entries", "instructions", "result");
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        uint64_t plain = 0, count = 0;
        if (access(programs[i].argv[0], X_OK)) {
            skipped_say("test_replay_programs", "%s is not installed", programs[i].argv[0]);
            continue;
        }
        present++;
        char *dir = unit_record(unit_work, programs[i].name, programs[i].argv);
        bool good = replay_in(i, dir, DBI_PLAIN, &plain);
        good = replay_in(i, dir, DBI_COUNT, &count) && good;
        failures += !good || plain != count;
        free(dir);
    }
    assert_int_equal(failures, 0);
    assert_true(present >= 6); /* ls, sh, sed and the like are everywhere */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_of_the_system_replay),
    };
    return cmocka_run_group_tests(tests, unit_work_new, unit_work_remove);
}

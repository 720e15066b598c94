/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Builds by several processes at once: the file is the one of one pass, byte for byte, and whatever
 * ends such a build, no process and no file is left.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/spawn.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_same.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define ATTEMPTS 200

/* ---- processes ---- */

/* Calls `fn` with each process whose parent is `parent` and whose name begins with `name`; how many. */
static unsigned processes_each(pid_t parent, const char *name, void (*fn)(pid_t pid))
{
    DIR *list = opendir("/proc");
    unsigned count = 0;
    assert_non_null(list);
    for (const struct dirent *entry; (entry = readdir(list));) {
        char path[300], line[256] = "", comm[64] = "", state;
        int pid = atoi(entry->d_name), ppid = 0;
        snprintf(path, sizeof(path), "/proc/%d/stat", pid);
        FILE *file = pid > 0 ? fopen(path, "r") : NULL;
        if (!file)
            continue;
        bool is_read = fgets(line, sizeof(line), file) != NULL;
        fclose(file);
        if (!is_read || sscanf(line, "%*d (%63[^)]) %c %d", comm, &state, &ppid) != 3)
            continue;
        if (ppid != parent || state == 'Z' || strncmp(comm, name, strlen(name)) != 0)
            continue;
        count++;
        if (fn)
            fn(pid);
    }
    closedir(list);
    return count;
}

static void window_kill(pid_t pid)
{
    kill(pid, SIGKILL);
}

static void assert_nothing_is_left(const struct rebuilt *fixture)
{
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    assert_int_equal(unit_count_names(fixture->run.dir, ".part"), 0);
    assert_int_equal(unit_count_names(fixture->run.dir, ".tmp"), 0);
}

/* ---- one attempt ---- */

struct attempt {
    unsigned left; /* intervals of plain replay until something happens; 0: nothing */
    enum { INTERRUPT, KILL_WINDOWS, DIE } what;
    volatile sig_atomic_t interrupted;
    unsigned killed, resumed, anew;
};

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    struct attempt *attempt = arg;
    (void)done;
    (void)total;
    (void)instructions;
    if (!attempt->left || --attempt->left)
        return;
    if (attempt->what == DIE)
        raise(SIGKILL);
    if (attempt->what == INTERRUPT)
        attempt->interrupted = 1;
    if (attempt->what == KILL_WINDOWS) {
        attempt->killed = processes_each(getpid(), "wetdbg-window", window_kill);
        attempt->left = attempt->killed ? 0 : 1; /* else none was at work: again next time */
    }
}

static void on_notice(void *arg, const char *sentence)
{
    struct attempt *attempt = arg;
    attempt->resumed += strstr(sentence, "going on") != NULL;
    attempt->anew += strstr(sentence, "anew") != NULL;
}

static int build_try(const struct rebuilt *fixture, struct attempt *attempt,
                     const struct wet_build_options *base)
{
    struct wet_build_options options = *base;
    options.interval_instructions = fixture->interval;
    options.fingerprint = "test";
    options.interrupted = &attempt->interrupted;
    options.progress = on_progress;
    options.progress_arg = attempt;
    options.notice = on_notice;
    options.notice_arg = attempt;
    return run_build_with(&fixture->run, fixture->path, &options);
}

static struct wet_build_options side(unsigned jobs, uint64_t intervals)
{
    return (struct wet_build_options){
        .jobs = jobs, .side_by_side = WET_SIDE_ALWAYS, .window_intervals = intervals};
}

static void build_ok(const struct rebuilt *fixture, const struct wet_build_options *options)
{
    struct attempt attempt = {0};
    int err = build_try(fixture, &attempt, options);
    if (err)
        fail_msg("%u jobs, windows of %llu: %s", options->jobs,
                 (unsigned long long)options->window_intervals, wetdbg_error(err));
}

/* ---- fixtures ---- */

static int fixture_make(void **state, uint64_t interval, const char *const argv[])
{
    rebuilt_make(state, interval, "side", argv);
    assert_true(((const struct rebuilt *)*state)->intervals > REBUILT_FEW);
    return 0;
}

#define RUN(name, interval, ...)                                                                   \
    static int name(void **state)                                                                  \
    {                                                                                              \
        return fixture_make(state, interval, (const char *const[]){__VA_ARGS__, NULL});            \
    }

RUN(run_printf, 2000, PROGRAMS "/prog_printf_O0_pie")
RUN(run_heap, 3000, PROGRAMS "/prog_heap_O2_pie")
RUN(run_signals, 3000, PROGRAMS "/prog_signals_O0_pie")
RUN(run_ud2, 2000, PROGRAMS "/prog_crash_ud2_O2_pie")
RUN(run_tls, 1000, PROGRAMS "/thread_tls_O0_static")
RUN(run_queue, 20000, PROGRAMS "/thread_queue_O2_pie")
RUN(run_nested, 20000, PROGRAMS "/signal_nested_O0_static")
RUN(run_repfault, 2000, REPFAULT)
RUN(run_moved, 2000, GENERATED, "moved", "30")
RUN(run_rewritten, 2000, GENERATED, "rewritten", "400")

/* ---- cases ---- */

static void windows_at_once_give_the_file_of_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    const uint64_t third = fixture->intervals / 3, sixth = fixture->intervals / 6;
    const struct wet_build_options ways[] = {side(2, third), side(3, third + 1), side(4, sixth)};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        build_ok(fixture, &ways[i]);
        same_file(fixture->path, fixture->whole);
        same_facts(fixture->path, fixture->whole);
        assert_nothing_is_left(fixture);
        unlink(fixture->path);
    }
}

static void windows_of_one_interval_give_the_file_of_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    const struct wet_build_options options = side(4, 1);
    build_ok(fixture, &options);
    same_file(fixture->path, fixture->whole);
    unlink(fixture->path);
}

static void run_shorter_than_a_window_is_built_in_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt attempt = {.left = fixture->intervals / 2, .what = KILL_WINDOWS};
    const struct wet_build_options options = side(4, fixture->intervals);
    assert_int_equal(build_try(fixture, &attempt, &options), 0);
    assert_int_equal(attempt.killed, 0);
    same_file(fixture->path, fixture->whole);
    unlink(fixture->path);
}

static void with_little_memory_the_rest_is_built_in_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt attempt = {.left = fixture->intervals / 4, .what = KILL_WINDOWS};
    const struct wet_build_options options = {
        .jobs = 4, .window_intervals = fixture->intervals / 5, .memory_bytes = 1};
    assert_int_equal(build_try(fixture, &attempt, &options), 0);
    assert_int_equal(attempt.killed, 0);
    same_file(fixture->path, fixture->whole);
    assert_nothing_is_left(fixture);
    unlink(fixture->path);
}

static void window_of_the_run_is_that_of_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    char *whole = unit_path(fixture->run.dir, "window.wet");
    uint64_t middle = fixture->interval * fixture->intervals / 2;
    struct wet_build_options options = {.fingerprint = "test",
                                        .interval_instructions = fixture->interval,
                                        .from = {WET_MOMENT_TIME, middle / 2},
                                        .to = {WET_MOMENT_TIME, middle + middle / 2}};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(run_build_with(&fixture->run, whole, &options), 0);
        struct wet_build_options how = side(3, fixture->intervals / 8);
        how.from = options.from;
        how.to = options.to;
        build_ok(fixture, &how);
        same_file(fixture->path, whole);
        same_facts(fixture->path, whole);
        unlink(fixture->path);
        /* next from the start on; then up to an event in the middle */
        options.from = (struct wet_moment){0};
        options.to.kind = i ? WET_MOMENT_PERCENT : options.to.kind;
        options.to.value = i ? 80 : options.to.value;
    }
    free(whole);
}

static void window_that_is_killed_ends_the_build(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt attempt = {.left = fixture->intervals / 2, .what = KILL_WINDOWS}, again = {0};
    const struct wet_build_options options = side(3, fixture->intervals / 6);
    assert_int_equal(build_try(fixture, &attempt, &options), -WETDBG_ERR_MACHINE);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_MACHINE), "killed by signal 9"));
    assert_true(attempt.killed > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(unit_count_names(fixture->run.dir, ".tmp"), 0);
    assert_int_equal(build_try(fixture, &again, &options), 0);
    assert_int_equal(again.resumed, 1);
    same_file(fixture->path, fixture->whole);
    assert_nothing_is_left(fixture);
    unlink(fixture->path);
}

static void build_in_pieces_gives_the_file_of_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    const struct wet_build_options options = side(3, 3);
    unsigned most = fixture->intervals / 4 + 20, resumed = 0;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        struct attempt attempt = {.left = i ? 12 + (unsigned)(unit_random(&fixture->seed) % most)
                                            : fixture->intervals / 2};
        int err = build_try(fixture, &attempt, &options);
        resumed += attempt.resumed;
        assert_int_equal(attempt.anew, 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        if (!err)
            break;
        if (err != -WETDBG_ERR_INTERRUPTED)
            fail_msg("attempt %u: %s", i, wetdbg_error(err));
    }
    assert_true(resumed > 0);
    same_file(fixture->path, fixture->whole);
    same_facts(fixture->path, fixture->whole);
    assert_nothing_is_left(fixture);
    unlink(fixture->path);
}

/* Its windows' processes end with it: nobody holds the unfinished file. */
static void build_that_is_killed_takes_its_windows_along(void **state)
{
    struct rebuilt *fixture = *state;
    const struct wet_build_options options = side(4, fixture->intervals / 8);
    struct attempt again = {0};
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct attempt attempt = {.left = fixture->intervals / 2, .what = DIE};
        build_try(fixture, &attempt, &options);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    while (waitpid(-1, &status, 0) > 0)
        ; /* they are this process' children now, and end */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    assert_int_equal(unit_count_names(fixture->run.dir, ".tmp"), 0);
    assert_int_equal(build_try(fixture, &again, &options), 0);
    assert_int_equal(again.resumed, 1);
    same_file(fixture->path, fixture->whole);
    assert_nothing_is_left(fixture);
    unlink(fixture->path);
}

#define CASE(name, run) cmocka_unit_test_setup_teardown(name, run, rebuilt_drop)
#define AT_ONCE(run)    CASE(windows_at_once_give_the_file_of_one_pass, run)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_ONCE(run_heap),
        AT_ONCE(run_signals),
        AT_ONCE(run_ud2),
        AT_ONCE(run_tls),
        AT_ONCE(run_queue),
        AT_ONCE(run_nested),
        AT_ONCE(run_repfault),
        AT_ONCE(run_moved),
        AT_ONCE(run_rewritten),
        CASE(windows_of_one_interval_give_the_file_of_one_pass, run_rewritten),
        CASE(run_shorter_than_a_window_is_built_in_one_pass, run_printf),
        CASE(with_little_memory_the_rest_is_built_in_one_pass, run_heap),
        CASE(window_of_the_run_is_that_of_one_pass, run_heap),
        CASE(window_of_the_run_is_that_of_one_pass, run_queue),
        CASE(window_that_is_killed_ends_the_build, run_heap),
        CASE(build_in_pieces_gives_the_file_of_one_pass, run_heap),
        CASE(build_in_pieces_gives_the_file_of_one_pass, run_tls),
        CASE(build_that_is_killed_takes_its_windows_along, run_heap),
    };
    return cmocka_run_group_tests_name("wet_side", tests, NULL, NULL);
}

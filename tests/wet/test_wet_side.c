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
#include "tests/wet/attempt.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_same.h"
#include "tests/wet/wet_unit.h"
#include "wet/intervals.h"
#include <wetdbg/errors.h>

#define ATTEMPTS 200

/* ---- processes ---- */

/* Calls `fn` with each process whose parent is `parent` and whose name begins with `name`; how
 * many. */
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

/* A `strike`: the processes of all windows that are at work die. */
static void windows_kill(struct attempt *attempt)
{
    attempt->killed = processes_each(getpid(), "wetdbg-window", window_kill);
    attempt->left = attempt->killed ? 0 : 1; /* none was at work: again after the next interval */
}

/* ---- attempts ---- */

/* The file is the one of one pass, and nothing is left but it, which goes. */
static void assert_is_of_one_pass(const struct rebuilt *fixture)
{
    same_file(fixture->path, fixture->whole);
    same_facts(fixture->path, fixture->whole);
    assert_nothing_is_left(fixture);
    unlink(fixture->path);
}

static struct wet_build_options side(unsigned jobs, uint64_t intervals)
{
    return (struct wet_build_options){
        .jobs = jobs, .side_by_side = WET_SIDE_ALWAYS, .window_intervals = intervals};
}

static void build_ok(const struct rebuilt *fixture, const struct wet_build_options *options)
{
    struct attempt attempt = {0};
    int err = attempt_build(fixture, &attempt, options);
    if (err)
        fail_msg("%u jobs, windows of %llu: %s", options->jobs,
                 (unsigned long long)options->window_intervals, wetdbg_error(err));
}

static int make(void **state)
{
    const struct sample *sample = sample_named(*state);
    rebuilt_make(state, sample->interval, "side", sample->argv);
    assert_true(((const struct rebuilt *)*state)->intervals > REBUILT_FEW);
    return 0;
}

/* ---- cases ---- */

static void windows_at_once_give_the_file_of_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    const uint64_t third = fixture->intervals / 3, sixth = fixture->intervals / 6;
    const struct wet_build_options ways[] = {side(2, third), side(3, third + 1), side(4, sixth)};
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        build_ok(fixture, &ways[i]);
        assert_is_of_one_pass(fixture);
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
    struct attempt attempt = {.left = fixture->intervals / 2, .strike = windows_kill};
    const struct wet_build_options options = side(4, fixture->intervals);
    assert_int_equal(attempt_build(fixture, &attempt, &options), 0);
    assert_int_equal(attempt.killed, 0);
    same_file(fixture->path, fixture->whole);
    unlink(fixture->path);
}

static void with_little_memory_the_rest_is_built_in_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    struct attempt attempt = {.left = fixture->intervals / 4, .strike = windows_kill};
    const struct wet_build_options options = {
        .jobs = 4, .window_intervals = fixture->intervals / 5, .memory_bytes = 1};
    assert_int_equal(attempt_build(fixture, &attempt, &options), 0);
    assert_int_equal(attempt.killed, 0);
    assert_is_of_one_pass(fixture);
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
    struct attempt attempt = {.left = fixture->intervals / 2, .strike = windows_kill}, again = {0};
    const struct wet_build_options options = side(3, fixture->intervals / 6);
    assert_int_equal(attempt_build(fixture, &attempt, &options), -WETDBG_ERR_MACHINE);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_MACHINE), "killed by signal 9"));
    assert_true(attempt.killed > 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(unit_count_names(fixture->run.dir, ".tmp"), 0);
    assert_int_equal(attempt_build(fixture, &again, &options), 0);
    assert_int_equal(again.resumed, 1);
    assert_is_of_one_pass(fixture);
}

static void build_in_pieces_gives_the_file_of_one_pass(void **state)
{
    struct rebuilt *fixture = *state;
    const struct wet_build_options options = side(3, 3);
    unsigned most = fixture->intervals / 4 + 20, resumed = 0;
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        struct attempt attempt = {.left = i ? 12 + (unsigned)(unit_random(&fixture->seed) % most)
                                            : fixture->intervals / 2};
        int err = attempt_build(fixture, &attempt, &options);
        resumed += attempt.resumed;
        assert_int_equal(attempt.anew, 0);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        if (!err)
            break;
        if (err != -WETDBG_ERR_INTERRUPTED)
            fail_msg("attempt %u: %s", i, wetdbg_error(err));
    }
    assert_true(resumed > 0);
    assert_is_of_one_pass(fixture);
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
        struct attempt attempt = {.left = fixture->intervals / 2, .strike = attempt_die};
        attempt_build(fixture, &attempt, &options);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    while (waitpid(-1, &status, 0) > 0)
        ; /* they are this process' children now, and end */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0), 0);
    assert_int_equal(unit_count_names(fixture->run.dir, ".tmp"), 0);
    assert_int_equal(attempt_build(fixture, &again, &options), 0);
    assert_int_equal(again.resumed, 1);
    assert_is_of_one_pass(fixture);
}

#define CASE(name, sample)                                                                         \
    cmocka_unit_test_prestate_setup_teardown(name, make, rebuilt_drop, (void *)(sample))
#define AT_ONCE(sample) CASE(windows_at_once_give_the_file_of_one_pass, sample)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AT_ONCE("heap"),
        AT_ONCE("signals"),
        AT_ONCE("ud2"),
        AT_ONCE("tls, many intervals"),
        AT_ONCE("queue"),
        AT_ONCE("nested"),
        AT_ONCE("repfault"),
        AT_ONCE("moved"),
        AT_ONCE("rewritten"),
        CASE(windows_of_one_interval_give_the_file_of_one_pass, "rewritten"),
        CASE(run_shorter_than_a_window_is_built_in_one_pass, "printf"),
        CASE(with_little_memory_the_rest_is_built_in_one_pass, "heap"),
        CASE(window_of_the_run_is_that_of_one_pass, "heap"),
        CASE(window_of_the_run_is_that_of_one_pass, "queue"),
        CASE(window_that_is_killed_ends_the_build, "heap"),
        CASE(build_in_pieces_gives_the_file_of_one_pass, "heap"),
        CASE(build_in_pieces_gives_the_file_of_one_pass, "tls, many intervals"),
        CASE(build_that_is_killed_takes_its_windows_along, "heap"),
    };
    return cmocka_run_group_tests_name("wet_side", tests, NULL, NULL);
}

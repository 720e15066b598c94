/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What goes wrong around a build: killed builders, two at once, full disks, places where nothing
 * can be written. The old file stays, nothing piles up, no replayee outlives its supervisor.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "dbgcli/exit_status.h"
#include "tests/record/spawn.h"
#include "tests/skipped.h"
#include "tests/wet/wet_run.h"
#include "tests/wet/wet_unit.h"
#include <wetdbg/errors.h>

#define KILLS        20
#define NO_MOUNT     99 /* exit status of a script that may not mount */
#define CHILDREN_MAX 16

static struct run run;
static char *places; /* directory for the files that are built */

static int setup(void **state)
{
    (void)state;
    /* replayees whose supervisor dies become children of this process, to be waited for */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
    run_record(&run, (const char *const[]){PROGRAM, NULL});
    places = unit_path(run.dir, "places");
    assert_int_equal(mkdir(places, 0700), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    free(places);
    run_fini(&run);
    return 0;
}

static pid_t build_start(const char *path)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 1);
        dup2(null, 2);
        execl(WET_DRIVER, WET_DRIVER, "build", run.trace, path, NULL);
        _exit(126);
    }
    return pid;
}

static size_t children_of(pid_t pid, pid_t *children)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    FILE *file = fopen(path, "re");
    int child;
    while (file && count < CHILDREN_MAX && fscanf(file, "%d", &child) == 1)
        children[count++] = child;
    if (file)
        fclose(file);
    return count;
}

/* True if that process is gone within the time that a slow machine may need. */
static bool is_gone(pid_t pid)
{
    const struct timespec moment = {.tv_nsec = 2000000};
    for (unsigned i = 0; i < 5000; i++) {
        if (waitpid(pid, NULL, WNOHANG) == pid || kill(pid, 0))
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

static bool is_complete(const char *path)
{
    struct wet_store *store = NULL;
    bool complete = wet_store_open(path, &store) == 0;
    wet_store_close(store);
    return complete;
}

static bool holds_text(const char *path, const char *text)
{
    size_t bytes;
    char *now = slurp(path, &bytes);
    bool same = now && bytes == strlen(text) && !memcmp(now, text, bytes);
    free(now);
    return same;
}

static double build_seconds(const char *path)
{
    int status;
    double start = wd_seconds();
    pid_t pid = build_start(path);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    return wd_seconds() - start;
}

/* Returns whether the builder had a replayee when it was killed. */
static bool kill_once(const char *path, double after)
{
    pid_t children[CHILDREN_MAX], pid = build_start(path);
    const struct timespec delay = {.tv_nsec = (long)(after * 1e9) % 1000000000,
                                   .tv_sec = (time_t)after};
    nanosleep(&delay, NULL);
    kill(pid, SIGSTOP); /* so that what its children are does not change */
    size_t count = children_of(pid, children);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    for (size_t i = 0; i < count; i++) {
        if (!is_gone(children[i])) {
            kill(children[i], SIGKILL);
            fail_msg("replayee %d lives on", (int)children[i]);
        }
    }
    return count > 0;
}

static void build_killed_at_any_moment_leaves_the_old_file(void **state)
{
    (void)state;
    char *path = unit_path(places, "killed.wet");
    uint64_t seed = unit_seed("kills");
    double whole = build_seconds(path);
    unsigned inside = 0;
    for (unsigned i = 0; i < KILLS; i++) {
        unit_write(path, "the old one", 11);
        inside += kill_once(path, whole * (double)(unit_random(&seed) % 1000) / 1000);
        if (!holds_text(path, "the old one") && !is_complete(path))
            fail_msg("neither the old file nor a whole one, after kill %u", i);
        assert_true(unit_count_names(places, "killed.wet.tmp-") <= 1);
    }
    assert_true(inside > 0);
    build_seconds(path);
    assert_int_equal(unit_count_names(places, ".tmp-"), 0);
    assert_true(is_complete(path));
    unlink(path);
    free(path);
}

static void builds_at_once_of_one_path_both_succeed(void **state)
{
    (void)state;
    char *path = unit_path(places, "both.wet");
    for (unsigned i = 0; i < 3; i++) {
        pid_t pids[] = {build_start(path), build_start(path)};
        for (unsigned j = 0; j < 2; j++) {
            int status;
            assert_int_equal(waitpid(pids[j], &status, 0), pids[j]);
            assert_int_equal(status, 0);
        }
        const char *const check[] = {WET_DRIVER, "check", path, NULL};
        struct spawn_result result = spawn(check, NULL);
        assert_int_equal(result.status, 0);
        spawn_result_fini(&result);
    }
    assert_int_equal(unit_count_names(places, ".tmp-"), 0);
    unlink(path);
    free(path);
}

/* ---- with mounts of our own ---- */

/* Runs a script where it may mount; $1 is `place`, $2 the driver, $3 the trace. */
static struct spawn_result script(const char *text, const char *place)
{
    const char *const argv[] = {"unshare",  geteuid() ? "-rm" : "-m",
                                "--",       "sh",
                                "-c",       text,
                                "sh",       place,
                                WET_DRIVER, run.trace,
                                NULL};
    return spawn(argv, NULL);
}

static void skip_without_mounts(struct spawn_result *result)
{
    bool refused = WEXITSTATUS(result->status) == NO_MOUNT || strstr(result->err, "unshare");
    if (!refused)
        return;
    skipped_say("test_wet_kill", "a full disk: nothing may be mounted here: %.*s",
                (int)strcspn(result->err, "\n"), result->err);
    spawn_result_fini(result);
    skip();
}

static void build_on_a_full_disk_names_the_file_and_keeps_the_old_one(void **state)
{
    (void)state;
    char *path = unit_path(places, "full.wet");
    struct spawn_result result = script("mount -t tmpfs -o size=200k none \"$1\" || exit 99\n"
                                        "echo old > \"$1/full.wet\"\n"
                                        "\"$2\" build \"$3\" \"$1/full.wet\"; status=$?\n"
                                        "test \"$(cat \"$1/full.wet\")\" = old || exit 98\n"
                                        "test \"$(ls -A \"$1\")\" = full.wet || exit 97\n"
                                        "exit $status\n",
                                        places);
    skip_without_mounts(&result);
    if (WEXITSTATUS(result.status) != CLI_EXIT_MACHINE)
        fail_msg("status %d: %s", WEXITSTATUS(result.status), result.err);
    assert_non_null(strstr(result.err, path));
    assert_non_null(strstr(result.err, "No space left"));
    spawn_result_fini(&result);
    free(path);
}

static void trace_that_cannot_be_written_has_its_wet_in_the_cache(void **state)
{
    (void)state;
    char *cache = unit_path(run.dir, "cache");
    struct spawn_result result =
        script("mount --bind \"$3\" \"$3\" && mount -o remount,ro,bind \"$3\" || exit 99\n"
               "XDG_CACHE_HOME=\"$1\" \"$2\" default \"$3\" &&\n"
               "XDG_CACHE_HOME=\"$1\" \"$2\" default \"$3\"\n",
               cache);
    skip_without_mounts(&result);
    if (result.status)
        fail_msg("status %#x: %s", (unsigned)result.status, result.err);
    char *built, *fresh;
    assert_true(asprintf(&built, "built %s/wetdbg/", cache) > 0);
    assert_true(asprintf(&fresh, "\nfresh %s/wetdbg/", cache) > 0);
    assert_ptr_equal(strstr(result.out, built), result.out);
    assert_non_null(strstr(result.out, fresh));
    spawn_result_fini(&result);
    free(built);
    free(fresh);
    free(cache);
}

static void cache_that_cannot_be_written_is_named(void **state)
{
    (void)state;
    struct spawn_result result =
        script("mount --bind \"$3\" \"$3\" && mount -o remount,ro,bind \"$3\" || exit 99\n"
               "XDG_CACHE_HOME=/proc/absent \"$2\" default \"$3\"\n",
               "");
    skip_without_mounts(&result);
    assert_int_equal(WEXITSTATUS(result.status), CLI_EXIT_MACHINE);
    assert_non_null(strstr(result.err, "/proc/absent"));
    spawn_result_fini(&result);
}

/* ---- fresh or not ---- */

static void assert_default(const char *wanted)
{
    const char *const argv[] = {WET_DRIVER, "default", run.trace, NULL};
    struct spawn_result result = spawn(argv, NULL);
    if (result.status)
        fail_msg("%s", result.err);
    assert_ptr_equal(strstr(result.out, wanted), result.out);
    assert_non_null(strstr(result.out, run.trace));
    spawn_result_fini(&result);
}

static void recording_that_changed_is_built_again(void **state)
{
    (void)state;
    char *stream = unit_path(run.trace, "events"), *wet = unit_path(run.trace, "wetdbg.wet");
    const struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_default("built");
    assert_default("fresh");
    assert_int_equal(utimensat(AT_FDCWD, stream, times, 0), 0);
    assert_default("built");
    assert_default("fresh");
    unit_write(wet, "damaged", 7);
    assert_default("built");
    assert_default("fresh");
    assert_int_equal(unlink(wet), 0);
    free(stream);
    free(wet);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(build_killed_at_any_moment_leaves_the_old_file),
        cmocka_unit_test(builds_at_once_of_one_path_both_succeed),
        cmocka_unit_test(build_on_a_full_disk_names_the_file_and_keeps_the_old_one),
        cmocka_unit_test(trace_that_cannot_be_written_has_its_wet_in_the_cache),
        cmocka_unit_test(cache_that_cannot_be_written_is_named),
        cmocka_unit_test(recording_that_changed_is_built_again),
    };
    return cmocka_run_group_tests_name("wet_kill", tests, setup, teardown);
}

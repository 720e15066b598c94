/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recordings for which there is no room, and an rr that gives up: one sentence of ours, status 125,
 * nothing that could be taken for a finished recording, and no word of rr's own about its stack.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/record_fixture.h"
#include "tests/record/spawn.h"
#include "tests/record/unit.h"
#include "tests/skipped.h"
#include <wetdbg/record.h>

#define CALLS   GUEST_DIR "/guest_calls"
#define COPYOUT GUEST_DIR "/guest_copyout"

/* Records a program of very many system calls, after a command of the shell's. */
static struct spawn_result record_after(const struct fixture *fixture, const char *command,
                                        const char *program)
{
    const char *argv[] = {"sh", "-c", NULL, DRIVER, fixture->trace, program, NULL};
    struct spawn_result result;
    char *script;

    assert_true(asprintf(&script, "%s; exec \"$0\" -q -t software -o \"$1\" -- \"$2\" 300000",
                         command) > 0);
    argv[2] = script;
    result = spawn(argv, NULL);
    free(script);
    return result;
}

static int has_file(const struct fixture *fixture, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", fixture->trace, name);
    return access(path, F_OK) == 0;
}

/* The only line on stderr, and what it must hold. */
static void assert_one_sentence(struct spawn_result *result, const char *const *parts)
{
    char *end = strchr(result->err, '\n');

    if (!WIFEXITED(result->status) || WEXITSTATUS(result->status) != WETDBG_EXIT_FAILED || !end ||
        end[1])
        fail_msg("status %x, and on stderr:\n%s", result->status, result->err);
    for (; *parts; parts++) {
        if (!strstr(result->err, *parts))
            fail_msg("no '%s' in: %s", *parts, result->err);
    }
    spawn_result_fini(result);
}

/* ---- a full disk ---- */

/* A file system of so many kB below the fixture, seen by this process alone. */
static int mount_small(const struct fixture *fixture, unsigned kilobytes)
{
    char options[32];

    snprintf(options, sizeof(options), "size=%uk", kilobytes);
    return mount("tmpfs", fixture->dir, "tmpfs", 0, options);
}

static void full_disk_is_said_at_whatever_size(void **state)
{
    static const unsigned sizes[] = {16, 100, 700};
    static const char *const said[] = {"the recording was given up", "the disk is full",
                                       "replay as far as they go", NULL};
    struct fixture *fixture = *state;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) {
        skipped_say("full_disk_is_said_at_whatever_size", "no small file system can be mounted: %s",
                    strerror(errno));
        skip();
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct spawn_result result;

        assert_int_equal(mount_small(fixture, sizes[i]), 0);
        result = record_after(fixture, ":", CALLS);
        assert_one_sentence(&result, said);
        assert_true(has_file(fixture, "incomplete"));
        assert_false(has_file(fixture, "version"));
        assert_int_equal(umount(fixture->dir), 0);
    }
}

static void full_disk_before_the_start_leaves_nothing(void **state)
{
    static const char *const said[] = {"was not started", "the disk is full", NULL};
    struct fixture *fixture = *state;
    struct spawn_result result;

    if (mount_small(fixture, 4) != 0) {
        skipped_say("full_disk_before_the_start_leaves_nothing",
                    "no small file system can be mounted: %s", strerror(errno));
        skip();
    }
    result = record_after(fixture, ":", CALLS);
    assert_one_sentence(&result, said);
    assert_int_not_equal(access(fixture->trace, F_OK), 0);
    assert_int_equal(umount(fixture->dir), 0);
}

/* ---- limits ---- */

static void limit_of_file_size_is_said(void **state)
{
    static const char *const said[] = {"the recording was given up", "ulimit -f", NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record_after(fixture, "ulimit -f 40", CALLS);

    assert_one_sentence(&result, said);
    assert_false(has_file(fixture, "version"));
}

static void limit_of_open_files_is_said_before_anything_is_made(void **state)
{
    static const char *const said[] = {"open files", "ulimit -Hn", NULL};
    struct fixture *fixture = *state;
    struct spawn_result result = record_after(fixture, "ulimit -n 64", CALLS);

    assert_one_sentence(&result, said);
    assert_int_not_equal(access(fixture->trace, F_OK), 0);
}

/* ---- an rr that gives up ---- */

static void failing_rr_is_no_aborted_program(void **state)
{
    struct fixture *fixture = *state;
    struct spawn_result result = record_after(fixture, ":", COPYOUT);

    assert_true(WIFEXITED(result.status));
    if (WEXITSTATUS(result.status) != WETDBG_EXIT_FAILED) {
        assert_int_equal(WEXITSTATUS(result.status), 7);
        printf("SKIPPED: failing_rr_is_no_aborted_program: this rr records what rr 5.6 gives up "
               "at\n");
        spawn_result_fini(&result);
        skip();
    }
    assert_non_null(strstr(result.err, "rr gave up before the recording was complete"));
    assert_true(has_file(fixture, "incomplete"));
    assert_false(has_file(fixture, "version"));
    spawn_result_fini(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(full_disk_is_said_at_whatever_size),
        FIXTURE_TEST(full_disk_before_the_start_leaves_nothing),
        FIXTURE_TEST(limit_of_file_size_is_said),
        FIXTURE_TEST(limit_of_open_files_is_said_before_anything_is_made),
        FIXTURE_TEST(failing_rr_is_no_aborted_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

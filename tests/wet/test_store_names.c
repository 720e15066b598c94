/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What lies under the names that a .wet file, its unfinished file and its journal are to get, and
 * who may read these files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/record/spawn.h"
#include "tests/wet/wet_unit.h"
#include "wet/build/journal.h"
#include "wet/store/store.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

struct fixture {
    char *dir, *path, *part, *other;
};

static int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    fixture->dir = scratch_new();
    fixture->path = unit_path(fixture->dir, "a.wet");
    fixture->part = unit_path(fixture->dir, "a.wet.part");
    fixture->other = unit_path(fixture->dir, "other");
    *state = fixture;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;
    scratch_free(fixture->dir);
    free(fixture->path);
    free(fixture->part);
    free(fixture->other);
    free(fixture);
    return 0;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode;
}

static void expect_said(int err, int code, const char *words)
{
    assert_int_equal(err, code);
    if (!strstr(wetdbg_error(err), words))
        fail_msg("\"%s\" lacks \"%s\"", wetdbg_error(err), words);
}

static void store_files_are_for_their_owner_alone(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    struct wet_journal *journal;
    mode_t mask = umask(0);
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    assert_int_equal(wet_store_commit(writer), 0);
    assert_int_equal(mode_of(fixture->path), S_IFREG | 0600);
    assert_int_equal(wet_store_create_part(fixture->path, &writer), 0);
    assert_int_equal(mode_of(fixture->part), S_IFREG | 0600);
    assert_int_equal(wet_journal_open(fixture->path, &journal), 0);
    char *log = unit_path(fixture->dir, "a.wet.part-log");
    assert_int_equal(mode_of(log), S_IFREG | 0600);
    wet_journal_remove(journal);
    assert_int_equal(wet_store_commit(writer), 0);
    assert_int_equal(mode_of(fixture->path), S_IFREG | 0600);
    umask(mask);
    free(log);
}

static void store_part_of_an_earlier_version_is_closed_to_others(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    unit_write(fixture->part, "x", 1);
    assert_int_equal(chmod(fixture->part, 0644), 0);
    assert_int_equal(wet_store_create_part(fixture->path, &writer), 0);
    assert_int_equal(mode_of(fixture->part), S_IFREG | 0600);
    wet_store_abort(writer);
}

/* Neither written to nor removed. */
static void expect_untouched_part(const struct fixture *fixture, const char *words)
{
    struct wet_store_writer *writer;
    mode_t mode = mode_of(fixture->part);
    expect_said(wet_store_create_part(fixture->path, &writer), -EPERM, words);
    assert_int_equal(mode_of(fixture->part), mode);
}

static void store_part_that_is_not_ours_is_left_alone(void **state)
{
    const struct fixture *fixture = *state;
    size_t bytes;
    unit_write(fixture->other, "precious", 8);
    assert_int_equal(link(fixture->other, fixture->part), 0);
    expect_untouched_part(fixture, "another name");
    unlink(fixture->part);
    assert_int_equal(symlink(fixture->other, fixture->part), 0);
    expect_untouched_part(fixture, "a symbolic link");
    unlink(fixture->part);
    assert_int_equal(mkfifo(fixture->part, 0600), 0);
    expect_untouched_part(fixture, "a FIFO");
    unlink(fixture->part);
    assert_int_equal(mkdir(fixture->part, 0700), 0);
    expect_untouched_part(fixture, "a directory");
    rmdir(fixture->part);
    unit_write(fixture->part, "x", 1);
    assert_int_equal(chmod(fixture->part, 0622), 0);
    expect_untouched_part(fixture, "others may write");
    char *now = slurp(fixture->other, &bytes);
    assert_int_equal(bytes, 8);
    assert_memory_equal(now, "precious", 8);
    free(now);
}

static void store_part_of_another_user_is_left_alone(void **state)
{
    const struct fixture *fixture = *state;
    if (geteuid()) {
        printf("SKIPPED: test_store_names: store_part_of_another_user_is_left_alone: only root can "
               "give "
               "files away\n");
        skip();
    }
    unit_write(fixture->part, "x", 1);
    assert_int_equal(chmod(fixture->part, 0600), 0);
    assert_int_equal(chown(fixture->part, 12345, (gid_t)-1), 0);
    expect_untouched_part(fixture, "somebody else's");
}

static void journal_that_is_not_ours_is_left_alone(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_journal *journal;
    char *log = unit_path(fixture->dir, "a.wet.part-log");
    unit_write(fixture->other, "precious", 8);
    assert_int_equal(link(fixture->other, log), 0);
    expect_said(wet_journal_open(fixture->path, &journal), -EPERM, "another name");
    free(log);
}

/* By either way of writing, and also when it comes while the file is being written. */
static void expect_no_goal(const struct fixture *fixture, const char *words)
{
    struct wet_store_writer *writer;
    mode_t mode = mode_of(fixture->path);
    expect_said(wet_store_create(fixture->path, &writer), -WETDBG_ERR_USAGE, words);
    expect_said(wet_store_create_part(fixture->path, &writer), -WETDBG_ERR_USAGE, words);
    assert_int_equal(mode_of(fixture->path), mode);
}

static void store_replaces_nothing_but_regular_files(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    expect_no_goal(fixture, "is a FIFO: only a regular file is replaced");
    unlink(fixture->path);
    assert_int_equal(mkdir(fixture->path, 0700), 0);
    expect_no_goal(fixture, "is a directory");
    rmdir(fixture->path);
    assert_int_equal(symlink("/dev/null", fixture->path), 0);
    expect_no_goal(fixture, "is a link to a character device");
    unlink(fixture->path);
    expect_said(wet_store_create("/dev/full", &writer), -WETDBG_ERR_USAGE, "is a character device");
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    expect_said(wet_store_commit(writer), -WETDBG_ERR_USAGE, "is a FIFO");
    assert_true(S_ISFIFO(mode_of(fixture->path)));
    assert_int_equal(unit_count_names(fixture->dir, "a.wet"), 1);
}

static void store_replaces_regular_files_and_links_to_them(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    for (unsigned i = 0; i < 3; i++) {
        unlink(fixture->path);
        if (i == 0)
            unit_write(fixture->path, "x", 1);
        unit_write(fixture->other, "x", 1);
        if (i)
            assert_int_equal(symlink(i == 1 ? "other" : "nothing", fixture->path), 0);
        assert_int_equal(wet_store_create(fixture->path, &writer), 0);
        assert_int_equal(wet_store_commit(writer), 0);
        assert_int_equal(mode_of(fixture->path), S_IFREG | 0600);
    }
}

/* Said before anything is written, not when all of it has been. */
static void store_of_another_user_in_a_shared_directory_is_refused_at_once(void **state)
{
    const struct fixture *fixture = *state;
    if (geteuid()) {
        printf("SKIPPED: test_store_names: "
               "store_of_another_user_in_a_shared_directory_is_refused_at_once: only root can be "
               "another user\n");
        skip();
    }
    assert_int_equal(chmod(fixture->dir, 01777), 0);
    unit_write(fixture->path, "x", 1);
    pid_t pid = fork();
    if (pid == 0) {
        struct wet_store_writer *writer;
        if (setuid(12345))
            _exit(2);
        int err = wet_store_create_part(fixture->path, &writer);
        _exit(err != -WETDBG_ERR_USAGE || !strstr(wetdbg_error(err), "somebody else's"));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(unit_count_names(fixture->dir, "a.wet"), 1);
}

/* Temporary files of writers that are gone are removed. What only has such a name is not even
 * opened. */
static void store_stale_names_of_others_are_left_alone(void **state)
{
    const struct fixture *fixture = *state;
    struct wet_store_writer *writer;
    struct inotify_event event;
    char *fifo = unit_path(fixture->dir, "a.wet.tmp-Abcde1");
    char *users = unit_path(fixture->dir, "a.wet.tmp-before");
    char *stale = unit_path(fixture->dir, "a.wet.tmp-Abcde2");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    unit_write(users, "x", 1);
    assert_int_equal(chmod(users, 0644), 0);
    unit_write(stale, "x", 1);
    assert_int_equal(chmod(stale, 0600), 0);
    int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
    assert_int_equal(wet_store_create(fixture->path, &writer), 0);
    wet_store_abort(writer);
    assert_int_equal(read(watch, &event, sizeof(event)), -1); /* nothing happened */
    assert_true(S_ISFIFO(mode_of(fifo)));
    assert_int_equal(access(users, F_OK), 0);
    assert_int_equal(access(stale, F_OK), -1);
    close(watch);
    free(fifo);
    free(users);
    free(stale);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(store_files_are_for_their_owner_alone),
        CASE(store_part_of_an_earlier_version_is_closed_to_others),
        CASE(store_part_that_is_not_ours_is_left_alone),
        CASE(store_part_of_another_user_is_left_alone),
        CASE(journal_that_is_not_ours_is_left_alone),
        CASE(store_replaces_nothing_but_regular_files),
        CASE(store_replaces_regular_files_and_links_to_them),
        CASE(store_of_another_user_in_a_shared_directory_is_refused_at_once),
        CASE(store_stale_names_of_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

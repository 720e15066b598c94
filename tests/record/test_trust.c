/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which recordings count as this user's own: every way in which one may not be. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/record/sums.h"
#include "recorder/record/trust.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_sums.h"
#include "tests/record/unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

#define BACKING      "mmap_hardlink_1_sample" /* the file that the sample's mapping names */
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static char *dir, *state_dir;

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static const char *key_path(void)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/new/wetdbg/key", state_dir);
    return path;
}

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool is_ours(void)
{
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
    bool ours = rec_is_ours(dir_fd);
    close(dir_fd);
    return ours;
}

static void set_state_dir(const char *base)
{
    char path[4200];
    snprintf(path, sizeof(path), "%s/new", base);
    setenv("XDG_STATE_HOME", path, 1);
}

static void write_sample(void)
{
    struct build_trace built = {0};
    build_sample(&built);
    build_write(&built, dir, 4096);
    build_trace_fini(&built);
    build_write_file(dir, BACKING, "content", 7);
}

/* Makes what `wetdbg record` leaves, under the widest umask. */
static int set_up(void **state)
{
    (void)state;
    dir = build_temp_dir();
    state_dir = build_temp_dir();
    set_state_dir(state_dir);
    write_sample();
    mode_t mask = umask(0);
    assert_int_equal(rec_sums_write(dir), 0);
    assert_int_equal(rec_mark_write(dir), 0);
    umask(mask);
    return 0;
}

static int tear_down(void **state)
{
    char path[4096];
    (void)state;
    build_remove_dir(dir);
    unlink(key_path());
    snprintf(path, sizeof(path), "%s/new/wetdbg", state_dir);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/new", state_dir);
    rmdir(path);
    build_remove_dir(state_dir);
    return 0;
}

static void mark_makes_a_recording_ours(void **state)
{
    char path[4096];
    (void)state;
    assert_true(is_ours());
    assert_int_equal(mode_of(key_path()), 0600);
    snprintf(path, sizeof(path), "%s/new/wetdbg", state_dir);
    assert_int_equal(mode_of(path), 0700);
    assert_int_equal(mode_of(path_of("wetdbg.mark")), 0600);
    assert_int_equal(mode_of(path_of("wetdbg.sums")), 0600);
}

static void list_names_streams_and_backing_files(void **state)
{
    struct rrt_sums *sums;
    int dir_fd = open(dir, O_RDONLY | O_DIRECTORY);
    (void)state;
    assert_int_equal(rrt_sums_open(dir_fd, dir, &sums), 0);
    assert_int_equal(sums->version, 2);
    assert_int_equal(sums->count, rrt_sums_streams_always + 1);
    assert_non_null(rrt_sums_find(sums, BACKING));
    rrt_sums_free(sums);
    close(dir_fd);
}

/* What somebody without the key can supply: any files with any contents. */
static void mark_is_not_to_be_had_without_the_key(void **state)
{
    char list[8192], other[4096];
    (void)state;
    int fd = open(path_of("wetdbg.sums"), O_RDWR);
    ssize_t size = read(fd, list, sizeof(list));
    list[20] = list[20] == '0' ? '1' : '0';
    assert_int_equal(pwrite(fd, list, (size_t)size, 0), size);
    assert_false(is_ours());
    list[20] = list[20] == '0' ? '1' : '0'; /* one of the two was right */
    assert_int_equal(unlink(path_of("wetdbg.sums")), 0);
    close(fd);
    assert_false(is_ours());
    assert_int_equal(rec_sums_write(dir), 0);
    assert_true(is_ours()); /* the same list again */
    snprintf(other, sizeof(other), "%s", state_dir);
    char *foreign = build_temp_dir();
    set_state_dir(foreign);
    assert_false(is_ours()); /* no key at all, and none is made by asking */
    assert_int_equal(access(getenv("XDG_STATE_HOME"), F_OK), -1);
    unlink(path_of("wetdbg.mark"));
    assert_int_equal(rec_mark_write(dir), 0);
    assert_true(is_ours());
    set_state_dir(other);
    assert_false(is_ours()); /* another user's mark */
    snprintf(other, sizeof(other), "%s/new/wetdbg/key", foreign);
    unlink(other);
    *strrchr(other, '/') = 0;
    rmdir(other);
    *strrchr(other, '/') = 0;
    rmdir(other);
    build_remove_dir(foreign);
}

/* Packing leaves list and mark as they are, and makes another list of mappings. */
static void mark_of_a_packed_recording_is_none(void **state)
{
    (void)state;
    build_write_file(dir, "mmap_pack_0_sample", "content", 7);
    assert_false(is_ours());
    unlink(path_of("mmap_pack_0_sample"));
    assert_true(is_ours());
}

static void mark_that_is_damaged_is_none(void **state)
{
    (void)state;
    build_write_file(dir, "wetdbg.mark", "", 0);
    assert_false(is_ours());
    build_write_file(dir, "wetdbg.mark", "x", 1);
    assert_false(is_ours());
    assert_int_equal(unlink(path_of("wetdbg.mark")), 0);
    assert_false(is_ours());
    assert_int_equal(mkfifo(path_of("wetdbg.mark"), 0600), 0);
    assert_false(is_ours());
}

/* What others may write to is not ours, whatever the mark says. */
static void mark_is_worth_nothing_where_others_may_write(void **state)
{
    static const char *const names[] = {".", "wetdbg.sums", "wetdbg.mark", "data", BACKING};
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        mode_t mode = mode_of(path_of(names[i]));
        assert_int_equal(chmod(path_of(names[i]), mode | S_IWGRP), 0);
        assert_false(is_ours());
        assert_int_equal(chmod(path_of(names[i]), mode | S_IWOTH), 0);
        assert_false(is_ours());
        assert_int_equal(chmod(path_of(names[i]), mode), 0);
        assert_true(is_ours());
    }
}

static void mark_needs_a_key_that_nobody_else_reads(void **state)
{
    char path[4096];
    (void)state;
    assert_int_equal(chmod(key_path(), 0640), 0);
    assert_false(is_ours());
    assert_int_equal(chmod(key_path(), 0600), 0);
    assert_true(is_ours());
    snprintf(path, sizeof(path), "%s/new/wetdbg", state_dir);
    assert_int_equal(chmod(path, 0770), 0);
    assert_false(is_ours());
    assert_int_equal(chmod(path, 0700), 0);
    assert_int_equal(truncate(key_path(), 31), 0);
    assert_false(is_ours());
    assert_int_equal(truncate(key_path(), 0), 0);
    assert_false(is_ours());
}

static void other_owners_are_not_ours(void **state)
{
    (void)state;
    if (geteuid()) {
        printf("SKIPPED: test_trust: other_owners_are_not_ours: only root can give files away\n");
        skip();
    }
    static const char *const names[] = {".", "wetdbg.sums", "wetdbg.mark", "data", BACKING};
    for (size_t i = 0; i < COUNT(names); i++) {
        assert_int_equal(chown(path_of(names[i]), 12345, (gid_t)-1), 0);
        assert_false(is_ours());
        assert_int_equal(chown(path_of(names[i]), 0, (gid_t)-1), 0);
        assert_true(is_ours());
    }
    assert_int_equal(chown(key_path(), 12345, (gid_t)-1), 0);
    assert_false(is_ours());
}

static void without_a_home_nothing_is_ours(void **state)
{
    (void)state;
    assert_int_equal(unlink(path_of("wetdbg.mark")), 0);
    setenv("XDG_STATE_HOME", "relative", 1);
    unsetenv("HOME");
    assert_int_not_equal(rec_mark_write(dir), 0);
    assert_false(is_ours());
    setenv("HOME", state_dir, 1);
    assert_int_equal(rec_mark_write(dir), 0);
    assert_true(is_ours());
    char line[8192];
    snprintf(line, sizeof(line), "rm -r '%s/.local'", state_dir);
    assert_int_equal(system(line), 0);
    assert_false(is_ours());
}

static void list_of_the_first_version_is_never_ours(void **state)
{
    static const char text[] = "0000000000000000 version\n0000000000000000 events\n"
                               "0000000000000000 tasks\n0000000000000000 mmaps\n"
                               "0000000000000000 data\n";
    (void)state;
    build_write_file(dir, "wetdbg.sums", text, strlen(text));
    assert_int_equal(unlink(path_of("wetdbg.mark")), 0);
    assert_int_equal(rec_mark_write(dir), 0);
    assert_false(is_ours());
}

/* The list is part of what was made at once: nothing that was there before is written over. */
static void list_and_mark_replace_nothing(void **state)
{
    (void)state;
    assert_int_equal(rec_sums_write(dir), -EEXIST);
    assert_int_equal(rec_mark_write(dir), -EEXIST);
    assert_true(is_ours());
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(mark_makes_a_recording_ours),
        CASE(list_names_streams_and_backing_files),
        CASE(mark_is_not_to_be_had_without_the_key),
        CASE(mark_of_a_packed_recording_is_none),
        CASE(mark_that_is_damaged_is_none),
        CASE(mark_is_worth_nothing_where_others_may_write),
        CASE(mark_needs_a_key_that_nobody_else_reads),
        CASE(other_owners_are_not_ours),
        CASE(without_a_home_nothing_is_ours),
        CASE(list_of_the_first_version_is_never_ours),
        CASE(list_and_mark_replace_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names, lists and removal, on directories that only look like recordings. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/ticks/digest_format.h"
#include "tests/record/spawn.h"
#include "tests/record/unit.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static int set_up(void **state)
{
    char *place = scratch_new(), *real = realpath(place, NULL);

    free(place);
    setenv("_RR_TRACE_DIR", real, 1);
    *state = real;
    return 0;
}

static int tear_down(void **state)
{
    scratch_free(*state);
    unsetenv("_RR_TRACE_DIR");
    return 0;
}

static void put_file(const char *dir, const char *name, const char *text)
{
    char path[512];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* A directory like a recording's, last changed at `second`; the caller frees the path. */
static char *put_trace(const char *place, const char *name, const char *state_file, long second)
{
    const struct timespec times[2] = {{.tv_sec = second}, {.tv_sec = second}};
    char path[512], *dir;

    assert_true(asprintf(&dir, "%s/%s", place, name) > 0);
    assert_int_equal(mkdir(dir, 0700), 0);
    put_file(dir, "events", "");
    put_file(dir, state_file, "85\n");
    snprintf(path, sizeof(path), "%s/%s", dir, state_file);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    snprintf(path, sizeof(path), "%s/events", dir);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return dir;
}

static void place_follows_rrs_rules(void **state)
{
    const char *home = *state;
    char expected[512], old[512], *place;

    unsetenv("_RR_TRACE_DIR");
    unsetenv("XDG_DATA_HOME");
    setenv("HOME", home, 1);
    assert_int_equal(wetdbg_recordings_place(&place), 0);
    snprintf(expected, sizeof(expected), "%s/.local/share/rr", home);
    assert_string_equal(place, expected);
    free(place);

    snprintf(old, sizeof(old), "%s/.rr", home);
    assert_int_equal(mkdir(old, 0700), 0);
    assert_int_equal(wetdbg_recordings_place(&place), 0);
    assert_string_equal(place, old); /* it is there, the modern one is not */
    free(place);

    setenv("XDG_DATA_HOME", "/usr", 1);
    assert_int_equal(rmdir(old), 0);
    assert_int_equal(wetdbg_recordings_place(&place), 0);
    assert_string_equal(place, "/usr/rr");
    free(place);
    unsetenv("XDG_DATA_HOME");

    setenv("_RR_TRACE_DIR", "here", 1);
    assert_int_equal(wetdbg_recordings_place(&place), 0);
    assert_string_equal(place, "here");
    free(place);
}

static void list_of_missing_place_is_empty(void **state)
{
    struct wetdbg_recording_entry *entries;
    size_t count = 7;
    char *newest;

    (void)state;
    setenv("_RR_TRACE_DIR", "/nowhere/at/all", 1);
    assert_int_equal(wetdbg_recordings_list(&entries, &count), 0);
    assert_int_equal(count, 0);
    wetdbg_recordings_free(entries, count);
    assert_int_equal(wetdbg_recording_newest(&newest), -WETDBG_ERR_NOT_FOUND);
}

static void list_is_sorted_by_age_and_knows_states(void **state)
{
    const char *place = *state;
    char *young = put_trace(place, "a-1", "version", 2000),
         *old = put_trace(place, "b-0", "version", 1000),
         *left = put_trace(place, "c-0", "incomplete", 3000), *other;
    struct wetdbg_recording_entry *entries;
    size_t count;

    put_file(old, TCK_MARK_NAME, "software\n1\n");
    put_file(place, "cpu_lock", "");
    assert_true(asprintf(&other, "%s/no-trace", place) > 0);
    assert_int_equal(mkdir(other, 0700), 0);
    assert_int_equal(wetdbg_recordings_list(&entries, &count), 0);
    assert_int_equal(count, 3);
    assert_string_equal(entries[0].name, "b-0");
    assert_string_equal(entries[0].path, old);
    assert_true(entries[0].is_software_ticks);
    assert_int_equal(entries[0].when.tv_sec, 1000);
    assert_string_equal(entries[1].name, "a-1");
    assert_true(entries[1].is_finished);
    assert_false(entries[1].is_software_ticks);
    assert_string_equal(entries[2].name, "c-0");
    assert_false(entries[2].is_finished);
    assert_false(entries[2].is_running);
    wetdbg_recordings_free(entries, count);
    free(young);
    free(old);
    free(left);
    free(other);
}

static uint64_t blocks_of(const char *dir, const char *name)
{
    char path[512];
    struct stat st;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(stat(path, &st), 0);
    return (uint64_t)st.st_blocks * 512;
}

/* A recording's size is that of its files, without its directories and the one above it. */
static void size_is_what_the_files_take(void **state)
{
    const char *place = *state;
    char *dir = put_trace(place, "a-0", "version", 1000), text[20000], *below;
    struct wetdbg_recording_entry *entries;
    size_t count;

    memset(text, 'x', sizeof(text));
    text[sizeof(text) - 1] = 0;
    put_file(dir, "data", text);
    assert_true(asprintf(&below, "%s/files.rr", dir) > 0);
    assert_int_equal(mkdir(below, 0700), 0);
    assert_int_equal(wetdbg_recordings_list(&entries, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(entries[0].size_bytes,
                     blocks_of(dir, "events") + blocks_of(dir, "version") + blocks_of(dir, "data"));
    wetdbg_recordings_free(entries, count);
    free(below);
    free(dir);
}

static void newest_prefers_the_link_to_the_youngest(void **state)
{
    const char *place = *state;
    char *old = put_trace(place, "old-0", "version", 1000),
         *young = put_trace(place, "young-0", "version", 2000), *link, *newest;

    assert_int_equal(wetdbg_recording_newest(&newest), 0);
    assert_string_equal(newest, young);
    free(newest);
    assert_true(asprintf(&link, "%s/latest-trace", place) > 0);
    assert_int_equal(symlink("old-0", link), 0);
    assert_int_equal(wetdbg_recording_newest(&newest), 0);
    assert_string_equal(newest, old);
    free(newest);
    assert_int_equal(wetdbg_recording_remove("old-0"), 0);
    assert_int_not_equal(access(link, F_OK), 0);
    assert_int_equal(wetdbg_recording_find(NULL, &newest), 0);
    assert_string_equal(newest, young);
    free(newest);
    free(link);
    free(old);
    free(young);
}

static void name_is_looked_for_in_the_place_then_as_path(void **state)
{
    const char *place = *state;
    char *dir = put_trace(place, "prog-0", "version", 1000), *found;

    assert_int_equal(wetdbg_recording_find("prog-0", &found), 0);
    assert_string_equal(found, dir);
    free(found);
    assert_int_equal(wetdbg_recording_find(dir, &found), 0);
    assert_string_equal(found, dir);
    free(found);
    assert_int_equal(wetdbg_recording_find("prog-1", &found), -WETDBG_ERR_NOT_FOUND);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_NOT_FOUND), "prog-1"));
    assert_int_equal(wetdbg_recording_find("/usr", &found), -WETDBG_ERR_USAGE);
    free(dir);
}

static void remove_takes_the_recording_and_rrs_own_files(void **state)
{
    const char *place = *state;
    char *dir = put_trace(place, "prog-0", "version", 1000), *sub;

    assert_true(asprintf(&sub, "%s/files.rr", dir) > 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    put_file(sub, "rr_git_revision", "");
    put_file(dir, "mmap_copy_3_prog", "x");
    assert_int_equal(wetdbg_recording_remove("prog-0"), 0);
    assert_int_not_equal(access(dir, F_OK), 0);
    free(sub);
    free(dir);
}

static void remove_refuses_what_is_no_recording(void **state)
{
    const char *place = *state;
    char *dir = put_trace(place, "prog-0", "version", 1000), *sub, *plain;

    assert_int_equal(wetdbg_recording_remove(place), -WETDBG_ERR_USAGE);
    assert_int_equal(wetdbg_recording_remove("/usr"), -WETDBG_ERR_USAGE);
    assert_int_equal(wetdbg_recording_remove(""), -WETDBG_ERR_USAGE);
    assert_int_equal(wetdbg_recording_remove("nothing"), -WETDBG_ERR_NOT_FOUND);
    assert_true(asprintf(&sub, "%s/mine", dir) > 0);
    assert_int_equal(mkdir(sub, 0700), 0);
    assert_int_equal(wetdbg_recording_remove("prog-0"), -ENOTEMPTY);
    assert_true(asprintf(&plain, "%s/version", dir) > 0);
    assert_int_equal(access(plain, F_OK), 0); /* nothing is gone */
    free(plain);
    free(sub);
    free(dir);
}

static void remove_refuses_a_running_recording(void **state)
{
    const char *place = *state;
    char *dir = put_trace(place, "prog-0", "incomplete", 1000), *lock;
    struct wetdbg_recording_entry *entries;
    size_t count;
    int fd;

    assert_true(asprintf(&lock, "%s/incomplete", dir) > 0);
    fd = open(lock, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(wetdbg_recordings_list(&entries, &count), 0);
    assert_true(entries[0].is_running);
    wetdbg_recordings_free(entries, count);
    assert_int_equal(wetdbg_recording_remove("prog-0"), -EBUSY);
    assert_int_equal(access(lock, F_OK), 0);
    close(fd);
    assert_int_equal(wetdbg_recording_remove("prog-0"), 0);
    free(lock);
    free(dir);
}

#define PLACE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(place_follows_rrs_rules),
        PLACE_TEST(list_of_missing_place_is_empty),
        PLACE_TEST(list_is_sorted_by_age_and_knows_states),
        PLACE_TEST(size_is_what_the_files_take),
        PLACE_TEST(newest_prefers_the_link_to_the_youngest),
        PLACE_TEST(name_is_looked_for_in_the_place_then_as_path),
        PLACE_TEST(remove_takes_the_recording_and_rrs_own_files),
        PLACE_TEST(remove_refuses_what_is_no_recording),
        PLACE_TEST(remove_refuses_a_running_recording),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

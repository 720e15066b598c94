/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which directories are recordings that we read, and what is said about the others. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/rr_trace/rr_trace.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

static char *dir;

static int set_up(void **state)
{
    (void)state;
    struct build_trace trace = {0};
    dir = build_temp_dir();
    build_sample(&trace);
    build_write(&trace, dir, 100);
    build_trace_fini(&trace);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    build_remove_dir(dir);
    return 0;
}

/* Opening has to fail with `code` and a sentence that holds `words`. */
static void expect_refusal(const char *path, int code, const char *words)
{
    struct wetdbg_recording *trace = NULL;
    int r = wetdbg_recording_open(path, &trace);
    assert_int_equal(r, code);
    assert_null(trace);
    if (!strstr(wetdbg_error(r), words))
        fail_msg("\"%s\" lacks \"%s\"", wetdbg_error(r), words);
}

static void remove_file(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    assert_int_equal(unlink(path), 0);
}

static void open_gives_the_header(void **state)
{
    (void)state;
    struct wetdbg_recording *trace;
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    const struct rrt_header *header = rrt_trace_header(trace);
    assert_memory_equal(header->uuid, "0123456789abcdef", 16);
    assert_int_equal(header->bind_to_cpu, 3);
    assert_int_equal(header->ticks_semantics, RRT_TICKS_RETIRED_CONDITIONAL_BRANCHES);
    assert_true(header->ended_normally); /* the rest are defaults, stored or absent */
    assert_true(header->clears_fip_fdp);
    assert_true(header->buffered_syscall_forced_tick);
    assert_true(header->uses_globals_in_replay);
    assert_false(header->has_cpuid_faulting);
    assert_int_equal(header->rrcall_base, 1000);
    assert_int_equal(header->forward_compatibility, 3);
    assert_int_equal(header->syscallbuf_fds_disabled_size, 1024);
    assert_int_equal(header->syscallbuf_header_size_bytes, 30);
    assert_int_equal(header->xcr0, 7); /* from CPUID 0xd */
    assert_int_equal(header->cpuid_count, 3);
    assert_int_equal(header->cpuid[2].ecx_in, 2);
    assert_int_equal(header->cpuid[2].ebx, 576);
    assert_string_equal(rrt_trace_dir(trace), dir);
    assert_true(rrt_trace_dir_fd(trace) >= 0);
    wetdbg_recording_close(trace);
}

static void open_without_directory_is_refused(void **state)
{
    (void)state;
    char path[4096];
    expect_refusal("/nowhere/at/all", -WETDBG_ERR_CORRUPT, "/nowhere/at/all");
    snprintf(path, sizeof(path), "%s/version", dir);
    expect_refusal(path, -WETDBG_ERR_CORRUPT, path);
    remove_file("version");
    expect_refusal(dir, -WETDBG_ERR_CORRUPT, "no recording");
}

static void open_what_is_being_recorded_is_refused(void **state)
{
    (void)state;
    char path[4096];
    remove_file("version");
    build_write_file(dir, "incomplete", "85\n", 3);
    /* The sample's last mapping is its only program's. */
    expect_refusal(dir, -WETDBG_ERR_CORRUPT, "does not reach to a program's start");
    snprintf(path, sizeof(path), "%s/incomplete", dir);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    expect_refusal(dir, -WETDBG_ERR_UNSUPPORTED, "still being recorded");
    close(fd);
}

static void open_other_versions_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int code;
        const char *words;
    } rows[] = {
        {"84\n", -WETDBG_ERR_VERSION, "format 84"},
        {"86\nrest", -WETDBG_ERR_VERSION, "format 86"},
        {"", -WETDBG_ERR_CORRUPT, "version"},
        {"85", -WETDBG_ERR_CORRUPT, "version"},
        {"\n", -WETDBG_ERR_CORRUPT, "version"},
        {"x85\n", -WETDBG_ERR_CORRUPT, "version"},
        {"85 \n", -WETDBG_ERR_CORRUPT, "version"},
        {"99999999999999999999\n", -WETDBG_ERR_CORRUPT, "version"},
        {"85\n", -WETDBG_ERR_CORRUPT, "header is missing"},
        {"85\n\x10\x05", -WETDBG_ERR_CORRUPT, "too early"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        build_write_file(dir, "version", rows[i].text, strlen(rows[i].text));
        expect_refusal(dir, rows[i].code, rows[i].words);
    }
}

/* A header with `value` XORed into its data at `bit` has to be refused so. */
static void expect_header_refusal(unsigned bit, uint64_t value, int code, const char *words)
{
    struct build build;
    struct wd_buf file = {0};
    struct built root = build_root(&build, 9, 3);
    build_set(&build, root, bit, value);
    build_bytes(&build, root.pointers, "0123456789abcdef", 16);
    assert_int_equal(wd_buf_append(&file, "85\n", 3), 0);
    build_pack(&file, &build);
    build_write_file(dir, "version", file.data, file.size_bytes);
    wd_buf_fini(&file);
    if (code != 0)
        expect_refusal(dir, code, words);
}

static void open_foreign_headers_are_refused(void **state)
{
    (void)state;
    struct wetdbg_recording *trace;
    char said[512];
    uint64_t last;
    expect_header_refusal(384, 4, -WETDBG_ERR_VERSION, "newer rr");
    expect_header_refusal(48, 1, -WETDBG_ERR_VERSION, "protocol 1");
    expect_header_refusal(144, 1, -WETDBG_ERR_UNSUPPORTED, "x86-64"); /* 1 ^ 1: x86 */
    expect_header_refusal(144, 3, -WETDBG_ERR_UNSUPPORTED, "x86-64"); /* 3 ^ 1: aarch64 */
    expect_header_refusal(416, 4096 ^ 16384, -WETDBG_ERR_UNSUPPORTED, "16384");
    expect_header_refusal(128, 2, -WETDBG_ERR_VERSION, "ticks");
    expect_header_refusal(192, 3, -WETDBG_ERR_CORRUPT, "neither");
    expect_header_refusal(33, 1, 0, NULL); /* did not end normally, but rr has written all it had */
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    assert_false(rrt_trace_header(trace)->ended_normally);
    assert_true(wetdbg_recording_unfinished(trace, &last));
    assert_int_equal(last, BUILD_SAMPLE_FRAMES);
    assert_true(wetdbg_recording_notice(trace, said, sizeof(said)) > 0);
    assert_non_null(strstr(said, "did not end"));
    wetdbg_recording_close(trace);
}

static void open_version_that_is_no_plain_file_is_refused(void **state)
{
    (void)state;
    char path[4096];
    static const char zeros[2 << 20];
    snprintf(path, sizeof(path), "%s/version", dir);
    build_write_file(dir, "version", zeros, sizeof(zeros));
    expect_refusal(dir, -WETDBG_ERR_CORRUPT, "too large");
    remove_file("version");
    assert_int_equal(symlink("events", path), 0);
    expect_refusal(dir, -WETDBG_ERR_CORRUPT, "symbolic link");
    remove_file("version");
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_refusal(dir, -WETDBG_ERR_CORRUPT, "not a regular file");
}

static void open_without_a_stream_is_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"events", "data", "mmaps", "tasks"};
    for (size_t i = 0; i < 4; i++) {
        remove_file(names[i]);
        expect_refusal(dir, -WETDBG_ERR_CORRUPT, names[i]);
        build_write_file(dir, names[i], "", 0);
    }
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(open_gives_the_header),
        CASE(open_without_directory_is_refused),
        CASE(open_what_is_being_recorded_is_refused),
        CASE(open_other_versions_are_refused),
        CASE(open_foreign_headers_are_refused),
        CASE(open_version_that_is_no_plain_file_is_refused),
        CASE(open_without_a_stream_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

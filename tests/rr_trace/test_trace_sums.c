/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list of what a recording's files hold, against recordings that were changed afterwards; and
 * files that are not to be opened at all. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/digest.h"
#include "common/regular.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_sums.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define COPY_NAME    "mmap_copy_2_with space, % and \n"

static char *dir;
static struct wetdbg_recording *trace;

static const char *path_of(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return path;
}

static void put(struct wd_buf *text, const char *name)
{
    int fd = open(path_of(name), O_RDONLY);
    assert_true(fd >= 0);
    assert_int_equal(rrt_sums_put(text, name, fd), 0);
    close(fd);
}

static void write_list(const struct wd_buf *text)
{
    build_write_file(dir, RRT_SUMS_NAME, text->data, text->size_bytes);
}

static int set_up(void **state)
{
    struct build_trace built = {0};
    struct wd_buf text = {0};
    (void)state;
    dir = build_temp_dir();
    build_sample(&built);
    build_write(&built, dir, 4096);
    build_trace_fini(&built);
    build_write_file(dir, COPY_NAME, "content", 7);
    assert_int_equal(rrt_sums_put_head(&text), 0);
    for (size_t i = 0; i < rrt_sums_streams_always; i++)
        put(&text, rrt_sums_streams[i]);
    put(&text, COPY_NAME);
    write_list(&text);
    wd_buf_fini(&text);
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wetdbg_recording_close(trace);
    build_remove_dir(dir);
    return 0;
}

static void flip_bit(const char *name, off_t off)
{
    char byte;
    int fd = open(path_of(name), O_RDWR);
    assert_int_equal(pread(fd, &byte, 1, off), 1);
    byte ^= 64;
    assert_int_equal(pwrite(fd, &byte, 1, off), 1);
    close(fd);
}

static void expect_corrupt(int r, const char *words)
{
    assert_int_equal(r, -WETDBG_ERR_CORRUPT);
    if (!strstr(wetdbg_error(r), words))
        fail_msg("\"%s\" lacks \"%s\"", wetdbg_error(r), words);
}

static int open_copy(const char *name, struct rrt_backing *backing)
{
    struct rrt_mmap map = {.source = RRT_SOURCE_FILE, .backing = name, .stat_size_bytes = 7};
    return rrt_backing_open(trace, &map, backing);
}

/* ---- the list ---- */

static void sums_of_an_untouched_recording_agree(void **state)
{
    struct rrt_backing backing;
    (void)state;
    assert_int_equal(rrt_check_sums(trace), 0);
    assert_int_equal(open_copy(COPY_NAME, &backing), 0);
    assert_int_equal(backing.proof, RRT_PROOF_DIGEST);
    close(backing.fd);
}

static void sums_find_one_bit_in_any_stream(void **state)
{
    (void)state;
    for (size_t i = 0; i < rrt_sums_streams_always; i++) {
        flip_bit(rrt_sums_streams[i], 3);
        expect_corrupt(rrt_check_sums(trace), rrt_sums_streams[i]);
        flip_bit(rrt_sums_streams[i], 3);
    }
    assert_int_equal(rrt_check_sums(trace), 0);
}

static void sums_find_one_bit_in_a_mapped_copy(void **state)
{
    struct rrt_backing backing;
    (void)state;
    flip_bit(COPY_NAME, 6);
    expect_corrupt(open_copy(COPY_NAME, &backing), "its checksum differs");
    assert_int_equal(rrt_check_sums(trace), 0); /* streams only */
}

static void sums_that_do_not_name_a_copy_refuse_it(void **state)
{
    struct rrt_backing backing;
    (void)state;
    build_write_file(dir, "mmap_copy_3_x", "content", 7);
    expect_corrupt(open_copy("mmap_copy_3_x", &backing), "does not name the backing file");
}

/* Packing gives what was listed other names. */
static void sums_find_one_bit_in_a_packed_copy(void **state)
{
    struct rrt_backing backing;
    char bytes[4096];
    (void)state;
    int fd = open(path_of(COPY_NAME), O_RDONLY);
    ssize_t size = read(fd, bytes, sizeof(bytes));
    close(fd);
    build_write_file(dir, "mmap_pack_0_x", bytes, (size_t)size);
    assert_int_equal(open_copy("mmap_pack_0_x", &backing), 0);
    assert_int_equal(backing.proof, RRT_PROOF_DIGEST);
    close(backing.fd);
    flip_bit("mmap_pack_0_x", 6);
    expect_corrupt(open_copy("mmap_pack_0_x", &backing), "no file of the recording was like that");
}

static void sums_that_do_not_name_a_side_file_refuse_it(void **state)
{
    (void)state;
    build_write_file(dir, "wetdbg.digests", "", 0);
    expect_corrupt(rrt_check_sums(trace), "wetdbg.digests was added");
}

static void sums_of_the_first_version_speak_of_streams_only(void **state)
{
    struct wd_buf text = {0};
    struct rrt_backing backing;
    (void)state;
    for (size_t i = 0; i < rrt_sums_streams_always; i++) {
        char bytes[65536], line[64];
        int fd = open(path_of(rrt_sums_streams[i]), O_RDONLY);
        ssize_t size = read(fd, bytes, sizeof(bytes));
        assert_true(size >= 0 && size < (ssize_t)sizeof(bytes));
        close(fd);
        int length =
            snprintf(line, sizeof(line), "%016llx %s\n",
                     (unsigned long long)XXH64(bytes, (size_t)size, 0), rrt_sums_streams[i]);
        assert_int_equal(wd_buf_append(&text, line, (size_t)length), 0);
    }
    write_list(&text);
    wd_buf_fini(&text);
    assert_int_equal(rrt_check_sums(trace), 0);
    assert_int_equal(open_copy(COPY_NAME, &backing), 0);
    assert_int_equal(backing.proof, RRT_PROOF_SIZE);
    close(backing.fd);
    flip_bit("data", 9);
    expect_corrupt(rrt_check_sums(trace), "data is not as it was recorded");
}

static void sums_that_are_damaged_are_refused(void **state)
{
    static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";
    static const char *const rests[] = {
        "",         "\n",        " 1\n",     " 1 x",  " 1 x\n",  " x y\n",
        " 1 a b\n", " 1 a%0g\n", " 1 %00\n", " 1 \n", " -1 x\n", " 99999999999999999999 x\n",
        "0 1 x\n",
    };
    (void)state;
    for (size_t i = 0; i < COUNT(rests); i++) {
        char text[256];
        int length = snprintf(text, sizeof(text), RRT_SUMS_NAME " 2\n%s%s", zeros, rests[i]);
        build_write_file(dir, RRT_SUMS_NAME, text, (size_t)length);
        expect_corrupt(rrt_check_sums(trace), RRT_SUMS_NAME ": damaged");
    }
    build_write_file(dir, RRT_SUMS_NAME, "a\0b", 3);
    expect_corrupt(rrt_check_sums(trace), RRT_SUMS_NAME ": damaged");
    build_write_file(dir, RRT_SUMS_NAME, "", 0);
    expect_corrupt(rrt_check_sums(trace), RRT_SUMS_NAME ": damaged");
}

/* RFC 7693 has the digest of "abc" with 64 bytes only; this one is of `b2sum -l 256`. */
static void digest_is_blake2b(void **state)
{
    char text[WD_DIGEST_TEXT_BYTES];
    struct wd_digest digest, again;
    (void)state;
    build_write_file(dir, "abc", "abc", 3);
    int fd = open(path_of("abc"), O_RDONLY);
    assert_int_equal(wd_digest_file(fd, 3, &digest), 0);
    wd_digest_format(&digest, text);
    assert_string_equal(text, "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    assert_int_equal(wd_digest_parse(text, &again), 0);
    assert_true(wd_digest_equal(&digest, &again));
    assert_int_equal(wd_digest_file(fd, 4, &digest), -EIO);
    close(fd);
}

/* ---- what is opened ---- */

/* Whether somebody opened `name` since the watch was set. */
static int watch(const char *name)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    assert_true(fd >= 0 && inotify_add_watch(fd, path_of(name), IN_OPEN) >= 0);
    return fd;
}

static bool was_opened(int fd)
{
    char events[4096];
    bool opened = read(fd, events, sizeof(events)) > 0;
    close(fd);
    return opened;
}

static void opening_touches_regular_files_only(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = -1, sock = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)state;
    assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
    assert_int_equal(mkdir(path_of("sub"), 0700), 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket", dir);
    assert_int_equal(bind(sock, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(symlink("fifo", path_of("to_fifo")), 0);
    static const struct {
        const char *name, *watched, *words;
    } rows[] = {
        {"fifo", "fifo", "a FIFO"},
        {"to_fifo", "fifo", "a FIFO"},
        {"sub", "sub", "a directory"},
        {"socket", "socket", "a socket"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        int watched = watch(rows[i].watched);
        int r = wd_regular_open(AT_FDCWD, path_of(rows[i].name), WD_LINKS_FOLLOW, &fd, NULL);
        expect_corrupt(r, rows[i].words);
        assert_false(was_opened(watched));
    }
    int watched = watch("data");
    assert_int_equal(wd_regular_open(AT_FDCWD, path_of("data"), WD_LINKS_FOLLOW, &fd, NULL), 0);
    assert_true(was_opened(watched)); /* so that the others mean something */
    assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
    close(fd);
    close(sock);
    expect_corrupt(wd_regular_open(AT_FDCWD, "/dev/zero", WD_LINKS_FOLLOW, &fd, NULL),
                   "a character device");
}

static void opening_follows_links_where_it_may(void **state)
{
    struct stat st;
    int fd, dir_fd = rrt_trace_dir_fd(trace);
    (void)state;
    assert_int_equal(symlinkat("data", dir_fd, "link"), 0);
    expect_corrupt(wd_regular_open(dir_fd, "link", WD_LINKS_REFUSE, &fd, &st), "a symbolic link");
    assert_int_equal(wd_regular_open(dir_fd, "link", WD_LINKS_FOLLOW, &fd, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    close(fd);
    assert_int_equal(wd_regular_open(dir_fd, "nothing", WD_LINKS_FOLLOW, &fd, &st), -ENOENT);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(sums_of_an_untouched_recording_agree),
        CASE(sums_find_one_bit_in_any_stream),
        CASE(sums_find_one_bit_in_a_mapped_copy),
        CASE(sums_that_do_not_name_a_copy_refuse_it),
        CASE(sums_find_one_bit_in_a_packed_copy),
        CASE(sums_that_do_not_name_a_side_file_refuse_it),
        CASE(sums_of_the_first_version_speak_of_streams_only),
        CASE(sums_that_are_damaged_are_refused),
        CASE(digest_is_blake2b),
        CASE(opening_touches_regular_files_only),
        CASE(opening_follows_links_where_it_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

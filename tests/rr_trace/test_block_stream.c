/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Streams of Brotli blocks: whole, cut, and damaged in each way. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/rr_trace/block_stream.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

struct place {
    char *dir;
    int dir_fd;
    uint8_t content[1000];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    place->dir = build_temp_dir();
    place->dir_fd = open(place->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < sizeof(place->content); i++)
        place->content[i] = (uint8_t)(i * 7 + i / 256);
    *state = place;
    return place->dir_fd < 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    close(place->dir_fd);
    build_remove_dir(place->dir);
    free(place);
    return 0;
}

/* A file of three blocks: 300, 1 and 699 bytes of the content. */
static void write_three_blocks(struct place *place, struct wd_buf *file)
{
    build_block(file, place->content, 300);
    build_block(file, place->content + 300, 1);
    build_block(file, place->content + 301, 699);
    build_write_file(place->dir, "s", file->data, file->size_bytes);
}

static void stream_of_blocks_reads_as_one_string(void **state)
{
    struct place *place = *state;
    struct wd_buf file = {0};
    struct rrt_stream stream;
    uint8_t got[1000];
    write_three_blocks(place, &file);
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "s"), 0);
    for (size_t step = 1; step < 400; step += 13) {
        size_t at = 0;
        rrt_stream_rewind(&stream);
        while (at < sizeof(got)) {
            size_t count = sizeof(got) - at < step ? sizeof(got) - at : step;
            assert_int_equal(rrt_stream_at_end(&stream), 0);
            assert_int_equal(rrt_stream_tell(&stream), at);
            assert_int_equal(rrt_stream_read(&stream, got + at, count), 0);
            at += count;
        }
        assert_memory_equal(got, place->content, sizeof(got));
        assert_int_equal(rrt_stream_at_end(&stream), 1);
    }
    assert_int_equal(rrt_stream_read(&stream, got, 1), -WETDBG_ERR_CORRUPT);
    rrt_stream_close(&stream);
    wd_buf_fini(&file);
}

static void stream_skip_keeps_positions(void **state)
{
    struct place *place = *state;
    struct wd_buf file = {0};
    struct rrt_stream stream;
    write_three_blocks(place, &file);
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "s"), 0);
    for (size_t skip = 0; skip < 1000; skip += 37) {
        uint8_t byte = 0;
        rrt_stream_rewind(&stream);
        assert_int_equal(rrt_stream_skip(&stream, skip), 0);
        assert_int_equal(rrt_stream_tell(&stream), skip);
        assert_int_equal(rrt_stream_read_byte(&stream, &byte), 0);
        assert_int_equal(byte, place->content[skip]);
    }
    rrt_stream_rewind(&stream);
    assert_int_equal(rrt_stream_skip(&stream, 1001), -WETDBG_ERR_CORRUPT);
    rrt_stream_rewind(&stream);
    assert_int_equal(rrt_stream_skip(&stream, UINT64_MAX), -WETDBG_ERR_CORRUPT);
    rrt_stream_close(&stream);
    wd_buf_fini(&file);
}

static void stream_borrow_does_not_cross_blocks(void **state)
{
    struct place *place = *state;
    struct wd_buf file = {0};
    struct rrt_stream stream;
    const uint8_t *bytes;
    write_three_blocks(place, &file);
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "s"), 0);
    assert_int_equal(rrt_stream_borrow(&stream, 299, &bytes), 0);
    assert_memory_equal(bytes, place->content, 299);
    assert_int_equal(rrt_stream_borrow(&stream, 2, &bytes), 0);
    assert_null(bytes);
    assert_int_equal(rrt_stream_tell(&stream), 299);
    assert_int_equal(rrt_stream_borrow(&stream, 1, &bytes), 0);
    assert_int_equal(bytes[0], place->content[299]);
    assert_int_equal(rrt_stream_borrow(&stream, 0, &bytes), 0);
    assert_int_equal(rrt_stream_tell(&stream), 300);
    rrt_stream_close(&stream);
    wd_buf_fini(&file);
}

/* Opens what is in "s" and reads it to its end: the first error, or 0. */
static int read_all(struct place *place)
{
    struct rrt_stream stream;
    uint8_t byte;
    int end;
    int r = rrt_stream_open(&stream, place->dir_fd, "d", "s");
    if (r != 0)
        return r;
    while ((end = rrt_stream_at_end(&stream)) == 0 && r == 0)
        r = rrt_stream_read_byte(&stream, &byte);
    rrt_stream_close(&stream);
    return r != 0 ? r : end < 0 ? end : 0;
}

/* Passes over the 1000 bytes that "s" should have, mostly without decompressing. */
static int skip_all(struct place *place)
{
    struct rrt_stream stream;
    int r = rrt_stream_open(&stream, place->dir_fd, "d", "s");
    if (r == 0)
        r = rrt_stream_skip(&stream, 1000);
    rrt_stream_close(&stream);
    return r;
}

static void stream_empty_file_is_empty(void **state)
{
    struct place *place = *state;
    build_write_file(place->dir, "s", "", 0);
    assert_int_equal(read_all(place), 0);
}

static void stream_cut_anywhere_is_corrupt(void **state)
{
    struct place *place = *state;
    struct wd_buf file = {0};
    struct wd_buf first = {0};
    write_three_blocks(place, &file);
    build_block(&first, place->content, 300);
    size_t second_end = first.size_bytes;
    build_block(&first, place->content + 300, 1);
    for (size_t cut = 1; cut < file.size_bytes; cut++) {
        build_write_file(place->dir, "s", file.data, cut);
        assert_int_equal(skip_all(place), -WETDBG_ERR_CORRUPT);
        bool is_boundary = cut == second_end || cut == first.size_bytes;
        assert_int_equal(read_all(place), is_boundary ? 0 : -WETDBG_ERR_CORRUPT);
    }
    wd_buf_fini(&file);
    wd_buf_fini(&first);
}

static void stream_sizes_that_lie_are_corrupt(void **state)
{
    struct place *place = *state;
    static const struct {
        unsigned at;
        uint32_t value;
    } rows[] = {
        {0, 0},
        {0, 1},
        {0, UINT32_MAX},
        {0, RRT_BLOCK_MAX_BYTES + 1},
        {4, 0},
        {4, 299},
        {4, 301},
        {4, RRT_BLOCK_MAX_BYTES},
        {4, UINT32_MAX},
        {4, 1},
        {4, RRT_BLOCK_MAX_BYTES + 1},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct wd_buf file = {0};
        write_three_blocks(place, &file);
        memcpy(file.data + rows[i].at, &rows[i].value, 4);
        build_write_file(place->dir, "s", file.data, file.size_bytes);
        int r = read_all(place);
        assert_int_equal(r, -WETDBG_ERR_CORRUPT);
        assert_non_null(strstr(wetdbg_error(r), "d/s: "));
        wd_buf_fini(&file);
    }
}

static void stream_flipped_bits_never_crash(void **state)
{
    struct place *place = *state;
    struct wd_buf file = {0};
    size_t refused = 0;
    write_three_blocks(place, &file);
    for (size_t bit = 0; bit < 8 * file.size_bytes; bit += 3) {
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        build_write_file(place->dir, "s", file.data, file.size_bytes);
        int r = read_all(place);
        assert_true(r == 0 || r == -WETDBG_ERR_CORRUPT);
        refused += r != 0;
        file.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
    assert_true(refused > 0);
    wd_buf_fini(&file);
}

static void stream_that_is_no_regular_file_is_refused(void **state)
{
    struct place *place = *state;
    struct rrt_stream stream;
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "none"), -WETDBG_ERR_CORRUPT);
    assert_int_equal(mkfifoat(place->dir_fd, "fifo", 0600), 0);
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "fifo"), -WETDBG_ERR_CORRUPT);
    assert_int_equal(mkdirat(place->dir_fd, "dir", 0700), 0);
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "dir"), -WETDBG_ERR_CORRUPT);
    assert_int_equal(symlinkat("/etc/passwd", place->dir_fd, "link"), 0);
    assert_int_equal(rrt_stream_open(&stream, place->dir_fd, "d", "link"), -WETDBG_ERR_CORRUPT);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(stream_of_blocks_reads_as_one_string), CASE(stream_skip_keeps_positions),
        CASE(stream_borrow_does_not_cross_blocks),  CASE(stream_empty_file_is_empty),
        CASE(stream_cut_anywhere_is_corrupt),       CASE(stream_sizes_that_lie_are_corrupt),
        CASE(stream_flipped_bits_never_crash),      CASE(stream_that_is_no_regular_file_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings cut or changed at every place: always an error or a reading, never a crash. A cut
 * in `events` or `data` is always noticed. */
#include <stdlib.h>
#include <string.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"
#include "tests/rr_trace/read_all.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

static struct build_trace built;

static int set_up(void **state)
{
    (void)state;
    memset(&built, 0, sizeof(built));
    build_sample(&built);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    build_trace_fini(&built);
    return 0;
}

static struct wd_buf *const parts[] = {&built.version, &built.events, &built.mmaps, &built.tasks,
                                       &built.data};
#define VERSION    0
#define EVENTS     1
#define DATA       4
#define PART_COUNT 5

/* Reads what is built, from memory. */
static int read_memory(bool skip_data)
{
    struct rrt_bytes bytes[PART_COUNT];
    struct wetdbg_recording *trace;
    for (int i = 0; i < PART_COUNT; i++)
        bytes[i] = (struct rrt_bytes){parts[i]->data, parts[i]->size_bytes};
    struct rrt_memory_streams streams = {.version = bytes[0],
                                         .events = bytes[1],
                                         .mmaps = bytes[2],
                                         .tasks = bytes[3],
                                         .data = bytes[4]};
    int r = rrt_open_memory(&streams, &trace);
    if (r != 0)
        return r;
    r = read_all_of(trace, skip_data);
    wetdbg_recording_close(trace);
    return r;
}

static void damage_of_nothing_reads_well(void **state)
{
    (void)state;
    assert_int_equal(read_memory(false), 0);
    assert_int_equal(read_memory(true), 0);
}

static void damage_by_cutting_is_noticed(void **state)
{
    (void)state;
    for (int i = 0; i < PART_COUNT; i++) {
        size_t whole = parts[i]->size_bytes;
        size_t noticed = 0;
        for (size_t cut = 0; cut < whole; cut++) {
            parts[i]->size_bytes = cut;
            int r = read_memory(cut % 2);
            assert_true(r == 0 || is_reading_error(r));
            noticed += r != 0;
        }
        parts[i]->size_bytes = whole;
        if (i == VERSION || i == EVENTS || i == DATA)
            assert_int_equal(noticed, whole);
        assert_true(noticed > whole / 2);
    }
}

static void damage_by_flipped_bits_never_crashes(void **state)
{
    (void)state;
    size_t noticed = 0;
    for (int i = 0; i < PART_COUNT; i++) {
        for (size_t bit = 0; bit < 8 * parts[i]->size_bytes; bit++) {
            uint8_t mask = (uint8_t)(1u << bit % 8);
            parts[i]->data[bit / 8] ^= mask;
            int r = read_memory(bit % 2);
            assert_true(r == 0 || is_reading_error(r));
            noticed += r != 0;
            parts[i]->data[bit / 8] ^= mask;
        }
    }
    assert_true(noticed > 1000);
    assert_int_equal(read_memory(false), 0);
}

static void damage_by_bytes_of_extremes_never_crashes(void **state)
{
    (void)state;
    static const uint8_t extremes[] = {0x00, 0x7f, 0x80, 0xff};
    for (int i = 0; i < PART_COUNT; i++) {
        for (size_t at = 0; at < 4 * parts[i]->size_bytes; at++) {
            uint8_t *byte = &parts[i]->data[at / 4];
            uint8_t kept = *byte;
            *byte = extremes[at % 4];
            int r = read_memory(false);
            assert_true(r == 0 || is_reading_error(r));
            *byte = kept;
        }
    }
}

static void damage_by_cutting_files_is_noticed(void **state)
{
    (void)state;
    static const char *const names[] = {"events", "data", "mmaps", "tasks"};
    char *dir = build_temp_dir();
    build_write(&built, dir, 40);
    assert_int_equal(read_all_in(dir, false), 0);
    for (int i = 0; i < 4; i++) {
        size_t noticed = cut_everywhere(dir, names[i], 1);
        if (i < 2)
            assert_int_equal(noticed, file_size(dir, names[i]));
        assert_true(noticed > 0);
    }
    assert_int_equal(read_all_in(dir, false), 0);
    build_remove_dir(dir);
}

/* ---- recordings that did not end ---- */

/* Makes the sample one whose recorder was killed: without a header, and with a mapping of frame 7,
 * of which more may have been lost. */
static void leave_unfinished(void)
{
    struct build build;
    built.version.size_bytes = strlen("85\n");
    build_mmap(&build, 7, 0x10000, 0x11000, RRT_SOURCE_ZERO, "", "");
    build_pack(&built.mmaps, &build);
}
#define UNFINISHED_FRAMES 6

/* How many frames are left, or the first error. */
static int count_left(void)
{
    struct rrt_memory_streams streams = {.is_unfinished = true};
    struct rrt_bytes *const bytes[] = {&streams.version, &streams.events, &streams.mmaps,
                                       &streams.tasks, &streams.data};
    struct wetdbg_recording *trace;
    struct rrt_frame frame;
    uint64_t last;
    int frames = 0;
    for (int i = 0; i < PART_COUNT; i++)
        *bytes[i] = (struct rrt_bytes){parts[i]->data, parts[i]->size_bytes};
    int r = rrt_open_memory(&streams, &trace);
    if (r != 0)
        return r;
    while ((r = rrt_next(trace, &frame)) > 0)
        frames++;
    assert_true(r < 0 || (wetdbg_recording_unfinished(trace, &last) && last == (uint64_t)frames));
    wetdbg_recording_close(trace);
    return r < 0 ? r : frames;
}

static void unfinished_goes_up_to_what_may_be_lost(void **state)
{
    (void)state;
    leave_unfinished();
    assert_int_equal(count_left(), UNFINISHED_FRAMES);
    built.tasks.size_bytes = 0;
    assert_int_equal(count_left(), UNFINISHED_FRAMES);
}

static void unfinished_with_any_stream_cut_goes_less_far(void **state)
{
    (void)state;
    leave_unfinished();
    for (int i = EVENTS; i < PART_COUNT; i++) {
        size_t whole = parts[i]->size_bytes;
        int before = 0;
        for (size_t cut = 0; cut <= whole; cut++) {
            parts[i]->size_bytes = cut;
            int left = count_left();
            if (left < 0)
                assert_int_equal(left, -WETDBG_ERR_CORRUPT); /* no program starts in it */
            assert_true(left < 0 ? before == 0 : left >= before && left <= UNFINISHED_FRAMES);
            before = left < 0 ? 0 : left;
        }
        assert_int_equal(before, UNFINISHED_FRAMES);
    }
}

static void unfinished_with_flipped_bits_never_crashes(void **state)
{
    (void)state;
    leave_unfinished();
    for (int i = EVENTS; i < PART_COUNT; i++) {
        for (size_t bit = 0; bit < 8 * parts[i]->size_bytes; bit++) {
            parts[i]->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
            int left = count_left();
            assert_true(left >= 0 || is_reading_error(left));
            parts[i]->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
    }
    assert_int_equal(count_left(), UNFINISHED_FRAMES);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(damage_of_nothing_reads_well),
        CASE(damage_by_cutting_is_noticed),
        CASE(damage_by_flipped_bits_never_crashes),
        CASE(damage_by_bytes_of_extremes_never_crashes),
        CASE(damage_by_cutting_files_is_noticed),
        CASE(unfinished_goes_up_to_what_may_be_lost),
        CASE(unfinished_with_any_stream_cut_goes_less_far),
        CASE(unfinished_with_flipped_bits_never_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

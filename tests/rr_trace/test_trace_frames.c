/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Frames and what is joined with them; records that cannot be. */
#include <stdlib.h>
#include <string.h>

#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"
#include "tests/rr_trace/rr_trace_unit.h"
#include "tests/rr_trace/trace_build.h"
#include <wetdbg/errors.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct build_trace built;
static struct rrt_memory_streams streams;
static struct wetdbg_recording *trace;
static struct build build;

static struct rrt_bytes bytes_of(const struct wd_buf *buf)
{
    return (struct rrt_bytes){buf->data, buf->size_bytes};
}

static int open_built(void)
{
    streams.version = bytes_of(&built.version);
    streams.events = bytes_of(&built.events);
    streams.mmaps = bytes_of(&built.mmaps);
    streams.tasks = bytes_of(&built.tasks);
    streams.data = bytes_of(&built.data);
    return rrt_open_memory(&streams, &trace);
}

static int set_up(void **state)
{
    (void)state;
    memset(&built, 0, sizeof(built));
    trace = NULL;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    wetdbg_recording_close(trace);
    trace = NULL;
    build_trace_fini(&built);
    return 0;
}

/* Reads on to frame `time`. */
static struct rrt_frame frame_at(uint64_t time)
{
    struct rrt_frame frame;
    do
        assert_int_equal(rrt_next(trace, &frame), 1);
    while (frame.time < time);
    return frame;
}

static void frame_syscall_has_all_fields(void **state)
{
    (void)state;
    build_sample(&built);
    assert_int_equal(open_built(), 0);
    struct rrt_frame frame = frame_at(1);
    assert_int_equal(frame.tid, 10);
    assert_int_equal(frame.event, RRT_EVENT_SYSCALL);
    assert_int_equal(frame.arch, RRT_ARCH_X86_64);
    assert_true(frame.monotonic_seconds == 12.5);
    assert_true(frame.has_regs);
    assert_int_equal(frame.regs.rip, 0x401000);
    assert_int_equal(frame.regs.rax, 7);
    assert_int_equal(frame.regs.orig_rax, 59);
    assert_int_equal(frame.syscall.state, RRT_SYSCALL_ENTERING);
    assert_int_equal(frame.syscall.number, 59);
    assert_int_equal(frame.syscall.arch, RRT_ARCH_X86_64);
    assert_null(frame.signal.siginfo);
    assert_int_equal(frame.mmap_count + frame.task_count + frame.write_count, 0);
}

static void frame_is_joined_with_its_records(void **state)
{
    (void)state;
    build_sample(&built);
    assert_int_equal(open_built(), 0);
    struct rrt_frame frame = frame_at(2);
    assert_int_equal(frame.mmap_count, 2);
    assert_int_equal(frame.mmaps[0].start, 0x400000);
    assert_int_equal(frame.mmaps[0].source, RRT_SOURCE_FILE);
    assert_string_equal(frame.mmaps[0].backing, "mmap_hardlink_1_sample");
    assert_string_equal(frame.mmaps[1].name, "[stack]");
    assert_string_equal(frame.mmaps[1].backing, "");
    assert_int_equal(frame.task_count, 1);
    assert_int_equal(frame.tasks[0].kind, RRT_TASK_EXEC);
    assert_string_equal(frame.tasks[0].exec_file, "/bin/sample");
    assert_int_equal(frame.tasks[0].argc, 2);
    assert_string_equal(frame.tasks[0].argv[0], "sample");
    assert_null(frame.tasks[0].argv[2]);
    assert_int_equal(frame.write_count, 2);
    assert_int_equal(frame.writes[0].addr, 0x500000);
    assert_int_equal(frame.writes[0].stored_bytes, 5);
    assert_memory_equal(frame.writes[0].bytes, "hello", 5);
    assert_int_equal(frame.writes[1].size_bytes, 12);
    assert_int_equal(frame.writes[1].stored_bytes, 8);
    assert_int_equal(frame.writes[1].data_offset, 5);
    assert_int_equal(frame.writes[1].hole_count, 1);
    assert_int_equal(frame.writes[1].holes[0].offset_bytes, 4);
    assert_memory_equal(frame.writes[1].bytes, "ABCDEFGH", 8);
    frame = frame_at(4);
    assert_int_equal(frame.signal.number, 11);
    assert_true(frame.signal.deterministic);
    assert_int_equal(frame.signal.disposition, RRT_DISPOSITION_FATAL);
    frame = frame_at(BUILD_SAMPLE_FRAMES);
    assert_int_equal(frame.tasks[0].wait_status, 3 << 8);
    assert_int_equal(rrt_next(trace, &frame), 0);
    assert_int_equal(rrt_next(trace, &frame), 0);
}

static void frame_data_can_be_skipped_and_read_again(void **state)
{
    (void)state;
    build_sample(&built);
    assert_int_equal(open_built(), 0);
    rrt_set_skip_data(trace, true);
    struct rrt_frame frame = frame_at(2);
    assert_null(frame.writes[1].bytes);
    assert_int_equal(frame.writes[1].data_offset, 5);
    while (rrt_next(trace, &frame) > 0)
        continue;
    assert_int_equal(rrt_rewind(trace), 0);
    rrt_set_skip_data(trace, false);
    frame = frame_at(2);
    assert_memory_equal(frame.writes[1].bytes, "ABCDEFGH", 8);
}

/* The same recording must read the same whatever the blocks. */
static void frame_contents_do_not_depend_on_blocks(void **state)
{
    (void)state;
    build_sample(&built);
    for (size_t block_bytes = 1; block_bytes < 100; block_bytes = block_bytes * 2 + 1) {
        struct rrt_frame frame;
        char *dir = build_temp_dir();
        build_write(&built, dir, block_bytes);
        assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
        frame = frame_at(2);
        assert_int_equal(frame.mmap_count, 2);
        assert_memory_equal(frame.writes[0].bytes, "hello", 5);
        assert_memory_equal(frame.writes[1].bytes, "ABCDEFGH", 8);
        frame = frame_at(BUILD_SAMPLE_FRAMES);
        assert_int_equal(rrt_next(trace, &frame), 0);
        wetdbg_recording_close(trace);
        trace = NULL;
        build_remove_dir(dir);
    }
}

/* ---------------------------------------------------------------- system call details */

/* The one frame: an EXITING call with detail `extra`. */
static struct built start_syscall(enum rrt_syscall_extra extra)
{
    struct rrt_regs regs = {0};
    build_version(&built);
    struct built frame = build_frame(&build, 10, RRT_EVENT_SYSCALL);
    build_syscall(&build, frame, RRT_SYSCALL_EXITING, 28);
    build_set(&build, frame, 272, extra);
    build_regs(&build, frame, &regs);
    return frame;
}

static int read_built(struct rrt_frame *frame)
{
    build_pack(&built.events, &build);
    int r = open_built();
    return r != 0 ? r : rrt_next(trace, frame);
}

static void syscall_details_are_read(void **state)
{
    static const uint32_t fds[] = {3, 7, 9};
    struct rrt_frame frame;
    struct built root;
    (void)state;
    root = start_syscall(RRT_EXTRA_EXEC_FDS_TO_CLOSE);
    build_u32s(&build, root.pointers + 3, fds, 3);
    assert_int_equal(read_built(&frame), 1);
    assert_int_equal(frame.syscall.exec_fd_count, 3);
    assert_int_equal(frame.syscall.exec_fds_to_close[2], 9);
    tear_down(NULL);

    root = start_syscall(RRT_EXTRA_OPENED_FDS);
    struct built fd = build_structs(&build, root.pointers + 3, 1, 3, 1);
    build_set(&build, fd, 0, 5);
    build_set(&build, fd, 128, 77);
    build_bytes(&build, fd.pointers, "/dev/tty", 8);
    assert_int_equal(read_built(&frame), 1);
    assert_int_equal(frame.syscall.opened_fd_count, 1);
    assert_int_equal(frame.syscall.opened_fds[0].fd, 5);
    assert_int_equal(frame.syscall.opened_fds[0].inode, 77);
    assert_memory_equal(frame.syscall.opened_fds[0].path.data, "/dev/tty", 8);
    tear_down(NULL);

    root = start_syscall(RRT_EXTRA_SOCKET_ADDRS);
    build_bytes(&build, root.pointers + 3, "local", 5);
    build_bytes(&build, root.pointers + 4, "remote", 6);
    assert_int_equal(read_built(&frame), 1);
    assert_int_equal(frame.syscall.socket_local.size_bytes, 5);
    assert_memory_equal(frame.syscall.socket_remote.data, "remote", 6);
    tear_down(NULL);

    root = start_syscall(RRT_EXTRA_MADVISE_RANGES);
    struct built range = build_structs(&build, root.pointers + 3, 2, 2, 0);
    build_set(&build, range, 0, 0x1000);
    build_set(&build, range, 64, 0x3000);
    assert_int_equal(read_built(&frame), 1);
    assert_int_equal(frame.syscall.madvise_range_count, 2);
    assert_int_equal(frame.syscall.madvise_ranges[0].end, 0x3000);
    tear_down(NULL);

    root = start_syscall(RRT_EXTRA_WRITE_OFFSET);
    build_set(&build, root, 320, 4242);
    build_set(&build, root, 256, 1);
    assert_int_equal(read_built(&frame), 1);
    assert_int_equal(frame.syscall.write_offset, 4242);
    assert_true(frame.syscall.failed_during_preparation);
}

static void frame_of_a_32_bit_task_keeps_no_registers(void **state)
{
    (void)state;
    uint8_t raw[68] = {1, 2, 3};
    struct rrt_frame frame;
    build_version(&built);
    struct built root = build_frame(&build, 10, RRT_EVENT_SCHED);
    build.words[root.data] ^= (uint64_t)RRT_ARCH_X86_64 << 32;
    struct built holder = build_struct(&build, root.pointers + 1, 0, 1);
    build_bytes(&build, holder.pointers, raw, sizeof(raw));
    assert_int_equal(read_built(&frame), 1);
    assert_int_equal(frame.arch, RRT_ARCH_X86);
    assert_false(frame.has_regs);
    assert_int_equal(rrt_check_supported(trace), -WETDBG_ERR_UNSUPPORTED);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_UNSUPPORTED), "32-bit"));
}

/* ---------------------------------------------------------------- what cannot be */

static void frame_with_impossible_fields_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        unsigned bit;
        uint64_t flip;
        int code;
    } rows[] = {
        {"no task", 0, 10, -WETDBG_ERR_CORRUPT},
        {"negative task", 0, 0x80000000, -WETDBG_ERR_CORRUPT},
        {"other architecture", 32, 3, -WETDBG_ERR_UNSUPPORTED},
        {"unknown event", 48, 16, -WETDBG_ERR_VERSION},
        {"no such state", 208, 1, -WETDBG_ERR_CORRUPT}, /* 2 becomes 3 */
        {"no such architecture of a call", 192, 2, -WETDBG_ERR_CORRUPT},
        {"unknown detail", 272, 6, -WETDBG_ERR_VERSION},
        {"32-bit task, 64-bit registers", 32, 1, -WETDBG_ERR_CORRUPT},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rrt_frame frame;
        struct built root = start_syscall(RRT_EXTRA_NONE);
        build.words[root.data + rows[i].bit / 64] ^= rows[i].flip << rows[i].bit % 64;
        int r = read_built(&frame);
        if (r != rows[i].code)
            fail_msg("%s: %d", rows[i].name, r);
        assert_non_null(strstr(wetdbg_error(r), "events"));
        assert_int_equal(rrt_next(trace, &frame), rows[i].code); /* and it stays so */
        tear_down(NULL);
    }
}

static void frame_with_pieces_of_wrong_size_is_refused(void **state)
{
    (void)state;
    uint8_t zeros[600] = {0};
    static const struct {
        const char *name;
        enum rrt_event event;
        unsigned pointer;
        size_t count;
    } rows[] = {
        {"no registers", RRT_EVENT_SCHED, 1, 0},
        {"short registers", RRT_EVENT_SCHED, 1, 215},
        {"long registers", RRT_EVENT_EXIT, 1, 224},
        {"short extra registers", RRT_EVENT_EXIT, 2, 511},
        {"no siginfo", RRT_EVENT_SIGNAL, 3, 0},
        {"short siginfo", RRT_EVENT_SIGNAL, 3, 127},
        {"signal 0", RRT_EVENT_SIGNAL, 3, 128},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rrt_regs regs = {0};
        struct rrt_frame frame;
        build_version(&built);
        struct built root = build_frame(&build, 10, rows[i].event);
        if (rows[i].pointer != 1)
            build_regs(&build, root, &regs);
        struct built holder = build_struct(&build, root.pointers + rows[i].pointer, 1, 1);
        build_bytes(&build, holder.pointers, zeros, rows[i].count);
        int r = read_built(&frame);
        if (r != -WETDBG_ERR_CORRUPT)
            fail_msg("%s: %d", rows[i].name, r);
        tear_down(NULL);
    }
}

static void signal_and_range_fields_out_of_order_are_refused(void **state)
{
    (void)state;
    struct rrt_regs regs = {0};
    struct rrt_frame frame;
    struct built root;
    build_version(&built);
    root = build_frame(&build, 10, RRT_EVENT_SIGNAL);
    build_regs(&build, root, &regs);
    build_signal(&build, root, 11, true, (enum rrt_disposition)3);
    assert_int_equal(read_built(&frame), -WETDBG_ERR_CORRUPT);
    tear_down(NULL);
    build_version(&built);
    root = build_frame(&build, 10, RRT_EVENT_SIGNAL);
    build_regs(&build, root, &regs);
    build_signal(&build, root, 65, true, RRT_DISPOSITION_FATAL);
    assert_int_equal(read_built(&frame), -WETDBG_ERR_CORRUPT);
    tear_down(NULL);
    root = start_syscall(RRT_EXTRA_MADVISE_RANGES);
    struct built range = build_structs(&build, root.pointers + 3, 1, 2, 0);
    build_set(&build, range, 0, 0x3000);
    build_set(&build, range, 64, 0x1000);
    assert_int_equal(read_built(&frame), -WETDBG_ERR_CORRUPT);
}

/* More records than the frame's memory keeps at hand, with bytes across several blocks. */
static void frame_with_many_writes_is_read(void **state)
{
    (void)state;
    enum { WRITES = 900 };
    struct rrt_frame frame;
    char *dir = build_temp_dir();
    build_version(&built);
    for (int round = 0; round < 2; round++) {
        struct built root = build_frame(&build, 10, RRT_EVENT_EXIT);
        struct built write = build_structs(&build, root.pointers, WRITES, 3, 1);
        for (uint32_t i = 0; i < WRITES; i++) {
            build_set(&build, write, 64, 0x1000 * (uint64_t)i);
            build_set(&build, write, 128, 4);
            assert_int_equal(wd_buf_append_u32(&built.data, 1000 * (uint32_t)round + i), 0);
            write.data += 4;
        }
        build_pack(&built.events, &build);
    }
    build_write(&built, dir, 1001);
    assert_int_equal(wetdbg_recording_open(dir, &trace), 0);
    for (uint32_t round = 0; round < 2; round++) {
        assert_int_equal(rrt_next(trace, &frame), 1);
        assert_int_equal(frame.write_count, WRITES);
        for (uint32_t i = 0; i < WRITES; i++) {
            uint32_t value = 1000 * round + i;
            assert_int_equal(frame.writes[i].addr, 0x1000 * (uint64_t)i);
            assert_memory_equal(frame.writes[i].bytes, &value, 4);
        }
    }
    assert_int_equal(rrt_next(trace, &frame), 0);
    build_remove_dir(dir);
}

static void writes_whose_sizes_overflow_are_refused(void **state)
{
    (void)state;
    struct rrt_frame frame;
    build_version(&built);
    struct built root = build_frame(&build, 10, RRT_EVENT_EXIT);
    struct built write = build_structs(&build, root.pointers, 2, 3, 1);
    for (int i = 0; i < 2; i++, write.data += 4)
        build_set(&build, write, 128, UINT64_MAX - 5);
    assert_int_equal(read_built(&frame), -WETDBG_ERR_CORRUPT);
    assert_non_null(strstr(wetdbg_error(-WETDBG_ERR_CORRUPT), "impossibly large"));
}

/* A frame with one memory record, given by its fields and one hole. */
static int read_write_record(uint64_t addr, uint64_t size, uint64_t hole_offset, uint64_t hole_size,
                             size_t data_bytes)
{
    uint8_t zeros[64] = {0};
    struct rrt_frame frame;
    build_version(&built);
    struct built root = build_frame(&build, 10, RRT_EVENT_EXIT);
    struct built write = build_structs(&build, root.pointers, 1, 3, 1);
    build_set(&build, write, 64, addr);
    build_set(&build, write, 128, size);
    struct built hole = build_structs(&build, write.pointers, 1, 2, 0);
    build_set(&build, hole, 0, hole_offset);
    build_set(&build, hole, 64, hole_size);
    assert_int_equal(wd_buf_append(&built.data, zeros, data_bytes), 0);
    int r = read_built(&frame);
    tear_down(NULL);
    return r;
}

static void write_with_impossible_ranges_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_write_record(0x1000, 20, 5, 10, 10), 1);
    assert_int_equal(read_write_record(0x1000, 20, 20, 0, 20), 1);
    assert_int_equal(read_write_record(0x1000, 20, 0, 20, 0), 1);
    assert_int_equal(read_write_record(UINT64_MAX - 4, 4, 0, 0, 4), 1);
    assert_int_equal(read_write_record(0x1000, 20, 5, 16, 10), -WETDBG_ERR_CORRUPT);
    assert_int_equal(read_write_record(0x1000, 20, 21, 0, 20), -WETDBG_ERR_CORRUPT);
    assert_int_equal(read_write_record(0x1000, 20, 5, UINT64_MAX, 10), -WETDBG_ERR_CORRUPT);
    assert_int_equal(read_write_record(UINT64_MAX - 4, 5, 0, 0, 5), -WETDBG_ERR_CORRUPT);
    assert_int_equal(read_write_record(0x1000, 20, 5, 10, 9), -WETDBG_ERR_CORRUPT);
    assert_int_equal(read_write_record(0x1000, UINT64_MAX - 0x1000, 0, 0, 10),
                     -WETDBG_ERR_UNSUPPORTED);
    assert_int_equal(read_write_record(0x1000, (uint64_t)3 << 30, 0, 0, 10), -WETDBG_ERR_CORRUPT);
}

static void write_with_holes_out_of_order_is_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t first, second;
        int expected;
    } rows[] = {{0, 4, 1},
                {4, 0, -WETDBG_ERR_CORRUPT},
                {0, 3, -WETDBG_ERR_CORRUPT},
                {2, 2, -WETDBG_ERR_CORRUPT}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rrt_frame frame;
        build_version(&built);
        struct built root = build_frame(&build, 10, RRT_EVENT_EXIT);
        struct built write = build_structs(&build, root.pointers, 1, 3, 1);
        build_set(&build, write, 128, 8);
        struct built hole = build_structs(&build, write.pointers, 2, 2, 0);
        build_set(&build, hole, 0, rows[i].first);
        build_set(&build, hole, 64, 4);
        build_set(&build, hole, 128, rows[i].second);
        build_set(&build, hole, 192, 4);
        assert_int_equal(read_built(&frame), rows[i].expected);
        tear_down(NULL);
    }
}

static void mmap_with_impossible_fields_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint64_t start, end;
        unsigned bit;
        uint64_t value;
        unsigned source;
        const char *backing;
    } rows[] = {
        {"ends before it starts", 0x2000, 0x1000, 0, 0, 0, NULL},
        {"start inside a page", 0x1001, 0x2000, 0, 0, 0, NULL},
        {"end inside a page", 0x1000, 0x2fff, 0, 0, 0, NULL},
        {"offset inside a page", 0x1000, 0x2000, 384, 1, 0, NULL},
        {"negative offset", 0x1000, 0x2000, 384, 0x8000000000000000, 0, NULL},
        {"negative size", 0x1000, 0x2000, 576, UINT64_MAX, 0, NULL},
        {"no such source", 0x1000, 0x2000, 0, 0, 3, NULL},
        {"file without a name", 0x1000, 0x2000, 0, 0, RRT_SOURCE_FILE, ""},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct rrt_frame frame;
        build_version(&built);
        struct built map = build_mmap(&build, 1, rows[i].start, rows[i].end,
                                      (enum rrt_mmap_source)rows[i].source, "m", rows[i].backing);
        if (rows[i].value)
            build_set(&build, map, rows[i].bit, rows[i].value);
        build_pack(&built.mmaps, &build);
        build_frame(&build, 10, RRT_EVENT_EXIT);
        int r = read_built(&frame);
        if (r != -WETDBG_ERR_CORRUPT)
            fail_msg("%s: %d", rows[i].name, r);
        assert_non_null(strstr(wetdbg_error(r), "mmaps"));
        tear_down(NULL);
    }
}

/* Task events at the given times beside two frames: the first error of reading all. */
static int read_with_times(const uint64_t *times, size_t count)
{
    struct rrt_frame frame;
    int r;
    build_version(&built);
    for (size_t i = 0; i < count; i++) {
        build_task(&build, times[i], 10, RRT_TASK_DETACH);
        build_pack(&built.tasks, &build);
    }
    for (int i = 0; i < 2; i++) {
        build_frame(&build, 10, RRT_EVENT_EXIT);
        build_pack(&built.events, &build);
    }
    r = open_built();
    while (r == 0 && (r = rrt_next(trace, &frame)) > 0)
        r = 0;
    tear_down(NULL);
    return r;
}

static void record_times_that_match_no_frame_are_refused(void **state)
{
    (void)state;
    static const struct {
        uint64_t times[3];
        size_t count;
        int code;
    } rows[] = {
        {{1, 1, 2}, 3, 0},
        {{2}, 1, 0},
        {{0}, 1, -WETDBG_ERR_CORRUPT},
        {{2, 1}, 2, -WETDBG_ERR_CORRUPT},
        {{1, 3}, 2, -WETDBG_ERR_CORRUPT},
        {{UINT64_MAX}, 1, -WETDBG_ERR_CORRUPT},
        {{INT64_MAX}, 1, -WETDBG_ERR_CORRUPT},
    };
    for (size_t i = 0; i < COUNT(rows); i++)
        assert_int_equal(read_with_times(rows[i].times, rows[i].count), rows[i].code);
}

static void data_left_over_is_refused(void **state)
{
    (void)state;
    struct rrt_frame frame;
    build_sample(&built);
    assert_int_equal(wd_buf_append(&built.data, "x", 1), 0);
    assert_int_equal(open_built(), 0);
    frame_at(BUILD_SAMPLE_FRAMES);
    assert_int_equal(rrt_next(trace, &frame), -WETDBG_ERR_CORRUPT);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        CASE(frame_syscall_has_all_fields),
        CASE(frame_is_joined_with_its_records),
        CASE(frame_data_can_be_skipped_and_read_again),
        CASE(frame_contents_do_not_depend_on_blocks),
        CASE(syscall_details_are_read),
        CASE(frame_of_a_32_bit_task_keeps_no_registers),
        CASE(frame_with_impossible_fields_is_refused),
        CASE(frame_with_pieces_of_wrong_size_is_refused),
        CASE(signal_and_range_fields_out_of_order_are_refused),
        CASE(frame_with_many_writes_is_read),
        CASE(writes_whose_sizes_overflow_are_refused),
        CASE(write_with_impossible_ranges_is_refused),
        CASE(write_with_holes_out_of_order_is_refused),
        CASE(mmap_with_impossible_fields_is_refused),
        CASE(record_times_that_match_no_frame_are_refused),
        CASE(data_left_over_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

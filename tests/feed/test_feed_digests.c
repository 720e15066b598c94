/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which record of wetdbg.digests belongs to a frame, and what damage in that file does. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/feed/feed_digests.h"
#include "tests/feed/feed_unit.h"
#include <wetdbg/errors.h>

enum { SLICE = TCK_STOP_SLICE, EXPIRED = TCK_STOP_SLICE | TCK_STOP_EXPIRED };

static char dir[] = "/tmp/feed_digests_XXXXXX";
static int dir_fd;

static int make_dir(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    dir_fd = open(dir, O_PATH | O_DIRECTORY);
    return dir_fd < 0 ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    unlinkat(dir_fd, TCK_DIGESTS_NAME, 0);
    close(dir_fd);
    return rmdir(dir);
}

static struct tck_file_header good_header(void)
{
    struct tck_file_header header = {.version = TCK_FORMAT_VERSION,
                                     .record_bytes = sizeof(struct tck_stop)};
    memcpy(header.magic, TCK_MAGIC, sizeof(header.magic));
    return header;
}

/* Replaces the file by these bytes. */
static void write_file(const void *head, size_t head_bytes, const void *rest, size_t rest_bytes)
{
    int fd = openat(dir_fd, TCK_DIGESTS_NAME, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, head, head_bytes), head_bytes);
    if (rest_bytes)
        assert_int_equal(write(fd, rest, rest_bytes), rest_bytes);
    close(fd);
}

/* A stop whose registers all follow from `where`; its stack's digest is `mark`. */
static struct tck_stop stop_at(int tid, unsigned flags, int signo, uint64_t where, uint64_t mark)
{
    struct tck_stop stop = {.tid = (uint32_t)tid,
                            .flags = flags,
                            .signo = signo,
                            .stack_start = 0x7ffe0000,
                            .stack_bytes = 64,
                            .stack_digest = mark};
    for (int i = 0; i < TCK_REGS_COUNT; i++)
        stop.regs[i] = where + (uint64_t)i;
    return stop;
}

static struct rrt_frame frame_at(int tid, int signo, uint64_t where)
{
    struct rrt_frame frame = {.tid = tid,
                              .event = signo ? RRT_EVENT_SIGNAL : RRT_EVENT_SCHED,
                              .has_regs = true,
                              .monotonic_seconds = 100,
                              .signal.number = signo};
    uint64_t regs[TCK_REGS_COUNT];
    for (int i = 0; i < TCK_REGS_COUNT; i++)
        regs[i] = where + (uint64_t)i;
    memcpy(&frame.regs, regs, sizeof(regs));
    return frame;
}

/* The first stop is at second 1, the next at 2, and so on. */
static struct feed_digests *open_stops(const struct tck_stop *stops, size_t count)
{
    struct tck_file_header header = good_header();
    struct feed_digests *digests;
    struct tck_stop timed[16];
    assert_true(count <= 16);
    for (size_t i = 0; i < count; i++) {
        timed[i] = stops[i];
        timed[i].seconds = (double)i + 1;
    }
    write_file(&header, sizeof(header), timed, count * sizeof(*stops));
    assert_int_equal(feed_digests_open(dir_fd, &digests), 0);
    assert_int_equal(feed_digests_count(digests), count);
    return digests;
}

/* The mark of the frame's record; -1: it has none. */
static int64_t take(struct feed_digests *digests, struct rrt_frame frame)
{
    struct tck_stop stop;
    int err = feed_digests_take(digests, &frame, &stop);
    assert_true(err == 0 || err == 1);
    return err ? (int64_t)stop.stack_digest : -1;
}

#define OPEN(stops) open_stops(stops, sizeof(stops) / sizeof((stops)[0]))

static int64_t take_at(struct feed_digests *digests, double seconds, struct rrt_frame frame)
{
    frame.monotonic_seconds = seconds;
    return take(digests, frame);
}

static void frame_takes_the_last_of_its_task_that_is_not_later(void **state)
{
    (void)state;
    const struct tck_stop stops[] = {
        stop_at(7, 0, 14, 500, 1),     stop_at(8, 0, 14, 1000, 2), stop_at(7, SLICE, 16, 1000, 3),
        stop_at(7, 0, 10, 1000, 4),    stop_at(7, 0, 14, 1000, 5), stop_at(7, 0, 14, 1000, 6),
        stop_at(7, SLICE, 0, 2000, 7),
    };
    struct feed_digests *digests = OPEN(stops);
    assert_int_equal(take_at(digests, 4.5, frame_at(7, 14, 1000)), -1);
    assert_int_equal(take_at(digests, 5.5, frame_at(7, 14, 1000)), 5);
    assert_int_equal(take_at(digests, 6.5, frame_at(7, 14, 1000)), 6);
    assert_int_equal(take_at(digests, 6.7, frame_at(7, 14, 1000)), -1);
    assert_int_equal(take_at(digests, 6.7, frame_at(7, 10, 1000)), -1); /* passed by */
    assert_int_equal(take_at(digests, 7.5, frame_at(7, 0, 2000)), 7);
    assert_int_equal(take_at(digests, 8, frame_at(8, 14, 1000)), 2); /* each task has its own */
    assert_int_equal(take_at(digests, 8, frame_at(9, 14, 1000)), -1);
    feed_digests_rewind(digests);
    assert_int_equal(take_at(digests, 5.5, frame_at(7, 14, 500)), 1);
    assert_int_equal(take_at(digests, 6, frame_at(7, 14, 1000)), 6);
    assert_int_equal(take_at(digests, 7.2, frame_at(7, 14, 1000)), -1);
    /* its stop was before that */
    assert_int_equal(take_at(digests, 7.5, frame_at(7, 0, 2000)), -1);
    feed_digests_close(digests);
}

static void preemption_takes_the_last_of_its_wait(void **state)
{
    (void)state;
    const struct tck_stop stops[] = {
        stop_at(7, SLICE, 16, 1000, 1),
        stop_at(7, EXPIRED, 16, 1000, 2),
        stop_at(7, SLICE, 16, 1000, 3),
        stop_at(7, EXPIRED, 16, 1000, 4),
    };
    struct feed_digests *digests = OPEN(stops);
    assert_int_equal(take_at(digests, 2.5, frame_at(7, 0, 1000)), 2);
    assert_int_equal(take_at(digests, 4.5, frame_at(7, 0, 1000)), 4);
    assert_int_equal(take_at(digests, 5, frame_at(7, 0, 1000)), -1);
    feed_digests_close(digests);
}

static void signal_after_growth_may_take_the_record_of_the_fault(void **state)
{
    (void)state;
    const struct tck_stop stops[] = {stop_at(7, 0, 11, 1000, 1), stop_at(7, 0, 14, 1000, 2)};
    struct rrt_frame growth = {.tid = 7, .event = RRT_EVENT_GROW_MAP, .monotonic_seconds = 1.1};
    struct feed_digests *digests = OPEN(stops);
    assert_int_equal(take_at(digests, 1.5, frame_at(7, 14, 1000)), -1);
    feed_digests_rewind(digests);
    assert_int_equal(take(digests, growth), -1);
    assert_int_equal(take_at(digests, 1.5, frame_at(7, 14, 1000)), 1);
    assert_int_equal(take_at(digests, 2.5, frame_at(7, 14, 1000)), 2);
    feed_digests_close(digests);
}

static void registers_that_differ_never_fit(void **state)
{
    static const int compared[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 19};
    (void)state;
    const struct tck_stop stops[] = {stop_at(7, 0, 14, 1000, 1)};
    struct feed_digests *digests = OPEN(stops);
    for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++) {
        struct rrt_frame frame = frame_at(7, 14, 1000);
        uint64_t regs[TCK_REGS_COUNT];
        memcpy(regs, &frame.regs, sizeof(regs));
        regs[compared[i]] ^= 1;
        memcpy(&frame.regs, regs, sizeof(regs));
        assert_int_equal(take(digests, frame), -1);
    }
    struct rrt_frame frame = frame_at(7, 14, 1000);
    frame.regs.eflags ^= 0x10000;
    frame.regs.orig_rax = (uint64_t)-1;
    assert_int_equal(take(digests, frame), 1);
    feed_digests_close(digests);
}

/* At a call's exit rr gives rcx and r11 values of its own. */
static void rcx_and_r11_of_calls_do_not_count(void **state)
{
    (void)state;
    const struct tck_stop stops[] = {stop_at(7, 0, 14, 1000, 1)};
    struct feed_digests *digests = OPEN(stops);
    struct rrt_frame frame = frame_at(7, 14, 1000);
    frame.regs.rcx = UINT64_MAX;
    assert_int_equal(take(digests, frame), -1);
    feed_digests_rewind(digests);
    frame.regs.r11 = 0x246;
    assert_int_equal(take(digests, frame), 1);
    feed_digests_close(digests);
}

static void other_frames_have_no_record(void **state)
{
    (void)state;
    const struct tck_stop stops[] = {stop_at(7, 0, 14, 1000, 1)};
    struct feed_digests *digests = OPEN(stops);
    struct rrt_frame frame = frame_at(7, 14, 1000);
    frame.event = RRT_EVENT_SIGNAL_HANDLER;
    assert_int_equal(take(digests, frame), -1);
    frame.event = RRT_EVENT_SIGNAL;
    frame.has_regs = false;
    assert_int_equal(take(digests, frame), -1);
    assert_int_equal(take(NULL, frame_at(7, 14, 1000)), -1);
    feed_digests_close(digests);
}

static void partial_last_record_is_passed_over(void **state)
{
    (void)state;
    struct tck_file_header header = good_header();
    const struct tck_stop stops[] = {stop_at(7, 0, 14, 1000, 1), stop_at(7, 0, 14, 2000, 2)};
    for (size_t bytes = 0; bytes <= sizeof(stops); bytes += 17) {
        struct feed_digests *digests;
        write_file(&header, sizeof(header), stops, bytes);
        assert_int_equal(feed_digests_open(dir_fd, &digests), 0);
        assert_int_equal(feed_digests_count(digests), bytes / sizeof(stops[0]));
        feed_digests_close(digests);
    }
    for (size_t bytes = 0; bytes < sizeof(header); bytes++) {
        struct feed_digests *digests;
        write_file(&header, bytes, NULL, 0);
        assert_int_equal(feed_digests_open(dir_fd, &digests), 0);
        assert_null(digests);
    }
}

static void recording_without_digests_has_none(void **state)
{
    (void)state;
    struct feed_digests *digests;
    unlinkat(dir_fd, TCK_DIGESTS_NAME, 0);
    assert_int_equal(feed_digests_open(dir_fd, &digests), 0);
    assert_null(digests);
    feed_digests_close(digests);
    feed_digests_rewind(digests);
    assert_int_equal(feed_digests_count(digests), 0);
}

static void earlier_version_is_as_good_as_none(void **state)
{
    (void)state;
    struct tck_file_header header = good_header();
    struct feed_digests *digests;
    header.version--;
    header.record_bytes = 272;
    write_file(&header, sizeof(header), "x", 1);
    assert_int_equal(feed_digests_open(dir_fd, &digests), 0);
    assert_null(digests);
}

static void expect_damage(const struct tck_file_header *header)
{
    struct feed_digests *digests;
    write_file(header, sizeof(*header), NULL, 0);
    int err = feed_digests_open(dir_fd, &digests);
    assert_int_equal(err, -WETDBG_ERR_CORRUPT);
    assert_non_null(strstr(wetdbg_error(err), TCK_DIGESTS_NAME));
    assert_null(digests);
}

static void file_of_another_kind_is_damage(void **state)
{
    (void)state;
    struct tck_file_header header = good_header();
    header.magic[0]++;
    expect_damage(&header);
    header = good_header();
    header.version++;
    expect_damage(&header);
    header.version = 0;
    expect_damage(&header);
    header = good_header();
    header.record_bytes--;
    expect_damage(&header);
    unlinkat(dir_fd, TCK_DIGESTS_NAME, 0);
    assert_int_equal(mkdirat(dir_fd, TCK_DIGESTS_NAME, 0700), 0);
    struct feed_digests *digests;
    assert_int_equal(feed_digests_open(dir_fd, &digests), -WETDBG_ERR_CORRUPT);
    assert_int_equal(unlinkat(dir_fd, TCK_DIGESTS_NAME, AT_REMOVEDIR), 0);
}

static void ranges_out_of_bounds_are_damage(void **state)
{
    static const struct {
        uint64_t start;
        uint32_t bytes;
    } rows[] = {{0x7ffe0000, TCK_STACK_BYTES_MAX + 1},
                {UINT64_MAX - 8, 64},
                {0x7ffffffff000, 1},
                {0x7fffffffefff, 2},
                {0, UINT32_MAX}};
    (void)state;
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        struct tck_stop stop = stop_at(7, 0, 14, 1000, 1), out;
        struct rrt_frame frame = frame_at(7, 14, 1000);
        if (i % 2) {
            stop.data_start = rows[i / 2].start;
            stop.data_bytes = rows[i / 2].bytes;
            if (stop.data_bytes == TCK_STACK_BYTES_MAX + 1)
                stop.data_bytes = TCK_DATA_BYTES_MAX + 1;
        } else {
            stop.stack_start = rows[i / 2].start;
            stop.stack_bytes = rows[i / 2].bytes;
        }
        struct feed_digests *digests = open_stops(&stop, 1);
        assert_int_equal(feed_digests_take(digests, &frame, &out), -WETDBG_ERR_CORRUPT);
        feed_digests_close(digests);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frame_takes_the_last_of_its_task_that_is_not_later),
        cmocka_unit_test(preemption_takes_the_last_of_its_wait),
        cmocka_unit_test(signal_after_growth_may_take_the_record_of_the_fault),
        cmocka_unit_test(registers_that_differ_never_fit),
        cmocka_unit_test(rcx_and_r11_of_calls_do_not_count),
        cmocka_unit_test(other_frames_have_no_record),
        cmocka_unit_test(partial_last_record_is_passed_over),
        cmocka_unit_test(recording_without_digests_has_none),
        cmocka_unit_test(earlier_version_is_as_good_as_none),
        cmocka_unit_test(file_of_another_kind_is_damage),
        cmocka_unit_test(ranges_out_of_bounds_are_damage),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

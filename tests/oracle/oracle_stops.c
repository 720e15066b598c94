/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle_stops.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <wetdbg/errors.h>

static int read_all(int fd, struct orc_stops *stops)
{
    struct tck_file_header header;
    struct stat st;
    size_t bytes;

    if (fstat(fd, &st) != 0 || st.st_size > TCK_STOPS_BYTES_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s cannot be used", TCK_DIGESTS_NAME);
    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.magic, TCK_MAGIC, sizeof(header.magic)) != 0 ||
        header.version != TCK_FORMAT_VERSION || header.record_bytes != sizeof(struct tck_stop))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s has an unknown header", TCK_DIGESTS_NAME);
    stops->count = ((size_t)st.st_size - sizeof(header)) / sizeof(struct tck_stop);
    bytes = stops->count * sizeof(struct tck_stop);
    stops->list = malloc(bytes + 1);
    if (!stops->list)
        return -ENOMEM;
    if (pread(fd, stops->list, bytes, sizeof(header)) != (ssize_t)bytes)
        return wetdbg_fail(-EIO, "%s ends early", TCK_DIGESTS_NAME);
    return 0;
}

int orc_stops_open(struct orc_stops *stops, const struct wetdbg_recording *trace)
{
    int fd = openat(rrt_trace_dir_fd(trace), TCK_DIGESTS_NAME, O_RDONLY | O_CLOEXEC);
    int err;

    *stops = (struct orc_stops){.lines_fd = -1};
    if (fd < 0)
        return errno == ENOENT ? 0 : wetdbg_fail_errno("%s", TCK_DIGESTS_NAME);
    err = read_all(fd, stops);
    close(fd);
    if (err != 0)
        orc_stops_fini(stops);
    else
        stops->lines_fd = openat(rrt_trace_dir_fd(trace), TCK_LINES_NAME, O_RDONLY | O_CLOEXEC);
    return err;
}

void orc_stops_fini(struct orc_stops *stops)
{
    free(stops->list);
    free(stops->cursors);
    if (stops->lines_fd >= 0)
        close(stops->lines_fd);
    *stops = (struct orc_stops){.lines_fd = -1};
}

/* Equal general registers, rip and rsp: positions 0 to 14, 16 and 19 of the register file. rr
 * changes rcx and r11 of a frame at a system call's exit. */
static bool same_registers(const struct tck_stop *stop, const struct rrt_regs *regs)
{
    uint64_t frame[TCK_REGS_COUNT];

    memcpy(frame, regs, sizeof(frame));
    for (int i = 0; i < TCK_REGS_COUNT; i++) {
        bool is_changed = (i == 6 || i == 11) && frame[11] == UINT64_MAX && frame[6] == 0x246;
        if ((i < 15 || i == 16 || i == 19) && !is_changed && stop->regs[i] != frame[i])
            return false;
    }
    return true;
}

/* A signal that had come when rr stopped for the growth of a stack is delivered without another
 * stop: its record is that of the fault. */
static bool fits(const struct tck_stop *stop, const struct rrt_frame *frame, bool is_after_growth)
{
    if (stop->tid != (uint32_t)frame->tid || stop->seconds > frame->monotonic_seconds ||
        !same_registers(stop, &frame->regs))
        return false;
    if (frame->event == RRT_EVENT_SCHED)
        return stop->flags & TCK_STOP_SLICE;
    return !(stop->flags & TCK_STOP_SLICE) &&
           (stop->signo == frame->signal.number || (is_after_growth && stop->signo == SIGSEGV));
}

static struct orc_stops_cursor *cursor_of(struct orc_stops *stops, int tid)
{
    struct orc_stops_cursor *grown;

    for (size_t i = 0; i < stops->cursor_count; i++)
        if (stops->cursors[i].tid == tid)
            return &stops->cursors[i];
    grown = realloc(stops->cursors, (stops->cursor_count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    stops->cursors = grown;
    grown[stops->cursor_count] = (struct orc_stops_cursor){.tid = tid};
    return &grown[stops->cursor_count++];
}

int orc_stops_take(struct orc_stops *stops, const struct rrt_frame *frame, bool is_after_growth,
                   const struct tck_stop **stop)
{
    struct orc_stops_cursor *cursor;

    *stop = NULL;
    if ((frame->event != RRT_EVENT_SIGNAL && frame->event != RRT_EVENT_SCHED) || !frame->has_regs ||
        stops->count == 0)
        return 0;
    cursor = cursor_of(stops, frame->tid);
    if (!cursor)
        return -ENOMEM;
    /* rr stamps the frame right after its stop */
    for (size_t i = cursor->next; i < stops->count; i++) {
        if (!fits(&stops->list[i], frame, is_after_growth))
            continue;
        cursor->next = i + 1;
        *stop = &stops->list[i];
    }
    return 0;
}

/* ---------------------------------------------------------------- memory */

/* One of the ranges of a record. */
struct range {
    uint64_t start, digest;
    uint32_t bytes, line_bytes;
};

/* Looks for the first line of `bytes` that is not as it was; `hashes` are the range's. */
static void note_line(struct orc_stops *stops, const struct tck_stop *stop,
                      const struct range *range, const uint8_t *bytes, const uint64_t *hashes)
{
    for (uint32_t at = 0; at < range->bytes; at += range->line_bytes) {
        uint32_t count = range->bytes - at;
        if (count > range->line_bytes)
            count = range->line_bytes;
        if (tck_line_hash(bytes + at, count) != hashes[at / range->line_bytes]) {
            stops->line = (struct orc_stops_line){stop, range->start + at, count,
                                                  hashes[at / range->line_bytes]};
            return;
        }
    }
}

/* `first`: the number of the range's first line in the record's. */
static int find_line(struct orc_stops *stops, const struct tck_stop *stop,
                     const struct range *range, uint32_t first, const uint8_t *bytes)
{
    uint32_t count = (range->bytes + range->line_bytes - 1) / range->line_bytes;
    uint64_t *hashes;

    if (stops->lines_fd < 0)
        return 0;
    hashes = malloc(count * sizeof(*hashes) + 1);
    if (!hashes)
        return -ENOMEM;
    if (pread(stops->lines_fd, hashes, count * sizeof(*hashes),
              (off_t)(stop->lines_at + first * sizeof(*hashes))) ==
        (ssize_t)(count * sizeof(*hashes)))
        note_line(stops, stop, range, bytes, hashes);
    free(hashes);
    return 0;
}

static int check_range(struct orc_stops *stops, const struct tck_stop *stop,
                       const struct range *range, uint32_t first, const struct orc_child *child,
                       bool *is_equal)
{
    uint8_t *bytes;
    int err = 0;

    if (range->bytes == 0)
        return 0;
    if (range->bytes > TCK_HEAP_BYTES_MAX)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: a digest of %u bytes", TCK_DIGESTS_NAME,
                           range->bytes);
    bytes = malloc(range->bytes);
    if (!bytes)
        return -ENOMEM;
    if (orc_child_read(child, range->start, bytes, range->bytes) != range->bytes)
        *is_equal = false;
    else if (XXH3_64bits(bytes, range->bytes) != range->digest) {
        *is_equal = false;
        err = find_line(stops, stop, range, first, bytes);
    }
    free(bytes);
    return err;
}

/* Whether the line that differed last is still another one. */
static bool line_differs(const struct orc_stops *stops, const struct tck_stop *stop,
                         const struct orc_child *child)
{
    _Alignas(8) uint8_t bytes[TCK_LINE];
    const struct orc_stops_line *line = &stops->line;

    return line->stop == stop &&
           (orc_child_read(child, line->address, bytes, line->bytes) != line->bytes ||
            tck_line_hash(bytes, line->bytes) != line->hash);
}

int orc_stops_check(struct orc_stops *stops, const struct tck_stop *stop,
                    const struct orc_child *child, bool *is_equal)
{
    const struct range ranges[] = {
        {stop->stack_start, stop->stack_digest, stop->stack_bytes, TCK_STACK_LINE},
        {stop->data_start, stop->data_digest, stop->data_bytes, TCK_LINE},
        {stop->heap_start, stop->heap_digest, stop->heap_bytes, TCK_LINE},
    };
    uint32_t first = 0;
    int err = 0;

    *is_equal = !line_differs(stops, stop, child);
    for (size_t i = 0; err == 0 && *is_equal && i < 3; i++) {
        err = check_range(stops, stop, &ranges[i], first, child, is_equal);
        first += (ranges[i].bytes + ranges[i].line_bytes - 1) / ranges[i].line_bytes;
    }
    return err;
}

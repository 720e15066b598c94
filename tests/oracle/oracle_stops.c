/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle_stops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/err.h"

static int read_all(int fd, struct orc_stops *stops)
{
    struct tck_file_header header;
    struct stat st;
    size_t bytes;

    if (fstat(fd, &st) != 0 || st.st_size > TCK_STOPS_BYTES_MAX)
        return wd_fail(-WD_ERR_CORRUPT, "%s cannot be used", TCK_DIGESTS_NAME);
    if (pread(fd, &header, sizeof(header), 0) != (ssize_t)sizeof(header) ||
        memcmp(header.magic, TCK_MAGIC, sizeof(header.magic)) != 0 ||
        header.version != TCK_FORMAT_VERSION || header.record_bytes != sizeof(struct tck_stop))
        return wd_fail(-WD_ERR_CORRUPT, "%s has an unknown header", TCK_DIGESTS_NAME);
    stops->count = ((size_t)st.st_size - sizeof(header)) / sizeof(struct tck_stop);
    bytes = stops->count * sizeof(struct tck_stop);
    stops->list = malloc(bytes + 1);
    if (!stops->list)
        return -ENOMEM;
    if (pread(fd, stops->list, bytes, sizeof(header)) != (ssize_t)bytes)
        return wd_fail(-EIO, "%s ends early", TCK_DIGESTS_NAME);
    return 0;
}

int orc_stops_open(struct orc_stops *stops, const struct rrt_trace *trace)
{
    int fd = openat(rrt_trace_dir_fd(trace), TCK_DIGESTS_NAME, O_RDONLY | O_CLOEXEC);
    int rc;

    *stops = (struct orc_stops){0};
    if (fd < 0)
        return errno == ENOENT ? 0 : wd_fail_errno("%s", TCK_DIGESTS_NAME);
    rc = read_all(fd, stops);
    close(fd);
    if (rc != 0)
        orc_stops_fini(stops);
    return rc;
}

void orc_stops_fini(struct orc_stops *stops)
{
    free(stops->list);
    *stops = (struct orc_stops){0};
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

const struct tck_stop *orc_stops_take(struct orc_stops *stops, const struct rrt_frame *frame)
{
    if (frame->event != RRT_EVENT_SIGNAL || !frame->has_regs)
        return NULL;
    for (size_t i = stops->next; i < stops->count; i++) {
        const struct tck_stop *stop = &stops->list[i];
        if (stop->tid == (uint32_t)frame->tid && stop->signo == frame->signal.number &&
            same_registers(stop, &frame->regs)) {
            stops->next = i + 1;
            return stop;
        }
    }
    return NULL;
}

static int check_range(const struct orc_child *child, uint64_t start, uint32_t count,
                       uint64_t digest, bool *is_equal)
{
    uint8_t *bytes;

    *is_equal = count == 0;
    if (count == 0)
        return 0;
    if (count > TCK_DATA_BYTES_MAX)
        return wd_fail(-WD_ERR_CORRUPT, "%s: a digest of %u bytes", TCK_DIGESTS_NAME, count);
    bytes = malloc(count);
    if (!bytes)
        return -ENOMEM;
    *is_equal =
        orc_child_read(child, start, bytes, count) == count && XXH3_64bits(bytes, count) == digest;
    free(bytes);
    return 0;
}

int orc_stops_check(const struct tck_stop *stop, const struct orc_child *child, bool *is_equal)
{
    int rc = check_range(child, stop->stack_start, stop->stack_bytes, stop->stack_digest, is_equal);

    if (rc == 0 && *is_equal)
        rc = check_range(child, stop->data_start, stop->data_bytes, stop->data_digest, is_equal);
    return rc;
}

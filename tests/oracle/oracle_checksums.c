/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/oracle/oracle_checksums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/rr_checksums.h"
#include <wetdbg/errors.h>

#define BLOCK_BYTES     65536
#define RR_SKIPPED      0x98765432u /* rr did not look at this mapping */
#define RR_BUS_ERROR    0x23456789u /* it could not be read when recorded */
#define RR_THREAD_PAGE  UINT64_C(0x70001000)
#define RR_SCRATCH      UINT64_C(0x68000000)
#define CHECKSUM_FACTOR 17

/* Starts with the size; each 32-bit word is added to 17 times what there was. */
static int checksum_range(struct orc *orc, uint64_t start, uint64_t end, uint32_t *out)
{
    uint32_t sum = (uint32_t)(end - start);
    uint32_t words[BLOCK_BYTES / sizeof(uint32_t)];

    while (start < end) {
        size_t part = end - start < sizeof(words) ? (size_t)(end - start) : sizeof(words);
        if (orc_read_memory(orc, start, words, part) != part)
            return -EFAULT;
        for (size_t i = 0; i < part / sizeof(*words); i++)
            sum = sum * CHECKSUM_FACTOR + words[i];
        start += part;
    }
    *out = sum;
    return 0;
}

static int compare_line(struct orc *orc, const char *line, uint64_t time, uint64_t *compared)
{
    uint32_t recorded;
    uint32_t found;
    uint64_t start;
    uint64_t end;

    if (sscanf(line, "(%" SCNx32 ") %" SCNx64 "-%" SCNx64, &recorded, &start, &end) != 3)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "frame %" PRIu64 ": not a checksum: %.60s", time,
                           line);
    /* the thread page and the scratch area are rr's own; what it writes there is in no frame */
    if (recorded == RR_SKIPPED || recorded == RR_BUS_ERROR || start == RR_THREAD_PAGE ||
        start == RR_SCRATCH)
        return 0;
    if (checksum_range(orc, start, end, &found) != 0)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED, "frame %" PRIu64 ": not mapped: %.100s", time,
                           line);
    if (found != recorded)
        return wetdbg_fail(-WETDBG_ERR_DIVERGED,
                           "frame %" PRIu64 ": checksum %" PRIx32 " of %.100s", time, found, line);
    ++*compared;
    return 0;
}

int orc_checksums_compare(struct orc *orc, const char *dir, const struct rrt_frame *frame,
                          uint64_t *compared)
{
    char line[4096];
    FILE *file = rr_checksums_open(dir, frame->time, frame->tid);
    int err = 0;

    if (!file)
        return errno == ENOENT
                   ? 0
                   : wetdbg_fail_errno("%s: checksums of frame %" PRIu64, dir, frame->time);
    while (err == 0 && fgets(line, sizeof(line), file)) {
        line[strcspn(line, "\n")] = '\0';
        err = compare_line(orc, line, frame->time, compared);
    }
    fclose(file);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `rr -C on-all-events record` leaves in a trace directory: a file for each frame but entries
 * of system calls. */
#ifndef TESTS_RR_CHECKSUMS_H
#define TESTS_RR_CHECKSUMS_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* Puts the name of a frame's file into `path`; false and errno, ENOENT if the frame has none. */
static inline bool rr_checksums_find(char *path, size_t path_bytes, const char *dir, uint64_t frame,
                                     int tid)
{
    static const char *const endings[] = {"_mem_checksums", ""}; /* since rr 5.8, and before */
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        snprintf(path, path_bytes, "%s/%" PRIu64 "_%d%s", dir, frame, tid, endings[i]);
        if (access(path, F_OK) == 0)
            return true;
        if (errno != ENOENT)
            return false;
    }
    return false;
}

/* That file, to be closed; NULL as false above. */
static inline FILE *rr_checksums_open(const char *dir, uint64_t frame, int tid)
{
    char path[4096];
    return rr_checksums_find(path, sizeof(path), dir, frame, tid) ? fopen(path, "re") : NULL;
}

#endif

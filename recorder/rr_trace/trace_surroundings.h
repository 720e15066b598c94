/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When and where `wetdbg record` began a program, when that ended, and what descriptors 0 to 2 were
 * at first: `wetdbg.surroundings` in the trace directory (docs/format.md, section 6). rr keeps none
 * of it.
 */
#ifndef RECORDER_RR_TRACE_TRACE_SURROUNDINGS_H
#define RECORDER_RR_TRACE_TRACE_SURROUNDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

#define RRT_SURROUNDINGS_NAME "wetdbg.surroundings"

#define RRT_INHERITED 3 /* standard input, output and error */

/* Numbers of a descriptor: fcntl()'s flags, where it stands (-1: nowhere), its struct stat's. */
enum rrt_inherited_field {
    RRT_INHERITED_FLAGS,
    RRT_INHERITED_POSITION,
    RRT_INHERITED_DEV,
    RRT_INHERITED_INO,
    RRT_INHERITED_MODE,
    RRT_INHERITED_NLINK,
    RRT_INHERITED_UID,
    RRT_INHERITED_GID,
    RRT_INHERITED_RDEV,
    RRT_INHERITED_SIZE,
    RRT_INHERITED_BLKSIZE,
    RRT_INHERITED_BLOCKS,
    RRT_INHERITED_ATIME_NS,
    RRT_INHERITED_MTIME_NS,
    RRT_INHERITED_CTIME_NS,
    RRT_INHERITED_FIELDS
};

struct rrt_inherited {
    bool is_known;
    int64_t fields[RRT_INHERITED_FIELDS];
};

struct rrt_surroundings {
    int64_t began_ns; /* since 1970, as file systems stamp; 0: not known */
    int64_t ended_ns; /* what the run did to files has no later stamp; 0: not known */
    char *cwd;        /* working directory when it began, absolute; NULL: not known */
    struct rrt_inherited streams[RRT_INHERITED];
};

/* What such a file says. 0 or -ENOMEM. */
int rrt_surroundings_put(struct wd_buf *text, const struct rrt_surroundings *surroundings);

/* Reads the file; out->cwd is to be freed. All is unknown where it is missing, or cannot be read as
 * what it should be. */
void rrt_surroundings_read(int dir_fd, struct rrt_surroundings *out);

#endif

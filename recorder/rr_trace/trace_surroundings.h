/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When and where `wetdbg record` began a program: `wetdbg.surroundings` in the trace directory
 * (docs/format.md, section 6). rr keeps neither.
 */
#ifndef RECORDER_RR_TRACE_TRACE_SURROUNDINGS_H
#define RECORDER_RR_TRACE_TRACE_SURROUNDINGS_H

#include <stdint.h>

#include "common/buf.h"

#define RRT_SURROUNDINGS_NAME "wetdbg.surroundings"

struct rrt_surroundings {
    int64_t began_ns; /* since 1970, as file systems stamp; 0: not known */
    char *cwd;        /* working directory then, absolute; NULL: not known */
};

/* What such a file says. 0 or -ENOMEM. */
int rrt_surroundings_put(struct wd_buf *text, const struct rrt_surroundings *surroundings);

/* Reads the file; out->cwd is to be freed. All is unknown where it is missing, or cannot be read as
 * what it should be. */
void rrt_surroundings_read(int dir_fd, struct rrt_surroundings *out);

#endif

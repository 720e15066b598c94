/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which processor a recording was made on, as that processor tells a program by itself:
 * `wetdbg.processor` in the trace directory, written by `wetdbg record` (docs/format.md, section
 * 6). rr's header has the number of the processor that it was bound to; what rdpid and lsl tell has
 * the memory node in it as well.
 */
#ifndef RECORDER_RR_TRACE_TRACE_PROCESSOR_H
#define RECORDER_RR_TRACE_TRACE_PROCESSOR_H

#include <stdint.h>

#include "common/buf.h"

#define RRT_PROCESSOR_NAME    "wetdbg.processor"
#define RRT_PROCESSOR_UNKNOWN UINT64_MAX

struct rrt_processor {
    uint64_t rdpid; /* results, of 32 bits; or RRT_PROCESSOR_UNKNOWN */
    uint64_t lsl;   /* of selector 0x7b, by which Linux lets programs see it */
};

/* What such a file says of the processor `bound`. */
int rrt_processor_put(struct wd_buf *text, int bound, const struct rrt_processor *processor);

/* Reads the file. All is unknown where it is missing, is of another processor than `bound`, or can
 * not be read as what it should be: nothing depends on it but instructions that are refused
 * then. */
void rrt_processor_read(int dir_fd, int bound, struct rrt_processor *out);

#endif

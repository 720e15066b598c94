/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares what rr_trace reads with what `rr dump` prints of the same recording, line by line. */
#ifndef TESTS_RR_TRACE_RR_DUMP_COMPARE_H
#define TESTS_RR_TRACE_RR_DUMP_COMPARE_H

#include <stddef.h>

struct rr_dump_counts {
    size_t frames, registers, vectors, mmaps, tasks, writes;
};

/* 0 if all agrees (the counts tell how much was compared); else 1, and the first difference is
 * on stderr. */
int rr_dump_compare(const char *trace_dir, struct rr_dump_counts *counts);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Can this processor run what the recorded one ran? */
#ifndef RECORDER_FEED_FEED_CPU_H
#define RECORDER_FEED_FEED_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/rr_trace/rr_trace.h"

/*
 * Recorded code was chosen by what CPUID said when recording, so it may use any feature that was
 * there. Whether it does only the run tells: most instructions that a processor lacks are illegal
 * there. 0, or -WETDBG_ERR_UNSUPPORTED with a sentence that names them if there are instructions
 * that would silently do something else here.
 */
int feed_cpu_check(const struct rrt_header *header);

/* The names of all features that add instructions or registers and that this processor lacks. */
void feed_cpu_lacking(const struct rrt_header *header, char *names, size_t size);

/* Whether this processor answers CPUID as recorded, in all that does not tell its cores apart. */
bool feed_cpu_is_here(const struct rrt_header *header);

/* AGT_X87_* of the recording; if it does not say whether its processor loses the pointers, whether
 * this one does. */
uint32_t feed_cpu_x87(const struct rrt_header *header);

#endif

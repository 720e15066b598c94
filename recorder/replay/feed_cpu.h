/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Can this processor run what the recorded one ran? */
#ifndef RECORDER_REPLAY_FEED_CPU_H
#define RECORDER_REPLAY_FEED_CPU_H

#include <stdint.h>

#include "recorder/rr_trace/rr_trace.h"

/*
 * Recorded code was chosen by what CPUID said when recording, so it may use any feature that was
 * there. 0 if all features that add instructions or registers are here too; otherwise
 * -WD_ERR_UNSUPPORTED with a sentence that names the missing ones.
 */
int feed_cpu_check(const struct rrt_header *header);

/* AGT_X87_* of the recording; if it does not say whether its processor loses the pointers, whether this one
 * does. */
uint32_t feed_cpu_x87(const struct rrt_header *header);

/* The answer of CPUID(leaf, subleaf) as recorded; NULL if the leaf was not recorded. */
const struct rrt_cpuid *feed_cpu_find(const struct rrt_header *header, uint32_t leaf,
                                      uint32_t subleaf);

#endif

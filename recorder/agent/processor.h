/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which processor the program runs on, as it can tell without asking the kernel. Linux keeps number
 * and memory node, (node << 12) | number, in TSC_AUX, which rdpid reads, and as the limit of a
 * segment of which lsl tells. Both are that of the processor that recorded, or nobody knows.
 */
#ifndef RECORDER_AGENT_PROCESSOR_H
#define RECORDER_AGENT_PROCESSOR_H

#include <stdint.h>

#define AGT_PROCESSOR_UNKNOWN UINT64_MAX

struct agt_processor {
    uint64_t rdpid; /* results, of 32 bits; or AGT_PROCESSOR_UNKNOWN */
    uint64_t lsl;   /* of that segment */
};

/* The selector of that segment, whatever privilege its lowest two bits ask for. */
#define AGT_PROCESSOR_SELECTOR 0x78

struct agt;

/* AGT_EXIT_RDPID, AGT_EXIT_LSL: executes the instruction at rip; refuses it where the answer is not
 * known. */
void agt_on_rdpid(struct agt *agt);
void agt_on_lsl(struct agt *agt);

/* AGT_EXIT_SEGMENT: passes by a write of ds, es or ss that changes nothing; refuses others. */
void agt_on_segment(struct agt *agt);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waiting for one's turn, awake at first. To be woken on a halted processor takes up to 0.2 ms in a
 * virtual machine, as much as translating dozens of fragments. So while turns come back soon, as in
 * code that is new, either side stays awake; but not while others want its processor.
 */
#ifndef RECORDER_AGENT_WAIT_H
#define RECORDER_AGENT_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* in steps of the TSC */
#define AGT_WAIT_LONG   2000000u /* some 0.7 ms: a patient side is awake so long; counts no more */
#define AGT_WAIT_MIDDLE 400000u  /* waits are short if their average is below */
#define AGT_WAIT_SHORT  10000u   /* how long the others are awake */

enum agt_patience {
    AGT_WAIT_BRIEFLY,
    AGT_WAIT_PATIENTLY, /* there are processors enough (host.c) */
    AGT_WAIT_ASLEEP,    /* both sides have one processor: who stays awake keeps the other from it */
};

struct agt_wait {
    uint32_t patient; /* enum agt_patience */
    uint32_t average; /* of the latest waits */
};

/* Waits until *turn is `mine`; false if it is not after as long as is worth staying awake. */
static inline bool agt_wait_awake(const struct agt_wait *wait, const uint32_t *turn, uint32_t mine)
{
    bool patient = wait->patient == AGT_WAIT_PATIENTLY && wait->average < AGT_WAIT_MIDDLE;
    if (wait->patient == AGT_WAIT_ASLEEP)
        return __atomic_load_n(turn, __ATOMIC_ACQUIRE) == mine;
    uint64_t end = __builtin_ia32_rdtsc() + (patient ? AGT_WAIT_LONG : AGT_WAIT_SHORT);
    while (__atomic_load_n(turn, __ATOMIC_ACQUIRE) != mine) {
        if (__builtin_ia32_rdtsc() >= end)
            return false;
        __builtin_ia32_pause();
    }
    return true;
}

/* Counts a wait that began when the TSC was `start`. */
static inline void agt_wait_count(struct agt_wait *wait, uint64_t start)
{
    uint64_t waited = __builtin_ia32_rdtsc() - start;
    waited = waited < AGT_WAIT_LONG ? waited : AGT_WAIT_LONG;
    wait->average = (uint32_t)((7ull * wait->average + waited) / 8);
}

#endif

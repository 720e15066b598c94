/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What CPUID answered where it was no event: the recording has a table. It does not hold every
 * subleaf, and of leaves that the recorder did not know to have subleaves only the first.
 */
#ifndef RECORDER_AGENT_CPUID_ANSWER_H
#define RECORDER_AGENT_CPUID_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

struct agt_cpuid {
    uint32_t eax_in, ecx_in, eax, ebx, ecx, edx;
};

#define AGT_CPUID_NO_SUBLEAF UINT32_MAX

/* The answer that follows from the table, into *answer (registers only); false: none does. */
bool agt_cpuid_find(const struct agt_cpuid *table, uint32_t count, uint32_t leaf, uint32_t subleaf,
                    struct agt_cpuid *answer);

/* The answer of this processor, which is the recorded one: but what tells its cores apart is as in
 * the table. */
void agt_cpuid_ask(const struct agt_cpuid *table, uint32_t count, uint32_t leaf, uint32_t subleaf,
                   struct agt_cpuid *answer);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A question to the processor. Not <cpuid.h>: the macros of clang 14's move rbx to a register that
 * may be the leaf's, where the answer's eax is not used, and so ask for whatever leaf rbx happens
 * to name.
 */
#ifndef COMMON_CPUID_H
#define COMMON_CPUID_H

#include <stdbool.h>
#include <stdint.h>

struct wd_cpuid {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct wd_cpuid wd_cpuid_ask(uint32_t leaf, uint32_t subleaf)
{
    struct wd_cpuid is;
    __asm__ volatile("cpuid"
                     : "=a"(is.eax), "=b"(is.ebx), "=c"(is.ecx), "=d"(is.edx)
                     : "a"(leaf), "c"(subleaf));
    return is;
}

/* Whether the processor has this leaf; an answer for a leaf that it lacks means nothing. */
static inline bool wd_cpuid_has(uint32_t leaf)
{
    return wd_cpuid_ask(leaf & 0x80000000u, 0).eax >= leaf;
}

#endif

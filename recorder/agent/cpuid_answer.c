/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/cpuid_answer.h"

#include <stddef.h>

#define EXTENDED   0x80000000u
#define HYPERVISOR 0x40000000u

/* The second register of leaf 0: a vendor's name. */
#define VENDOR_INTEL 0x756e6547u
#define VENDOR_AMD   0x68747541u
#define VENDOR_HYGON 0x6f677948u

static bool is_one_of(const uint32_t *list, unsigned count, uint32_t leaf)
{
    for (unsigned i = 0; i < count; i++)
        if (list[i] == leaf)
            return true;
    return false;
}

static bool has_subleaves(uint32_t leaf)
{
    static const uint32_t leaves[] = {0x4,  0x7,  0xb,  0xd,  0xf,        0x10,       0x12,
                                      0x14, 0x17, 0x18, 0x1a, 0x1b,       0x1d,       0x1e,
                                      0x1f, 0x20, 0x23, 0x24, 0x8000001d, 0x80000020, 0x80000026};
    return is_one_of(leaves, sizeof(leaves) / sizeof(*leaves), leaf);
}

/* The leaves of cpuid whose last register is the number of the core that was asked. */
static bool tells_core(uint32_t leaf)
{
    static const uint32_t leaves[] = {0xb, 0x1f, 0x80000026};
    return is_one_of(leaves, sizeof(leaves) / sizeof(*leaves), leaf);
}

/* The subleaves of these leaves end, and recorders list all up to there: beyond are zeros. */
static bool ends(const struct agt_cpuid *first)
{
    static const uint32_t leaves[] = {0x4, 0x7, 0xd, 0x8000001d};
    return first->ecx_in != AGT_CPUID_NO_SUBLEAF &&
           is_one_of(leaves, sizeof(leaves) / sizeof(*leaves), first->eax_in);
}

static const struct agt_cpuid *first_of(const struct agt_cpuid *table, uint32_t count,
                                        uint32_t leaf)
{
    for (uint32_t i = 0; i < count; i++)
        if (table[i].eax_in == leaf)
            return &table[i];
    return NULL;
}

static const struct agt_cpuid *listed(const struct agt_cpuid *table, uint32_t count, uint32_t leaf,
                                      uint32_t subleaf)
{
    const struct agt_cpuid *whole = NULL;
    for (uint32_t i = 0; i < count; i++) {
        if (table[i].eax_in != leaf)
            continue;
        if (table[i].ecx_in == subleaf)
            return &table[i];
        if (table[i].ecx_in == AGT_CPUID_NO_SUBLEAF && (!subleaf || !has_subleaves(leaf)))
            whole = &table[i];
    }
    return whole;
}

static bool is_beyond(const struct agt_cpuid *table, uint32_t count, uint32_t leaf)
{
    const struct agt_cpuid *range = first_of(table, count, leaf & EXTENDED);
    bool is_hypervisors = leaf >= HYPERVISOR && leaf < EXTENDED;
    return range && !is_hypervisors && leaf > range->eax;
}

/* Beyond the last leaf AMD's answer zeros, and Intel's what the last basic one does. */
static bool beyond_find(const struct agt_cpuid *table, uint32_t count, uint32_t subleaf,
                        struct agt_cpuid *answer)
{
    const struct agt_cpuid *basic = first_of(table, count, 0), *last;
    if (!basic)
        return false;
    switch (basic->ebx) {
    case VENDOR_AMD:
    case VENDOR_HYGON:
        *answer = (struct agt_cpuid){0};
        return true;
    case VENDOR_INTEL:
        last = listed(table, count, basic->eax, subleaf);
        if (last)
            *answer = *last;
        return last;
    default:
        return false;
    }
}

bool agt_cpuid_find(const struct agt_cpuid *table, uint32_t count, uint32_t leaf, uint32_t subleaf,
                    struct agt_cpuid *answer)
{
    const struct agt_cpuid *found = listed(table, count, leaf, subleaf);
    if (found) {
        *answer = *found;
        return true;
    }
    const struct agt_cpuid *first = first_of(table, count, leaf);
    if (first && ends(first)) {
        *answer = (struct agt_cpuid){0};
        return true;
    }
    return is_beyond(table, count, leaf) && beyond_find(table, count, subleaf, answer);
}

void agt_cpuid_ask(const struct agt_cpuid *table, uint32_t count, uint32_t leaf, uint32_t subleaf,
                   struct agt_cpuid *answer)
{
    const struct agt_cpuid *first = first_of(table, count, leaf);
    __asm__ volatile("cpuid"
                     : "=a"(answer->eax), "=b"(answer->ebx), "=c"(answer->ecx), "=d"(answer->edx)
                     : "a"(leaf), "c"(subleaf));
    if (tells_core(leaf) && first)
        answer->edx = first->edx;
}

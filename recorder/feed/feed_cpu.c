/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/feed/feed_cpu.h"

#include <string.h>

#include "common/cpuid.h"
#include "recorder/agent/x87.h"
#include <wetdbg/errors.h>

enum cpuid_register { EAX, EBX, ECX, EDX };

/* Features that a program can tell apart by more than speed, and that exist without the kernel
 * lending them to one process only. Left out: RDRAND and RDSEED (no replay has them), TSX, hints,
 * and what is visible to kernels alone. */
static const struct feature {
    uint32_t leaf, subleaf;
    uint8_t reg, bit;
    const char *name;
} features[] = {
    {1, 0, ECX, 0, "SSE3"},
    {1, 0, ECX, 1, "PCLMULQDQ"},
    {1, 0, ECX, 9, "SSSE3"},
    {1, 0, ECX, 12, "FMA"},
    {1, 0, ECX, 13, "CMPXCHG16B"},
    {1, 0, ECX, 19, "SSE4.1"},
    {1, 0, ECX, 20, "SSE4.2"},
    {1, 0, ECX, 22, "MOVBE"},
    {1, 0, ECX, 23, "POPCNT"},
    {1, 0, ECX, 25, "AES"},
    {1, 0, ECX, 28, "AVX"},
    {1, 0, ECX, 29, "F16C"},
    {7, 0, EBX, 0, "FSGSBASE"},
    {7, 0, ECX, 4, "protection keys"},
    {7, 0, EBX, 3, "BMI1"},
    {7, 0, EBX, 5, "AVX2"},
    {7, 0, EBX, 8, "BMI2"},
    {7, 0, EBX, 16, "AVX-512F"},
    {7, 0, EBX, 17, "AVX-512DQ"},
    {7, 0, EBX, 19, "ADX"},
    {7, 0, EBX, 21, "AVX-512IFMA"},
    {7, 0, EBX, 23, "CLFLUSHOPT"},
    {7, 0, EBX, 24, "CLWB"},
    {7, 0, EBX, 28, "AVX-512CD"},
    {7, 0, EBX, 29, "SHA"},
    {7, 0, EBX, 30, "AVX-512BW"},
    {7, 0, EBX, 31, "AVX-512VL"},
    {7, 0, ECX, 1, "AVX-512VBMI"},
    {7, 0, ECX, 4, "protection keys"},
    {7, 0, ECX, 6, "AVX-512VBMI2"},
    {7, 0, ECX, 8, "GFNI"},
    {7, 0, ECX, 9, "VAES"},
    {7, 0, ECX, 10, "VPCLMULQDQ"},
    {7, 0, ECX, 11, "AVX-512VNNI"},
    {7, 0, ECX, 12, "AVX-512BITALG"},
    {7, 0, ECX, 14, "AVX-512VPOPCNTDQ"},
    {7, 0, ECX, 27, "MOVDIRI"},
    {7, 0, ECX, 28, "MOVDIR64B"},
    {7, 0, EDX, 8, "AVX-512VP2INTERSECT"},
    {7, 0, EDX, 22, "AMX-BF16"},
    {7, 0, EDX, 23, "AVX-512FP16"},
    {7, 0, EDX, 24, "AMX-TILE"},
    {7, 0, EDX, 25, "AMX-INT8"},
    {7, 1, EAX, 4, "AVX-VNNI"},
    {7, 1, EAX, 5, "AVX-512BF16"},
    {7, 1, EAX, 23, "AVX-IFMA"},
    {7, 1, EDX, 4, "AVX-VNNI-INT8"},
    {7, 1, EDX, 5, "AVX-NE-CONVERT"},
    {0xd, 1, EAX, 0, "XSAVEOPT"},
    {0xd, 1, EAX, 1, "XSAVEC"},
    {0x80000001, 0, ECX, 0, "LAHF in 64-bit code"},
    {0x80000001, 0, ECX, 5, "LZCNT"},
    {0x80000001, 0, ECX, 6, "SSE4A"},
    {0x80000001, 0, ECX, 8, "PREFETCHW"},
    {0x80000001, 0, ECX, 11, "XOP"},
    {0x80000001, 0, ECX, 16, "FMA4"},
    {0x80000001, 0, ECX, 21, "TBM"},
};

/* State that XGETBV promises. PKRU's (9) is that of protection keys. */
static const struct {
    uint64_t bits;
    const char *name;
} state_components[] = {
    {1u << 2, "AVX registers"},
    {7u << 5, "AVX-512 registers"},
    {3u << 17, "AMX tiles"},
};

/* The answer of CPUID(leaf, subleaf) as recorded; NULL if the leaf was not recorded. */
static const struct rrt_cpuid *cpuid_find(const struct rrt_header *header, uint32_t leaf,
                                          uint32_t subleaf)
{
    for (size_t i = 0; i < header->cpuid_count; i++) {
        const struct rrt_cpuid *record = &header->cpuid[i];
        if (record->eax_in == leaf &&
            (record->ecx_in == subleaf || record->ecx_in == RRT_CPUID_NO_SUBLEAF))
            return record;
    }
    return NULL;
}

static bool recorded_has(const struct rrt_header *header, const struct feature *feature)
{
    const struct rrt_cpuid *record = cpuid_find(header, feature->leaf, feature->subleaf);
    if (!record)
        return false;
    const uint32_t regs[] = {record->eax, record->ebx, record->ecx, record->edx};
    return regs[feature->reg] >> feature->bit & 1;
}

static bool local_has(const struct feature *feature)
{
    if (!wd_cpuid_has(feature->leaf))
        return false;
    struct wd_cpuid is = wd_cpuid_ask(feature->leaf, feature->subleaf);
    const uint32_t regs[] = {is.eax, is.ebx, is.ecx, is.edx};
    return regs[feature->reg] >> feature->bit & 1;
}

static uint64_t local_xcr0(void)
{
    static const struct feature osxsave = {1, 0, ECX, 27, "OSXSAVE"};
    uint32_t low, high;
    if (!local_has(&osxsave))
        return 3;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static void add_name(char *names, size_t size, const char *name)
{
    size_t used = strlen(names);
    snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
}

void feed_cpu_lacking(const struct rrt_header *header, char *names, size_t size)
{
    uint64_t here = local_xcr0();
    names[0] = 0;
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
        if (recorded_has(header, &features[i]) && !local_has(&features[i]))
            add_name(names, size, features[i].name);
    for (size_t i = 0; i < sizeof(state_components) / sizeof(state_components[0]); i++)
        if (header->xcr0 & ~here & state_components[i].bits)
            add_name(names, size, state_components[i].name);
}

/* Whether instructions of a feature do something else, silently, where it is missing: tzcnt and
 * lzcnt are bsf and bsr then. */
static bool is_silent(const struct feature *feature)
{
    return !strcmp(feature->name, "BMI1") || !strcmp(feature->name, "LZCNT");
}

int feed_cpu_check(const struct rrt_header *header)
{
    char missing[64] = "";
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++)
        if (is_silent(&features[i]) && recorded_has(header, &features[i]) &&
            !local_has(&features[i]))
            add_name(missing, sizeof(missing), features[i].name);
    if (!missing[0])
        return 0;
    return wetdbg_fail(
        -WETDBG_ERR_UNSUPPORTED,
        "the recording was made on a processor with %s, which this one lacks: replay it "
        "where they are, or record it again here",
        missing);
}

/* Which bits of a leaf's answer are the same for all cores of a processor, and at all times. */
static void mask_of(uint32_t leaf, uint32_t mask[4])
{
    static const uint32_t others[] = {0xb, 0x1f, 0x8000001e, 0x80000026};
    for (unsigned i = 0; i < 4; i++)
        mask[i] = UINT32_MAX;
    if (leaf == 1) /* APIC's number; OSXSAVE is set by systems */
        mask[EBX] = 0xffffff;
    if (leaf == 0xd)
        mask[EBX] = 0;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (leaf == others[i])
            memset(mask, 0, 4 * sizeof(*mask));
}

bool feed_cpu_is_here(const struct rrt_header *header)
{
    if (header->has_cpuid_faulting)
        return false;
    for (size_t i = 0; i < header->cpuid_count; i++) {
        const struct rrt_cpuid *record = &header->cpuid[i];
        const uint32_t recorded[] = {record->eax, record->ebx, record->ecx, record->edx};
        uint32_t mask[4];
        uint32_t subleaf = record->ecx_in == RRT_CPUID_NO_SUBLEAF ? 0 : record->ecx_in;
        struct wd_cpuid is = wd_cpuid_ask(record->eax_in, subleaf);
        const uint32_t here[] = {is.eax, is.ebx, is.ecx, is.edx};
        mask_of(record->eax_in, mask);
        for (unsigned reg = 0; reg < 4; reg++)
            if ((recorded[reg] ^ here[reg]) & mask[reg])
                return false;
    }
    return header->cpuid_count > 0;
}

/* Whether fxsave stores nothing of the last x87 instruction. */
static bool loses_x87_here(void)
{
    uint8_t kept[512] __attribute__((aligned(16))), image[512] __attribute__((aligned(16)));
    uint64_t ip;
    __asm__ volatile("fxsave64 %0\n\tfninit\n\tfld1\n\tfxsave64 %1\n\tfxrstor64 %0"
                     : "=m"(kept), "=m"(image));
    memcpy(&ip, image + 8, sizeof(ip));
    return ip == 0;
}

uint32_t feed_cpu_x87(const struct rrt_header *header)
{
    enum rrt_quirk quirk = header->xsave_fip_fdp_quirk;
    bool is_lost = quirk == RRT_QUIRK_UNKNOWN ? loses_x87_here() : quirk == RRT_QUIRK_YES;
    return (is_lost ? AGT_X87_LOST : 0) | (header->clears_fip_fdp ? AGT_X87_CLEARED : 0);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saves the same registers, all vectors zero, in pairs: once as a zeroing idiom leaves them, once loaded.
 * Some processors call them in use in the second case only. Nothing looks at what was saved; its
 * address, how many areas there are, and the first one of xsaveopt and of xsavec go to standard output
 * (of an instruction that the processor lacks, the number of areas).
 */
#include <cpuid.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/cpuid.h"

#define AREA_BYTES 1024
#define AREAS      12

static uint8_t areas[AREAS][AREA_BYTES] __attribute__((aligned(64)));
static const uint8_t zeros[32] __attribute__((aligned(64)));
static unsigned count;

#define SAVE(name, idiom)                                                                          \
    static void name(uint32_t csr, int loads)                                                      \
    {                                                                                              \
        const uint32_t usual = 0x1f80;                                                             \
        uint8_t *area = areas[count++];                                                            \
        memset(area, 0xaa, AREA_BYTES);                                                            \
        memset(area + 512, 0, 64);                                                                 \
        __asm__ volatile(                                                                          \
            "ldmxcsr %[csr]\n\tvzeroall\n\ttest %[loads], %[loads]\n\tjz 1f\n\t"                   \
            "vmovdqu %[zeros], %%ymm3\n1:\t" idiom " %[area]\n\tldmxcsr %[usual]"                  \
            : [area] "+m"(*(uint8_t(*)[AREA_BYTES])area)                                           \
            : [csr] "m"(csr), [loads] "r"(loads), [zeros] "m"(zeros), [usual] "m"(usual), "a"(7),  \
              "d"(0)                                                                               \
            : "cc", "xmm3");                                                                       \
    }

SAVE(save_whole, "xsave64")
SAVE(save_opt, "xsaveopt64")
SAVE(save_compact, "xsavec64")

static void pairs(void (*save)(uint32_t csr, int loads))
{
    const uint32_t csrs[] = {0x1f80, 0x1fa0};
    for (unsigned i = 0; i < 2; i++) {
        save(csrs[i], 0);
        save(csrs[i], 1);
    }
}

int main(void)
{
    const uint32_t features = wd_cpuid_ask(1, 0).ecx;
    if (!(features & bit_OSXSAVE) || !(features & bit_AVX))
        return 1;
    pairs(save_whole);
    const uint32_t eax = wd_cpuid_ask(0xd, 1).eax;
    const unsigned opt = eax & 1 ? count : UINT_MAX;
    if (eax & 1)
        pairs(save_opt);
    const unsigned compact = eax & 2 ? count : UINT_MAX;
    if (eax & 2)
        pairs(save_compact);
    const uint64_t told[] = {(uint64_t)(uintptr_t)areas, count, opt < count ? opt : count,
                             compact < count ? compact : count};
    return write(STDOUT_FILENO, told, sizeof(told)) != (ssize_t)sizeof(told);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Saves the same registers, all vectors zero, in pairs: once as a zeroing idiom leaves them, once loaded.
 * Some processors call them in use in the second case only. Nothing looks at what was saved; its
 * address, how many areas there are, and the first one of xsaveopt and of xsavec go to standard output
 * (of an instruction that the processor lacks, the number of areas): for components up to AVX, and where the processor has
 * AVX-512, for all of them.
 */
#include <cpuid.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/cpuid.h"

#define AREA_BYTES 2752
#define AREAS      12

static uint8_t areas[2][AREAS][AREA_BYTES] __attribute__((aligned(64)));
static const uint8_t zeros[64] __attribute__((aligned(64)));
static unsigned set, count;

#define CLEAR_ZMM(n)  "vpxord %%zmm" #n ", %%zmm" #n ", %%zmm" #n "\n\t"
#define CLEAR_MASK(n) "kxorw %%k" #n ", %%k" #n ", %%k" #n "\n\t"
#define CLEAR_AVX     "vzeroall\n\t"
#define CLEAR_AVX512                                                                               \
    CLEAR_AVX CLEAR_ZMM(16) CLEAR_ZMM(17) CLEAR_ZMM(18) CLEAR_ZMM(19) CLEAR_ZMM(20) CLEAR_ZMM(21)  \
        CLEAR_ZMM(22) CLEAR_ZMM(23) CLEAR_ZMM(24) CLEAR_ZMM(25) CLEAR_ZMM(26) CLEAR_ZMM(27)        \
            CLEAR_ZMM(28) CLEAR_ZMM(29) CLEAR_ZMM(30) CLEAR_ZMM(31) CLEAR_MASK(0) CLEAR_MASK(1)    \
                CLEAR_MASK(2) CLEAR_MASK(3) CLEAR_MASK(4) CLEAR_MASK(5) CLEAR_MASK(6)              \
                    CLEAR_MASK(7)

#define LOAD_AVX "vmovdqu %[zeros], %%ymm3\n\t"
#define LOAD_AVX512                                                                                \
    "vmovdqu64 %[zeros], %%zmm3\n\tvmovdqu64 %[zeros], %%zmm20\n\tkmovw %[zeros], %%k1\n\t"

#define SAVE(name, idiom, clear, load, components)                                                 \
    static void name(uint32_t csr, int loads)                                                      \
    {                                                                                              \
        const uint32_t usual = 0x1f80;                                                             \
        uint8_t *area = areas[set][count++];                                                       \
        memset(area, 0xaa, AREA_BYTES);                                                            \
        memset(area + 512, 0, 64);                                                                 \
        __asm__ volatile(                                                                          \
            "ldmxcsr %[csr]\n\t" clear "test %[loads], %[loads]\n\tjz 1f\n\t" load "1:\t" idiom    \
            " %[area]\n\tldmxcsr %[usual]"                                                         \
            : [area] "+m"(*(uint8_t(*)[AREA_BYTES])area)                                           \
            : [csr] "m"(csr), [loads] "r"(loads), [zeros] "m"(zeros), [usual] "m"(usual),          \
              "a"(components), "d"(0)                                                              \
            : "cc", "xmm3");                                                                       \
    }

SAVE(save_whole, "xsave64", CLEAR_AVX, LOAD_AVX, 7)
SAVE(save_opt, "xsaveopt64", CLEAR_AVX, LOAD_AVX, 7)
SAVE(save_compact, "xsavec64", CLEAR_AVX, LOAD_AVX, 7)
SAVE(save_whole_512, "xsave64", CLEAR_AVX512, LOAD_AVX512, 0xe7)
SAVE(save_opt_512, "xsaveopt64", CLEAR_AVX512, LOAD_AVX512, 0xe7)
SAVE(save_compact_512, "xsavec64", CLEAR_AVX512, LOAD_AVX512, 0xe7)

static void pairs(void (*save)(uint32_t csr, int loads))
{
    const uint32_t csrs[] = {0x1f80, 0x1fa0};
    for (unsigned i = 0; i < 2; i++) {
        save(csrs[i], 0);
        save(csrs[i], 1);
    }
}

static bool tell(bool is_512)
{
    const uint32_t eax = wd_cpuid_ask(0xd, 1).eax;
    set = is_512;
    count = 0;
    pairs(is_512 ? save_whole_512 : save_whole);
    const unsigned opt = eax & 1 ? count : UINT_MAX;
    if (eax & 1)
        pairs(is_512 ? save_opt_512 : save_opt);
    const unsigned compact = eax & 2 ? count : UINT_MAX;
    if (eax & 2)
        pairs(is_512 ? save_compact_512 : save_compact);
    const uint64_t told[] = {(uint64_t)(uintptr_t)areas[set], count, opt < count ? opt : count,
                             compact < count ? compact : count};
    return write(STDOUT_FILENO, told, sizeof(told)) == (ssize_t)sizeof(told);
}

int main(void)
{
    const uint32_t features = wd_cpuid_ask(1, 0).ecx;
    if (!(features & bit_OSXSAVE) || !(features & bit_AVX))
        return 1;
    if (!tell(false))
        return 1;
    return __builtin_cpu_supports("avx512f") && !tell(true);
}

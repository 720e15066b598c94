/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers (AVX2) of which one lane or two may not be read, each lane in its turn, until a handler opens their pages:
 * the processor has perhaps loaded others by then, and goes on with those that are left. Exits with 0 if all
 * lanes are what was there, and with 77 where the processor has no such instruction.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "opened.h"

#define PAGES 3u /* the first is always open */

/* Four indices of `index_bytes`, or eight; every second lane's mask may be off. */
struct gather {
    const void *index;
    const void *mask;
    void *result; /* 32 bytes, before and after */
};

#define GATHER(name, text)                                                                         \
    __attribute__((target("avx2"))) static void name(const struct gather *g)                       \
    {                                                                                              \
        __asm__ volatile("vmovdqu (%[index]), %%ymm3\n\t"                                          \
                         "vmovdqu (%[mask]), %%ymm4\n\t"                                           \
                         "vmovdqu (%[result]), %%ymm5\n\t" text "\n\t"                             \
                         "vmovdqu %%ymm5, (%[result])\n\t"                                         \
                         "vzeroupper"                                                              \
                         :                                                                         \
                         : [index] "r"(g->index), [mask] "r"(g->mask), [result] "r"(g->result),    \
                           [base] "r"(area)                                                        \
                         : "xmm3", "xmm4", "xmm5", "memory");                                      \
    }

GATHER(by_dword, "vpgatherdd %%ymm4, (%[base],%%ymm3,4), %%ymm5")
GATHER(by_dword_ps, "vgatherdps %%ymm4, (%[base],%%ymm3,4), %%ymm5")
GATHER(by_qword, "vpgatherqq %%ymm4, (%[base],%%ymm3,8), %%ymm5")
GATHER(by_qword_pd, "vgatherqpd %%ymm4, (%[base],%%ymm3,8), %%ymm5")
GATHER(wide_by_dword, "vpgatherdq %%ymm4, (%[base],%%xmm3,8), %%ymm5")
GATHER(narrow_by_qword, "vpgatherqd %%xmm4, (%[base],%%ymm3,4), %%xmm5")

static const struct kind {
    void (*run)(const struct gather *gather);
    unsigned lanes, index_bytes, bytes;
} kinds[] = {{by_dword, 8, 4, 4},    {by_dword_ps, 8, 4, 4},   {by_qword, 4, 8, 8},
             {by_qword_pd, 4, 8, 8}, {wide_by_dword, 4, 4, 8}, {narrow_by_qword, 4, 8, 4}};

static int is_on(unsigned lane, unsigned lanes, unsigned round)
{
    return round % 2 == 0 || lane % 2 == lanes % 2;
}

/* Lane `first` reads from a closed page, and `second` from another one (or the same lane). */
static int check(const struct kind *kind, unsigned first, unsigned second, unsigned round)
{
    uint8_t index[32] = {0}, mask[32] = {0}, result[32], expected[32];
    memset(result, 0x5a, sizeof(result));
    memset(expected, 0x5a, sizeof(expected));
    for (unsigned i = 0; i < kind->lanes; i++) {
        unsigned page = i == first ? 1 : i == second ? 2 : 0;
        uint64_t at = (page * PAGE + 8 * ((i * 37 + round * 11) % 500)) / kind->bytes;
        memcpy(index + i * kind->index_bytes, &at, kind->index_bytes);
        if (is_on(i, kind->lanes, round)) {
            memset(mask + i * kind->bytes, 0xff, kind->bytes);
            memcpy(expected + i * kind->bytes, area + at * kind->bytes, kind->bytes);
        }
    }
    struct gather gather = {index, mask, result};
    if (mprotect(area + PAGE, (PAGES - 1) * PAGE, PROT_NONE))
        _Exit(3);
    kind->run(&gather);
    if (mprotect(area + PAGE, (PAGES - 1) * PAGE, PROT_READ | PROT_WRITE))
        _Exit(3);
    return memcmp(result, expected, kind->lanes * kind->bytes) == 0;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    unsigned wrong = 0;
    if (!__builtin_cpu_supports("avx2"))
        return 77;
    sigaction(SIGSEGV, &action, NULL);
    area = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        return 1;
    for (unsigned i = 0; i < PAGES * PAGE; i++)
        area[i] = (uint8_t)(i * 7 + i / 251);
    for (unsigned k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
        for (unsigned first = 0; first < kinds[k].lanes; first++)
            for (unsigned round = 0; round < 2; round++)
                wrong += !check(&kinds[k], first, (first + 3) % kinds[k].lanes, round);
    printf("%u faults, %u wrong\n", faults, wrong);
    return wrong > 0 || faults < 64;
}

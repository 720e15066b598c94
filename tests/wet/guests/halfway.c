/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A gather (AVX2) that faults at its sixth lane, and goes on when a handler has opened the page. Exits with what its
 * first lane loaded, before or after that: 77, and without such instructions 1.
 */
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096

static uint8_t *area;

static void on_fault(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    (void)context;
    if (mprotect(area + PAGE, PAGE, PROT_READ | PROT_WRITE))
        _Exit(3);
}

__attribute__((target("avx2"))) static void gather(const uint32_t *index, const uint32_t *mask,
                                                   uint32_t *result)
{
    __asm__ volatile("vmovdqu (%0), %%ymm3\n\t"
                     "vmovdqu (%1), %%ymm4\n\t"
                     "vmovdqu (%2), %%ymm5\n\t"
                     "vpgatherdd %%ymm4, (%3,%%ymm3,4), %%ymm5\n\t"
                     "vmovdqu %%ymm5, (%2)\n\t"
                     "vzeroupper"
                     :
                     : "r"(index), "r"(mask), "r"(result), "r"(area)
                     : "xmm3", "xmm4", "xmm5", "memory");
}

int main(int argc, char **argv)
{
    const uint32_t all = UINT32_MAX;
    const uint32_t index[8] = {1, 2, 3, 4, 5, PAGE / 4 + 6, 7, 8};
    const uint32_t mask[8] = {all, all, all, all, all, all, all, all};
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    uint32_t result[8] = {0};
    (void)argv;
    area = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!__builtin_cpu_supports("avx2") || area == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
        return 1;
    ((uint32_t *)area)[1] = (uint32_t)argc * 77; /* FIRST */
    if (mprotect(area + PAGE, PAGE, PROT_NONE))
        return 2;
    gather(index, mask, result);
    return (int)result[0];
}

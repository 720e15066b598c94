/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gathers and scatters by lists of addresses of which masks choose, and vectors stored by masks; with r15 as base,
 * too. What they did ends in the arguments of system calls. Ends with 3 where the processor has no AVX-512.
 */
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 4096
#define ROUNDS  60

static uint32_t from[ENTRIES], to[ENTRIES];

static uint64_t sum(const void *bytes, size_t size)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3;
    return hash;
}

static void tell(uint64_t a, uint64_t b)
{
    syscall(SYS_getpid, a, b, a ^ b);
}

__attribute__((target("avx512f"))) static void narrow(const int32_t *index, unsigned mask,
                                                      uint8_t *results)
{
    __asm__ volatile("vmovdqu32 (%[index]), %%zmm20\n\t"
                     "kmovw %[mask], %%k1\n\t"
                     "vpternlogd $0xff, %%zmm21, %%zmm21, %%zmm21\n\t"
                     "vpgatherdd 8(%[from],%%zmm20,4), %%zmm21%{%%k1%}\n\t"
                     "kmovw %%k1, %%eax\n\t"
                     "kmovw %[mask], %%k2\n\t"
                     "movq %[to], %%r15\n\t"
                     "vpscatterdd %%zmm21, 16(%%r15,%%zmm20,4)%{%%k2%}\n\t"
                     "kmovw %[mask], %%k3\n\t"
                     "vmovdqu32 %%zmm21, (%[results])%{%%k3%}\n\t"
                     "vmovdqu32 (%[results]), %%zmm22%{%%k3%}%{z%}\n\t"
                     "vmovdqu32 %%zmm22, 64(%[results])\n\t"
                     "movl %%eax, 128(%[results])"
                     :
                     : [index] "r"(index), [mask] "r"(mask), [from] "r"(from), [to] "r"(to),
                       [results] "r"(results)
                     : "rax", "r15", "xmm20", "xmm21", "xmm22", "k1", "k2", "k3", "memory");
}

__attribute__((target("avx512f"))) static void wide(const int64_t *index, unsigned mask,
                                                    uint8_t *results)
{
    __asm__ volatile("vmovdqu64 (%[index]), %%zmm3\n\t"
                     "kmovw %[mask], %%k4\n\t"
                     "vpxorq %%zmm5, %%zmm5, %%zmm5\n\t"
                     "vgatherqpd (%[from],%%zmm3,8), %%zmm5%{%%k4%}\n\t"
                     "kmovw %[mask], %%k5\n\t"
                     "vpscatterqd %%ymm5, (%[to],%%zmm3,4)%{%%k5%}\n\t"
                     "vmovdqu64 %%zmm5, (%[results])"
                     :
                     : [index] "r"(index), [mask] "r"(mask), [from] "r"(from), [to] "r"(to),
                       [results] "r"(results)
                     : "xmm3", "xmm5", "k4", "k5", "memory");
}

int main(void)
{
    if (!__builtin_cpu_supports("avx512f"))
        return 3;
    for (uint32_t i = 0; i < ENTRIES; i++)
        from[i] = i * 2654435761u;
    for (unsigned round = 0; round < ROUNDS; round++) {
        int32_t index[16];
        int64_t index_wide[8];
        uint8_t results[256] = {0};
        for (unsigned i = 0; i < 16; i++)
            index[i] = (int32_t)(from[16 * round + i] % (ENTRIES - 8));
        for (unsigned i = 0; i < 8; i++)
            index_wide[i] = from[16 * round + i] % (ENTRIES / 2);
        unsigned mask = round == 0 ? 0 : round == 1 ? 0xffff : from[round] >> 16;
        narrow(index, mask, results);
        tell(sum(results, sizeof(results)), mask);
        wide(index_wide, mask >> 3, results);
        tell(sum(results, sizeof(results)), sum(to, sizeof(to)));
    }
    return 0;
}

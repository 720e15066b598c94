/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory through gs, and single bits of memory by a number in a register, which lie far from where the
 * operand's address points. What is printed is computed with both.
 */
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WORDS 16
#define BITS  (64 * WORDS)

static uint64_t bits[WORDS], area[WORDS];

/* ---- bits ---- */

static int bit_set(uint64_t *from, int64_t bit)
{
    int was;
    __asm__ volatile("btsq %2, %1" : "=@ccc"(was), "+m"(*from) : "r"(bit) : "memory");
    return was;
}

static int bit_flip(uint64_t *from, int32_t bit)
{
    int was;
    __asm__ volatile("btcl %2, %1" : "=@ccc"(was), "+m"(*(uint32_t *)from) : "r"(bit) : "memory");
    return was;
}

static int bit_test(const uint64_t *from, int16_t bit)
{
    int is;
    __asm__ volatile("btw %2, %1"
                     : "=@ccc"(is)
                     : "m"(*(const uint16_t *)from), "r"(bit)
                     : "memory");
    return is;
}

/* The odd numbers from 3 on that are no multiples, counted from the middle. */
static unsigned sieve(void)
{
    uint64_t *middle = bits + WORDS / 2;
    unsigned count = 0;
    for (int n = 3; n < BITS; n += 2) {
        if (bit_test(middle, (int16_t)(n - BITS / 2)))
            continue;
        count++;
        for (int k = 3 * n; k < BITS; k += 2 * n)
            bit_set(middle, k - BITS / 2);
    }
    for (int n = 0; n < BITS; n += 5)
        count += (unsigned)bit_flip(middle, n - BITS / 2);
    return count;
}

/* ---- gs ---- */

static uint64_t gs_read(uint64_t off)
{
    uint64_t value;
    __asm__ volatile("movq %%gs:(%1), %0" : "=r"(value) : "r"(off) : "memory");
    return value;
}

static void gs_write(uint64_t off, uint64_t value)
{
    __asm__ volatile("movq %0, %%gs:(%1)" : : "r"(value), "r"(off) : "memory");
}

static uint64_t gs_sum(void)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < WORDS; i++)
        gs_write(8 * i, i * i ^ 5);
    for (uint64_t i = 0; i + 1 < WORDS; i++)
        __asm__ volatile("imulq %%gs:8(,%1,8), %0\n\taddq %0, %%gs:(,%1,8)\n\tincq %0"
                         : "+&r"(sum)
                         : "r"(i)
                         : "memory", "cc");
    return sum + gs_read(8 * (WORDS - 2));
}

int main(void)
{
    unsigned count = sieve();
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, area) != 0)
        return 1;
    uint64_t first = gs_sum(), base = 0;
    /* another base: the same words lie further up */
    if (syscall(SYS_arch_prctl, ARCH_SET_GS, area + 8) != 0 ||
        syscall(SYS_arch_prctl, ARCH_GET_GS, &base) != 0)
        return 1;
    printf("%u %#llx %llx %d\n", count, (unsigned long long)first,
           (unsigned long long)gs_read(8 * 4), base == (uint64_t)(uintptr_t)(area + 8));
    return 0;
}

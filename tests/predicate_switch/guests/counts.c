/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Computes, writes a line every so often, and exits; without a C library. What it writes and ends
 * with depends on `turns`, at COUNTS_AT, which nothing in it changes.
 */
#include <stdint.h>
#include <sys/syscall.h>

volatile uint64_t turns __attribute__((section(".counts"))) = 400;

static long call(long number, long a, long b, long c)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
}

static uint64_t ticks(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return low | (uint64_t)high << 32;
}

/* What was written stays where it is: whoever looks later finds it. */
static void number_write(uint64_t number)
{
    static char text[1 << 16];
    static unsigned used;
    unsigned at = used += 24;
    text[--at] = '\n';
    do
        text[--at] = (char)('0' + number % 10);
    while (number /= 10);
    call(SYS_write, 1, (long)(text + at), (long)(used - at));
}

__attribute__((noreturn, used)) void start(void)
{
    uint64_t hash = 1469598103934665603u, before = ticks();
    for (uint64_t i = 0; i < turns; i++) {
        hash = (hash ^ i) * 1099511628211u;
        if (hash % 3 == 0)
            hash += i;
        if (i % 50 == 49)
            number_write(hash);
    }
    if (ticks() < before)
        hash = 0;
    call(SYS_exit_group, (long)(hash & 63), 0, 0);
    for (;;)
        ;
}

__asm__(".globl _start\n_start:\n  and $-16, %rsp\n  call start\n");

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Flags that stay live across direct and indirect jumps, calls and returns; pushf, lahf, adc. */
#include <stdint.h>
#include <stdio.h>

enum {
    STATUS_FLAGS = 0x8d5, /* CF PF AF SF ZF OF */
    DEFINED_BY_ADD = 0x8d5,
};

/* adds, then carries the flags through jmp, call, ret and an indirect jump before reading them */
__attribute__((noinline)) static uint64_t flags_of_add(uint64_t a, uint64_t b)
{
    uint64_t flags;

    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "movq %1, %%rax\n\t"
                     "addq %2, %%rax\n\t"
                     "jmp 2f\n"
                     "1:\n\t"
                     "ret\n"
                     "2:\n\t"
                     "call 1b\n\t"
                     "leaq 3f(%%rip), %%rdx\n\t"
                     "call *%%rdx\n\t"
                     "leaq 4f(%%rip), %%rdx\n\t"
                     "jmp *%%rdx\n"
                     "3:\n\t"
                     "jmp 1b\n"
                     "4:\n\t"
                     "leaq 5f(%%rip), %%rdx\n\t"
                     "pushq %%rdx\n\t"
                     "ret\n"
                     "5:\n\t"
                     "pushfq\n\t"
                     "popq %0\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     : "=r"(flags)
                     : "r"(a), "r"(b)
                     : "rax", "rdx", "cc", "memory");
    return flags & DEFINED_BY_ADD;
}

/* a 192-bit addition whose carry crosses two calls */
__attribute__((noinline)) static void add_wide(uint64_t *sum, const uint64_t *more)
{
    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "movq (%1), %%rax\n\t"
                     "addq %%rax, (%0)\n\t"
                     "movl $8, %%ecx\n\t"
                     "call 1f\n\t"
                     "movl $16, %%ecx\n\t"
                     "call 1f\n\t"
                     "jmp 2f\n"
                     "1:\n\t"
                     "movq (%1,%%rcx), %%rax\n\t"
                     "adcq %%rax, (%0,%%rcx)\n\t"
                     "ret\n"
                     "2:\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     :
                     : "r"(sum), "r"(more)
                     : "rax", "rcx", "cc", "memory");
}

/* inc keeps the carry, loop and jrcxz keep all flags, lahf and sahf move them */
__attribute__((noinline)) static unsigned carry_through_loop(unsigned turns)
{
    unsigned carry;

    __asm__ volatile("xorl %%edx, %%edx\n\t"
                     "movl %1, %%ecx\n\t"
                     "stc\n"
                     "1:\n\t"
                     "jrcxz 2f\n\t"
                     "incl %%edx\n\t"
                     "loop 1b\n"
                     "2:\n\t"
                     "lahf\n\t"
                     "cmpl $0, %%edx\n\t"
                     "sahf\n\t"
                     "adcl $100, %%edx\n\t"
                     "movl %%edx, %0\n\t"
                     : "=r"(carry)
                     : "r"(turns)
                     : "rax", "rcx", "rdx", "cc");
    return carry;
}

/* popf sets what it is given */
__attribute__((noinline)) static uint64_t flags_round_trip(uint64_t wanted)
{
    uint64_t got;

    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "pushq %1\n\t"
                     "popfq\n\t"
                     "pushfq\n\t"
                     "popq %0\n\t"
                     "cld\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     : "=r"(got)
                     : "r"(wanted)
                     : "cc", "memory");
    return got;
}

int main(void)
{
    uint64_t sum[3] = {~0UL, ~0UL, 5};
    const uint64_t one[3] = {1, 0, 0};

    printf("%03lx", flags_of_add(1, 2));
    printf(" %03lx", flags_of_add(~0UL, 1));
    printf(" %03lx", flags_of_add(0x7fffffffffffffffUL, 1));
    printf(" %03lx\n", flags_of_add(0xf0, 0x11));
    add_wide(sum, one);
    printf("%lx %lx %lx\n", sum[0], sum[1], sum[2]);
    printf("%u %u\n", carry_through_loop(0), carry_through_loop(9));
    printf("%lx %lx\n", flags_round_trip(0x8d5) & STATUS_FLAGS, flags_round_trip(0x400) & 0xcd5);
    return 0;
}

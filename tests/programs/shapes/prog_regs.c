/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keeps live values in r12-r15, rbx and rbp across loops, calls and memory operands of every
 * base and index register: what a translator that steals a register has to survive. */
#include <stdint.h>
#include <stdio.h>

static uint64_t table[16];

__attribute__((noinline)) static uint64_t churn(uint64_t seed)
{
    uint64_t result;

    __asm__ volatile("movq %1, %%r15\n\t"
                     "leaq 1(%%r15,%%r15,2), %%r14\n\t"
                     "movq $0x9e3779b97f4a7c15, %%r13\n\t"
                     "movq %2, %%r12\n\t"
                     "movl $40, %%ecx\n"
                     "1:\n\t"
                     "addq %%r13, %%r15\n\t"
                     "rolq $13, %%r15\n\t"
                     "xorq %%r15, %%r14\n\t"
                     "movq %%r15, %%r11\n\t"
                     "andl $15, %%r11d\n\t"
                     "addq %%r14, (%%r12,%%r11,8)\n\t"
                     "movq (%%r12,%%r11,8), %%r10\n\t"
                     "xchgq %%r10, %%r13\n\t"
                     "orq $1, %%r13\n\t"
                     "leaq (%%r13,%%r10,8), %%r9\n\t"
                     "movb %%r15b, %%r8b\n\t"
                     "movzwl %%r14w, %%r8d\n\t"
                     "addq %%r8, %%r9\n\t"
                     "xorq %%r9, %%r14\n\t"
                     "decl %%ecx\n\t"
                     "jnz 1b\n\t"
                     "leaq (%%r15,%%r14), %0\n\t"
                     : "=&r"(result)
                     : "r"(seed), "r"(table)
                     : "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rcx", "cc", "memory");
    return result;
}

/* r15 as the base and rsp as an ordinary source, push and pop of the high registers. */
__attribute__((noinline)) static uint64_t stack_dance(uint64_t value)
{
    uint64_t result;

    __asm__ volatile("movq %%rsp, %%r15\n\t"
                     "subq $256, %%rsp\n\t"
                     "pushq %1\n\t"
                     "popq %%r14\n\t"
                     "pushq %%r15\n\t"
                     "pushq %%r14\n\t"
                     "movq (%%rsp), %%r12\n\t"
                     "addq %%r12, (%%rsp)\n\t"
                     "popq %%r13\n\t"
                     "popq %%rsp\n\t"
                     "subq %%rsp, %%r15\n\t"
                     "leaq (%%r13,%%r15), %0\n\t"
                     : "=&r"(result)
                     : "r"(value)
                     : "r12", "r13", "r14", "r15", "cc", "memory");
    return result;
}

int main(void)
{
    uint64_t digest = 0;

    for (uint64_t i = 0; i < 8; i++)
        digest = digest * 31 + churn(i);
    printf("churn %016lx\n", digest);
    for (int i = 0; i < 16; i++)
        digest = digest * 31 + table[i];
    printf("table %016lx, dance %lu\n", digest, stack_dance(21));
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A leaf that keeps data below rsp: nobody but a signal handler may touch those 128 bytes. */
#include <stdio.h>

__attribute__((noinline)) static unsigned long leaf(unsigned long seed)
{
    unsigned long result;

    __asm__ volatile("movq %1, -8(%%rsp)\n\t"
                     "movl $14, %%ecx\n"
                     "1:\n\t"
                     "movq -8(%%rsp), %%rax\n\t"
                     "imulq $31, %%rax, %%rax\n\t"
                     "addq $7, %%rax\n\t"
                     "movq %%rax, -128(%%rsp,%%rcx,8)\n\t"
                     "movq %%rax, -8(%%rsp)\n\t"
                     "leaq 2f(%%rip), %%rdx\n\t"
                     "jmp *%%rdx\n"
                     "2:\n\t"
                     "decl %%ecx\n\t"
                     "jnz 1b\n\t"
                     "xorl %%eax, %%eax\n\t"
                     "movl $15, %%ecx\n"
                     "3:\n\t"
                     "rolq $5, %%rax\n\t"
                     "xorq -128(%%rsp,%%rcx,8), %%rax\n\t"
                     "decl %%ecx\n\t"
                     "jnz 3b\n\t"
                     "movq %%rax, %0\n\t"
                     : "=r"(result)
                     : "r"(seed)
                     : "rax", "rcx", "rdx", "cc", "memory");
    return result;
}

/* what -O2 keeps in the red zone by itself */
__attribute__((noinline)) static int weigh(int a, int b)
{
    volatile int parts[8];

    for (int i = 0; i < 8; i++)
        parts[i] = a * i + b;
    return parts[0] + parts[3] * parts[7] - parts[5];
}

int main(void)
{
    unsigned long digest = 0;

    for (unsigned long i = 0; i < 20; i++)
        digest = digest * 131 + leaf(i) + (unsigned long)weigh((int)i, 3);
    printf("red zone %016lx\n", digest);
    return 0;
}

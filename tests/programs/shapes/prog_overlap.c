/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that overlaps itself: a jump into the immediate of a mov, and two decodings of the same
 * bytes, both executed; then a function written into memory, run, rewritten and run again. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* With skip = 0 the bytes at 1: are `mov eax, 0x90c3c031`; with skip = 1 they are
 * `xor eax, eax; ret`. */
__attribute__((noinline)) static unsigned both_ways(unsigned long skip)
{
    unsigned result;

    __asm__ volatile("leaq -128(%%rsp), %%rsp\n\t"
                     "leaq 1f(%%rip), %%rdx\n\t"
                     "addq %1, %%rdx\n\t"
                     "call *%%rdx\n\t"
                     "jmp 2f\n"
                     "1:\n\t"
                     ".byte 0xb8, 0x31, 0xc0, 0xc3, 0x90\n\t"
                     "ret\n"
                     "2:\n\t"
                     "movl %%eax, %0\n\t"
                     "leaq 128(%%rsp), %%rsp\n\t"
                     : "=r"(result)
                     : "r"(skip)
                     : "rax", "rdx", "cc", "memory");
    return result;
}

/* eb ff is a `jmp` to its own second byte, and from there ff c0 reads `inc eax`. */
__attribute__((noinline)) static unsigned jump_into_itself(unsigned value)
{
    __asm__ volatile("movl %0, %%eax\n\t"
                     ".byte 0xeb, 0xff, 0xc0\n\t"
                     "movl %%eax, %0\n\t"
                     : "+r"(value)
                     :
                     : "rax", "cc");
    return value;
}

/* Jumps past a prefix: with and without `lock`. */
__attribute__((noinline)) static long past_prefix(long *cell, long skip)
{
    __asm__ volatile("leaq 1f(%%rip), %%rdx\n\t"
                     "addq %1, %%rdx\n\t"
                     "jmp *%%rdx\n"
                     "1:\n\t"
                     "lock addq $3, (%0)\n\t"
                     :
                     : "r"(cell), "r"(skip)
                     : "rdx", "cc", "memory");
    return *cell;
}

static int generated(void)
{
    static const unsigned char code[] = {0x8d, 0x47, 0x05, 0xc3}; /* lea eax, [rdi+5]; ret */
    unsigned char *page =
        mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*function)(int);
    int sum;

    if (page == MAP_FAILED)
        return -1;
    memcpy(page, code, sizeof(code));
    memcpy(&function, &page, sizeof(function));
    sum = function(1);
    page[2] = 50;
    __builtin___clear_cache((char *)page, (char *)page + sizeof(code));
    sum = sum * 1000 + function(1);
    munmap(page, 4096);
    return sum;
}

int main(void)
{
    long cell = 1;

    for (unsigned long i = 0; i < 4; i++)
        printf("%08x ", both_ways(i & 1));
    printf("\n%u %u\n", jump_into_itself(41), jump_into_itself(~0u));
    long without = past_prefix(&cell, 1), with = past_prefix(&cell, 0);
    printf("%ld %ld\n", with, without);
    printf("%d\n", generated());
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A function is bound while saved registers wait on the stack, close to where the dynamic linker saves
 * vector registers. The exit status comes from a value that was in one of them. */
#include <stdlib.h>

__attribute__((noinline)) static long read_late(const char *text)
{
    __asm__ volatile("" ::: "rbx", "r12", "r13", "r14", "r15"); /* to be saved */
    long read = strtol(text, NULL, 10);
    __asm__ volatile("" : "+r"(read)); /* not the last thing that is done here */
    return read;
}

int main(int argc, char **argv)
{
    long kept = argc * 5;
    (void)argv;
    __asm__ volatile("" : "+r"(kept));
    long read = read_late("17");
    __asm__ volatile("" : "+r"(kept));
    return (int)(kept + (read & 1));
}

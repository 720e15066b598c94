/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Branches whose ways join: after the first nothing of them is left, which is proven; what the
 * second one chose is added up, what the third one loaded might not have been there. */
#include <stdio.h>

static int here = 3;

int main(void)
{
    int sum = 0;

    for (int i = 0; i < 4; i++) {
        int *at = &here;
        __asm__ volatile("testl $1, %0; jz 1f; movl $7, %%ecx; jmp 2f; 1: leal 9(%0), %%ecx; "
                         "2: xorl %%ecx, %%ecx" ::"r"(i)
                         : "ecx", "cc"); /* EQUAL */
        __asm__ volatile("testl $1, %1; jz 1f; movl $7, %%ecx; jmp 2f; 1: movl $9, %%ecx; "
                         "2: addl %%ecx, %0"
                         : "+r"(sum)
                         : "r"(i)
                         : "ecx", "cc");
        __asm__ volatile("testl $1, %0; jz 1f; movl (%1), %%ecx; 1: xorl %%ecx, %%ecx" ::"r"(i),
                         "r"(at)
                         : "ecx", "cc");
    }
#ifdef FIXED
    printf("%d\n", sum);
#else
    printf("%d\n", sum + 1); /* FAULT */
#endif
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Switches as compilers leave them that moved the index's extension out of a loop, before the comparison. */
#include <stdio.h>

int hoisted_byte(const char *text);
int hoisted_word(const short *text);

/* By `width` bits at text[0]: 1 to 3 for 0 to 2, else 0; asked as often as the first loop counts. */
#define HOISTED(name, load, extend, narrow)                                                        \
    __asm__(".text\n.globl " name "\n.type " name ", @function\n" name ":\n"                       \
            "    " load " (%rdi), %edx\n"                                                          \
            "    mov $3, %ecx\n"                                                                   \
            "    " extend "\n"                                                                     \
            "    lea 4f(%rip), %rdi\n"                                                             \
            "1:  cmp $2, " narrow "\n"                                                             \
            "    ja 2f\n"                                                                          \
            "    movslq (%rdi,%rsi,4), %rax\n"                                                     \
            "    add %rdi, %rax\n"                                                                 \
            "    jmp *%rax\n"                                                                      \
            "5:  mov $1, %eax\n    ret\n"                                                          \
            "6:  mov $2, %eax\n    ret\n"                                                          \
            "7:  mov $3, %eax\n    jmp 3f\n"                                                       \
            "2:  xor %eax, %eax\n"                                                                 \
            "3:  dec %ecx\n    jnz 1b\n    ret\n"                                                  \
            ".size " name ", .-" name "\n"                                                         \
            ".section .rodata\n.align 4\n"                                                         \
            "4:  .long 5b-4b, 6b-4b, 7b-4b\n.text\n")

/* Above the narrow part of rdx there may be anything. */
HOISTED("hoisted_byte", "mov", "movzbl %dl, %esi", "%dl");
HOISTED("hoisted_word", "mov", "movzwl %dx, %esi", "%dx");

int main(void)
{
    static const char bytes[4] = {1};
    static const short words[2] = {1};
    return printf("%d %d\n", hoisted_byte(bytes), hoisted_word(words)) < 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program whose executed instructions can be counted by hand; the number at the right is how
 * often the line runs (a rep counts once). Sum: 64 (COUNT_PROGRAM_INSTRUCTIONS in test_oracle.c).
 * It has no C library: nothing runs before _start or after the last system call.
 */
    .globl _start
    .text
_start:
    movl $5, %ecx                     /* 1 */
1:  decl %ecx                         /* 5 */
    jnz 1b                            /* 5 */
    leaq source(%rip), %rsi           /* 1 */
    leaq target(%rip), %rdi           /* 1 */
    movl $100, %ecx                   /* 1 */
    rep movsb                         /* 1 */
    leaq quads+9*8(%rip), %rdi        /* 1 */
    movl $10, %ecx                    /* 1 */
    movq $0x1122334455667788, %rax    /* 1 */
    std                               /* 1 */
    rep stosq                         /* 1 */
    cld                               /* 1 */
    xorl %ecx, %ecx                   /* 1 */
    rep movsq                         /* 1 */
    leaq source(%rip), %rdi           /* 1 */
    movl $'z', %eax                   /* 1 */
    movq $-1, %rcx                    /* 1 */
    repne scasb                       /* 1 */
    leaq source(%rip), %rsi           /* 1 */
    leaq target(%rip), %rdi           /* 1 */
    movl $1000, %ecx                  /* 1 */
    repe cmpsb                        /* 1 */
    stc                               /* 1 */
    pushfq                            /* 1 */
    popq %rax                         /* 1 */
    movq %rax, flags_seen(%rip)       /* 1 */
    rdtsc                             /* 1 */
    movl $10, %ecx                    /* 1 */
2:  loop 2b                           /* 10 */
    call 3f                           /* 1 */
    .byte 0x67
    call 3f                           /* 1, with a prefix that must not matter */
    movl $39, %eax                    /* 1 */
    syscall                           /* 1, getpid */
    movl $186, %eax                   /* 1 */
    syscall                           /* 1, gettid */
    testq %rax, %rax                  /* 1 */
    je 4f                             /* 1, not taken */
    movl $231, %eax                   /* 1 */
    movl $7, %edi                     /* 1 */
    syscall                           /* 1, exit_group */
4:  ud2                               /* 0 */
3:  pushq $1                          /* 2 */
    popq %rdx                         /* 2 */
    ret                               /* 2 */

    .data
source:
    .ascii "abcdefghijklmnopqrstuvwxyz"
    .fill 74, 1, 'q'
    .byte 1
target:
    .fill 100, 1, 0
    .byte 2
    .balign 8
quads:
    .fill 10, 8, 0
flags_seen:
    .quad 0
    .section .note.GNU-stack, "", @progbits

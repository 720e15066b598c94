/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The smallest program that has memory, a loop, a call and output: seed of the fuzzer's corpus. */
        .globl  _start
        .text
_start:
        mov     $5, %ecx
again:
        call    add
        dec     %ecx
        jnz     again
        mov     $1, %eax
        mov     $1, %edi
        lea     text(%rip), %rsi
        mov     $3, %edx
        syscall
        mov     $60, %eax
        xor     %edi, %edi
        syscall
add:
        add     %rcx, sum(%rip)
        ret

        .data
sum:    .quad   0
text:   .ascii  "hi\n"

        .section .note.GNU-stack, "", @progbits

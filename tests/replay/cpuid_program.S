/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Executes cpuid right behind a system call, so that whoever knows the call's result knows all registers
 * there: write() of no bytes gives 0, the leaf with the processor's name. Then rdtsc, which is an event
 * in every recording. The answer stays in registers that the next call's event has.
 */
    .intel_syntax noprefix
    .set SYS_write, 1
    .set SYS_exit, 60

    .text
    .globl _start
_start:
    mov     r12d, 3
again:
    mov     eax, SYS_write
    mov     edi, 1
    lea     rsi, [rip + _start]
    xor     edx, edx
    syscall
    cpuid
    mov     r13, rbx
    mov     r14, rcx
    mov     ebx, 7
    mov     ecx, 8
    rdtsc
    dec     r12d
    jnz     again
    mov     eax, SYS_exit
    xor     edi, edi
    syscall

    .section .note.GNU-stack, "", @progbits

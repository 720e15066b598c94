/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program whose code an attacker changes, byte for byte, without moving anything: constants, a store to where a
 * constant says, a jump to where another says, a system call, and two bytes that do nothing.
 */
#define PLACE 0x30000000

        .globl _start
        .text
_start: mov     $9, %eax                /* mmap(PLACE, 4096, read and write, private anonymous fixed, -1, 0) */
        mov     $PLACE, %edi
        mov     $4096, %esi
        mov     $3, %edx
        mov     $0x32, %r10d
        mov     $-1, %r8
        xor     %r9d, %r9d
        syscall
        mov     $1000, %ebx             /* so that there is something to slice */
1:      add     %rbx, %rbp
        dec     %ebx
        jnz     1b

        movabs  $0x3031736e6f634157, %rax       /* "WAcons10" and so on */
        movabs  $0x3032736e6f634157, %rax
        movabs  $0x3033736e6f634157, %rax
        movabs  $0x3034736e6f634157, %rax
        movabs  $0x3035736e6f634157, %rax
        movabs  $PLACE, %rdx
        movabs  $0x65756c6156657257, %rcx       /* "WreValue" */
        mov     %rcx, (%rdx)
        movabs  $next, %rsi
        jmp     *%rsi
next:   mov     $39, %eax               /* getpid() */
        .byte   0x66, 0x90              /* a nop */
        mov     $0x44694457, %edi       /* "WDiD" */
        mov     $0x45694557, %esi       /* "WEiE" */
        mov     $0x46694657, %edx       /* "WFiF" */
        syscall
        mov     PLACE, %rdi
        and     $63, %edi
        add     %ebp, %edi
        and     $63, %edi
        mov     $231, %eax              /* exit_group(some number) */
        syscall
        ud2

        .section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs one instruction with every register under control.
 *
 * int oracle_enter(void): loads oracle_in (general registers, flags, segment bases) and
 * oracle_in_vectors (XSAVE image), jumps to *oracle_code, whose instruction is followed by a jump
 * to oracle_leave; that stores everything into oracle_out and oracle_out_vectors. Returns 0, or 1
 * when a signal handler sent it to oracle_fault instead. Nothing but rip-relative addresses is
 * usable at oracle_leave, rsp included.
 */
        .intel_syntax noprefix
        .text
        .globl oracle_enter, oracle_leave, oracle_fault
        .type oracle_enter, @function
oracle_enter:
        push    rbx
        push    rbp
        push    r12
        push    r13
        push    r14
        push    r15
        mov     [rip + saved_rsp], rsp
        rdfsbase rax
        mov     [rip + saved_fs], rax
        rdgsbase rax
        mov     [rip + saved_gs], rax
        mov     eax, [rip + oracle_components]
        xor     edx, edx
        xrstor64 [rip + oracle_in_vectors]
        mov     rax, [rip + oracle_in + 136]
        wrfsbase rax
        mov     rax, [rip + oracle_in + 144]
        wrgsbase rax
        push    qword ptr [rip + oracle_in + 128]
        popfq
        mov     rax, [rip + oracle_in + 0]
        mov     rcx, [rip + oracle_in + 8]
        mov     rdx, [rip + oracle_in + 16]
        mov     rbx, [rip + oracle_in + 24]
        mov     rsp, [rip + oracle_in + 32]
        mov     rbp, [rip + oracle_in + 40]
        mov     rsi, [rip + oracle_in + 48]
        mov     rdi, [rip + oracle_in + 56]
        mov     r8, [rip + oracle_in + 64]
        mov     r9, [rip + oracle_in + 72]
        mov     r10, [rip + oracle_in + 80]
        mov     r11, [rip + oracle_in + 88]
        mov     r12, [rip + oracle_in + 96]
        mov     r13, [rip + oracle_in + 104]
        mov     r14, [rip + oracle_in + 112]
        mov     r15, [rip + oracle_in + 120]
        jmp     [rip + oracle_code]

oracle_leave:
        mov     [rip + oracle_out + 0], rax
        mov     [rip + oracle_out + 8], rcx
        mov     [rip + oracle_out + 16], rdx
        mov     [rip + oracle_out + 24], rbx
        mov     [rip + oracle_out + 32], rsp
        mov     [rip + oracle_out + 40], rbp
        mov     [rip + oracle_out + 48], rsi
        mov     [rip + oracle_out + 56], rdi
        mov     [rip + oracle_out + 64], r8
        mov     [rip + oracle_out + 72], r9
        mov     [rip + oracle_out + 80], r10
        mov     [rip + oracle_out + 88], r11
        mov     [rip + oracle_out + 96], r12
        mov     [rip + oracle_out + 104], r13
        mov     [rip + oracle_out + 112], r14
        mov     [rip + oracle_out + 120], r15
        mov     rsp, [rip + saved_rsp]
        pushfq
        pop     qword ptr [rip + oracle_out + 128]
        push    0x202
        popfq
        rdfsbase rax
        mov     [rip + oracle_out + 136], rax
        rdgsbase rax
        mov     [rip + oracle_out + 144], rax
        mov     eax, [rip + oracle_components]
        xor     edx, edx
        xsave64 [rip + oracle_out_vectors]
        xor     ebx, ebx
        jmp     out

oracle_fault:
        mov     rsp, [rip + saved_rsp]
        push    0x202
        popfq
        mov     ebx, 1
out:
        mov     rax, [rip + saved_fs]
        wrfsbase rax
        mov     rax, [rip + saved_gs]
        wrgsbase rax
        fninit
        vzeroupper
        ldmxcsr [rip + plain_mxcsr]
        mov     eax, ebx
        pop     r15
        pop     r14
        pop     r13
        pop     r12
        pop     rbp
        pop     rbx
        ret
        .size oracle_enter, . - oracle_enter

        .section .rodata
plain_mxcsr:
        .long   0x1f80
        .bss
        .balign 8
saved_rsp:
        .skip 8
saved_fs:
        .skip 8
saved_gs:
        .skip 8
        .section .note.GNU-stack,"",@progbits

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The border between the agent's C code and translated code.
 *
 * Guest state while translated code runs: all registers are the program's own except r15, which
 * the translator has stolen; the program's r15 lives in its home in the context. Vector state is
 * never touched on either side: the agent's C code is compiled for general registers only.
 */
#include "recorder/agent/agent.h"

    .section .text.start, "ax"
    .globl agt_start
/* rdi: base of the agent's area. Never returns. */
agt_start:
    lea     AGT_STACK_OFF + AGT_STACK_BYTES - 64(%rdi), %rsp
    xor     %ebp, %ebp
    call    agt_main
    hlt

    .text
    .globl agt_run
/* int agt_run(void): enters translated code at ctx.target, returns the exit kind. */
agt_run:
    push    %rbx
    push    %rbp
    push    %r12
    push    %r13
    push    %r14
    push    %r15
    mov     %rsp, %gs:AGT_CTX_AGENT_SP
    pushq   %gs:AGT_CTX_RFLAGS
    popfq
    mov     %gs:AGT_CTX_R15, %r15
    mov     %gs:AGT_CTX_GPR + 0x00, %rax
    mov     %gs:AGT_CTX_GPR + 0x08, %rcx
    mov     %gs:AGT_CTX_GPR + 0x10, %rdx
    mov     %gs:AGT_CTX_GPR + 0x18, %rbx
    mov     %gs:AGT_CTX_GPR + 0x20, %rsp
    mov     %gs:AGT_CTX_GPR + 0x28, %rbp
    mov     %gs:AGT_CTX_GPR + 0x30, %rsi
    mov     %gs:AGT_CTX_GPR + 0x38, %rdi
    mov     %gs:AGT_CTX_GPR + 0x40, %r8
    mov     %gs:AGT_CTX_GPR + 0x48, %r9
    mov     %gs:AGT_CTX_GPR + 0x50, %r10
    mov     %gs:AGT_CTX_GPR + 0x58, %r11
    mov     %gs:AGT_CTX_GPR + 0x60, %r12
    mov     %gs:AGT_CTX_GPR + 0x68, %r13
    mov     %gs:AGT_CTX_GPR + 0x70, %r14
    jmp     *%gs:AGT_CTX_TARGET

    .globl agt_exit
/* Translated code leaves here with exit_kind (and rip) set. */
agt_exit:
    mov     %rax, %gs:AGT_CTX_GPR + 0x00
    mov     %rcx, %gs:AGT_CTX_GPR + 0x08
    mov     %rdx, %gs:AGT_CTX_GPR + 0x10
    mov     %rbx, %gs:AGT_CTX_GPR + 0x18
    mov     %rsp, %gs:AGT_CTX_GPR + 0x20
    mov     %rbp, %gs:AGT_CTX_GPR + 0x28
    mov     %rsi, %gs:AGT_CTX_GPR + 0x30
    mov     %rdi, %gs:AGT_CTX_GPR + 0x38
    mov     %r8,  %gs:AGT_CTX_GPR + 0x40
    mov     %r9,  %gs:AGT_CTX_GPR + 0x48
    mov     %r10, %gs:AGT_CTX_GPR + 0x50
    mov     %r11, %gs:AGT_CTX_GPR + 0x58
    mov     %r12, %gs:AGT_CTX_GPR + 0x60
    mov     %r13, %gs:AGT_CTX_GPR + 0x68
    mov     %r14, %gs:AGT_CTX_GPR + 0x70
    mov     %r15, %gs:AGT_CTX_R15
    mov     %gs:AGT_CTX_AGENT_SP, %rsp
    pushfq
    popq    %gs:AGT_CTX_RFLAGS
    cld
    mov     %gs:AGT_CTX_EXIT_KIND, %eax
    jmp     1f

    .globl agt_fault_exit
/* The signal handler returns here, with rsp = ctx.agent_sp, after translated code has faulted. */
agt_fault_exit:
    cld
    mov     $AGT_EXIT_FAULT_NUMBER, %eax
1:  pop     %r15
    pop     %r14
    pop     %r13
    pop     %r12
    pop     %rbp
    pop     %rbx
    ret

    .globl agt_restorer
agt_restorer:
    mov     $15, %eax
    syscall

    .section .note.GNU-stack, "", @progbits

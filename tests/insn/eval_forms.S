/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions whose results test_insn_eval.c compares with the processor's: one after the other, never run here.
 * Memory operands are [r10], of which r10 is the only register that nothing else uses. */
    .intel_syntax noprefix
    .section .rodata
    .globl eval_forms_start, eval_forms_end
eval_forms_start:
    .irp op, add, adc, sub, sbb, cmp, and, test, or, xor
    \op eax, ecx
    \op rax, rdx
    \op al, dl
    \op ah, cl
    \op cx, si
    \op rdi, 0x7f
    \op ecx, 0x12345678
    \op sil, 0x81
    \op dword ptr [r10], ecx
    \op byte ptr [r10], 5
    \op qword ptr [r10], r8
    \op r9, r9
    .endr
    .irp op, add, adc, sub, sbb, cmp, and, or, xor
    \op r8d, dword ptr [r10]
    \op r9w, word ptr [r10]
    .endr
    .irp op, not, neg, inc, dec
    \op eax
    \op rcx
    \op dl
    \op dh
    \op si
    \op qword ptr [r10]
    \op byte ptr [r10]
    .endr
    .irp op, shl, shr, sar, rol, ror
    \op eax, 1
    \op rdx, 1
    \op al, 1
    \op eax, 7
    \op rdx, 63
    \op rsi, 32
    \op dl, 5
    \op dl, 9
    \op di, 17
    \op eax, cl
    \op r8, cl
    \op ah, cl
    \op dword ptr [r10], 3
    \op qword ptr [r10], cl
    .endr
    imul eax, ecx
    imul rax, rdx
    imul cx, dx
    imul eax, ecx, 10
    imul rdx, rsi, -77
    imul r8, qword ptr [r10]
    imul r9d, dword ptr [r10], 100
    imul ecx
    imul rdx
    mul ecx
    mul rsi
    mul word ptr [r10]
    mul qword ptr [r10]
    div ecx
    div rsi
    div word ptr [r10]
    idiv ecx
    idiv r8
    idiv di
    idiv dword ptr [r10]
    mul cl
    mul ah
    mul byte ptr [r10]
    imul dl
    imul byte ptr [r10]
    div cl
    div byte ptr [r10]
    idiv dl
    idiv byte ptr [r10]
    xadd eax, ecx
    xadd rdx, rsi
    xadd cl, dl
    xadd dword ptr [r10], eax
    xadd qword ptr [r10], r8
    cmpxchg dword ptr [r10], ecx
    cmpxchg qword ptr [r10], rdx
    cmpxchg word ptr [r10], si
    cmpxchg byte ptr [r10], dl
    cmpxchg rcx, rdx
    cmpxchg cx, si
    cmpxchg cl, dl
    cmpxchg ch, dl
    .irp op, shld, shrd
    \op eax, ecx, 1
    \op rax, rdx, 5
    \op rsi, rdi, 63
    \op r8, r9, cl
    \op eax, edx, cl
    \op dx, si, 9
    \op dx, si, cl
    \op dword ptr [r10], ecx, 31
    \op qword ptr [r10], rsi, cl
    .endr
    lea eax, [rcx + rdx*4 + 12]
    lea rax, [rcx + rdx*8 - 100]
    lea rsi, [rdi*2 + 5]
    lea ecx, [eax + 1]
    lea r8, [r9 + r9]
    lea dx, [rsi + rdi]
    cwd
    cdq
    cqo
    bt eax, 3
    bt rcx, rdx
    bt cx, si
    bt dword ptr [r10], 30
    bsf eax, ecx
    bsf rdx, qword ptr [r10]
    bsr rax, rdx
    bsr cx, si
    popcnt eax, ecx
    popcnt rdx, rsi
    seto al
    setno dl
    setb cl
    setae ah
    sete sil
    setne dil
    setbe r8b
    seta byte ptr [r10]
    sets al
    setns al
    setp al
    setnp al
    setl al
    setge al
    setle al
    setg al
eval_forms_bmi:
    tzcnt eax, ecx
    tzcnt rdx, qword ptr [r10]
    lzcnt rax, rdx
    lzcnt cx, si
    andn eax, ecx, edx
    andn r8, r9, qword ptr [r10]
    shlx eax, ecx, edx
    shrx r8, qword ptr [r10], r9
    sarx rcx, rdx, rsi
    rorx eax, ecx, 7
    rorx rdx, rsi, 33
eval_forms_end:
    .globl eval_forms_bmi
    .section .note.GNU-stack, "", @progbits

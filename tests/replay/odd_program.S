/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions that a translator may get wrong, in groups. Each group ends with SYNC: two system
 * calls at which a replay compares every register with the recorded ones. EXPECT checks results
 * by itself: exit status 0 says that the processor did what the group was written for.
 */
    .intel_syntax noprefix
    .set SYS_rt_sigaction, 13
    .set SYS_rt_sigreturn, 15
    .set SYS_getpid, 39
    .set SYS_exit, 60
    .set SYS_sigaltstack, 131
    .set SYS_arch_prctl, 158
    .set AT_HWCAP2, 26
    .set HWCAP2_FSGSBASE, 2

/* All registers, and flags, are seen by the replay; those that a call destroys go second. */
.macro SYNC
    mov     keep[rip], rax
    mov     keep[rip + 8], rcx
    mov     keep[rip + 16], r11
    pushfq
    pop     qword ptr keep[rip + 24]
    mov     eax, SYS_getpid
    syscall
    mov     rdx, keep[rip]
    mov     rbx, keep[rip + 8]
    mov     rsi, keep[rip + 16]
    mov     rdi, keep[rip + 24]
    mov     eax, SYS_getpid
    syscall
.endm

.macro EXPECT reg, value
    mov     rax, \value
    cmp     \reg, rax
    jne     fail
.endm

/* Names every register but `free`, so that this one is what the translator borrows. */
.macro NAME_ALL_BUT free
    .irp r, rax, rcx, rdx, rbx, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14
    .ifnc \r, \free
    lea     \r, [\r + 1]
    .endif
    .endr
.endm

/* Goes on at `9:` after the fault of what follows. */
.macro FAULTS
    lea     rax, 9f[rip]
    mov     resume[rip], rax
.endm

/* Goes past what sets and reads segment bases where the kernel does not let programs do that. */
.macro UNLESS_HAS_BASES label
    test    dword ptr hwcap2[rip], HWCAP2_FSGSBASE
    jz      \label
.endm

    .data
    .balign 64
block:      .fill 4096, 1, 0x5a
keep:       .fill 8, 8, 0
hwcap2:     .quad 0
resume:     .quad 0
    .balign 16
wide:       .quad 0x1111111111111111, 0x2222222222222222
table:      .quad fail, jumped_1, jumped_2, jumped_3, called_1, called_2
action:     .quad handler, 0xc000004 /* SA_SIGINFO | ONSTACK | RESTORER */, restorer, 0
bytes:      .fill 256, 1, 0x33
filled:     .fill 1024, 1, 0
stack:      .quad handler_stack, 0, 16384

    .text
    .globl _start
_start:
    mov     rdi, rsp
    xor     ecx, ecx
1:  add     rdi, 8 /* past argc, past what ends argv, past what ends envp */
    cmp     qword ptr [rdi], 1
    adc     ecx, 0
    cmp     ecx, 2
    jne     1b
1:  add     rdi, 16
    mov     rax, [rdi - 8]
    test    rax, rax
    jz      2f
    cmp     rax, AT_HWCAP2
    jne     1b
    mov     rax, [rdi]
    mov     hwcap2[rip], rax
2:  mov     ebp, 0x1234
    /* ---- r15 in every width, with each register borrowed for it ---- */
    .macro WIDTHS free, low
    movabs  r15, 0x1122334455667788
    mov     r15b, 0x99
    add     r15b, r15b
    NAME_ALL_BUT \free
    jmp     1f
1:  mov     r15w, 0x4321
    NAME_ALL_BUT \free
    jmp     1f
1:  mov     block[rip], r15b
    movzx   r15d, r15b
    movsx   r15, r15b
    setc    r15b
    not     r15b
    NAME_ALL_BUT \free
    jmp     1f
1:  xchg    r15b, \low
    xchg    \low, r15b
    xchg    r15, \free
    xchg    \free, r15
    xchg    r15d, r15d
    jmp     1f
1:  movabs  r15, 0xfedcba9876543210
    xchg    r15d, r15d
    NAME_ALL_BUT \free
    SYNC
    EXPECT  r15, 0x76543210
    .endm
    WIDTHS  rax, al
    WIDTHS  rcx, cl
    WIDTHS  rdx, dl
    WIDTHS  rbx, bl
    WIDTHS  rbp, bpl
    WIDTHS  rsi, sil
    WIDTHS  rdi, dil
    WIDTHS  r8, r8b
    WIDTHS  r9, r9b
    WIDTHS  r10, r10b
    WIDTHS  r11, r11b
    WIDTHS  r12, r12b
    WIDTHS  r13, r13b
    WIDTHS  r14, r14b
    movabs  r15, 0x1122334455667788
    mov     r15b, 0x99
    add     r15b, 1
    EXPECT  r15, 0x112233445566779a
    SYNC

    /* ---- arithmetic, shifts, bit fields on r15 ---- */
    movabs  r15, 0x123456789abcdef0
    imul    r15, r15, -3
    imul    r14, r15
    rol     r15, 7
    mov     ecx, 5
    shl     r15, cl
    sar     r15d, 1
    rcr     r15, 3
    shld    r15, r14, 9
    bt      r15, 4
    adc     r15, 0
    bts     r15, 63
    btc     r15, rcx
    bsf     rdx, r15
    bsr     rbx, r15
    bswap   r15
    popcnt  rdi, r15
    movbe   block[rip + 32], r15
    movbe   r15, block[rip + 31]
    cmovnz  r15, rdx
    cmovz   r15d, edx
    SYNC
    mov     eax, 77
    mov     edx, 0
    mov     r15, 10
    div     r15
    mov     r14, rax
    mul     r15
    imul    r15b
    neg     r15
    EXPECT  r14, 7
    SYNC
    mov     r15, -1
    test    r15b, 0x80
    sets    dl
    test    r15, 0x7fffffff
    setp    dh
    cmp     r15d, -1
    sete    bl
    mov     r15d, 0xffffffff
    and     r15, -2
    or      r15d, 1
    inc     r15
    dec     r15w
    sbb     r15, r15
    movsxd  r15, edx
    SYNC
    .irp base, rax, r15, r13
    mov     \base, 0x1010101
    andn    r15, r15, \base
    SYNC
    .endr
    movabs  r15, 0x00ff00ff12345678
    mov     rdx, 0x0f0f0f0f
    pdep    r14, r15, rdx
    pext    r15, r15, rdx
    mulx    r13, r15, r15
    rorx    r15, r15, 17
    shlx    r15, r15, rdx
    bextr   r15, r15, rdx
    blsr    r15, r14
    lzcnt   r15, r14
    tzcnt   r15d, r15d
    adcx    r15, r14
    adox    r15, r13
    crc32   r15, r14b
    crc32   r15d, r15b
    SYNC

    /* ---- r15 in addresses ---- */
    lea     r15, block[rip]
    mov     qword ptr [r15 + 8], -2
    mov     byte ptr [r15 + 200], 0x44
    mov     word ptr [r15 + 300], 0x5566
    mov     r14, [r15 + 8]
    mov     r13d, 3
    lea     r12, [r15 + r13 * 8 + 0x123]
    lea     r15, [r15 + r15 * 1]
    lea     r15, block[rip]
    lea     ebx, [r15 + 5]
    mov     [r15], r15
    mov     r15, [r15]
    mov     [r15 + 3904], r15b
    mov     r15b, [r15 + 1]
    lea     r15, block[rip]
    mov     ecx, 3
    sub     r15, 24
    mov     rdx, [r15 + rcx * 8]
    mov     r15d, 2
    lea     rcx, block[rip]
    mov     rdi, [rcx + r15 * 8]
    movzx   edi, byte ptr [rcx + r15]
    xchg    [rcx + r15 * 4], r15
    SYNC
    lea     r15, block[rip]
    mov     eax, [r15d + 16]
    mov     dword ptr [r15d + 20], 0x777
    mov     ecx, 2
    mov     edx, [ecx * 4 + r15d]
    lea     r14, [r15d + ecx * 2]
    lea     r14, [r15d - 1]
    .byte   0x67, 0x48, 0x8d, 0x1d
    .long   block - 1f
1:  .byte   0x67, 0x48, 0x8b, 0x35
    .long   block + 8 - 1f
1:  SYNC
    lea     r15, wide[rip]
    mov     rax, 0x1111111111111111
    mov     rdx, 0x2222222222222222
    mov     rbx, 0x3333
    mov     rcx, 0x4444
    lock cmpxchg16b [r15]
    setz    bpl
    lock cmpxchg16b wide[rip]
    mov     rax, 7
    lock cmpxchg [r15], rax
    mov     rax, [r15]
    lock cmpxchg [r15], r15
    lock xadd [r15 + 8], rbx
    mov     r14d, 9
    lock xadd [r15 + 8], r14
    lock add qword ptr [r15], 5
    lock inc byte ptr [r15 + 3]
    lock bts dword ptr [r15], 3
    mov     r12, [r15]
    mov     r13, [r15 + 8]
    SYNC
    lea     r15, wide[rip]
    mov     eax, 5
    xchg    r15, rax
    xchg    rax, r15
    xadd    r15, rax
    xadd    rax, r15
    xadd    r15, r15
    cmpxchg r15, rax
    cmpxchg rax, r15
    SYNC

    /* ---- high-byte registers beside rip-relative operands, and renamed neighbours ---- */
    mov     eax, 0x11223344
    mov     ah, block[rip + 5]
    mov     block[rip + 6], ah
    mov     bh, ah
    xchg    ah, bl
    add     ch, block[rip + 7]
    cmp     dh, block[rip + 7]
    setz    dh
    mov     r15b, al
    mov     dil, r15b
    mov     sil, dil
    movzx   ecx, bh
    SYNC

    /* ---- the stack ---- */
    mov     r15, rsp
    push    r15
    pop     r14
    push    r14
    pop     r15
    push    qword ptr [r15]
    pop     qword ptr block[rip + 64]
    push    0x55
    push    -1
    push    qword ptr [rsp + 8]
    pop     rdx
    push    0x1234567
    pop     qword ptr [rsp + 8]
    mov     rbx, [rsp + 8]
    mov     r13d, 1
    push    r13
    pop     qword ptr [rsp + r13 * 8]
    push    rsp
    pop     rcx
    push    r15
    pop     rsp
    EXPECT  rdx, 0x55
    SYNC
    mov     r15, rsp
    push    r15w
    pop     r14w
    .byte   0x66, 0x6a, 0x7f /* push word 0x7f */
    mov     [rsp - 130], r15
    push    0x11
    push    0x22
    .byte   0x66, 0x68, 0x34, 0x12
    pop     bx
    pop     rcx
    pop     rdx
    pop     si
    cmp     rsp, r15
    jne     fail
    EXPECT  rcx, 0x22
    SYNC
    mov     rbp, rsp
    enter   32, 0
    mov     [rbp - 8], r15
    mov     [rsp], rbp
    push    qword ptr [rbp - 8]
    pop     rdi
    leave
    enter   16, 1
    leave
    enter   64, 3
    leave
    SYNC
    pushfq
    or      qword ptr [rsp], 0x800
    popfq
    seto    r15b
    pushfq
    and     qword ptr [rsp], ~0x800
    popfq

    /* alignment checking: on for a store, whose bookkeeping must bear it */
    pushfq
    or      qword ptr [rsp], 0x40000
    popfq
    mov     block[rip + 24], rax
    push    rax
    pushfq
    and     qword ptr [rsp], ~0x40000
    popfq
    pop     rax
    SYNC
    lahf
    sahf
    cmc
    stc
    rcl     r15, 1
    SYNC
    /* below the stack pointer */
    mov     qword ptr [rsp - 8], 0x1111
    mov     qword ptr [rsp - 128], 0x2222
    lea     r15, [rsp - 64]
    mov     [r15], r15
    mov     r14, [rsp - 64]
    mov     r13, [rsp - 128]
    mov     r12, [rsp - 8]
    SYNC

    /* ---- transfers ---- */
    lea     r15, table[rip]
    mov     ecx, 1
    jmp     [r15 + rcx * 8]
jumped_1:
    mov     r15d, 2
    jmp     [r15 * 8 + table]
jumped_2:
    mov     r15d, 3
    lea     r14, table[rip]
    lea     r15, [r14 + r15 * 8]
    mov     r15, [r15]
    jmp     r15
jumped_3:
    SYNC
    lea     r15, table[rip]
    call    [r15 + 32]
    EXPECT  r14, 0x1001
    mov     r13d, 4
    call    [r15 + r13 * 8]
    mov     r15, table[rip + 32]
    call    r15
    push    r15
    call    [rsp]
    call    qword ptr [rsp]
    mov     ecx, 1
    push    0
    call    [rsp + rcx * 8]
    pop     rdx
    push    qword ptr table[rip + 40]
    push    1
    push    2
    call    [rsp + 16]
    add     rsp, 32
    lea     rax, called_1[rip]
    call    rax
    lea     rcx, called_1[rip]
    call    rcx
    mov     eax, 4
    call    table[rax * 8]
    call    table[rip + 32]
    mov     r14d, 4
    call    [table + r14d * 8]
    push    7
    push    8
    call    returns_16
    .byte   0x66, 0x66, 0x48, 0xe8
    .long   called_1 - 1f
1:  SYNC
    push    offset .Lbehind_jump
    push    9
    jmp     [rsp + 8]
.Lbehind_jump:
    pop     rcx
    pop     rcx
    lea     r15, 1f[rip]
    push    r15
    .byte   0xf2 /* bnd */
    ret
1:  lea     r15, 1f[rip]
    push    r15
    rep ret
1:  call    1f
1:  pop     r15
    SYNC

    /* ---- loops that the flags go through ---- */
    mov     ecx, 9
    xor     r15d, r15d
1:  lea     r15, [r15 + 3]
    loop    1b
    mov     ecx, 9
    cmp     ecx, ecx
1:  lea     r15, [r15 + 5]
    loope   1b
    mov     ecx, 9
    cmp     r15d, 0
1:  lea     r15, [r15 + 5]
    loopne  1b
    mov     rcx, 0x700000003
1:  lea     r15, [r15 + 7]
    addr32 loop 1b
    jrcxz   1f
    lea     r15, [r15 + 1]
1:  mov     rcx, 0x700000000
    jrcxz   1f
    lea     r15, [r15 + 1]
    jecxz   1f
    lea     r15, [r15 + 1000]
1:  xor     ecx, ecx
    jrcxz   1f
    lea     r15, [r15 + 1000]
1:  SYNC
    EXPECT  r15, 27 + 45 + 45 + 21 + 1
    mov     ecx, 3000
    lea     rsi, block[rip]
    lea     rdi, filled[rip]
    stc
1:  movups  xmm0, [rsi]
    movups  [rdi], xmm0
    lea     rdi, [rdi]
    dec     rcx
    jnz     1b
    setc    dl
    mov     ecx, 3000
    clc
1:  mov     rax, [rsi]
    adc     [rdi], rax
    lea     rcx, [rcx - 1]
    jrcxz   2f
    jmp     1b
2:  adc     r15, 0
    mov     ecx, 2000
    lea     r14, 1f[rip]
    lea     r13, 2f[rip]
1:  lea     rcx, [rcx - 1]
    jrcxz   2f
    jmp     r14
2:  SYNC

    /* ---- strings ---- */
    lea     rsi, block[rip]
    lea     rdi, filled[rip]
    mov     ecx, 100
    lea     r15, [rcx + 1]
    rep movsb
    mov     ecx, 20
    rep movsq
    mov     ecx, 0
    rep stosb
    mov     ecx, 33
    mov     eax, 0x77
    rep stosd
    std
    lea     rsi, block[rip + 80]
    lea     rdi, filled[rip + 700]
    mov     ecx, 77
    rep movsb
    mov     ecx, 3
    rep stosw
    movsd
    cld
    lea     rdi, filled[rip]
    mov     ecx, 100
    mov     al, 0
    repne scasb
    mov     r14, rdi
    mov     r13, rcx
    lea     rsi, block[rip]
    lea     rdi, block[rip + 1]
    mov     ecx, 50
    repe cmpsb
    lodsb
    stosw
    cmpsd
    SYNC
    lea     edi, filled[rip]
    lea     esi, block[rip]
    mov     rcx, 0x500000010
    addr32 rep movsb
    mov     ecx, 4
    addr32 rep stosd
    lea     rbx, bytes[rip]
    mov     eax, 0x1005
    mov     byte ptr [rbx + 5], 0x66
    xlatb
    mov     r14, rax
    SYNC

    /* ---- segments ---- */
    mov     edi, 0x1002 /* ARCH_SET_FS */
    lea     rsi, block[rip + 1024]
    mov     eax, SYS_arch_prctl
    syscall
    mov     r15d, 2
    mov     rax, fs:[0]
    mov     rbx, fs:[-8]
    mov     fs:[8], rax
    mov     fs:[r15 * 8], r15
    mov     rcx, fs:[r15 * 4 + 8]
    mov     edx, 3
    add     qword ptr fs:[rdx * 8 + 0x20], 5
    mov     fs:[r15d + 3], edx
    .byte   0x64 /* fs, which has no effect here */
    lea     r14, [r15 + 9]
    push    qword ptr fs:[16]
    pop     qword ptr fs:[r15 + 100]
    mov     r13, fs:[102]
    xor     esi, esi
    lea     rdi, filled[rip]
    mov     ecx, 40
    rep movs byte ptr [rdi], byte ptr fs:[rsi]
    lods    dword ptr fs:[rsi]
    mov     ebx, 8
    .byte   0x64 /* fs */
    xlatb
    mov     rcx, table[rip + 32]
    mov     fs:[64], rcx
    call    fs:[64]
    call    fs:[r15 + 62]
    call    fs:[r15d + 62]
    UNLESS_HAS_BASES 9f
    rdfsbase r15
    rdfsbase rbx
    add     r15, 512
    wrfsbase r15
    mov     rdx, fs:[8]
    lea     rcx, block[rip + 1536]
    movabs  rax, 0x7700000000
    or      rcx, rax
    wrfsbase ecx
    mov     fs:[24], rdx
    mov     rdx, fs:[16]
9:  SYNC

    /* ---- vectors ---- */
    lea     r15, block[rip]
    mov     rax, 0x0102030405060708
    vmovq   xmm1, rax
    vpinsrq xmm2, xmm1, r15, 1
    vmovq   xmm3, r15
    vpextrq r14, xmm2, 1
    vpextrb r13d, xmm1, 3
    pinsrw  xmm4, r15d, 2
    vmovdqu ymm5, [r15 + 17]
    vpaddb  ymm6, ymm5, [r15 + 32]
    vmovdqu [r15 + 250], ymm6
    vpbroadcastq ymm7, [r15 + 8]
    movq    [r15 + 500], xmm4
    cvtsi2sd xmm8, r15
    cvttsd2si r12, xmm8
    vpcmpeqd ymm9, ymm9, ymm9
    vpxor   xmm10, xmm10, xmm10
    mov     ecx, 40
    vmovd   xmm10, ecx
    vpgatherdd xmm11, [r15 + xmm10 * 4], xmm9
    vpcmpeqd ymm9, ymm9, ymm9
    vpgatherqq ymm12, [r15 + ymm10], ymm9
    vmovq   rbx, xmm12
    vmovd   esi, xmm11
    vpcmpeqd ymm9, ymm9, ymm9
    vpmaskmovd [r15 + 600], ymm9, ymm6
    lea     rdi, block[rip + 800]
    maskmovdqu xmm6, xmm9
    vpmovmskb edx, ymm6
    movmskpd r15d, xmm6
    vzeroupper
    ldmxcsr default_mxcsr[rip]
    lea     r15, block[rip + 3072]
    stmxcsr [r15]
    fxsave  [r15]
    fld     qword ptr block[rip]
    fstp    tbyte ptr [r15 + 777]
    fnstcw  [r15 + 760]
    fnstsw  ax
    fldcw   [r15 + 760]
    movnti  [r15 + 700], rax
    clflush [r15]
    prefetchnta [r15 + 64]
    nop     dword ptr [r15 + rax * 2]
    mov     r15, [r15 + 777]
    SYNC

    /* ---- faults: all registers are compared where they happen ---- */
    lea     rdi, stack[rip]
    xor     esi, esi
    mov     eax, SYS_sigaltstack
    syscall
    mov     edi, 11
    call    set_handler
    mov     edi, 8
    call    set_handler
    mov     edi, 4
    call    set_handler
    mov     edi, 5
    call    set_handler
    xor     ebp, ebp
    FAULTS
    mov     r15d, 0x15
    mov     r14, r15
    add     r14, [rbp + 8]
    NAME_ALL_BUT rbx
9:  FAULTS
    lea     r15, [r15 + 1]
    mov     rdx, r15
    mov     [rbp + r15 * 8], r15b
    NAME_ALL_BUT rcx
9:  FAULTS
    mov     block[rip + 128], r15
    mov     fs:[0x30], r15
    mov     block[rip + 400], rdx
    push    r15
    cmp     rdx, 5
    push    qword ptr [rbp]
9:  pop     r15
    FAULTS
    mov     r15d, 5
    call    [rbp + r15 * 8]
9:  FAULTS
    xor     r15d, r15d
    mov     r13, rsp
    call    r15
9:  mov     rsp, r13
    FAULTS
    xor     ecx, ecx
    jmp     rcx
9:  FAULTS
    movabs  rcx, 0x8000000000000000
    jmp     rcx
9:  FAULTS
    movabs  r15, 0x4141414141414141
    push    r15
    ret
9:  FAULTS
    push    r15
    ret     24
9:  FAULTS
    lea     rdx, [r15 + 1]
    cmp     rdx, 5
    call    r15
9:  FAULTS
    call    [rsp + 8]
9:  add     rsp, 16
    FAULTS
    mov     r15d, 5
    jmp     [r15]
9:  FAULTS
    mov     r15d, 0x1000
    mov     r13, rsp
    jmp     r15
9:  FAULTS
    mov     r15d, 0x1000
    call    r15
9:  mov     rsp, r13
    FAULTS
    mov     rcx, rsp
    mov     r13, rsp
    mov     rsp, rbp
    cmp     rcx, r13
    call    called_1
9:  mov     rsp, r13
    FAULTS
    mov     rsp, rbp
    mov     r12d, 12
    call    r12
9:  mov     rsp, r13
    FAULTS
    mov     rsp, rbp
    mov     eax, 99
    ret
9:  mov     rsp, r13
    FAULTS
    mov     eax, 5
    xor     edx, edx
    mov     r15d, 0
    mov     r12, block[rip + 128]
    div     r15
9:  FAULTS
    mov     block[rip + 128], r15
    mov     block[rip + 1128], rax
    ud2
9:  FAULTS
    mov     r15d, 3
    mov     fs:[48], r15
    int3
    lea     r15, [r15 + 7]
9:  SYNC
    FAULTS
    mov     rdi, -1
    shl     rdi, 62
    lea     r15, block[rip]
    mov     fs:[40], r15
    mov     [rdi], rax
9:  FAULTS
    lea     rsi, block[rip]
    lea     rdi, _end[rip]
    add     rdi, 4095
    and     rdi, -4096
    lea     rdi, [rdi - 20]
    mov     ecx, 500
    mov     r15d, 44
    rep movsb
9:  FAULTS
    xor     edi, edi
    mov     ecx, 5
    cmp     ecx, 5
    rep stosq
9:  SYNC

    /* ---- the same through gs, whose base is a number to the translator ---- */
    mov     edi, 0x1001 /* ARCH_SET_GS */
    lea     rsi, block[rip + 2048]
    mov     eax, SYS_arch_prctl
    syscall
    mov     r15d, 2
    movabs  rbx, 0x0123456789abcdef
    mov     gs:[0], rbx
    mov     rax, gs:[0]
    EXPECT  rbx, 0x0123456789abcdef
    mov     ax, gs:[-8]
    mov     ah, gs:[3]
    mov     gs:[5], ah
    mov     gs:[8], rax
    stc
    mov     gs:[r15 * 8], r15
    mov     rcx, gs:[r15 * 4 + 8]
    adc     ecx, 0
    EXPECT  rcx, 3
    mov     edx, 3
    add     qword ptr gs:[rdx * 8 + 0x20], 5
    lock xadd gs:[rdx * 8 + 0x20], r15
    mov     r15d, 2
    mov     gs:[r15d + 3], edx
    .byte   0x65 /* gs, which has no effect here */
    lea     r14, [r15 + 9]
    push    qword ptr gs:[16]
    pop     qword ptr gs:[r15 + 100]
    mov     r13, gs:[102]
    mov     rdi, rsp
    lea     rsp, [rsp + 2]
    push    qword ptr gs:[16]
    neg     rsp
    mov     r14, rsp
    neg     rsp
    mov     rsp, rdi
    movabs  rax, gs:[0x40]
    movabs  gs:[0x48], al
    vmovdqu ymm1, gs:[r15 + 30]
    vpaddb  ymm1, ymm1, gs:[64]
    vmovdqu gs:[128], ymm1
    fild    word ptr gs:[r15]
    fistp   dword ptr gs:[200]
    cmpxchg gs:[r15 * 8], rbx
    mov     dword ptr gs:[0xd0], 0x12345678
    mov     eax, gs:[0xd0]
    nop     dword ptr gs:[rax]
    mov     rcx, table[rip + 32]
    mov     gs:[64], rcx
    call    gs:[64]
    call    gs:[r15 + 62]
    call    gs:[r15d + 62]
    mov     r11d, 8
    call    gs:[r11 * 8]
    mov     ecx, 64
    call    gs:[rcx]
    FAULTS
    mov     r12d, 0x70000000
    add     gs:[r12], r13
9:  UNLESS_HAS_BASES 9f
    rdgsbase r15
    rdgsbase rbx
    rdgsbase ecx
    lea     rax, block[rip + 2048]
    cmp     rax, rbx
    jne     fail
    cmp     rax, r15
    jne     fail
    add     r15, 512
    wrgsbase r15
    mov     rdx, gs:[8]
    mov     r15d, 100
    bts     gs:[8], r15
    mov     rdx, gs:[16]
    lea     rcx, block[rip + 2816]
    movabs  rax, 0x7700000000
    or      rcx, rax
    wrgsbase ecx
    mov     gs:[24], rdx
    mov     rdx, gs:[16]
    SYNC
    rdgsbase rbx
9:  SYNC

    /* ---- bits of memory by a number in a register: they lie before and behind the operand ---- */
    mov     qword ptr keep[rip + 40], 40
1:  mov     rbp, keep[rip + 40]
    lea     rdi, filled[rip + 512]
    lea     rsi, [rbp + rbp * 8]
    lea     rax, [rsi - 200]
    stc
    bts     [rdi], rax
    setc    bl
    btr     qword ptr [rdi + 8], rax
    adc     ebx, 0
    neg     rax
    btc     [rdi], eax
    adc     ebx, 0
    movzx   ecx, ax
    bt      [rdi], cx
    adc     ebx, 0
    mov     r15, rax
    bts     filled[rip + 512], r15
    btc     [rdi], r15d
    btr     [rdi], r15w
    mov     r15, rdi
    lock bts [r15 + rbp], rsi
    bt      [r15 + rax], rax
    adc     ebx, 0
    lea     eax, [rsi - 200]
    btc     [edi], eax
    bts     [edi + ebp * 2], ax
    bt      dword ptr fs:[8], esi
    adc     ebx, 0
    add     r14, rbx
    NAME_ALL_BUT rax
    lea     rdi, filled[rip + 512]
    mov     ecx, 0x7fffffff
    add     ecx, 1
    btc     [rdi], rsi
    seto    bl
    add     r14, rbx
    mov     edx, -400
    std
    bts     [rdi], edx
    cld
    dec     qword ptr keep[rip + 40]
    jns     1b
    FAULTS
    mov     rax, 0x7000000000
    bts     [rdi], rax
9:  lea     rdi, filled[rip + 512]
    mov     rdx, 64
    bts     [rdi], rdx
    cmp     byte ptr [rdi + 8], 1
    SYNC

/* Calls and returns to code whose addresses have the same low 16 bits, with a live carry. */
    mov     ebp, 50
    xor     ebx, ebx
1:  lea     rdx, same_place_1[rip]
    stc
    call    rdx
    adc     ebx, 0
    lea     rdx, same_place_2[rip]
    stc
    call    rdx
    adc     ebx, 0
    lea     rdx, same_place_1[rip]
    clc
    call    rdx
    adc     ebx, 0
    dec     ebp
    jnz     1b
    EXPECT  rbx, 50
    SYNC
    xor     edi, edi
    mov     eax, SYS_exit
    syscall

called_1:
    mov     r14d, 0x1001
    ret
called_2:
    mov     r14, [rsp]
    jmp     called_1
returns_16:
    mov     r15, [rsp + 8]
    ret     16

set_handler:
    lea     rsi, action[rip]
    xor     edx, edx
    mov     r10d, 8
    mov     eax, SYS_rt_sigaction
    syscall
    ret
/* The interrupted rip lies at 168 in the ucontext that rdx points at. */
handler:
    mov     rax, resume[rip]
    mov     [rdx + 168], rax
    ret
restorer:
    mov     eax, SYS_rt_sigreturn
    syscall
fail:
    mov     edi, 1
    mov     eax, SYS_exit
    syscall

/* The first does not mind its flags, the second returns the carry that it was called with. */
    .balign 65536
same_place_1:
    cmp     ebp, 0
    lea     r14, [r14 + 1]
    ret
    .balign 65536
same_place_2:
    lea     r14, [r14 + 1]
    ret

    .data
default_mxcsr: .long 0x1f80
    .bss
    .balign 4096
handler_stack: .skip 16384

    .section .note.GNU-stack, "", @progbits

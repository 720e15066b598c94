/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forms that the corpora lack or that rules single out. Never executed from here: the test sweeps
 * over the bytes. */
        .intel_syntax noprefix
        .section .rodata
        .globl oracle_extra_start, oracle_extra_end
oracle_extra_start:
        /* moves, extensions, byte halves */
        mov     ah, cl
        mov     cl, ah
        mov     ax, bx
        mov     [rcx], ah
        mov     dh, [rsi]
        movzx   eax, ah
        movzx   cx, bl
        movsx   eax, bh
        xchg    al, ah
        xchg    eax, ecx
        xchg    eax, eax
        xchg    [rdi], bl
        xchg    rsp, rax
        bswap   eax
        bswap   r9
        movbe   ax, [rcx]
        movbe   [rcx], eax
        movabs  al, [0x1122334455667788]
        movabs  [0x1122334455667788], rax
        mov     rax, fs:[0x28]
        mov     eax, gs:[rcx + rdx*4]
        mov     rax, fs:[rcx]
        mov     eax, [ecx]
        mov     [ecx + edx*2], eax
        lea     eax, [ecx + 4]
        lea     ax, [rcx + rdx*8]
        lea     rax, [rip + 100]
        xlatb
        cbw
        cwde
        cdqe
        cwd
        cdq
        cqo
        movnti  [rax], ecx
        cmovz   ax, cx
        cmovbe  eax, ecx
        cmovg   rax, [rcx]
        cmovp   eax, eax
        setnz   ah
        seto    byte ptr [rcx]
        /* arithmetic */
        add     al, ah
        add     ax, 5
        add     rax, [rcx + rdx*8 + 16]
        adc     eax, ecx
        adc     byte ptr [rsi], 3
        sbb     eax, ecx
        sbb     eax, eax
        sbb     [rcx], rdx
        xor     eax, eax
        xor     ah, ah
        sub     rcx, rcx
        cmp     rax, rax
        and     eax, 0
        or      rax, -1
        and     dword ptr [rcx], 0
        or      qword ptr [rcx], -1
        and     ax, 0
        inc     al
        dec     dword ptr [rcx]
        neg     rax
        not     word ptr [rcx]
        test    al, ah
        mul     cl
        mul     rcx
        imul    word ptr [rcx]
        imul    rax, rcx
        imul    ax, cx, 77
        div     cl
        div     ecx
        idiv    rcx
        idiv    word ptr [rsi]
        mulx    rax, rbx, rcx
        adcx    eax, ecx
        adox    rax, [rcx]
        crc32   eax, cl
        crc32   rax, rcx
        popcnt  ax, cx
        lzcnt   rax, rcx
        tzcnt   eax, [rcx]
        bsf     rax, rcx
        bsf     eax, ecx
        bsr     ax, [rcx]
        /* shifts, rotates, bits */
        shl     eax, cl
        shl     al, cl
        shr     word ptr [rsi], cl
        sar     rax, 1
        sar     eax, 7
        shl     eax, 32
        shl     cl, cl
        rol     al, cl
        rol     ax, 3
        ror     rax, 64
        ror     dword ptr [rdi], 1
        rcl     eax, cl
        rcl     al, 9
        rcr     rax, 1
        rcr     byte ptr [rdx], cl
        shld    eax, edx, cl
        shld    rax, rdx, 13
        shrd    [rsi], rdx, cl
        shrd    ax, dx, 3
        shlx    rax, rbx, rcx
        sarx    eax, [rsi], ecx
        rorx    rax, rcx, 9
        bt      eax, ecx
        bt      [rsi], ecx
        bts     [rsi], rcx
        btr     word ptr [rsi], cx
        btc     rax, 9
        lock bts dword ptr [rdi], 3
        lock btc [rdi], ecx
        andn    eax, ecx, edx
        andn    eax, ecx, ecx
        bextr   rax, rcx, rdx
        blsi    eax, ecx
        blsr    rax, [rcx]
        blsmsk  eax, ecx
        bzhi    rax, rcx, rdx
        pdep    rax, rcx, rdx
        pext    eax, ecx, [rsi]
        /* exchange and compare */
        cmpxchg cl, dl
        cmpxchg ecx, edx
        cmpxchg eax, edx
        lock cmpxchg [rdi], rcx
        cmpxchg [rdi], ax
        cmpxchg8b [rdi]
        lock cmpxchg16b [rdi]
        xadd    eax, ecx
        xadd    ecx, ecx
        lock xadd [rdi], rcx
        xadd    ah, al
        /* flags */
        stc
        clc
        cmc
        std
        cld
        lahf
        sahf
        pushfq
        popfq
        /* stack */
        push    rax
        push    rsp
        push    ax
        push    5
        push    qword ptr [rsp + 8]
        push    qword ptr [rcx]
        push    qword ptr [rsp + rcx*8]
        pop     rbx
        pop     rsp
        pop     cx
        pop     qword ptr [rsp]
        pop     qword ptr [rsp + 16]
        pop     qword ptr [rcx]
        enter   32, 0
        leave
        add     rsp, 16
        sub     rsp, 8
        sub     rsp, rax
        and     rsp, -16
        mov     rbp, rsp
        mov     rsp, rbp
        lea     rsp, [rbp - 40]
        lea     rsp, [rsp + 8]
        lea     rax, [rsp + 8]
        /* strings */
        movsb
        movsq
        stosd
        lodsw
        scasb
        cmpsq
        rep movsb
        rep movsq
        rep stosb
        rep stosq
        rep lodsb
        rep lodsd
        repe cmpsb
        repne cmpsd
        repe scasw
        repne scasb
        .byte 0x67
        rep movsb
        .byte 0x67
        stosd
        .byte 0x67
        repne scasb
        /* SSE moves and halves */
        movss   xmm1, xmm2
        movss   xmm1, [rcx]
        movsd   [rcx], xmm1
        movsd   xmm1, xmm2
        movd    xmm1, eax
        movq    rax, xmm1
        movq    xmm1, xmm2
        movlps  xmm1, [rcx]
        movhps  xmm1, [rcx]
        movhpd  [rcx], xmm1
        movlhps xmm1, xmm2
        movhlps xmm1, xmm2
        movddup xmm1, xmm2
        movshdup xmm1, xmm2
        maskmovdqu xmm1, xmm2
        lddqu   xmm1, [rcx]
        movmskps eax, xmm1
        pmovmskb eax, xmm1
        /* SSE arithmetic */
        addss   xmm1, xmm2
        sqrtss  xmm1, xmm2
        rcpss   xmm1, xmm2
        rsqrtps xmm1, [rcx]
        addsd   xmm1, [rcx]
        mulps   xmm1, xmm2
        divpd   xmm1, xmm2
        cmpltss xmm1, xmm2
        comisd  xmm1, xmm2
        ucomiss xmm1, [rcx]
        cvtsi2sd xmm1, rax
        cvtsi2ss xmm1, dword ptr [rcx]
        cvttsd2si eax, xmm1
        cvtss2si rax, xmm1
        cvtss2sd xmm1, xmm2
        cvtsd2ss xmm1, xmm2
        cvtps2pd xmm1, xmm2
        cvtpd2ps xmm1, xmm2
        cvtdq2ps xmm1, xmm2
        cvtdq2pd xmm1, xmm2
        cvttps2dq xmm1, xmm2
        roundsd xmm1, xmm2, 4
        roundps xmm1, xmm2, 1
        dpps    xmm1, xmm2, 0x71
        haddps  xmm1, xmm2
        addsubpd xmm1, xmm2
        minss   xmm1, xmm2
        pxor    xmm1, xmm1
        pxor    xmm1, xmm2
        xorps   xmm3, xmm3
        pandn   xmm1, xmm1
        psubd   xmm1, xmm1
        pcmpeqd xmm1, xmm1
        pcmpgtb xmm1, xmm1
        paddb   xmm1, xmm2
        pshufb  xmm1, xmm2
        pshufd  xmm1, xmm2, 0x1b
        pshufd  xmm1, xmm2, 0x4e
        pshufd  xmm1, [rcx], 0xee
        pshufd  xmm1, xmm1, 0x90
        pshuflw xmm1, xmm2, 0x1b
        pshufhw xmm1, xmm2, 0xb1
        shufps  xmm1, xmm2, 0xe4
        shufps  xmm1, xmm2, 0x4e
        shufps  xmm1, xmm1, 0x39
        shufpd  xmm1, xmm1, 1
        shufpd  xmm1, xmm2, 2
        shufpd  xmm1, [rcx], 1
        palignr xmm1, xmm2, 4
        palignr xmm1, xmm2, 8
        palignr xmm1, [rcx], 12
        palignr xmm1, xmm2, 20
        palignr xmm1, xmm2, 40
        psrldq  xmm1, 3
        psrldq  xmm1, 8
        psrldq  xmm1, 12
        psrldq  xmm1, 16
        pslldq  xmm1, 4
        pslldq  xmm1, 8
        pslldq  xmm1, 15
        movddup xmm1, xmm2
        movddup xmm1, [rcx]
        movsldup xmm1, xmm2
        movshdup xmm1, [rcx]
        punpckldq xmm1, xmm2
        punpckhdq xmm1, [rcx]
        unpckhpd xmm1, [rcx]
        pslld   xmm1, xmm2
        psrlq   xmm1, 5
        pextrb  eax, xmm1, 5
        pextrw  eax, xmm1, 3
        pextrd  [rcx], xmm1, 2
        pextrq  rax, xmm1, 1
        extractps eax, xmm1, 1
        pinsrb  xmm1, eax, 9
        pinsrw  xmm1, [rcx], 2
        pinsrd  xmm1, eax, 1
        pinsrd  xmm1, eax, 3
        pinsrq  xmm1, rax, 1
        insertps xmm1, xmm2, 0x4c
        insertps xmm1, xmm2, 0x90
        insertps xmm1, xmm2, 0x0f
        insertps xmm1, [rcx], 0x10
        blendvps xmm1, xmm2
        pblendvb xmm1, [rcx]
        blendps xmm1, xmm2, 5
        blendps xmm1, xmm2, 12
        blendpd xmm1, [rcx], 2
        pblendw xmm1, xmm2, 0x33
        pmovzxbw xmm1, xmm2
        pmovsxdq xmm1, [rcx]
        ptest   xmm1, xmm2
        mpsadbw xmm1, xmm2, 1
        phminposuw xmm1, xmm2
        pcmpistri xmm1, xmm2, 0x1a
        pcmpistrm xmm1, xmm2, 0x40
        pcmpestri xmm1, xmm2, 0x0c
        pcmpestrm xmm1, xmm2, 0x4c
        aesenc  xmm1, xmm2
        aeskeygenassist xmm1, xmm2, 1
        pclmulqdq xmm1, xmm2, 0x11
        sha1rnds4 xmm1, xmm2, 1
        sha256rnds2 xmm1, xmm2
        sha256msg1 xmm1, xmm2
        movntdq [rcx], xmm1
        /* SSE4a, on AMD */
        extrq   xmm1, xmm2
        insertq xmm1, xmm2
        movntss [rcx], xmm1
        /* AVX */
        vmovss  xmm1, xmm2, xmm3
        vmovsd  xmm1, [rcx]
        vmovd   xmm1, eax
        vmovq   xmm1, xmm2
        vmovlps xmm1, xmm2, [rcx]
        vmovhps xmm1, xmm2, [rcx]
        vmovhps [rcx], xmm1
        vmovhlps xmm1, xmm2, xmm3
        vmovlhps xmm1, xmm2, xmm3
        vaddsd  xmm1, xmm2, xmm3
        vaddss  xmm1, xmm1, [rcx]
        vsqrtsd xmm1, xmm2, xmm3
        vrcpss  xmm1, xmm2, xmm3
        vroundss xmm1, xmm2, xmm3, 2
        vcvtsi2sd xmm1, xmm2, rax
        vcvtsd2ss xmm1, xmm2, xmm3
        vcvtss2sd xmm1, xmm2, [rcx]
        vcmpeqsd xmm1, xmm2, xmm3
        vfmadd231sd xmm1, xmm2, xmm3
        vfnmsub132ss xmm1, xmm2, [rcx]
        vfmadd213ps ymm1, ymm2, ymm3
        vaddps  ymm1, ymm2, [rcx]
        vaddpd  xmm1, xmm2, xmm3
        vpxor   ymm1, ymm2, ymm2
        vpxor   ymm1, ymm2, ymm3
        vpcmpeqd ymm1, ymm1, ymm1
        vpandn  xmm1, xmm2, xmm2
        vpinsrd xmm1, xmm2, eax, 2
        vpinsrb xmm1, xmm2, [rcx], 7
        vpinsrw xmm1, xmm2, eax, 4
        vpinsrq xmm1, xmm2, rax, 1
        vinsertps xmm1, xmm2, xmm3, 0x58
        vunpcklpd xmm1, xmm2, xmm3
        vunpckhps ymm1, ymm2, [rcx]
        vpunpcklbw xmm1, xmm2, xmm3
        vpunpckhqdq ymm1, ymm2, ymm3
        vshufpd xmm1, xmm2, xmm2, 1
        vshufpd ymm1, ymm2, ymm3, 6
        vshufps xmm1, xmm2, xmm3, 0x4e
        vshufps ymm1, ymm2, [rcx], 0xe4
        vpshufd ymm1, ymm2, 0x4e
        vpshufd xmm1, [rcx], 0x1b
        vpshuflw xmm1, xmm2, 0x1b
        vpshufhw ymm1, ymm2, 0x4e
        vpermilps xmm1, xmm2, 0x4e
        vpermilps xmm1, xmm2, xmm3
        vpermilpd ymm1, ymm2, 5
        vpermilpd xmm1, [rcx], 1
        vpalignr xmm1, xmm2, xmm3, 8
        vpalignr ymm1, ymm2, ymm3, 24
        vpsrldq xmm1, xmm2, 8
        vpsrldq ymm1, ymm2, 4
        vpslldq xmm1, xmm2, 8
        vmovddup ymm1, ymm2
        vmovddup xmm1, [rcx]
        vmovshdup xmm1, xmm2
        vinsertf128 ymm1, ymm2, [rcx], 0
        vpermpd ymm1, ymm2, 0x1b
        vperm2f128 ymm1, ymm2, [rcx], 0x08
        vperm2f128 ymm1, ymm2, ymm3, 0x83
        vbroadcastsd ymm1, [rcx]
        vpbroadcastd xmm1, xmm2
        vpbroadcastq xmm1, xmm2
        vpbroadcastw ymm1, [rcx]
        vblendps ymm1, ymm2, ymm3, 0x3c
        vblendpd xmm1, xmm2, xmm3, 1
        vpblendw ymm1, ymm2, ymm3, 0xf0
        vpblendd xmm1, xmm2, [rcx], 3
        vpextrq rax, xmm1, 1
        vextractf128 xmm1, ymm2, 1
        vextracti128 [rcx], ymm2, 0
        vinserti128 ymm1, ymm2, xmm3, 1
        vperm2i128 ymm1, ymm2, ymm3, 0x31
        vpermd  ymm1, ymm2, ymm3
        vpermq  ymm1, ymm2, 0x4e
        vbroadcastss ymm1, xmm2
        vbroadcasti128 ymm1, [rcx]
        vpbroadcastb xmm1, xmm2
        vblendvps ymm1, ymm2, ymm3, ymm4
        vpblendvb xmm1, xmm2, xmm3, xmm4
        vmaskmovps ymm1, ymm2, [rcx]
        vmaskmovpd [rcx], xmm1, xmm2
        vpmaskmovd [rcx], ymm1, ymm2
        vpmaskmovq xmm1, xmm2, [rcx]
        pshufb  xmm1, [rcx]
        pshufb  xmm1, xmm1
        vpshufb ymm1, ymm2, ymm3
        vpshufb xmm1, xmm2, [rcx]
        vpshufb ymm9, ymm2, ymm2
        vpermilps ymm1, ymm2, [rcx]
        vpermilpd xmm1, xmm2, xmm3
        vpermps ymm1, ymm2, [rcx]
        vpermps ymm2, ymm2, ymm2
        vblendvpd xmm1, xmm2, [rcx], xmm3
        vpblendvb ymm1, ymm2, [rcx], ymm1
        blendvpd xmm0, xmm2
        vmaskmovdqu xmm1, xmm2
        vpmaskmovq [rcx], ymm1, ymm1
        vpgatherdd xmm1, [rcx + xmm2*4], xmm3
        vpgatherqq ymm1, [rcx + ymm2*8], ymm3
        vgatherdpd ymm1, [rcx + xmm2*1], ymm3
        vgatherqps xmm1, [rcx + ymm2*2], xmm3
        vpsllvd ymm1, ymm2, ymm3
        vcvtps2ph xmm1, ymm2, 0
        vcvtph2ps ymm1, xmm2
        vtestps xmm1, xmm2
        vptest  ymm1, ymm2
        vaesenc ymm1, ymm2, ymm3
        vzeroupper
        vzeroall
        vmovmskpd eax, ymm1
        vpcmpistri xmm1, xmm2, 0x1a
        /* MMX */
        movd    mm1, eax
        movq    mm1, [rcx]
        movq    [rcx], mm1
        movq    mm1, mm2
        paddb   mm1, mm2
        pxor    mm1, mm1
        pmovmskb eax, mm1
        pextrw  eax, mm1, 2
        pinsrw  mm1, eax, 2
        movq2dq xmm1, mm2
        movdq2q mm1, xmm2
        cvtpi2ps xmm1, mm2
        cvttps2pi mm1, xmm2
        maskmovq mm1, mm2
        emms
        /* x87 */
        fld     st(2)
        fld     qword ptr [rcx]
        fld     tbyte ptr [rcx]
        fild    word ptr [rcx]
        fbld    [rcx]
        fld1
        fldpi
        fst     st(3)
        fstp    dword ptr [rcx]
        fstp    tbyte ptr [rcx]
        fistp   qword ptr [rcx]
        fisttp  dword ptr [rcx]
        fbstp   [rcx]
        fadd    st, st(1)
        faddp   st(2), st
        fmul    dword ptr [rcx]
        fiadd   word ptr [rcx]
        fsubr   st(1), st
        fdivp   st(1), st
        fsqrt
        fabs
        fchs
        frndint
        fscale
        fprem
        fsin
        fyl2x
        fptan
        fxam
        ftst
        fcom    st(1)
        fucompp
        fcomi   st, st(1)
        fucomip st, st(2)
        fcmovne st, st(2)
        fcmovbe st, st(1)
        fxch    st(3)
        ffree   st(2)
        fincstp
        fdecstp
        fnop
        lar     eax, ecx
        lsl     eax, ecx
        lsl     rax, rcx
        lsl     cx, [rdx]
        fnclex
        fninit
        fnstcw  [rcx]
        fldcw   [rcx]
        fnstsw  ax
        fnstsw  [rcx]
        fnstenv [rcx]
        fldenv  [rcx]
        fnsave  [rcx]
        frstor  [rcx]
        /* whole state, control registers, bases */
        fxsave  [rcx]
        fxsave64 [rcx]
        fxrstor [rcx]
        xsave   [rcx]
        xsave64 [rcx]
        xsavec  [rcx]
        xsaveopt [rcx]
        xrstor  [rcx]
        ldmxcsr [rcx]
        stmxcsr [rcx]
        vldmxcsr [rcx]
        vstmxcsr [rcx]
        rdfsbase rax
        wrfsbase rax
        rdgsbase eax
        wrgsbase rcx
        rdsspq  rax
        rdsspd  eax
        xgetbv
        /* nothing at all */
        nop
        nop     dword ptr [rcx]
        endbr64
        pause
        lfence
        mfence
        sfence
        prefetcht0 [rcx]
        clflush [rcx]
        clflushopt [rcx]
        clzero
oracle_extra_end:
        .section .note.GNU-stack,"",@progbits

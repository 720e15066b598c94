/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector instructions of which test_insn_lanes.c asks the processor: the result in xmm0, operands xmm0, xmm1, xmm2 and
 * [rdi]. */
.intel_syntax noprefix

.macro form text:vararg
    .pushsection .data.rel.ro, "aw"
    .quad 1f
    .popsection
1:  \text
    ret
.endm

    .section .data.rel.ro, "aw"
    .balign 8
    .globl lanes_forms
lanes_forms:
    .text
    form punpcklbw xmm0, xmm1
    form punpckhwd xmm0, [rdi]
    form punpckldq xmm0, xmm1
    form punpckhqdq xmm0, xmm1
    form pshufd xmm0, xmm1, 0x1b
    form pshuflw xmm0, [rdi], 0x39
    form pshufhw xmm0, xmm1, 0xe1
    form shufps xmm0, xmm1, 0x4e
    form palignr xmm0, xmm1, 5
    form pslldq xmm0, 3
    form psrldq xmm0, 7
    form pblendw xmm0, xmm1, 0x5a
    form pxor xmm0, xmm1
    form paddb xmm0, xmm1
    form paddw xmm0, [rdi]
    form paddd xmm0, xmm1
    form paddq xmm0, xmm1
    form psubb xmm0, xmm1
    form psubw xmm0, xmm1
    form psubd xmm0, [rdi]
    form psubq xmm0, xmm1
    form vpunpcklbw ymm0, ymm1, ymm2
    form vpshufd ymm0, [rdi], 0xb1
    form vpermq ymm0, ymm1, 0x4e
    form vperm2i128 ymm0, ymm1, ymm2, 0x83
    form vpbroadcastb ymm0, xmm1
    form vpbroadcastd ymm0, [rdi]
    form vinserti128 ymm0, ymm1, xmm2, 1
    form vpalignr ymm0, ymm1, ymm2, 9
    form vpxor ymm0, ymm1, ymm2
    form vpaddw ymm0, ymm1, [rdi]
    form vpaddd xmm0, xmm1, xmm2
    form vpsubq ymm0, ymm2, ymm1
    .section .data.rel.ro, "aw"
    .quad 0
    .section .note.GNU-stack, "", @progbits

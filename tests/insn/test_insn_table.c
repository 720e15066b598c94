/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each rule of insn.h gives for its instructions, as text (insn_format.h says how to read it).
 * What the processor does is the oracle's business; these rows pin down how flows are cut. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* cmocka.h needs the standard headers above it. */
#include <cmocka.h>

#include "insn_format.h"
#include "recorder/insn/insn.h"
#include "recorder/insn/insn_ranges.h"
#include <wetdbg/errors.h>

#define PC 0x1000

struct row {
    uint8_t code[15];
    const char *text, *flows, *mems;
};

static const struct row moves_and_copies[] = {
    {{0x48, 0x89, 0xc8}, "mov rax, rcx", "rax = rcx {copy}", ""},
    {{0x89, 0xc8}, "mov eax, ecx", "rax = rcx {copy}", ""},
    {{0x66, 0x89, 0xc8}, "mov ax, cx", "ax = cx {copy}", ""},
    {{0x88, 0xe8}, "mov al, ch", "al = rcx.b1 {copy}", ""},
    {{0xb8, 0x05, 0x00, 0x00, 0x00}, "mov eax, 0x5", "rax =", ""},
    {{0x48, 0x8b, 0x45, 0xf8}, "mov rax, qword ptr [rbp-0x8]", "rax = m0 {copy}", "r8[rbp-0x8]"},
    {{0x89, 0x05, 0x10, 0x00, 0x00, 0x00},
     "mov dword ptr [0x1016], eax",
     "m0 = rax {copy}",
     "w4[0x1016]"},
    {{0x8a, 0x4c, 0x7e, 0x04},
     "mov cl, byte ptr [rsi+rdi*2+0x4]",
     "cl = m0 {copy}",
     "r1[rsi+rdi*2+0x4]"},
    {{0x48, 0xc7, 0x00, 0x00, 0x00, 0x00, 0x00}, "mov qword ptr [rax], 0x0", "m0 =", "w8[rax]"},
    {{0x48, 0xa1, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11},
     "mov rax, qword ptr [0x1122334455667788]",
     "rax = m0 {copy}",
     "r8[0x1122334455667788]"},
    {{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00},
     "mov rax, qword ptr fs:[0x28]",
     "rax = m0 {copy}",
     "r8[fs:0x28]"},
    {{0x67, 0x8b, 0x04, 0xd1},
     "mov eax, dword ptr [ecx+edx*8]",
     "rax = m0 {copy}",
     "r4[rcx+rdx*8] a32"},
    {{0x0f, 0xb6, 0xc1}, "movzx eax, cl", "rax = cl {copy}", ""},
    {{0x0f, 0xb6, 0xcc}, "movzx ecx, ah", "rcx = rax.b1 {copy}", ""},
    {{0x48, 0x0f, 0xbe, 0xc1}, "movsx rax, cl", "rax = cl", ""},
    {{0x48, 0x63, 0xc1}, "movsxd rax, ecx", "rax = rcx", ""},
    {{0x48, 0x91}, "xchg rcx, rax", "rcx = rax {copy}; rax = rcx {copy}", ""},
    {{0x87, 0x0f}, "xchg dword ptr [rdi], ecx", "m0 = rcx {copy}; rcx = m0 {copy}", "rw4[rdi]"},
    {{0x90}, "nop", "", ""},
    {{0x86, 0xc4}, "xchg ah, al", "rax.b1 = al {copy}; al = rax.b1 {copy}", ""},
    {{0x0f, 0xc8}, "bswap eax", "rax = rax", ""},
    {{0x0f, 0x38, 0xf1, 0x01}, "movbe dword ptr [rcx], eax", "m0 = rax", "w4[rcx]"},
    {{0x48, 0x8d, 0x44, 0x8b, 0x08}, "lea rax, [rbx+rcx*4+0x8]", "rax = rcx rbx", ""},
    {{0x66, 0x8d, 0x04, 0x0b}, "lea ax, [rbx+rcx*1]", "ax = cx bx", ""},
    {{0x48, 0x8d, 0x05, 0x08, 0x00, 0x00, 0x00}, "lea rax, [0x100f]", "rax =", ""},
    {{0x48, 0x8d, 0x44, 0x24, 0x08}, "lea rax, [rsp+0x8]", "rax = rsp {stackaddr}", ""},
    {{0x48, 0x89, 0xe0}, "mov rax, rsp", "rax = rsp {copy} {stackaddr}", ""},
    {{0xd7}, "xlat", "al = m0 {copy}", "r1[rbx+rax*1] impl byte"},
    {{0x98}, "cwde", "rax = ax", ""},
    {{0x48, 0x99}, "cqo", "rdx = rax.b2-7", ""},
    {{0x99}, "cdq", "rdx = rax.b2-7", ""},
};

static const struct row stack_instructions[] = {
    {{0x50}, "push rax", "m0 = rax {copy}; rsp = {stack}", "w8[rsp-0x8] impl stack"},
    {{0x66, 0x50}, "push ax", "m0 = ax {copy}; rsp = {stack}", "w2[rsp-0x2] impl stack"},
    {{0x54}, "push rsp", "m0 = rsp {copy}; rsp = {stack}", "w8[rsp-0x8] impl stack"},
    {{0x6a, 0x05}, "push 0x5", "m0 =; rsp = {stack}", "w8[rsp-0x8] impl stack"},
    {{0xff, 0x74, 0x24, 0x08},
     "push qword ptr [rsp+0x8]",
     "m1 = m0 {copy}; rsp = {stack}",
     "r8[rsp+0x8] stack; w8[rsp-0x8] impl stack"},
    {{0xff, 0x71, 0x08},
     "push qword ptr [rcx+0x8]",
     "m1 = m0 {copy}; rsp = {stack}",
     "r8[rcx+0x8]; w8[rsp-0x8] impl stack"},
    {{0x5b}, "pop rbx", "rbx = m0 {copy}; rsp = {stack}", "r8[rsp] impl stack"},
    {{0x66, 0x59}, "pop cx", "cx = m0 {copy}; rsp = {stack}", "r2[rsp] impl stack"},
    {{0x5c}, "pop rsp", "rsp = m0 {copy}", "r8[rsp] impl stack"},
    {{0x8f, 0x01},
     "pop qword ptr [rcx]",
     "m0 = m1 {copy}; rsp = {stack}",
     "w8[rcx]; r8[rsp] impl stack"},
    {{0x8f, 0x44, 0x24, 0x10},
     "pop qword ptr [rsp+0x10]",
     "m0 = m1 {copy}; rsp = {stack}",
     "w8[rsp+0x18] stack; r8[rsp] impl stack"},
    {{0x9c}, "pushfq", "m0 = +cpazsod; rsp = {stack}", "w8[rsp-0x8] impl stack"},
    {{0x9d}, "popfq", "+cpazsod = m0; rsp = {stack}", "r8[rsp] impl stack"},
    {{0xc8, 0x10, 0x00, 0x00},
     "enter 0x10, 0x0",
     "m0 = rbp {copy}; rsp = {stack}; rbp = {stack}",
     "w8[rsp-0x8] impl stack"},
    {{0xc8, 0x10, 0x00, 0x03},
     "enter 0x10, 0x3",
     "m0 = rsp rbp m1; rsp = {stack}; rbp = {stack}",
     "w32[rsp-0x20] impl stack; r16[rbp-0x10] impl"},
    {{0xc9}, "leave", "rbp = m0 {copy}; rsp = {stack}", "r8[rbp] impl"},
    {{0x48, 0x83, 0xec, 0x08}, "sub rsp, 0x8", "rsp +cpazso = {stack}", ""},
    {{0x48, 0x83, 0xc4, 0x10}, "add rsp, 0x10", "rsp +cpazso = {stack}", ""},
    {{0x48, 0x83, 0xe4, 0xf0}, "and rsp, 0xfffffffffffffff0", "rsp +cpazso = {stack}", ""},
    {{0x48, 0x29, 0xc4}, "sub rsp, rax", "rsp +cpazso = rax rsp", ""},
    {{0x48, 0x89, 0xe5}, "mov rbp, rsp", "rbp = {stack}", ""},
    {{0x48, 0x89, 0xec}, "mov rsp, rbp", "rsp = {stack}", ""},
    {{0x48, 0x89, 0xc4}, "mov rsp, rax", "rsp = rax {copy}", ""},
    {{0x48, 0x8d, 0x64, 0x24, 0x18}, "lea rsp, [rsp+0x18]", "rsp = {stack}", ""},
    {{0x48, 0x8d, 0x65, 0xd8}, "lea rsp, [rbp-0x28]", "rsp = {stack}", ""},
    {{0x48, 0x8d, 0x6c, 0x24, 0x08}, "lea rbp, [rsp+0x8]", "rbp = rsp {stackaddr}", ""},
    {{0x48, 0x8d, 0x24, 0x04}, "lea rsp, [rsp+rax*1]", "rsp = rax rsp", ""},
};

static const struct row arithmetic[] = {
    {{0x48, 0x01, 0xc8}, "add rax, rcx", "rax +cpazso = rax rcx", ""},
    {{0x04, 0x05}, "add al, 0x5", "al +cpazso = al", ""},
    {{0x48, 0x01, 0x11}, "add qword ptr [rcx], rdx", "+cpazso m0 = rdx m0", "rw8[rcx]"},
    {{0xf0, 0x83, 0x01, 0x01}, "lock add dword ptr [rcx], 0x1", "+cpazso m0 = m0", "rw4[rcx]"},
    {{0x48, 0x13, 0x03}, "adc rax, qword ptr [rbx]", "rax +cpazso = rax m0 ? +c", "r8[rbx]"},
    {{0x19, 0xc8}, "sbb eax, ecx", "rax +cpazso = rax rcx ? +c", ""},
    {{0xff, 0xc1}, "inc ecx", "rcx +pazso = rcx", ""},
    {{0xfe, 0x08}, "dec byte ptr [rax]", "+pazso m0 = m0", "rw1[rax]"},
    {{0x48, 0xf7, 0xd8}, "neg rax", "rax +cpazso = rax", ""},
    {{0x66, 0xf7, 0xd0}, "not ax", "ax = ax", ""},
    {{0x3b, 0x01}, "cmp eax, dword ptr [rcx]", "+cpazso = rax m0", "r4[rcx]"},
    {{0x85, 0xc0}, "test eax, eax", "+cpazso = rax", ""},
    {{0xf7, 0xc6, 0x00, 0x20, 0x00, 0x00}, "test esi, 0x2000", "+cpazso = rsi.b1", ""},
    {{0x41, 0x83, 0xe4, 0x02}, "and r12d, 0x2", "r12 +cpazso = r12b", ""},
    {{0x81, 0xc9, 0xff, 0x00, 0x00, 0x00}, "or ecx, 0xff", "rcx +cpazso = rcx.b1 rcx.b2-7", ""},
    {{0x48, 0x6b, 0xc1, 0x07}, "imul rax, rcx, 0x7", "rax +cpazso = rcx", ""},
    {{0x48, 0xf7, 0xe9}, "imul rcx", "rax rdx +cpazso = rax rcx", ""},
    {{0xf6, 0xe1}, "mul cl", "ax +cpazso = al cl", ""},
    {{0xf7, 0xf1}, "div ecx", "rax rdx +cpazso = rax rcx rdx", ""},
    {{0x48, 0xf7, 0xf9}, "idiv rcx", "rax rdx +cpazso = rax rcx rdx", ""},
    {{0xc4, 0xe2, 0xe3, 0xf6, 0xc1}, "mulx rax, rbx, rcx", "rax rbx = rcx rdx", ""},
    {{0x66, 0x0f, 0x38, 0xf6, 0xc1}, "adcx eax, ecx", "rax +c = rax rcx ? +c", ""},
    {{0xf3, 0x48, 0x0f, 0x38, 0xf6, 0xc1}, "adox rax, rcx", "rax +o = rax rcx ? +o", ""},
    {{0xf3, 0x0f, 0xb8, 0xc1}, "popcnt eax, ecx", "rax +cpazso = rcx", ""},
    {{0xf3, 0x48, 0x0f, 0xbd, 0xc1}, "lzcnt rax, rcx", "rax +cpazso = rcx", ""},
    {{0x48, 0x0f, 0xbc, 0xc1}, "bsf rax, rcx", "+cpazso ~rax = rcx", ""},
    {{0x0f, 0xbd, 0x01}, "bsr eax, dword ptr [rcx]", "+cpazso ~rax = m0", "r4[rcx]"},
    {{0xf2, 0x0f, 0x38, 0xf0, 0xc1}, "crc32 eax, cl", "rax = rax cl", ""},
    {{0xd3, 0xe0}, "shl eax, cl", "rax ~+cpazso = rax cl", ""},
    {{0xc1, 0xe0, 0x03}, "shl eax, 0x3", "rax +cpazso = rax", ""},
    {{0xc1, 0xe0, 0x20}, "shl eax, 0x20", "rax = rax", ""},
    {{0xd0, 0x39}, "sar byte ptr [rcx], 0x1", "+cpazso m0 = m0", "rw1[rcx]"},
    {{0x66, 0xd3, 0xc0}, "rol ax, cl", "ax ~+co = ax cl", ""},
    {{0x48, 0xc1, 0xc8, 0x07}, "ror rax, 0x7", "rax +co = rax", ""},
    {{0xd1, 0xd0}, "rcl eax, 0x1", "rax +co = rax ? +c", ""},
    {{0xd3, 0xd8}, "rcr eax, cl", "rax ~+co = rax cl ? +c", ""},
    {{0x0f, 0xa5, 0xc8}, "shld eax, ecx, cl", "rax ~+cpazso = rax rcx", ""},
    {{0x48, 0x0f, 0xac, 0xc8, 0x09}, "shrd rax, rcx, 0x9", "rax +cpazso = rax rcx", ""},
    {{0xc4, 0xe2, 0xe9, 0xf7, 0xc1}, "shlx rax, rcx, rdx", "rax = rcx dl", ""},
    {{0xc4, 0xe3, 0xfb, 0xf0, 0xc1, 0x05}, "rorx rax, rcx, 0x5", "rax = rcx", ""},
    {{0x0f, 0xa3, 0xc8}, "bt eax, ecx", "+cpaso = rax cl", ""},
    {{0x0f, 0xa3, 0x08}, "bt dword ptr [rax], ecx", "+cpaso = rcx m0", "r4[rax+bit(rcx)]"},
    {{0x48, 0x0f, 0xba, 0x28, 0x03}, "bts qword ptr [rax], 0x3", "+cpaso m0 = m0", "rw8[rax]"},
    {{0xf0, 0x48, 0x0f, 0xb3, 0x08},
     "lock btr qword ptr [rax], rcx",
     "+cpaso m0 = rcx m0",
     "rw8[rax+bit(rcx)]"},
    {{0xc4, 0xe2, 0x70, 0xf2, 0xc2}, "andn eax, ecx, edx", "rax +cpazso = rcx rdx", ""},
    {{0xc4, 0xe2, 0xe8, 0xf5, 0xc1}, "bzhi rax, rcx, rdx", "rax +cpazso = rcx dl", ""},
    {{0xc4, 0xe2, 0xf3, 0xf5, 0xc2}, "pdep rax, rcx, rdx", "rax = rcx rdx", ""},
    {{0x9f}, "lahf", "rax.b1 = +cpazs", ""},
    {{0x9e}, "sahf", "+cpazs = rax.b1", ""},
    {{0xf5}, "cmc", "+c = +c", ""},
    {{0xf9}, "stc", "+c =", ""},
    {{0xfc}, "cld", "+d =", ""},
};

static const struct row idioms[] = {
    {{0x31, 0xc0}, "xor eax, eax", "rax +cpazso =", ""},
    {{0x30, 0xe4}, "xor ah, ah", "rax.b1 +cpazso =", ""},
    {{0x31, 0xc8}, "xor eax, ecx", "rax +cpazso = rax rcx", ""},
    {{0x48, 0x29, 0xc9}, "sub rcx, rcx", "rcx +cpazso =", ""},
    {{0x19, 0xc0}, "sbb eax, eax", "rax +cpazso = ? +c", ""},
    {{0x48, 0x39, 0xc0}, "cmp rax, rax", "+cpazso =", ""},
    {{0x83, 0xe0, 0x00}, "and eax, 0x0", "rax +cpazso =", ""},
    {{0x48, 0x83, 0x21, 0x00}, "and qword ptr [rcx], 0x0", "+cpazso m0 =", "rw8[rcx]"},
    {{0x66, 0x83, 0xe0, 0x00}, "and ax, 0x0", "ax +cpazso =", ""},
    {{0x48, 0x83, 0xc8, 0xff}, "or rax, 0xffffffffffffffff", "rax +cpazso =", ""},
    {{0x83, 0x09, 0xff}, "or dword ptr [rcx], 0xffffffff", "+cpazso m0 =", "rw4[rcx]"},
    {{0x0c, 0xff}, "or al, 0xff", "al +cpazso =", ""},
    {{0x66, 0x0f, 0xef, 0xc9}, "pxor xmm1, xmm1", "xmm1 =", ""},
    {{0x66, 0x0f, 0xef, 0xca}, "pxor xmm1, xmm2", "xmm1 = xmm1 xmm2", ""},
    {{0x0f, 0x57, 0xc9}, "xorps xmm1, xmm1", "xmm1 =", ""},
    {{0x66, 0x0f, 0x57, 0xc9}, "xorpd xmm1, xmm1", "xmm1 =", ""},
    {{0x66, 0x0f, 0xdf, 0xc9}, "pandn xmm1, xmm1", "xmm1 =", ""},
    {{0x66, 0x0f, 0xfa, 0xc9}, "psubd xmm1, xmm1", "xmm1 =", ""},
    {{0x66, 0x0f, 0x76, 0xc9}, "pcmpeqd xmm1, xmm1", "xmm1 =", ""},
    {{0x66, 0x0f, 0x64, 0xc9}, "pcmpgtb xmm1, xmm1", "xmm1 =", ""},
    {{0xc5, 0xe9, 0xef, 0xca}, "vpxor xmm1, xmm2, xmm2", "zmm1 =", ""},
    {{0xc5, 0xed, 0xef, 0xcb}, "vpxor ymm1, ymm2, ymm3", "zmm1 = ymm2 ymm3", ""},
    {{0xc5, 0xec, 0x57, 0xca}, "vxorps ymm1, ymm2, ymm2", "zmm1 =", ""},
    {{0xc5, 0xf5, 0x76, 0xc9}, "vpcmpeqd ymm1, ymm1, ymm1", "zmm1 =", ""},
    {{0x62, 0xf1, 0x6d, 0x48, 0xef, 0xca}, "vpxord zmm1, zmm2, zmm2", "zmm1 =", ""},
    {{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0xff}, "vpternlogd zmm1, zmm2, zmm3, 0xff", "zmm1 =", ""},
    {{0x62, 0xf3, 0x6d, 0x48, 0x25, 0xcb, 0x96},
     "vpternlogd zmm1, zmm2, zmm3, 0x96",
     "zmm1 = zmm1 zmm2 zmm3",
     ""},
    {{0xc5, 0xec, 0x46, 0xca}, "kxnorw k1, k2, k2", "k1 =", ""},
    {{0x0f, 0x5c, 0xc9}, "subps xmm1, xmm1", "xmm1 ~mxcsr.status = xmm1 mxcsr.control", ""},
};

static const struct row branches_and_conditions[] = {
    {{0x0f, 0x44, 0xc1},
     "cmovz eax, ecx",
     "rax = rcx ? +z {copy} {taken}; rax = rax ? +z {copy} {not}",
     ""},
    {{0x48, 0x0f, 0x46, 0x01},
     "cmovbe rax, qword ptr [rcx]",
     "rax = m0 ? +cz {copy} {taken}; rax = rax ? +cz {copy} {not}",
     "r8[rcx]"},
    {{0x66, 0x0f, 0x4f, 0xc2},
     "cmovnle ax, dx",
     "ax = dx ? +zso {copy} {taken}; ax = ax ? +zso {copy} {not}",
     ""},
    {{0x0f, 0x95, 0xc1}, "setnz cl", "cl = ? +z", ""},
    {{0x0f, 0x9c, 0x01}, "setl byte ptr [rcx]", "m0 = ? +so", "w1[rcx]"},
    {{0x74, 0xfe}, "jz 0x1000", "= ? +z {branch}", ""},
    {{0x76, 0xfe}, "jbe 0x1000", "= ? +cz {branch}", ""},
    {{0x7a, 0xfe}, "jp 0x1000", "= ? +p {branch}", ""},
    {{0xeb, 0xfe}, "jmp 0x1000", "", ""},
    {{0xff, 0xe0}, "jmp rax", "= rax {branch}", ""},
    {{0xff, 0x25, 0x08, 0x00, 0x00, 0x00}, "jmp qword ptr [0x100e]", "= m0 {branch}", "r8[0x100e]"},
    {{0xe8, 0xfb, 0xff, 0xff, 0xff},
     "call 0x1000",
     "m0 =; rsp = {stack}",
     "w8[rsp-0x8] impl stack"},
    {{0xff, 0xd0}, "call rax", "m0 =; rsp = {stack}; = rax {branch}", "w8[rsp-0x8] impl stack"},
    {{0xff, 0x50, 0x08},
     "call qword ptr [rax+0x8]",
     "m1 =; rsp = {stack}; = m0 {branch}",
     "r8[rax+0x8]; w8[rsp-0x8] impl stack"},
    {{0xc3}, "ret", "= m0 {branch}; rsp = {stack}", "r8[rsp] impl stack"},
    {{0xc2, 0x10, 0x00}, "ret 0x10", "= m0 {branch}; rsp = {stack}", "r8[rsp] impl stack"},
    {{0xe2, 0xfe}, "loop 0x1000", "= ? rcx {branch}; rcx = rcx", ""},
    {{0xe0, 0xfe}, "loopne 0x1000", "= ? rcx +z {branch}; rcx = rcx", ""},
    {{0xe3, 0xfe}, "jrcxz 0x1000", "= ? rcx {branch}", ""},
    {{0x67, 0xe3, 0xfd}, "jecxz 0x1000", "= ? rcx {branch}", ""},
    {{0x48, 0x0f, 0xb1, 0x0f},
     "cmpxchg qword ptr [rdi], rcx",
     "+cpazso = rax m0; ~m0 = rcx m0 ? rax; ~rax = m0 ? rax",
     "rw8[rdi]"},
    {{0x0f, 0xb1, 0xd1},
     "cmpxchg ecx, edx",
     "+cpazso = rax rcx; ~rcx = rdx ? rax rcx; ~rax = rcx ? rax rcx",
     ""},
    {{0x0f, 0xc7, 0x0f},
     "cmpxchg8b qword ptr [rdi]",
     "+z = rax rdx m0; ~m0 = rcx rbx m0 ? rax rdx; ~rax ~rdx = m0 ? rax rdx",
     "rw8[rdi]"},
    {{0xf0, 0x48, 0x0f, 0xc7, 0x0f},
     "lock cmpxchg16b xmmword ptr [rdi]",
     "+z = rax rdx m0; ~m0 = rcx rbx m0 ? rax rdx; ~rax ~rdx = m0 ? rax rdx",
     "rw16[rdi]"},
    {{0x0f, 0xc1, 0x07},
     "xadd dword ptr [rdi], eax",
     "+cpazso m0 = rax m0; rax = m0 {copy}",
     "rw4[rdi]"},
    {{0x0f, 0xc1, 0xd1}, "xadd ecx, edx", "rcx +cpazso = rcx rdx; rdx = rcx {copy}", ""},
    {{0x0f, 0xc1, 0xc9}, "xadd ecx, ecx", "rcx +cpazso = rcx", ""},
};

static const struct row string_instructions[] = {
    {{0xa4},
     "movsb",
     "m0 = m1 {copy}; rdi = rdi ? +d; rsi = rsi ? +d",
     "w1[rdi] impl; r1[rsi] impl"},
    {{0xf3, 0xa4},
     "rep movsb",
     "~m0 = m1 ? rcx {copy}; rdi = rdi ? rcx +d; rsi = rsi ? rcx +d; rcx =",
     "w1[rdi] impl rep; r1[rsi] impl rep"},
    {{0xf3, 0x48, 0xa5},
     "rep movsq",
     "~m0 = m1 ? rcx {copy}; rdi = rdi ? rcx +d; rsi = rsi ? rcx +d; rcx =",
     "w8[rdi] impl rep; r8[rsi] impl rep"},
    {{0xab}, "stosd", "m0 = rax {copy}; rdi = rdi ? +d", "w4[rdi] impl"},
    {{0xf3, 0xaa},
     "rep stosb",
     "~m0 = al ? rcx {copy}; rdi = rdi ? rcx +d; rcx =",
     "w1[rdi] impl rep"},
    {{0x66, 0xad}, "lodsw", "ax = m0 {copy}; rsi = rsi ? +d", "r2[rsi] impl"},
    {{0xad}, "lodsd", "rax = m0 {copy}; rsi = rsi ? +d", "r4[rsi] impl"},
    {{0xf3, 0xac}, "rep lodsb", "~al = m0 ? rcx; rsi = rsi ? rcx +d; rcx =", "r1[rsi] impl rep"},
    {{0xae}, "scasb", "+cpazso = al m0; rdi = rdi ? +d", "r1[rdi] impl"},
    {{0xf2, 0xae},
     "repne scasb",
     "~+cpazso = al m0 ? rcx; rdi = al rdi m0 ? rcx +d; rcx = al rcx m0 ? +d",
     "r1[rdi] impl rep"},
    {{0xa7},
     "cmpsd",
     "+cpazso = m0 m1; rdi = rdi ? +d; rsi = rsi ? +d",
     "r4[rdi] impl; r4[rsi] impl"},
    {{0xf3, 0xa6},
     "repe cmpsb",
     "~+cpazso = m0 m1 ? rcx; rdi = rdi m0 m1 ? rcx +d; rsi = rsi m0 m1 ? rcx +d; rcx = rcx m0 m1 "
     "? +d",
     "r1[rdi] impl rep; r1[rsi] impl rep"},
    {{0x67, 0xa4},
     "movsb",
     "m0 = m1 {copy}; rdi = rdi ? +d; rsi = rsi ? +d",
     "w1[rdi] impl a32; r1[rsi] impl a32"},
    {{0x67, 0xf3, 0x48, 0xab},
     "rep stosq",
     "~m0 = rax ? rcx {copy}; rdi = rdi ? rcx +d; rcx = rcx",
     "w8[rdi] impl rep a32"},
};

static const struct row vectors[] = {
    {{0xf3, 0x0f, 0x10, 0xca}, "movss xmm1, xmm2", "zmm1.b0-3 = zmm2.b0-3 {copy}", ""},
    {{0xf3, 0x0f, 0x10, 0x09}, "movss xmm1, dword ptr [rcx]", "xmm1 = m0 {copy}", "r4[rcx]"},
    {{0xf2, 0x0f, 0x11, 0x09},
     "movsd qword ptr [rcx], xmm1",
     "m0 = zmm1.b0-3 zmm1.b4-7 {copy}",
     "w8[rcx]"},
    {{0x0f, 0x28, 0xca}, "movaps xmm1, xmm2", "xmm1 = xmm2 {copy}", ""},
    {{0xf3, 0x0f, 0x7f, 0x19}, "movdqu xmmword ptr [rcx], xmm3", "m0 = xmm3 {copy}", "w16[rcx]"},
    {{0x66, 0x0f, 0x6e, 0xc8}, "movd xmm1, eax", "xmm1 = rax {copy}", ""},
    {{0x66, 0x48, 0x0f, 0x7e, 0xc8}, "movq rax, xmm1", "rax = zmm1.b0-3 zmm1.b4-7 {copy}", ""},
    {{0xf3, 0x0f, 0x7e, 0xca}, "movq xmm1, xmm2", "xmm1 = zmm2.b0-3 zmm2.b4-7 {copy}", ""},
    {{0x0f, 0x12, 0x09},
     "movlps xmm1, qword ptr [rcx]",
     "zmm1.b0-3 zmm1.b4-7 = m0 {copy}",
     "r8[rcx]"},
    {{0x0f, 0x16, 0x09}, "movhps xmm1, qword ptr [rcx]", "zmm1.b8-15 = m0 {copy}", "r8[rcx]"},
    {{0x0f, 0x17, 0x09}, "movhps qword ptr [rcx], xmm1", "m0 = zmm1.b8-15 {copy}", "w8[rcx]"},
    {{0x66, 0x0f, 0x12, 0x09},
     "movlpd xmm1, qword ptr [rcx]",
     "zmm1.b0-3 zmm1.b4-7 = m0 {copy}",
     "r8[rcx]"},
    {{0x66, 0x0f, 0x16, 0x09}, "movhpd xmm1, qword ptr [rcx]", "zmm1.b8-15 = m0 {copy}", "r8[rcx]"},
    {{0xf3, 0x0f, 0x51, 0x09},
     "sqrtss xmm1, dword ptr [rcx]",
     "zmm1.b0-3 ~mxcsr.status = mxcsr.control m0",
     "r4[rcx]"},
    {{0xf2, 0x0f, 0x51, 0xca},
     "sqrtsd xmm1, xmm2",
     "zmm1.b0-3 zmm1.b4-7 ~mxcsr.status = zmm2.b0-3 zmm2.b4-7 mxcsr.control",
     ""},
    {{0xf3, 0x0f, 0x53, 0xca}, "rcpss xmm1, xmm2", "zmm1.b0-3 = zmm2.b0-3", ""},
    {{0xf3, 0x0f, 0x52, 0x09}, "rsqrtss xmm1, dword ptr [rcx]", "zmm1.b0-3 = m0", "r4[rcx]"},
    {{0x66, 0x0f, 0x3a, 0x0a, 0xca, 0x01},
     "roundss xmm1, xmm2, 0x1",
     "zmm1.b0-3 ~mxcsr.status = zmm2.b0-3 mxcsr.control",
     ""},
    {{0x66, 0x0f, 0x3a, 0x0b, 0x09, 0x01},
     "roundsd xmm1, qword ptr [rcx], 0x1",
     "zmm1.b0-3 zmm1.b4-7 ~mxcsr.status = mxcsr.control m0",
     "r8[rcx]"},
    {{0x0f, 0x16, 0xca}, "movlhps xmm1, xmm2", "zmm1.b8-15 = zmm2.b0-3 zmm2.b4-7 {copy}", ""},
    {{0x0f, 0x12, 0xca}, "movhlps xmm1, xmm2", "zmm1.b0-3 zmm1.b4-7 = zmm2.b8-15 {copy}", ""},
    {{0x66, 0x0f, 0x6c, 0xca},
     "punpcklqdq xmm1, xmm2",
     "zmm1.b8-15 = zmm2.b0-3 zmm2.b4-7 {copy}",
     ""},
    {{0x66, 0x0f, 0x6d, 0xca},
     "punpckhqdq xmm1, xmm2",
     "zmm1.b0-3 zmm1.b4-7 = zmm1.b8-15 {copy}; zmm1.b8-15 = zmm2.b8-15 {copy}",
     ""},
    {{0x66, 0x0f, 0x68, 0xca}, "punpckhbw xmm1, xmm2", "xmm1 = zmm1.b8-15 zmm2.b8-15", ""},
    {{0x66, 0x0f, 0xc6, 0xc9, 0x01},
     "shufpd xmm1, xmm1, 0x1",
     "zmm1.b0-3 zmm1.b4-7 = zmm1.b8-15 {copy}; zmm1.b8-15 = zmm1.b0-3 zmm1.b4-7 {copy}",
     ""},
    {{0x66, 0x0f, 0x70, 0xca, 0x24},
     "pshufd xmm1, xmm2, 0x24",
     "zmm1.b0-3 zmm1.b4-7 = zmm2.b0-3 zmm2.b4-7 {copy}; zmm1.b8-15 = zmm2.b0-3 zmm2.b8-15",
     ""},
    {{0x66, 0x0f, 0x73, 0xd9, 0x08}, "psrldq xmm1, 0x8", "xmm1 = zmm1.b8-15 {copy}", ""},
    {{0xc5, 0xf1, 0x73, 0xfa, 0x04},
     "vpslldq xmm1, xmm2, 0x4",
     "zmm1.b0-3 =; zmm1.b4-7 zmm1.b8-15 = xmm2 {copy}; zmm1.b16-31 zmm1.b32-63 =",
     ""},
    {{0xc4, 0xe3, 0x6d, 0x18, 0xcb, 0x01},
     "vinsertf128 ymm1, ymm2, xmm3, 0x1",
     "xmm1 = xmm2 {copy}; zmm1.b16-31 zmm1.b32-63 = xmm3 {copy}",
     ""},
    {{0xf3, 0x0f, 0x58, 0xca},
     "addss xmm1, xmm2",
     "zmm1.b0-3 ~mxcsr.status = zmm1.b0-3 zmm2.b0-3 mxcsr.control",
     ""},
    {{0x0f, 0x58, 0x09},
     "addps xmm1, xmmword ptr [rcx]",
     "xmm1 ~mxcsr.status = xmm1 mxcsr.control m0",
     "r16[rcx]"},
    {{0xf2, 0x0f, 0x51, 0xca},
     "sqrtsd xmm1, xmm2",
     "zmm1.b0-3 zmm1.b4-7 ~mxcsr.status = zmm2.b0-3 zmm2.b4-7 mxcsr.control",
     ""},
    {{0xf2, 0x48, 0x0f, 0x2a, 0xc8},
     "cvtsi2sd xmm1, rax",
     "zmm1.b0-3 zmm1.b4-7 ~mxcsr.status = rax mxcsr.control",
     ""},
    {{0xf2, 0x0f, 0x2c, 0xc1},
     "cvttsd2si eax, xmm1",
     "rax ~mxcsr.status = zmm1.b0-3 zmm1.b4-7 mxcsr.control",
     ""},
    {{0x66, 0x0f, 0x2f, 0xca},
     "comisd xmm1, xmm2",
     "+cpazso ~mxcsr.status = zmm1.b0-3 zmm1.b4-7 zmm2.b0-3 zmm2.b4-7 mxcsr.control",
     ""},
    {{0x66, 0x0f, 0x38, 0x17, 0xca}, "ptest xmm1, xmm2", "+cpazso = xmm1 xmm2", ""},
    {{0x66, 0x0f, 0x3a, 0x16, 0xc8, 0x02}, "pextrd eax, xmm1, 0x2", "rax = zmm1.b8-15", ""},
    {{0x66, 0x0f, 0xc4, 0xc8, 0x01}, "pinsrw xmm1, eax, 0x1", "zmm1.b0-3 = ax zmm1.b0-3", ""},
    {{0x66, 0x48, 0x0f, 0x3a, 0x22, 0xc8, 0x01},
     "pinsrq xmm1, rax, 0x1",
     "zmm1.b8-15 = rax {copy}",
     ""},
    {{0x66, 0x0f, 0x3a, 0x16, 0xc8, 0x01}, "pextrd eax, xmm1, 0x1", "rax = zmm1.b4-7 {copy}", ""},
    {{0x66, 0x0f, 0x38, 0x14, 0xca}, "blendvps xmm1, xmm2", "xmm1 = xmm1 xmm2 ? xmm0", ""},
    {{0x66, 0x0f, 0xf7, 0xca}, "maskmovdqu xmm1, xmm2", "~m0 = xmm1 ? xmm2", "w16[rdi] impl lanes"},
    {{0x66, 0x0f, 0x3a, 0x63, 0xca, 0x00},
     "pcmpistri xmm1, xmm2, 0x0",
     "rcx +cpazso = xmm1 xmm2",
     ""},
    {{0x66, 0x0f, 0x3a, 0x60, 0xca, 0x00},
     "pcmpestrm xmm1, xmm2, 0x0",
     "xmm0 +cpazso = rax rdx xmm1 xmm2",
     ""},
    {{0x66, 0x0f, 0x38, 0xdc, 0xca}, "aesenc xmm1, xmm2", "xmm1 = xmm1 xmm2", ""},
    {{0x0f, 0x38, 0xcb, 0xca}, "sha256rnds2 xmm1, xmm2", "xmm1 = xmm0 xmm1 xmm2", ""},
    {{0x66, 0x0f, 0xd7, 0xc1}, "pmovmskb eax, xmm1", "rax = xmm1", ""},
    {{0xc5, 0xea, 0x10, 0xcb},
     "vmovss xmm1, xmm2, xmm3",
     "zmm1.b0-3 = zmm3.b0-3 {copy}; zmm1.b4-7 zmm1.b8-15 zmm1.b16-31 zmm1.b32-63 = zmm2.b4-7 "
     "zmm2.b8-15 {copy}",
     ""},
    {{0xc5, 0xfa, 0x10, 0x09}, "vmovss xmm1, dword ptr [rcx]", "zmm1 = m0 {copy}", "r4[rcx]"},
    {{0xc5, 0xf8, 0x28, 0xca}, "vmovaps xmm1, xmm2", "zmm1 = xmm2 {copy}", ""},
    {{0xc5, 0xfe, 0x6f, 0x09}, "vmovdqu ymm1, ymmword ptr [rcx]", "zmm1 = m0 {copy}", "r32[rcx]"},
    {{0xc5, 0xeb, 0x58, 0xcb},
     "vaddsd xmm1, xmm2, xmm3",
     "zmm1.b0-3 zmm1.b4-7 ~mxcsr.status = zmm2.b0-3 zmm2.b4-7 zmm3.b0-3 zmm3.b4-7 mxcsr.control; "
     "zmm1.b8-15 zmm1.b16-31 zmm1.b32-63 = zmm2.b8-15 {copy}",
     ""},
    {{0xc5, 0xea, 0x51, 0xcb},
     "vsqrtss xmm1, xmm2, xmm3",
     "zmm1.b0-3 ~mxcsr.status = zmm3.b0-3 mxcsr.control; zmm1.b4-7 zmm1.b8-15 zmm1.b16-31 "
     "zmm1.b32-63 = zmm2.b4-7 zmm2.b8-15 {copy}",
     ""},
    {{0xc4, 0xe2, 0xe9, 0xb9, 0xcb},
     "vfmadd231sd xmm1, xmm2, xmm3",
     "zmm1.b0-3 zmm1.b4-7 ~mxcsr.status = zmm1.b0-3 zmm1.b4-7 zmm2.b0-3 zmm2.b4-7 zmm3.b0-3 "
     "zmm3.b4-7 mxcsr.control; zmm1.b8-15 zmm1.b16-31 zmm1.b32-63 = zmm1.b8-15 {copy}",
     ""},
    {{0xc5, 0xec, 0x58, 0xcb},
     "vaddps ymm1, ymm2, ymm3",
     "zmm1 ~mxcsr.status = ymm2 ymm3 mxcsr.control",
     ""},
    {{0xc5, 0xe8, 0x12, 0x09},
     "vmovlps xmm1, xmm2, qword ptr [rcx]",
     "zmm1.b0-3 zmm1.b4-7 = m0 {copy}; "
     "zmm1.b8-15 zmm1.b16-31 zmm1.b32-63 = zmm2.b8-15 {copy}",
     "r8[rcx]"},
    {{0xc5, 0xe8, 0x12, 0xcb},
     "vmovhlps xmm1, xmm2, xmm3",
     "zmm1.b0-3 zmm1.b4-7 = zmm3.b8-15 {copy}; zmm1.b8-15 zmm1.b16-31 zmm1.b32-63 = zmm2.b8-15 "
     "{copy}",
     ""},
    {{0xc4, 0xe3, 0x69, 0x22, 0xc8, 0x02},
     "vpinsrd xmm1, xmm2, eax, 0x2",
     "zmm1.b0-3 zmm1.b4-7 = zmm2.b0-3 zmm2.b4-7 {copy}; zmm1.b8-15 = rax zmm2.b8-15; "
     "zmm1.b16-31 zmm1.b32-63 =",
     ""},
    {{0xc4, 0xe3, 0x7d, 0x19, 0xd1, 0x01},
     "vextractf128 xmm1, ymm2, 0x1",
     "zmm1 = zmm2.b16-31 {copy}",
     ""},
    {{0xc4, 0xe3, 0x6d, 0x4a, 0xcb, 0x40},
     "vblendvps ymm1, ymm2, ymm3, ymm4",
     "zmm1 = ymm2 ymm3 ? ymm4",
     ""},
    {{0xc4, 0xe2, 0x69, 0x2c, 0x09},
     "vmaskmovps xmm1, xmm2, xmmword ptr [rcx]",
     "zmm1 = m0 ? xmm2",
     "r16[rcx] lanes"},
    {{0xc4, 0xe2, 0x75, 0x2e, 0x11},
     "vmaskmovps ymmword ptr [rcx], ymm1, ymm2",
     "~m0 = ymm2 ? ymm1",
     "w32[rcx] lanes"},
    {{0xc4, 0xe2, 0x61, 0x90, 0x0c, 0x91},
     "vpgatherdd xmm1, dword ptr [rcx+xmm2*4], xmm3",
     "zmm1.b16-31 zmm1.b32-63 ~xmm1 = m0 ? xmm3; zmm3 =",
     "r4[rcx+v2*4] lanes v32"},
    {{0xc5, 0xf8, 0x77},
     "vzeroupper",
     "zmm0.b16-31 zmm0.b32-63 zmm1.b16-31 zmm1.b32-63 zmm2.b16-31 zmm2.b32-63 zmm3.b16-31 "
     "zmm3.b32-63 zmm4.b16-31 zmm4.b32-63 zmm5.b16-31 zmm5.b32-63 zmm6.b16-31 zmm6.b32-63 "
     "zmm7.b16-31 zmm7.b32-63 zmm8.b16-31 zmm8.b32-63 zmm9.b16-31 zmm9.b32-63 zmm10.b16-31 "
     "zmm10.b32-63 zmm11.b16-31 zmm11.b32-63 zmm12.b16-31 zmm12.b32-63 zmm13.b16-31 zmm13.b32-63 "
     "zmm14.b16-31 zmm14.b32-63 zmm15.b16-31 zmm15.b32-63 =",
     ""},
    {{0x62, 0xf1, 0x6c, 0x48, 0x58, 0xcb},
     "vaddps zmm1, zmm2, zmm3",
     "zmm1 ~mxcsr.status = zmm2 zmm3 mxcsr.control",
     ""},
    {{0x62, 0xf1, 0x6c, 0x49, 0x58, 0xcb},
     "vaddps zmm1 {k1}, zmm2, zmm3",
     "zmm1 = zmm1 zmm2 zmm3 mxcsr.control ? k1; ~mxcsr.status = zmm2 zmm3 mxcsr.control ? k1",
     ""},
    {{0x62, 0xf1, 0x6c, 0x09, 0x58, 0xcb},
     "vaddps xmm1 {k1}, xmm2, xmm3",
     "zmm1 = xmm1 xmm2 xmm3 mxcsr.control ? k1; ~mxcsr.status = xmm2 xmm3 "
     "mxcsr.control ? k1",
     ""},
    {{0x62, 0xf1, 0x6c, 0xd9, 0x58, 0x09},
     "vaddps zmm1 {k1} {z}, zmm2, dword ptr [rcx] {1to16}",
     "zmm1 = zmm2 mxcsr.control m0 ? k1; ~mxcsr.status = zmm2 mxcsr.control m0 ? k1",
     "r4[rcx] lanes"},
    {{0x62, 0xf1, 0x7e, 0x49, 0x7f, 0x09},
     "vmovdqu32 zmmword ptr [rcx] {k1}, zmm1",
     "~m0 = zmm1 ? k1",
     "w64[rcx] lanes"},
    {{0x62, 0xf1, 0x7f, 0xaa, 0x6f, 0x09},
     "vmovdqu8 ymm1 {k2} {z}, ymmword ptr [rcx]",
     "zmm1 = m0 ? k2",
     "r32[rcx] lanes"},
    {{0x62, 0xf1, 0x75, 0x4a, 0x76, 0xca},
     "vpcmpeqd k1 {k2}, zmm1, zmm2",
     "k1 = zmm1 zmm2 ? k2",
     ""},
    {{0x62, 0xf2, 0x7d, 0x49, 0x8b, 0x11},
     "vpcompressd zmmword ptr [rcx] {k1}, zmm2",
     "~m0 = zmm2 ? k1",
     "w64[rcx] lanes"},
    {{0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x1c, 0x91},
     "vpscatterdd dword ptr [rcx+zmm2*4] {k1}, zmm3",
     "~m0 = zmm3 ? k1; k1 =",
     "w4[rcx+v2*4] lanes v32 k"},
    {{0x62, 0xf2, 0x7d, 0x49, 0x92, 0x0c, 0x91},
     "vgatherdps zmm1 {k1}, dword ptr [rcx+zmm2*4]",
     "~zmm1 = m0 ? k1; k1 =",
     "r4[rcx+v2*4] lanes v32 k"},
    {{0x62, 0xf2, 0x6d, 0x49, 0x64, 0xcb},
     "vpblendmd zmm1 {k1}, zmm2, zmm3",
     "zmm1 = zmm2 zmm3 ? k1",
     ""},
    {{0x62, 0xa1, 0xfd, 0x08, 0x6f, 0xc1}, "vmovdqa64 xmm16, xmm17", "zmm16 = xmm17 {copy}", ""},
    {{0xc5, 0xf8, 0x92, 0xc8}, "kmovw k1, eax", "k1 = rax", ""},
    {{0x62, 0xe1, 0x6c, 0x00, 0x16, 0x09},
     "vmovhps xmm17, xmm18, qword ptr [rcx]",
     "zmm17 = zmm18.b0-3 zmm18.b4-7 m0",
     "r8[rcx]"},
    {{0x62, 0xe1, 0x7c, 0x08, 0x17, 0x09},
     "vmovhps qword ptr [rcx], xmm17",
     "m0 = zmm17.b8-15",
     "w8[rcx]"},
    {{0x62, 0xe2, 0x6d, 0x10, 0x50, 0x09},
     "vpdpbusd xmm17, xmm18, dword ptr [rcx] {1to4}",
     "zmm17 = xmm17 xmm18 m0",
     "r4[rcx]"},
    {{0x62, 0xf2, 0x6d, 0x18, 0x52, 0x09},
     "vpdpwssd xmm1, xmm2, dword ptr [rcx] {1to4}",
     "zmm1 = xmm1 xmm2 m0",
     "r4[rcx]"},
    {{0x62, 0xf3, 0x7d, 0x48, 0x66, 0xca, 0x03},
     "vfpclassps k1, zmm2, 0x3",
     "k1 = zmm2 mxcsr.control",
     ""},
    {{0x62, 0xf3, 0xfd, 0x08, 0x67, 0xca, 0x03},
     "vfpclasssd k1, xmm2, 0x3",
     "k1 = xmm2 mxcsr.control",
     ""},
    {{0x62, 0xf2, 0x7d, 0x48, 0x4c, 0xca}, "vrcp14ps zmm1, zmm2", "zmm1 = zmm2 mxcsr.control", ""},
    {{0x62, 0xf2, 0xed, 0x08, 0x4f, 0xcb},
     "vrsqrt14sd xmm1, xmm2, xmm3",
     "zmm1 = xmm2 xmm3 mxcsr.control",
     ""},
    {{0x62, 0xf6, 0x6e, 0x48, 0x56, 0xcb},
     "vfmaddcph zmm1, zmm2, zmm3",
     "zmm1 ~mxcsr.status = zmm1 zmm2 zmm3 mxcsr.control",
     ""},
    {{0x62, 0xf6, 0x6f, 0x08, 0xd7, 0xcb},
     "vfcmulcsh xmm1, xmm2, xmm3",
     "zmm1 ~mxcsr.status = xmm2 xmm3 mxcsr.control",
     ""},
    {{0xc5, 0xf8, 0x98, 0xca}, "kortestw k1, k2", "+cpazso = k1 k2", ""},
    {{0x62, 0xf2, 0x67, 0x48, 0x68, 0xca}, "vp2intersectd k1, zmm3, zmm2", "k0 k1 = zmm2 zmm3", ""},
    {{0x62, 0xf2, 0xe7, 0x08, 0x68, 0x21},
     "vp2intersectq k4, xmm3, xmmword ptr [rcx]",
     "k4 k5 = xmm3 m0",
     "r16[rcx]"},
};

static const struct row states_and_inputs[] = {
    {{0xdd, 0x01}, "fld qword ptr [rcx]", "x87.r7 ~x87.pointers ~x87.status = m0", "r8[rcx]"},
    {{0xdb, 0x39},
     "fstp tbyte ptr [rcx]",
     "m0 ~x87.pointers ~x87.status = x87.r0; ~x87.r0 = {stack}",
     "w10[rcx]"},
    {{0xd8, 0xc1},
     "fadd st0, st1",
     "x87.r0 ~x87.pointers ~x87.status = x87.r0 x87.r1 x87.control",
     ""},
    {{0xde, 0xc2},
     "faddp st2, st0",
     "x87.r2 ~x87.pointers ~x87.status = x87.r0 x87.r2 x87.control; ~x87.r0 = {stack}",
     ""},
    {{0xd9, 0xca},
     "fxch st2",
     "x87.r0 ~x87.pointers ~x87.status = x87.r2; x87.r2 ~x87.pointers ~x87.status = x87.r0",
     ""},
    {{0xd9, 0xc3}, "fld st3", "x87.r7 ~x87.pointers ~x87.status = x87.r3", ""},
    {{0xdd, 0xdb}, "fstp st3", "x87.r3 ~x87.pointers ~x87.status = x87.r0; ~x87.r0 = {stack}", ""},
    {{0xd9, 0xf3},
     "fpatan",
     "x87.r1 ~x87.pointers ~x87.status = x87.r0 x87.r1 x87.control; ~x87.r0 = {stack}",
     ""},
    {{0xd9, 0xfb}, "fsincos", "~x87.r0 ~x87.r7 ~x87.pointers ~x87.status = x87.r0 x87.control", ""},
    {{0xdd, 0xc2}, "ffree st2", "~x87.pointers ~x87.status =; ~x87.r2 = {stack}", ""},
    {{0xd9, 0xf7}, "fincstp", "~x87.pointers ~x87.status =", ""},
    {{0xdb, 0xf1}, "fcomi st0, st1", "+cpazso ~x87.pointers ~x87.status = x87.r0 x87.r1", ""},
    {{0xda, 0xc9}, "fcmove st0, st1", "x87.r0 ~x87.pointers ~x87.status = x87.r0 x87.r1 ? +z", ""},
    {{0xdf, 0xe0}, "fnstsw ax", "ax = x87.status {copy}", ""},
    {{0xd9, 0x39}, "fnstcw word ptr [rcx]", "m0 = x87.control {copy}", "w2[rcx]"},
    {{0xd9, 0x29},
     "fldcw word ptr [rcx]",
     "x87.control = m0; ~x87.status = x87.status m0",
     "r2[rcx]"},
    {{0xdb, 0xe3},
     "fninit",
     "x87.status x87.control ~x87.pointers =; ~x87.r0 ~x87.r1 ~x87.r2 ~x87.r3 ~x87.r4 ~x87.r5 "
     "~x87.r6 ~x87.r7 = {stack}",
     ""},
    {{0xdd, 0x31},
     "fnsave [rcx]",
     "m0 = x87.r0 x87.r1 x87.r2 x87.r3 x87.r4 x87.r5 x87.r6 x87.r7 x87.pointers x87.status "
     "x87.control; x87.status x87.control ~x87.pointers =; ~x87.r0 ~x87.r1 ~x87.r2 ~x87.r3 ~x87.r4 "
     "~x87.r5 ~x87.r6 ~x87.r7 = {stack}",
     "w108[rcx]"},
    {{0xdd, 0x21},
     "frstor [rcx]",
     "x87.r0 x87.r1 x87.r2 x87.r3 x87.r4 x87.r5 x87.r6 x87.r7 x87.pointers x87.status x87.control "
     "= m0",
     "r108[rcx]"},
    {{0x0f, 0x6f, 0x09},
     "movq mm1, qword ptr [rcx]",
     "x87.r1 = m0; ~x87.r0 ~x87.r2 ~x87.r3 ~x87.r4 ~x87.r5 ~x87.r6 ~x87.r7 ~x87.pointers "
     "~x87.status = {stack}",
     "r8[rcx]"},
    {{0x0f, 0xfc, 0xca},
     "paddb mm1, mm2",
     "x87.r1 = x87.r1 x87.r2; ~x87.r0 ~x87.r2 ~x87.r3 ~x87.r4 ~x87.r5 ~x87.r6 ~x87.r7 "
     "~x87.pointers ~x87.status = {stack}",
     ""},
    {{0x48, 0x0f, 0x7e, 0xc8},
     "movq rax, mm1",
     "rax = x87.r1; ~x87.r0 ~x87.r1 ~x87.r2 ~x87.r3 ~x87.r4 ~x87.r5 ~x87.r6 ~x87.r7 ~x87.pointers "
     "~x87.status = {stack}",
     ""},
    {{0x0f, 0x77},
     "emms",
     "~x87.r0 ~x87.r1 ~x87.r2 ~x87.r3 ~x87.r4 ~x87.r5 ~x87.r6 ~x87.r7 ~x87.pointers ~x87.status = "
     "{stack}",
     ""},
    {{0x0f, 0xae, 0x01},
     "fxsave [rcx]",
     "~m0 = xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 xmm8 xmm9 xmm10 xmm11 xmm12 xmm13 xmm14 xmm15 "
     "x87.r0 x87.r1 x87.r2 x87.r3 x87.r4 x87.r5 x87.r6 x87.r7 x87.pointers x87.status x87.control "
     "mxcsr.status mxcsr.control",
     "w512[rcx]"},
    {{0x0f, 0xae, 0x11}, "ldmxcsr dword ptr [rcx]", "mxcsr.status mxcsr.control = m0", "r4[rcx]"},
    {{0x0f, 0xae, 0x19}, "stmxcsr dword ptr [rcx]", "m0 = mxcsr.status mxcsr.control", "w4[rcx]"},
    {{0xf3, 0x48, 0x0f, 0xae, 0xc0}, "rdfsbase rax", "rax = fs_base {copy}", ""},
    {{0xf3, 0x48, 0x0f, 0xae, 0xd9}, "wrgsbase rcx", "gs_base = rcx {copy}", ""},
    {{0x0f, 0x01, 0xee}, "rdpkru", "rax rdx = rcx pkru", ""},
    {{0x0f, 0x01, 0xef}, "wrpkru", "pkru = rax rcx rdx", ""},
    {{0x0f, 0xa2}, "cpuid", "rax rcx rdx rbx = rax rcx", ""},
    {{0x0f, 0x31}, "rdtsc", "rax rdx =", ""},
    {{0x0f, 0x02, 0xc1}, "lar eax, ecx", "+z ~rax = rcx", ""},
    {{0x0f, 0x03, 0xc1}, "lsl eax, ecx", "+z ~rax = rcx", ""},
    {{0xd9, 0xd0}, "fnop", "~x87.pointers =", ""},
    {{0x0f, 0x01, 0xf9}, "rdtscp", "rax rcx rdx =", ""},
    {{0x0f, 0xc7, 0xf0}, "rdrand eax", "rax +cpazso =", ""},
    {{0x0f, 0x01, 0xd0}, "xgetbv", "rax rdx = rcx", ""},
    {{0x0f, 0x05}, "syscall", "rax = rax rdx rsi rdi r8 r9 r10; rcx =; r11 = +cpazsod", ""},
    {{0xf3, 0x48, 0x0f, 0x1e, 0xc8}, "rdsspq rax", "~rax =", ""},
    {{0x66, 0x0f, 0x38, 0xf8, 0x01},
     "movdir64b rax, zmmword ptr [rcx]",
     "m1 = m0 {copy}",
     "r64[rcx]; w64[rax] impl"},
    {{0x0f, 0x01, 0xfc}, "clzero rax", "m0 =", "w64[rax] impl line"},
    {{0x0f, 0xae, 0xf0}, "mfence", "", ""},
    {{0xf3, 0x0f, 0x1e, 0xfa}, "endbr64", "", ""},
    {{0x0f, 0x1f, 0x00}, "nop dword ptr [rax], eax", "", ""},
    {{0x0f, 0x18, 0x08}, "prefetcht0 byte ptr [rax]", "", ""},
    {{0x0f, 0xae, 0x38}, "clflush zmmword ptr [rax]", "", ""},
    {{0xcc}, "int3", "", ""},
    {{0x0f, 0x0b}, "ud2", "", ""},
    {{0xf4}, "hlt", "", ""},
    {{0x0f, 0x01, 0xf8}, "swapgs", "", ""},
    {{0x48, 0x0f, 0x07}, "sysret", "", ""},
    {{0xcd, 0x80}, "int 0x80", "", ""},
};

#define ROWS(table) table, sizeof(table) / sizeof((table)[0])

/* ---- what holds of every instruction ---- */

static void check_invariants(const struct ins_info *info)
{
    unsigned mems = (1u << info->mem_count) - 1;
    assert_true(info->flow_count <= INS_FLOW_MAX);
    for (unsigned i = 0; i < info->flow_count; i++) {
        const struct ins_flow *flow = &info->flows[i];
        bool defines = !ins_regset_is_empty(&flow->defs) || !ins_regset_is_empty(&flow->may_defs) ||
                       (flow->mem_defs | flow->mem_may_defs) != 0;
        assert_false(ins_regset_intersects(&flow->defs, &flow->may_defs));
        assert_int_equal(flow->mem_defs & flow->mem_may_defs, 0);
        assert_int_equal((flow->mem_defs | flow->mem_may_defs | flow->mem_uses) & ~mems, 0);
        assert_true(defines != !!(flow->kinds & INS_FLOW_BRANCH));
        if (flow->kinds & INS_FLOW_STACK)
            assert_true(ins_regset_is_empty(&flow->value_uses) && flow->mem_uses == 0);
    }
}

static void check_rows(const struct row *rows, size_t count)
{
    char text[2048];
    for (size_t i = 0; i < count; i++) {
        const uint64_t top_0[INS_MEM_MAX + 1] = {0};
        struct ins_info info, settled;
        assert_int_equal(ins_decode(rows[i].code, sizeof(rows[i].code), PC, &info), 0);
        info = *ins_settle(&info, top_0, &settled);
        assert_int_equal(ins_text(rows[i].code, sizeof(rows[i].code), PC, text, sizeof(text)), 0);
        assert_string_equal(text, rows[i].text);
        insn_format_flows(&info, text, sizeof(text));
        if (strcmp(text, rows[i].flows) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, text, rows[i].flows);
        insn_format_mems(&info, text, sizeof(text));
        if (strcmp(text, rows[i].mems) != 0)
            fail_msg("%s: %s, not %s", rows[i].text, text, rows[i].mems);
        check_invariants(&info);
    }
}

static void insn_moves_and_copies_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(moves_and_copies));
}

static void insn_stack_instructions_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(stack_instructions));
}

static void insn_arithmetic_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(arithmetic));
}

static void insn_idioms_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(idioms));
}

static void insn_branches_and_conditions_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(branches_and_conditions));
}

static void insn_string_instructions_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(string_instructions));
}

static void insn_vectors_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(vectors));
}

static void insn_states_and_inputs_flow_as_stated(void **state)
{
    (void)state;
    check_rows(ROWS(states_and_inputs));
}

/* ---- how control goes on ---- */

struct branch_row {
    uint8_t code[15];
    uint8_t klass, condition;
    uint64_t target;
};

static const struct branch_row branches[] = {
    {{0x75, 0x10}, INS_JCC, INS_COND_NZ, PC + 0x12},
    {{0x0f, 0x8f, 0xfa, 0xff, 0xff, 0xff}, INS_JCC, INS_COND_NLE, PC},
    {{0xe2, 0xfe}, INS_JCC, INS_COND_LOOP, PC},
    {{0x67, 0xe1, 0xfd}, INS_JCC, INS_COND_LOOPE32, PC},
    {{0xe0, 0x00}, INS_JCC, INS_COND_LOOPNE, PC + 2},
    {{0xe3, 0x7f}, INS_JCC, INS_COND_RCXZ, PC + 0x81},
    {{0x67, 0xe3, 0x00}, INS_JCC, INS_COND_ECXZ, PC + 3},
    {{0xeb, 0xfe}, INS_JMP, INS_COND_NONE, PC},
    {{0xe9, 0x00, 0x00, 0x00, 0x80}, INS_JMP, INS_COND_NONE, PC + 5 - UINT64_C(0x80000000)},
    {{0xff, 0xe0}, INS_JMP_INDIRECT, INS_COND_NONE, 0},
    {{0xff, 0x25, 0, 0, 0, 0}, INS_JMP_INDIRECT, INS_COND_NONE, 0},
    {{0xe8, 0, 0, 0, 0}, INS_CALL, INS_COND_NONE, PC + 5},
    {{0xff, 0xd0}, INS_CALL_INDIRECT, INS_COND_NONE, 0},
    {{0xc3}, INS_RET, INS_COND_NONE, 0},
    {{0xf3, 0xc3}, INS_RET, INS_COND_NONE, 0},
    {{0x0f, 0x05}, INS_SYSCALL, INS_COND_NONE, 0},
    {{0xcc}, INS_TRAP, INS_COND_NONE, 0},
    {{0x0f, 0x0b}, INS_TRAP, INS_COND_NONE, 0},
    {{0xf4}, INS_TRAP, INS_COND_NONE, 0},
    {{0xfa}, INS_TRAP, INS_COND_NONE, 0},
    {{0xec}, INS_TRAP, INS_COND_NONE, 0},
    {{0xcd, 0x80}, INS_FAR, INS_COND_NONE, 0},
    {{0xcb}, INS_FAR, INS_COND_NONE, 0},
    {{0x48, 0xcf}, INS_FAR, INS_COND_NONE, 0},
    {{0xc7, 0xf8, 0, 0, 0, 0}, INS_FAR, INS_COND_NONE, 0},
    {{0x0f, 0xa2}, INS_CPUID, INS_COND_NONE, 0},
    {{0x0f, 0x31}, INS_RDTSC, INS_COND_NONE, 0},
    {{0x0f, 0x01, 0xf9}, INS_RDTSC, INS_COND_NONE, 0},
    {{0x0f, 0xc7, 0xf0}, INS_RDRAND, INS_COND_NONE, 0},
    {{0x0f, 0x01, 0xd0}, INS_XGETBV, INS_COND_NONE, 0},
    {{0xf3, 0x0f, 0xc7, 0xf8}, INS_RDPID, INS_COND_NONE, 0},
    {{0x0f, 0x03, 0xc1}, INS_RDPID, INS_COND_NONE, 0},
    {{0x0f, 0x44, 0xc1}, INS_PLAIN, INS_COND_Z, 0},
    {{0x0f, 0x9c, 0xc0}, INS_PLAIN, INS_COND_L, 0},
    {{0x01, 0xc0}, INS_PLAIN, INS_COND_NONE, 0},
};

static void insn_branch_class_and_target_are_given(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(branches) / sizeof(branches[0]); i++) {
        struct ins_info info;
        assert_int_equal(ins_decode(branches[i].code, 15, PC, &info), 0);
        assert_int_equal(info.klass, branches[i].klass);
        assert_int_equal(info.condition, branches[i].condition);
        assert_int_equal(info.target, branches[i].target);
    }
}

static void insn_condition_holds_by_flags(void **state)
{
    enum { CF = 1, PF = 4, ZF = 0x40, SF = 0x80, OF = 0x800 };
    (void)state;
    assert_true(ins_condition_holds(INS_COND_B, CF, 0));
    assert_false(ins_condition_holds(INS_COND_NB, CF, 0));
    assert_true(ins_condition_holds(INS_COND_BE, ZF, 0));
    assert_true(ins_condition_holds(INS_COND_NBE, SF, 0));
    assert_true(ins_condition_holds(INS_COND_L, SF, 0));
    assert_true(ins_condition_holds(INS_COND_L, OF, 0));
    assert_false(ins_condition_holds(INS_COND_L, SF | OF, 0));
    assert_true(ins_condition_holds(INS_COND_NLE, SF | OF, 0));
    assert_false(ins_condition_holds(INS_COND_NLE, SF | OF | ZF, 0));
    assert_true(ins_condition_holds(INS_COND_LE, ZF, 0));
    assert_true(ins_condition_holds(INS_COND_P, PF, 0));
    assert_true(ins_condition_holds(INS_COND_O, OF, 0));
    assert_true(ins_condition_holds(INS_COND_RCXZ, 0, 0));
    assert_false(ins_condition_holds(INS_COND_RCXZ, 0, UINT64_C(1) << 32));
    assert_true(ins_condition_holds(INS_COND_ECXZ, 0, UINT64_C(1) << 32));
    assert_false(ins_condition_holds(INS_COND_LOOP, 0, 1));
    assert_true(ins_condition_holds(INS_COND_LOOP, 0, 0));
    assert_false(ins_condition_holds(INS_COND_LOOPE, 0, 2));
    assert_true(ins_condition_holds(INS_COND_LOOPE, ZF, 2));
    assert_false(ins_condition_holds(INS_COND_LOOPNE32, 0, (UINT64_C(1) << 32) + 1));
}

static void insn_flags_mark_special_instructions(void **state)
{
    static const struct {
        uint8_t code[15], flags;
    } rows[] = {
        {{0x0f, 0x44, 0xc1}, INS_IS_CMOV},
        {{0xf3, 0xa4}, INS_IS_REP},
        {{0xf3, 0xa6}, INS_IS_REP | INS_IS_REP_TEST},
        {{0xa4}, 0},
        {{0xf0, 0x0f, 0xb1, 0x0f}, INS_IS_LOCKED},
        {{0x31, 0xc0}, INS_IS_ZEROING},
        {{0x8e, 0xd8}, INS_IS_APPROXIMATE},
        {{0xf3, 0x0f, 0x10, 0xc1}, 0}, /* F3 as part of the opcode is no rep */
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ins_info info;
        assert_int_equal(ins_decode(rows[i].code, 15, PC, &info), 0);
        assert_int_equal(info.flags, rows[i].flags);
    }
}

/* ---- addresses ---- */

static void insn_address_uses_leave_out_rsp(void **state)
{
    static const struct {
        uint8_t code[15];
        unsigned mem;
        const char *uses;
    } rows[] = {
        {{0x48, 0x8b, 0x44, 0x8d, 0x08}, 0, "rcx rbp"},        /* mov rax, [rbp+rcx*4+8] */
        {{0x48, 0x8b, 0x44, 0x24, 0x08}, 0, ""},               /* mov rax, [rsp+8] */
        {{0x48, 0x8b, 0x04, 0x8c}, 0, "rcx"},                  /* mov rax, [rsp+rcx*4] */
        {{0x48, 0x8b, 0x05, 0, 0, 0, 0}, 0, ""},               /* mov rax, [rip] */
        {{0x64, 0x48, 0x8b, 0x01}, 0, "rcx fs_base"},          /* mov rax, fs:[rcx] */
        {{0x0f, 0xa3, 0x08}, 0, "rax rcx"},                    /* bt [rax], ecx */
        {{0x66, 0x0f, 0xa3, 0x08}, 0, "rax cx"},               /* bt [rax], cx */
        {{0xd7}, 0, "al rbx"},                                 /* xlat */
        {{0xf3, 0xa4}, 1, "rsi +d"},                           /* rep movsb */
        {{0xa4}, 1, "rsi"},                                    /* movsb */
        {{0x50}, 0, ""},                                       /* push rax */
        {{0xc9}, 0, "rbp"},                                    /* leave */
        {{0x50}, 3, ""},                                       /* no such operand */
        {{0xc4, 0xe2, 0x61, 0x90, 0x0c, 0x91}, 0, "rcx zmm2"}, /* vpgatherdd */
    };
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct ins_info info;
        assert_int_equal(ins_decode(rows[i].code, 15, PC, &info), 0);
        struct ins_regset uses = ins_addr_uses(&info, rows[i].mem);
        insn_format_set(&uses, text, sizeof(text));
        assert_string_equal(text, rows[i].uses);
    }
}

/* ---- bad input ---- */

static void insn_undecodable_bytes_are_corrupt(void **state)
{
    static const uint8_t bad[] = {0x06}, cut[] = {0x48, 0x8b, 0x05, 0, 0},
                         prefixes[16] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                         0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90};
    struct ins_info info, before;
    char text[64];
    (void)state;
    memset(&info, 0x5a, sizeof(info));
    before = info;
    assert_int_equal(ins_decode(bad, sizeof(bad), PC, &info), -WETDBG_ERR_CORRUPT);
    assert_int_equal(ins_decode(cut, sizeof(cut), PC, &info), -WETDBG_ERR_CORRUPT);
    assert_int_equal(ins_decode(cut, 0, PC, &info), -WETDBG_ERR_CORRUPT);
    assert_int_equal(ins_decode(prefixes, sizeof(prefixes), PC, &info), -WETDBG_ERR_CORRUPT);
    assert_memory_equal(&info, &before, sizeof(info));
    assert_int_equal(ins_text(bad, sizeof(bad), PC, text, sizeof(text)), -WETDBG_ERR_CORRUPT);
    assert_string_equal(text, "(bad)");
}

/* Decodes all of one- and two-byte opcode space with every ModRM byte: nothing may overflow its
 * arrays. */
static void insn_any_bytes_decode_within_bounds(void **state)
{
    static const uint8_t starts[][3] = {{0}, {0x66}, {0xf2}, {0xf3}, {0x48}, {0x67}, {0xf0}};
    static const uint8_t lengths[] = {0, 1, 1, 1, 1, 1, 1};
    size_t decoded = 0;
    (void)state;
    for (unsigned s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
        for (unsigned n = 0; n < 0x60000; n++) {
            static const uint8_t maps[][3] = {{0},          {0x0f},       {0x0f, 0x38},
                                              {0x0f, 0x3a}, {0xc5, 0xf9}, {0xc5, 0xfe}};
            static const uint8_t map_lengths[] = {0, 1, 2, 2, 2, 2};
            uint8_t code[24] = {0};
            unsigned map = n >> 16, at = lengths[s];
            struct ins_info info;
            memcpy(code, starts[s], lengths[s]);
            memcpy(code + at, maps[map], map_lengths[map]);
            code[at + map_lengths[map]] = (uint8_t)(n >> 8);
            code[at + map_lengths[map] + 1] = (uint8_t)n;
            if (ins_decode(code, 15, PC, &info) != 0)
                continue;
            check_invariants(&info);
            decoded++;
        }
    }
    assert_true(decoded > 100000);
}

/* ---- names ---- */

static void insn_location_names_are_unique(void **state)
{
    (void)state;
    for (unsigned i = 0; i < INS_LOC_COUNT; i++) {
        assert_non_null(ins_location_name(i));
        for (unsigned k = 0; k < i; k++)
            assert_string_not_equal(ins_location_name(i), ins_location_name(k));
    }
    assert_null(ins_location_name(INS_LOC_COUNT));
}

static void insn_register_names_parse(void **state)
{
    static const struct {
        const char *name, *set;
    } rows[] = {
        {"rax", "rax"},
        {"EAX", "rax"},
        {"ax", "ax"},
        {"al", "al"},
        {"ah", "rax.b1"},
        {"spl", "spl"},
        {"rsp", "rsp"},
        {"r8", "r8"},
        {"r15d", "r15"},
        {"r9w", "r9w"},
        {"r10b", "r10b"},
        {"bh", "rbx.b1"},
        {"xmm3", "xmm3"},
        {"Ymm15", "ymm15"},
        {"zmm31", "zmm31"},
        {"k7", "k7"},
        {"zf", "+z"},
        {"rflags", "+cpazsod"},
        {"mxcsr", "mxcsr.status mxcsr.control"},
        {"fs_base", "fs_base"},
        {"pkru", "pkru"},
    };
    static const char *const unknown[] = {"",  "r7",   "r16", "xmm32", "k8",  "rxx", "e",
                                          "r", "raxx", "xmm", "xmm1x", "rip", "r8x", "-1"};
    struct ins_regset set = {0};
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(ins_regset_parse(rows[i].name, &set), 0);
        insn_format_set(&set, text, sizeof(text));
        assert_string_equal(text, rows[i].set);
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
        assert_int_equal(ins_regset_parse(unknown[i], &set), -ENOENT);
    insn_format_set(&set, text, sizeof(text));
    assert_string_equal(text, "pkru");
}

static void insn_regset_next_visits_each_once(void **state)
{
    static const unsigned members[] = {0, 63, 64, 127, 128, 200, INS_LOC_COUNT - 1};
    struct ins_regset set = {0};
    unsigned seen = 0;
    (void)state;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
        ins_regset_add(&set, members[i]);
    for (unsigned l = ins_regset_next(&set, 0); l < INS_LOC_COUNT; l = ins_regset_next(&set, l + 1))
        assert_int_equal(l, members[seen++]);
    assert_int_equal(seen, sizeof(members) / sizeof(members[0]));
}

static void insn_mnemonics_have_names(void **state)
{
    static const uint8_t code[] = {0x48, 0x89, 0xc8};
    struct ins_info info;
    (void)state;
    assert_int_equal(ins_decode(code, sizeof(code), PC, &info), 0);
    assert_string_equal(ins_mnemonic_name(info.mnemonic), "mov");
    assert_string_equal(ins_mnemonic_name(0), "?");
    assert_string_equal(ins_mnemonic_name(65535), "?");
    assert_true(ins_info_bytes(&info) < sizeof(info));
}

/* The legacy area and the header are always there; a component that no processor has adds
 * nothing. */
static void insn_xsave_bytes_grow_with_components(void **state)
{
    static const uint8_t xsave[] = {0x0f, 0xae, 0x21}, xsavec[] = {0x0f, 0xc7, 0x21};
    struct ins_info plain, compact;
    (void)state;
    assert_int_equal(ins_decode(xsave, sizeof(xsave), PC, &plain), 0);
    assert_int_equal(ins_decode(xsavec, sizeof(xsavec), PC, &compact), 0);
    assert_int_equal(ins_xsave_bytes(plain.mnemonic, 3), 576);
    assert_int_equal(ins_xsave_bytes(compact.mnemonic, 3), 576);
    assert_int_equal(ins_xsave_bytes(plain.mnemonic, UINT64_C(1) << 62), 576);
    assert_true(ins_xsave_bytes(plain.mnemonic, 7) >= 576);
    assert_true(ins_xsave_bytes(compact.mnemonic, UINT64_MAX) <= INS_XSAVE_BYTES_MAX);
}

/* ---- lists of addresses ---- */

static const struct list_row {
    uint8_t code[15];
    const char *text;
    unsigned lanes, mask;
    bool is_k;
    uint8_t chosen[8]; /* which lanes, ended by 99 */
} lists[] = {
    {{0x62, 0xf2, 0x7d, 0x49, 0xa0, 0x1c, 0x91}, "vpscatterdd zmm", 16, 1, true, {0, 3, 9, 15, 99}},
    {{0x62, 0xf2, 0x7d, 0x4a, 0x91, 0x1c, 0x91}, "vpgatherqd ymm", 8, 2, true, {0, 3, 99}},
    {{0x62, 0xf2, 0xfd, 0x0b, 0x92, 0x1c, 0x91}, "vgatherdpd xmm", 2, 3, true, {0, 99}},
    {{0x62, 0xf2, 0xfd, 0x29, 0xa2, 0x1c, 0x91}, "vscatterdpd ymm", 4, 1, true, {0, 3, 99}},
    {{0xc4, 0xe2, 0x75, 0x90, 0x1c, 0x91}, "vpgatherdd ymm", 8, 1, false, {1, 7, 99}},
    {{0xc4, 0xe2, 0xf1, 0x93, 0x1c, 0x91}, "vgatherqpd xmm", 2, 1, false, {0, 99}},
};

/* Base, indices 10, 11 and so on, and masks that choose also beyond what the instruction has. */
static void list_slots(const struct ins_mem *mem, uint64_t slots[17])
{
    memset(slots, 0, 17 * sizeof(*slots));
    slots[0] = 0x10000;
    for (unsigned i = 0; i < 16; i++) {
        uint32_t narrow = i == 9 ? (uint32_t)-3 : 10 + i;
        if (mem->flags & INS_MEM_VSIB32)
            memcpy((uint8_t *)(slots + 1) + 4 * i, &narrow, 4);
        else if (i < 8)
            slots[1 + i] = 10 + i;
    }
    slots[9] = mem->flags & INS_MEM_K ? 0xfe09 & ~0x7c00ull : 0x8000000000000000;
    if (!(mem->flags & INS_MEM_K))
        slots[12] = slots[16] = 0x8000000000000000;
}

static void insn_lists_of_addresses_are_what_the_mask_chooses(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        struct ins_range ranges[INS_RANGES_MAX];
        struct ins_info info;
        uint64_t slots[17];
        unsigned seen = 0;
        assert_int_equal(ins_decode(lists[i].code, sizeof(lists[i].code), PC, &info), 0);
        const struct ins_mem *mem = &info.mems[0];
        assert_int_equal(mem->lanes, lists[i].lanes);
        assert_int_equal(mem->mask, lists[i].mask);
        assert_int_equal((mem->flags & INS_MEM_K) != 0, lists[i].is_k);
        list_slots(mem, slots);
        unsigned count = ins_operand_ranges(&info, 0, slots, ranges);
        for (; lists[i].chosen[seen] != 99; seen++) {
            int64_t index = lists[i].chosen[seen] == 9 ? -3 : 10 + lists[i].chosen[seen];
            assert_true(seen < count);
            assert_int_equal(ranges[seen].address, 0x10000 + (uint64_t)index * 4);
            assert_int_equal(ranges[seen].size_bytes, mem->size_bytes);
        }
        assert_int_equal(seen, count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(insn_moves_and_copies_flow_as_stated),
        cmocka_unit_test(insn_stack_instructions_flow_as_stated),
        cmocka_unit_test(insn_arithmetic_flow_as_stated),
        cmocka_unit_test(insn_idioms_flow_as_stated),
        cmocka_unit_test(insn_branches_and_conditions_flow_as_stated),
        cmocka_unit_test(insn_string_instructions_flow_as_stated),
        cmocka_unit_test(insn_vectors_flow_as_stated),
        cmocka_unit_test(insn_states_and_inputs_flow_as_stated),
        cmocka_unit_test(insn_branch_class_and_target_are_given),
        cmocka_unit_test(insn_condition_holds_by_flags),
        cmocka_unit_test(insn_flags_mark_special_instructions),
        cmocka_unit_test(insn_address_uses_leave_out_rsp),
        cmocka_unit_test(insn_undecodable_bytes_are_corrupt),
        cmocka_unit_test(insn_any_bytes_decode_within_bounds),
        cmocka_unit_test(insn_location_names_are_unique),
        cmocka_unit_test(insn_register_names_parse),
        cmocka_unit_test(insn_regset_next_visits_each_once),
        cmocka_unit_test(insn_mnemonics_have_names),
        cmocka_unit_test(insn_xsave_bytes_grow_with_components),
        cmocka_unit_test(insn_lists_of_addresses_are_what_the_mask_chooses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

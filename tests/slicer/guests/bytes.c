/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves 16 bytes in many ways and writes the results out, 16 bytes for each. Each byte of the input is
 * computed on a line of its own, marked BYTE; behind each MOVES stands, for each byte of the result, the
 * one that it is: the only line of these in its slice. '.' is none. Behind a USES stand for each byte
 * those that it is computed from.
 */
#include <string.h>
#include <unistd.h>

#define OUT(n) (out + 16 * (n))

static volatile unsigned char in[16], given = 7;
static unsigned char out[16 * 16];

/* 0..9, A..F */
static void fill(void)
{
    in[0] = given + 1;   /* BYTE 0 */
    in[1] = given + 2;   /* BYTE 1 */
    in[2] = given + 3;   /* BYTE 2 */
    in[3] = given + 4;   /* BYTE 3 */
    in[4] = given + 5;   /* BYTE 4 */
    in[5] = given + 6;   /* BYTE 5 */
    in[6] = given + 7;   /* BYTE 6 */
    in[7] = given + 8;   /* BYTE 7 */
    in[8] = given + 9;   /* BYTE 8 */
    in[9] = given + 10;  /* BYTE 9 */
    in[10] = given + 11; /* BYTE A */
    in[11] = given + 12; /* BYTE B */
    in[12] = given + 13; /* BYTE C */
    in[13] = given + 14; /* BYTE D */
    in[14] = given + 15; /* BYTE E */
    in[15] = given + 16; /* BYTE F */
}

#define MOVE(number, text)                                                                         \
    __asm__ volatile(text                                                                          \
                     :                                                                             \
                     : "S"(in), "D"(OUT(number))                                                   \
                     : "rax", "rcx", "rdx", "xmm0", "xmm1", "memory", "cc")

static void move(void)
{
    MOVE(0, "movups (%%rsi),%%xmm0; movaps %%xmm0,%%xmm1; movups %%xmm1,(%%rdi)");
    /* MOVES 0123456789ABCDEF */
    MOVE(1, "movq (%%rsi),%%rax; movq %%rax,%%rcx; movq %%rcx,3(%%rdi)");
    /* MOVES ...01234567..... */
    MOVE(2, "movq (%%rsi),%%rax; movl %%eax,%%ecx; movq %%rcx,(%%rdi); movw %%ax,8(%%rdi)");
    /* MOVES 0123....01...... */
    MOVE(3, "movzwl 4(%%rsi),%%eax; movl %%eax,(%%rdi); movswl 6(%%rsi),%%eax; movl %%eax,4(%%rdi);"
            "movslq 8(%%rsi),%%rax; movq %%rax,8(%%rdi)");
    /* MOVES 45..677789ABBBBB */
    MOVE(4, "movq 8(%%rsi),%%xmm0; movhps (%%rsi),%%xmm0; movhlps %%xmm0,%%xmm1;"
            "movlhps %%xmm0,%%xmm1; movups %%xmm1,(%%rdi)");
    /* MOVES 0123456789ABCDEF */
    MOVE(5, "movq 8(%%rsi),%%rax; xchgq %%rax,%%rcx; movq %%rcx,(%%rdi); movd %%ecx,%%xmm0;"
            "movq %%xmm0,%%rdx; movq %%rdx,8(%%rdi)");
    /* MOVES 89ABCDEF89AB.... */
    MOVE(6, "movq (%%rsi),%%rax; leaq -256(%%rsp),%%rsp; pushq %%rax; popq (%%rdi);"
            "pushq 8(%%rsi); popq %%rcx; movq %%rcx,8(%%rdi); leaq 256(%%rsp),%%rsp");
    /* MOVES 0123456789ABCDEF */
    MOVE(7, "movq (%%rsi),%%rax; movb %%ah,(%%rdi); movb 5(%%rsi),%%ah; movq %%rax,4(%%rdi)");
    /* MOVES 1...05234567.... */
    MOVE(8, "movl (%%rsi),%%eax; movl $2,%%ecx; rep stosl; movb 9(%%rsi),%%al; stosb");
    /* MOVES 012301239....... */
    MOVE(9,
         "movq (%%rsi),%%rax; movl $0,%%ecx; addl %%eax,%%ecx; leal 1(%%rax),%%edx; shrq $32,%%rax;"
         "movb %%cl,(%%rdi); movb %%dl,1(%%rdi); movb %%al,2(%%rdi)");
    /* USES 0123 0123 01234567 */
    MOVE(10,
         "movq (%%rsi),%%rax; bswapq %%rax; movq %%rax,(%%rdi); movl 8(%%rsi),%%eax; bswapl %%eax;"
         "movq %%rax,8(%%rdi)");
    /* MOVES 76543210BA98.... */
    memcpy(OUT(11) + 1, (const void *)(in + 2), 11);
    /* MOVES .23456789ABC.... */
}

int main(void)
{
    fill();
    move();
    return write(1, out, sizeof(out)) == sizeof(out) ? 0 : 1;
}

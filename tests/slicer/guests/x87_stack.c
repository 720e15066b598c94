/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Moves 16 numbers through the x87's registers and writes results of 8 bytes out, two for each
 * case. Each number is computed on a line of its own, marked BYTE; behind each COMPUTES stand for
 * each byte of the results those that it is computed from.
 */
#include <unistd.h>

#define OUT(n) (out + 2 * (n))

static volatile long in[16], given = 7;
static long out[2 * 11];

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

#define CASE(number, text)                                                                         \
    __asm__ volatile(text : : "S"(in), "D"(OUT(number)) : "rax", "memory", "cc")
#define STORE "fistpq (%%rdi); fistpq 8(%%rdi)"

static void compute(void)
{
    CASE(0, "fildq (%%rsi); fildq 8(%%rsi);" STORE);
    /* COMPUTES 1 1 1 1 1 1 1 1 0 0 0 0 0 0 0 0 */
    CASE(1, "fildq (%%rsi); jmp 1f; 1: fildq 8(%%rsi); jmp 2f; 2: fxch;" STORE);
    /* COMPUTES 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 */
    CASE(2, "fildq (%%rsi); fildq 8(%%rsi); fildq 16(%%rsi); faddp %%st,%%st(2);" STORE);
    /* COMPUTES 1 1 1 1 1 1 1 1 02 02 02 02 02 02 02 02 */
    CASE(3, "fildq 24(%%rsi); fildq 32(%%rsi); fld %%st(1);" STORE "; fstp %%st(0)");
    /* COMPUTES 3 3 3 3 3 3 3 3 4 4 4 4 4 4 4 4 */
    CASE(4, "fildq 40(%%rsi); fdecstp; fincstp; fistpq (%%rdi);"
            "fildq 48(%%rsi); fildq 56(%%rsi); fstp %%st(1); fistpq 8(%%rdi)");
    /* COMPUTES 5 5 5 5 5 5 5 5 7 7 7 7 7 7 7 7 */
    CASE(5,
         "movq (%%rsi),%%mm0; movq 8(%%rsi),%%mm1; movq %%mm0,(%%rdi); movq %%mm1,8(%%rdi); emms");
    /* COMPUTES 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 */
    CASE(6, "fildq 8(%%rsi); fildq 16(%%rsi); xorl %%eax,%%eax; fcmove %%st(1),%%st;" STORE);
    /* COMPUTES 12 12 12 12 12 12 12 12 1 1 1 1 1 1 1 1 */
    CASE(7, "fildq 24(%%rsi); fildq 40(%%rsi); fxch; fiaddl 32(%%rsi);" STORE);
    /* COMPUTES 34 34 34 34 34 34 34 34 5 5 5 5 5 5 5 5 */
    CASE(8, "fildq 8(%%rsi); fildq 16(%%rsi); fucomip %%st(1),%%st; setb %%al; movzbl %%al,%%eax;"
            "movq %%rax,(%%rdi); fistpq 8(%%rdi)");
    /* COMPUTES 12 . . . . . . . 1 1 1 1 1 1 1 1 */
    CASE(9, "fildq (%%rsi); fildq 8(%%rsi); fildq 16(%%rsi); fildq 24(%%rsi); fildq 32(%%rsi);"
            "fildq 40(%%rsi); fildq 48(%%rsi); fildq 56(%%rsi); fxch %%st(7); fistpq (%%rdi);"
            "fstp %%st(0); fstp %%st(0); fstp %%st(0); fstp %%st(0); fstp %%st(0); fstp %%st(0);"
            "fistpq 8(%%rdi)");
    /* COMPUTES 0 0 0 0 0 0 0 0 7 7 7 7 7 7 7 7 */
    CASE(10, "fildq 64(%%rsi); fildq 72(%%rsi); ffree %%st(1); fchs; fistpq (%%rdi); fincstp;"
             "fildq 80(%%rsi); fld1; faddp; fistpq 8(%%rdi)");
    /* COMPUTES 9 9 9 9 9 9 9 9 A A A A A A A A */
}

int main(void)
{
    fill();
    compute();
    return write(1, out, sizeof(out)) != sizeof(out);
}

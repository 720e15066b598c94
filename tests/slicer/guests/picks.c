/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * As bytes.c, with instructions that take bytes by a mask or by indices: blends, masked moves,
 * permutations. Where the processor lacks what is in a NEEDS, the bytes are moved one by one: the
 * test says that it was skipped. Behind a CHOSEN stands what chose each byte, which is a constant.
 */
#include <string.h>
#include <unistd.h>

#define OUT(n) (out + 16 * (n))

static volatile unsigned char in[16], given = 7;
static unsigned char out[16 * 27];

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

static const unsigned char reversed[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
static const unsigned char holes[16] = {128, 1, 128, 3,  128, 5,  128, 7,
                                        255, 9, 128, 11, 128, 13, 128, 15};
static const unsigned char evens[16] = {255, 0,   128, 0, 255, 0, 255, 0,
                                        255, 127, 255, 0, 255, 0, 255, 0};
static const int some_dwords[4] = {-1, 0, -1, -1}, dwords_back[8] = {3, 2, 1, 0, 3, 2, 1, 0};
static const int pairs_swapped[4] = {1, 0, 3, 2}, two_tables[4] = {4, 0, 5, 1};
static const long second_quad[2] = {0, -1}, quads_swapped[2] = {2, 0};
static const short words_back[8] = {7, 6, 5, 4, 3, 2, 1, 0};

/* Byte i of the result is the one that the text has at i. */
static void move_slowly(unsigned char *to, const char *text)
{
    for (unsigned i = 0; i < 16; i++)
        if (text[i] != '.')
            to[i] = in[text[i] <= '9' ? text[i] - '0' : text[i] - 'A' + 10];
}

static void add_slowly(void)
{
    unsigned char sum = 0;

    for (unsigned i = 0; i < 16; i++)
        sum += in[i];
    memset(OUT(25) + 4, sum, 4);
    OUT(26)[0] = OUT(26)[2] = sum;
}

/* xmm1 is the input, xmm2 its halves swapped; what xmm1 is then is the result. */
#define PICK(feature, number, text, by, expected)                                                  \
    do {                                                                                           \
        if (__builtin_cpu_supports(feature))                                                       \
            __asm__ volatile("movups (%%rsi),%%xmm1; pshufd $0x4e,%%xmm1,%%xmm2;" text             \
                             :                                                                     \
                             : "S"(in), "D"(OUT(number)), "d"(by)                                  \
                             : "rax", "rcx", "xmm0", "xmm1", "xmm2", "memory", "cc");              \
        else                                                                                       \
            move_slowly(OUT(number), expected);                                                    \
    } while (0)

#define STORE "; movups %%xmm1,(%%rdi)"

static void pick(void)
{
    PICK("ssse3", 0, "movups (%%rdx),%%xmm0; pshufb %%xmm0,%%xmm1" STORE, reversed,
         "FEDCBA9876543210");
    /* NEEDS ssse3 */ /* MOVES FEDCBA9876543210 */
    PICK("ssse3", 1, "pshufb (%%rdx),%%xmm1" STORE, holes, ".1.3.5.7.9.B.D.F");
    /* NEEDS ssse3 */ /* MOVES .1.3.5.7.9.B.D.F */
    PICK("ssse3", 2, "movups (%%rdx),%%xmm0; pshufb %%xmm1,%%xmm0; movaps %%xmm0,%%xmm1" STORE,
         reversed, "0123456789ABCDEF");
    /* NEEDS ssse3 */ /* CHOSEN 0123456789ABCDEF */
    PICK("sse4.1", 3, "movups (%%rdx),%%xmm0; pblendvb %%xmm0,%%xmm2,%%xmm1" STORE, evens,
         "81A3C5E7092B4D6F");
    /* NEEDS sse4.1 */ /* MOVES 81A3C5E7092B4D6F */
    PICK("sse2", 4, "movups (%%rdx),%%xmm0; maskmovdqu %%xmm0,%%xmm1", evens, "0.2.4.6.8.A.C.E.");
    /* NEEDS sse2 */ /* MOVES 0.2.4.6.8.A.C.E. */
    PICK("avx2", 5, "vmovups (%%rdx),%%xmm0; vpmaskmovd (%%rsi),%%xmm0,%%xmm1" STORE, some_dwords,
         "0123....89ABCDEF");
    /* NEEDS avx2 */ /* MOVES 0123....89ABCDEF */
    PICK("avx2", 6, "vmovups (%%rdx),%%xmm0; vpmaskmovq %%xmm1,%%xmm0,(%%rdi)", second_quad,
         "........89ABCDEF");
    /* NEEDS avx2 */ /* MOVES ........89ABCDEF */
    PICK("avx2", 7,
         "vbroadcasti128 (%%rsi),%%ymm2; vmovups (%%rdx),%%ymm0; vpermd %%ymm2,%%ymm0,%%ymm1; "
         "vzeroupper" STORE,
         dwords_back, "CDEF89AB45670123");
    /* NEEDS avx2 */ /* MOVES CDEF89AB45670123 */
    PICK("avx2", 8, "vpermilps (%%rdx),%%xmm1,%%xmm1" STORE, pairs_swapped, "45670123CDEF89AB");
    /* NEEDS avx2 */ /* MOVES 45670123CDEF89AB */
    PICK("avx2", 9, "vmovups (%%rdx),%%xmm0; vpermilpd %%xmm0,%%xmm1,%%xmm1" STORE, quads_swapped,
         "89ABCDEF01234567");
    /* NEEDS avx2 */ /* MOVES 89ABCDEF01234567 */
    PICK("avx512bw", 10,
         "movl $0x5555,%%eax; kmovd %%eax,%%k1; vmovdqu8 (%%rsi),%%xmm1%{%%k1%}%{z%}" STORE, in,
         "0.2.4.6.8.A.C.E.");
    /* NEEDS avx512bw */ /* MOVES 0.2.4.6.8.A.C.E. */
    PICK("avx512bw", 11,
         "movl $0x0f,%%eax; kmovd %%eax,%%k1; vmovdqu16 %%xmm1,%%xmm2%{%%k1%}; movaps "
         "%%xmm2,%%xmm1" STORE,
         in, "0123456701234567");
    /* NEEDS avx512bw */ /* MOVES 0123456701234567 */
    PICK("avx512bw", 12, "movl $0x0a,%%eax; kmovd %%eax,%%k1; vmovdqu32 %%xmm1,(%%rdi)%{%%k1%}", in,
         "....4567....CDEF");
    /* NEEDS avx512bw */ /* MOVES ....4567....CDEF */
    PICK("avx512bw", 13,
         "movl $0xff,%%eax; kmovd %%eax,%%k1; vpblendmb %%xmm1,%%xmm2,%%xmm1%{%%k1%}" STORE, in,
         "0123456701234567");
    /* NEEDS avx512bw */ /* MOVES 0123456701234567 */
    PICK("avx512vbmi", 14, "vmovups (%%rdx),%%xmm0; vpermb %%xmm1,%%xmm0,%%xmm1" STORE, reversed,
         "FEDCBA9876543210");
    /* NEEDS avx512vbmi */ /* MOVES FEDCBA9876543210 */
    PICK("avx512vl", 15, "vmovups (%%rdx),%%xmm0; vpermt2d %%xmm2,%%xmm0,%%xmm1" STORE, two_tables,
         "89AB0123CDEF4567");
    /* NEEDS avx512vl */ /* MOVES 89AB0123CDEF4567 */
    PICK("avx512bw", 16,
         "vmovups (%%rdx),%%xmm0; vpermi2w %%xmm2,%%xmm1,%%xmm0; movaps %%xmm0,%%xmm1" STORE,
         words_back, "EFCDAB8967452301");
    /* NEEDS avx512bw */ /* MOVES EFCDAB8967452301 */
    if (__builtin_cpu_supports("avx512bw"))
        __asm__ volatile("movzwl (%%rsi),%%eax; kmovd %%eax,%%k1; movups (%%rdx),%%xmm0;"
                         "vmovdqu8 %%xmm0,%%xmm1%{%%k1%}%{z%}" STORE
                         :
                         : "S"(in), "D"(OUT(17)), "d"(reversed)
                         : "rax", "xmm0", "xmm1", "memory");
    else
        memset(OUT(17), in[0] ^ in[1], 16);
    /* NEEDS avx512bw */ /* USES 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 01 */
    PICK("avx512vl", 18,
         "movl $0x05,%%eax; kmovw %%eax,%%k1; vmovaps %%xmm1,%%xmm0; vpcompressd "
         "%%xmm2,%%xmm0%{%%k1%}; movaps %%xmm0,%%xmm1" STORE,
         in, "89AB012389ABCDEF");
    /* NEEDS avx512vl */ /* MOVES 89AB012389ABCDEF */
    PICK("avx512vl", 19, "movl $0x0a,%%eax; kmovw %%eax,%%k1; vpcompressd %%xmm1,(%%rdi)%{%%k1%}",
         in, "4567CDEF........");
    /* NEEDS avx512vl */ /* MOVES 4567CDEF........ */
    PICK("avx512vl", 20,
         "movl $0x06,%%eax; kmovw %%eax,%%k1; vexpandps (%%rsi),%%xmm1%{%%k1%}%{z%}" STORE, in,
         "....01234567....");
    /* NEEDS avx512vl */ /* MOVES ....01234567.... */
    PICK("avx512vl", 21,
         "movl $0x01,%%eax; kmovw %%eax,%%k1; vmovss %%xmm2,%%xmm1,%%xmm1%{%%k1%}" STORE, in,
         "89AB456789ABCDEF");
    /* NEEDS avx512vl */ /* MOVES 89AB456789ABCDEF */
    PICK("avx512vl", 22,
         "xorl %%eax,%%eax; kmovw %%eax,%%k1; vmovsd %%xmm2,%%xmm1,%%xmm1%{%%k1%}%{z%}" STORE, in,
         "........89ABCDEF");
    /* NEEDS avx512vl */ /* MOVES ........89ABCDEF */
    PICK("avx512vl", 23, "vpermilps (%%rdx)%{1to4%},%%xmm1,%%xmm1" STORE, pairs_swapped,
         "4567456745674567");
    /* NEEDS avx512vl */ /* MOVES 4567456745674567 */
    PICK("avx512vl", 24,
         "movl $0x05,%%eax; kmovw %%eax,%%k1; vmovups (%%rdx),%%xmm0; vpaddd "
         "%%xmm0,%%xmm0,%%xmm1%{%%k1%}" STORE,
         words_back, "....4567....CDEF");
    /* NEEDS avx512vl */ /* MOVES ....4567....CDEF */
    if (__builtin_cpu_supports("avx512vl"))
        __asm__ volatile("movl $0x02,%%eax; kmovw %%eax,%%k1; vmovups (%%rdx),%%xmm1;"
                         "vpaddd (%%rsi),%%xmm1,%%xmm1%{%%k1%}" STORE
                         "; movl $0x05,%%eax; kmovw %%eax,%%k1; movups (%%rsi),%%xmm1;"
                         "vpmovdb %%xmm1,16(%%rdi)%{%%k1%}"
                         :
                         : "S"(in), "D"(OUT(25)), "d"(words_back)
                         : "rax", "xmm1", "memory");
    else
        add_slowly();
    /* What computes uses its operands whole. */
    /* NEEDS avx512vl */ /* USES . . . . X X X X . . . . . . . . */
    /* NEEDS avx512vl */ /* USES X . X . . . . . . . . . . . . . */
}

int main(void)
{
    fill();
    pick();
    return write(1, out, sizeof(out)) != sizeof(out);
}

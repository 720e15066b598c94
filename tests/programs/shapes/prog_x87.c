/* SPDX-License-Identifier: GPL-3.0-or-later */
/* x87: long double arithmetic, the register stack, control word, comparisons, 80-bit stores. */
#include <math.h>
#include <stdio.h>

static long double series(int terms)
{
    long double sum = 0;
    long double sign = 1;

    for (int i = 0; i < terms; i++, sign = -sign)
        sum += sign / (2 * i + 1);
    return 4 * sum;
}

static long double square_root(long double x)
{
    long double root;

    __asm__("fsqrt" : "=t"(root) : "0"(x));
    return root;
}

static long double sine(long double x)
{
    long double result;

    __asm__("fsin" : "=t"(result) : "0"(x));
    return result;
}

static int round_down(double x)
{
    unsigned short old;
    unsigned short mode;
    int result;

    __asm__ volatile("fnstcw %0" : "=m"(old));
    mode = (unsigned short)((old & ~0xc00) | 0x400);
    __asm__ volatile("fldcw %1\n\tfldl %2\n\tfistpl %0\n\tfldcw %3"
                     : "=m"(result)
                     : "m"(mode), "m"(x), "m"(old));
    return result;
}

int main(void)
{
    volatile long double third = 1.0L / 3;
    long double product = 1;

    for (int i = 1; i <= 25; i++)
        product *= i;
    printf("pi about %.12Lf\n", series(300));
    printf("25! = %.0Lf\n", product);
    printf("sqrt 2 = %.15Lf\n", square_root(2));
    printf("sin 1 = %.15Lf\n", sine(1));
    printf("floor -2.5 = %d, 2.5 = %d\n", round_down(-2.5), round_down(2.5));
    printf("third %s 0.333\n", third > 0.333L ? ">" : "<=");
    printf("third as %.20Lf\n", third);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wrong array index: the product of two matrices walks the second one by rows; right only for
 * symmetric ones. */
#include <stdio.h>
#include <string.h>

enum {
    ORDER = 3,
};

typedef long matrix[ORDER][ORDER];

static void identity(matrix m)
{
    for (int i = 0; i < ORDER; i++)
        for (int j = 0; j < ORDER; j++)
            m[i][j] = i == j;
}

static void multiply(matrix out, matrix a, matrix b)
{
    matrix result;

    for (int i = 0; i < ORDER; i++) {
        for (int j = 0; j < ORDER; j++) {
            long sum = 0;
            for (int k = 0; k < ORDER; k++)
#ifdef FIXED
                sum += a[i][k] * b[k][j];
#else
                sum += a[i][k] * b[j][k]; /* FAULT */
#endif
            result[i][j] = sum;
        }
    }
    memcpy(out, result, sizeof(result));
}

static void power(matrix out, matrix base, unsigned exponent)
{
    matrix square;

    identity(out);
    memcpy(square, base, sizeof(square));
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            multiply(out, out, square);
        multiply(square, square, square);
    }
}

static long trace(matrix m)
{
    long sum = 0;

    for (int i = 0; i < ORDER; i++)
        sum += m[i][i];
    return sum;
}

static void print(const char *title, matrix m)
{
    printf("%s (trace %ld)\n", title, trace(m));
    for (int i = 0; i < ORDER; i++) {
        for (int j = 0; j < ORDER; j++)
            printf("%6ld", m[i][j]);
        putchar('\n');
    }
}

int main(void)
{
    matrix symmetric = {{2, 1, 0}, {1, 3, 1}, {0, 1, 2}};
    matrix shear = {{1, 2, 0}, {0, 1, 3}, {1, 0, 1}};
    matrix result;

    power(result, symmetric, 4);
    print("symmetric", result);
    power(result, shear, 3);
    print("shear", result);
    return 0;
}

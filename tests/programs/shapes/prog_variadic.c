/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Variadic functions: register and stack save areas, va_copy, floats in %al-counted calls. */
#include <stdarg.h>
#include <stdio.h>

static long sum_longs(int count, ...)
{
    va_list list;
    long sum = 0;

    va_start(list, count);
    while (count-- > 0)
        sum += va_arg(list, long);
    va_end(list);
    return sum;
}

static double mix(const char *kinds, ...)
{
    va_list list;
    va_list again;
    double total = 0;

    va_start(list, kinds);
    va_copy(again, list);
    for (const char *k = kinds; *k; k++)
        total += *k == 'd' ? va_arg(list, double) : va_arg(list, int);
    for (const char *k = kinds; *k; k++)
        total += 0.5 * (*k == 'd' ? va_arg(again, double) : va_arg(again, int));
    va_end(again);
    va_end(list);
    return total;
}

static int format(char *out, size_t size, const char *text, ...)
{
    va_list list;
    int length;

    va_start(list, text);
    length = vsnprintf(out, size, text, list);
    va_end(list);
    return length;
}

int main(void)
{
    char line[64];

    printf("%ld\n", sum_longs(9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, -9L));
    printf("%.2f\n", mix("idididididididididid", 1, 1.25, 2, 2.25, 3, 3.25, 4, 4.25, 5, 5.25, 6,
                         6.25, 7, 7.25, 8, 8.25, 9, 9.25, 10, 10.25));
    printf("%d ", format(line, sizeof(line), "%s-%c-%5.1f-%04x", "va", 'x', 2.75, 0xbe));
    printf("%s\n", line);
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sort COUNT: sorts pseudo-random numbers, hashes and chases pointers; prints a checksum. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int order(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000;
    uint32_t *values = malloc(count * sizeof(*values)), *next = malloc(count * sizeof(*next));
    uint64_t seed = 88172645463325252ull, sum = 0;
    if (!values || !next)
        return 1;
    for (size_t i = 0; i < count; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        values[i] = (uint32_t)seed;
        next[i] = (uint32_t)(seed >> 32) % (uint32_t)count;
    }
    qsort(values, count, sizeof(*values), order);
    uint32_t at = 0;
    for (size_t i = 0; i < 2 * count; i++) {
        at = next[at] ^ (uint32_t)(i & 1);
        at = at < count ? at : 0;
        sum = sum * 31 + values[at];
    }
    printf("%llu\n", (unsigned long long)sum);
    return 0;
}

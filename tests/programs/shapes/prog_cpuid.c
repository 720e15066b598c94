/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cpuid and xgetbv: the output only says whether the answers agree with one another. */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t extended_state(void)
{
    uint32_t low;
    uint32_t high;

    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

int main(void)
{
    unsigned a, b, c, d;
    unsigned again[4];
    char vendor[13];
    unsigned long digest = 0;

    __cpuid(0, a, b, c, d);
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    vendor[12] = 0;
    printf("vendor has %zu characters, leaves %s\n", strlen(vendor), a >= 7 ? "enough" : "few");
    for (unsigned leaf = 0; leaf <= a && leaf < 0x20; leaf++) {
        __cpuid_count(leaf, 0, again[0], again[1], again[2], again[3]);
        digest = digest * 31 + again[0];
    }
    __cpuid(1, a, b, c, d);
    if (c & bit_OSXSAVE)
        printf("x87 and sse state %s\n", (extended_state() & 3) == 3 ? "enabled" : "disabled");
    printf("sse2 %s, digest %s\n", d & bit_SSE2 ? "yes" : "no", digest ? "taken" : "zero");
    return 0;
}

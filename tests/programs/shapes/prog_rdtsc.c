/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rdtsc and rdtscp: time must not run backwards. */
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

int main(void)
{
    uint64_t last = __rdtsc();
    unsigned processor = 0;
    int backwards = 0;

    for (int i = 0; i < 20; i++) {
        uint64_t now = i & 1 ? __rdtscp(&processor) : __rdtsc();
        backwards += now < last;
        last = now;
    }
    printf("backwards %d, stamp %s\n", backwards, last ? "set" : "zero");
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Clears lines of memory by addresses in their middle (clzero), with flags that are read afterwards. */
#include <cpuid.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static uint8_t lines[4][64] __attribute__((aligned(64)));

int main(void)
{
    unsigned a, b = 0, c, d;
    uint64_t told[] = {(uint64_t)(uintptr_t)lines, sizeof(lines), 0};
    memset(lines, 0xa5, sizeof(lines));
    if (__get_cpuid(0x80000008, &a, &b, &c, &d) && b & 1) {
        for (unsigned i = 0; i < 3; i++) {
            uint64_t flags;
            __asm__ volatile("cmp %2, %3; clzero; pushf; pop %0"
                             : "=r"(flags)
                             : "a"(&lines[i][63 - 31 * i]), "r"(i), "r"(1u)
                             : "memory", "cc");
            told[2] = told[2] << 16 | (flags & 0x8d5);
        }
    }
    return write(STDOUT_FILENO, told, sizeof(told)) != (ssize_t)sizeof(told);
}

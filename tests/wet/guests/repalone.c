/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jumps lead to a rep instruction and away from it: its executions define rdi, and nothing else is
 * done in them. */
#include <stdint.h>

int main(void)
{
    static uint8_t from[100], to[100];
    uint8_t *end = to;

    for (unsigned i = 0; i < 4; i++) {
        uint8_t *target = to, *source = from;
        uint64_t count = 10 * (i + 1);
        __asm__ volatile("jmp 1f\n"
                         "1:\trep movsb\n\t"
                         "jmp 2f\n"
                         "2:"
                         : "+D"(target), "+S"(source), "+c"(count)
                         :
                         : "memory");
        end = target;
    }
    return end != to + 40;
}

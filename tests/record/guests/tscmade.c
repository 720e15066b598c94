/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that reads the time stamp counter, made anew in the same page, which is code and is not by
 * turns, as with just-in-time compilers. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NOP 0x90

int main(void)
{
    static const uint8_t code[] = {0x0f, 0x31,             /* rdtsc */
                                   0x48, 0xc1, 0xe2, 0x20, /* shl rdx, 32 */
                                   0x48, 0x09, 0xd0,       /* or rax, rdx */
                                   0xc3};                  /* ret */
    const size_t bytes = 4096;
    uint8_t *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (unsigned i = 0; i < 3; i++) {
        uint64_t (*made)(void) = (uint64_t(*)(void))(uintptr_t)page;

        if (mprotect(page, bytes, PROT_READ | PROT_WRITE) != 0)
            return 1;
        memset(page, NOP, bytes);
        memcpy(page + 16 * i, code, sizeof(code));
        if (mprotect(page, bytes, PROT_READ | PROT_EXEC) != 0)
            return 1;
        printf("%ju\n", (uintmax_t)made());
    }
    return 0;
}

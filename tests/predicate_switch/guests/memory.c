/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large memory that is written, cut, moved, protected and emptied, and what is in it then. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MB ((size_t)1 << 20)

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void fill(uint8_t *bytes, size_t size, uint64_t seed)
{
    for (size_t at = 0; at < size; at += 50021) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        memcpy(bytes + at, &seed, size - at < 8 ? size - at : 8);
    }
}

static void tell(const char *what, const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    for (size_t at = 0; at + 8 <= size; at += 2048) {
        uint64_t word;
        memcpy(&word, bytes + at, sizeof(word));
        sum = sum * 31 + word;
    }
    for (size_t at = 0; at < size; at += 50021)
        sum = sum * 31 + bytes[at];
    printf("%s %016llx\n", what, (unsigned long long)sum);
    fflush(stdout);
}

int main(void)
{
    uint8_t *first = map(40 * MB), *second = map(24 * MB);
    if (!first || !second)
        return 1;
    fill(first, 40 * MB, 1);
    tell("filled", first, 40 * MB);
    memset(second, 5, 3 * MB);
    mprotect(first + 5 * MB + 4096, 4096, PROT_READ);
    munmap(first + 20 * MB + 8192, 3 * MB);
    tell("cut", first, 20 * MB);
    madvise(first + 7 * MB, 2 * MB + 4096, MADV_DONTNEED);
    tell("emptied", first, 20 * MB);
    uint8_t *moved = mremap(second, 24 * MB, 48 * MB, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED)
        return 1;
    fill(moved + 30 * MB, 18 * MB, 2);
    tell("moved", moved, 48 * MB);
    fill(first + 24 * MB, 16 * MB, 3);
    tell("end", first + 24 * MB, 16 * MB);
    return 0;
}

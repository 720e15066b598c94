/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Large memory that is written, cut, moved, protected and emptied, and what is in it then;
 * and much that came in small pieces. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* Memory that grew, a little at a time, and is written all over. */
static uint8_t *grow(size_t bytes)
{
    uint8_t *start = sbrk(0);
    for (size_t at = 0; at < bytes; at += MB / 8) {
        if (sbrk(MB / 8) == (void *)-1)
            return NULL;
        for (size_t page = 0; page < MB / 8; page += 4096)
            start[at + page] = (uint8_t)(at >> 17);
    }
    return start;
}

int main(void)
{
    uint8_t *grown = grow(24 * MB);
    uint8_t *first = map(40 * MB), *second = map(24 * MB);
    if (!first || !second || !grown)
        return 1;
    tell("grown", grown, 24 * MB);
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
    fill(grown + 3 * MB, 18 * MB, 4);
    tell("grown", grown, 24 * MB);
    return 0;
}

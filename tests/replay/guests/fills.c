/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stores whose addresses and sizes are found in the event ring: at a fixed place, and of a size that nothing else has. */
#include <stdint.h>
#include <sys/mman.h>

static uint8_t *volatile place = (uint8_t *)FILLS_AT;

static void fill(uint8_t *to, uint8_t value, uint64_t count)
{
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(value) : "memory");
}

static void copy(uint8_t *to, const uint8_t *from, uint64_t count)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
}

int main(void)
{
    void *at = mmap(place, 1 << 20, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (at != place)
        return 1;
    *place = 1;
    fill(place + 4096, 2, FILLS_BYTES);
    copy(place + 65536, place + 4096, FILLS_BYTES + 1);
    return place[65536] != 2;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stores what a file says where it says: pairs of an address and a value, both of 64 bits. Recorded with addresses of
 * its own memory, at STORES_AT; an altered recording has others.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char *argv[])
{
    uint64_t pair[2];
    void *own = mmap((void *)STORES_AT, 4096, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (own == MAP_FAILED || fd < 0)
        return 1;
    while (read(fd, pair, sizeof(pair)) == (ssize_t)sizeof(pair))
        *(volatile uint64_t *)pair[0] = pair[1];
    printf("%llu\n", *(unsigned long long *)own);
    return 0;
}

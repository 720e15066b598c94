/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Asks for files by names that are made at one place, one after the other, longer and shorter; by one
 * that ends where its page does, without a zero; and by none. What comes back decides the result.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define NAMES 150
#define PAGE  4096

static char name[32];

static void make(unsigned i)
{
    unsigned length = 2 + i * 7 % 11;

    name[0] = '/';
    for (unsigned at = 1; at < length; at++)
        name[at] = (char)('a' + (i + at) % 26);
    name[length] = 0;
}

int main(void)
{
    char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *volatile nowhere = (char *)1;
    unsigned long sum = 0;

    if (pages == MAP_FAILED || munmap(pages + PAGE, PAGE))
        return 2;
    memcpy(pages + PAGE - 4, "/end", 4);
    for (unsigned i = 0; i < NAMES; i++) {
        make(i);
        sum = sum * 3 + (unsigned long)access(name, F_OK);
    }
    sum += (unsigned long)access(pages + PAGE - 4, F_OK);
    sum += (unsigned long)access(nowhere, F_OK);
    return sum == 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Integer truncation: a bit mask is built from a 32-bit one, so members 32 and up alias or
 * vanish; the criterion is the mask itself. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct bitset {
    uint64_t words[2];
};

static uint64_t mask_of(unsigned member)
{
#ifdef FIXED
    uint64_t mask = (uint64_t)1 << (member & 63);
#else
    uint64_t mask = (uint32_t)((uint64_t)1 << (member & 63)); /* FAULT */
#endif

    return mask; /* CRITERION */
}

static void bitset_add(struct bitset *set, unsigned member)
{
    set->words[member / 64 & 1] |= mask_of(member);
}

static int bitset_has(const struct bitset *set, unsigned member)
{
    return (set->words[member / 64 & 1] & mask_of(member)) != 0;
}

static unsigned bitset_count(const struct bitset *set)
{
    unsigned count = 0;

    for (int i = 0; i < 2; i++)
        for (uint64_t rest = set->words[i]; rest; rest &= rest - 1)
            count++;
    return count;
}

static struct bitset bitset_union(const struct bitset *a, const struct bitset *b)
{
    struct bitset both;

    for (int i = 0; i < 2; i++)
        both.words[i] = a->words[i] | b->words[i];
    return both;
}

int main(int argc, char **argv)
{
    struct bitset given = {{0, 0}};
    struct bitset tens = {{0, 0}};
    struct bitset both;

    for (int i = 1; i < argc; i++)
        bitset_add(&given, (unsigned)atoi(argv[i]));
    for (unsigned i = 0; i < 30; i += 10)
        bitset_add(&tens, i);
    both = bitset_union(&given, &tens);
    for (int i = 1; i < argc; i++)
        printf("%s %s\n", argv[i], bitset_has(&both, (unsigned)atoi(argv[i])) ? "in" : "out");
    printf("given %u, tens %u, both %u\n", bitset_count(&given), bitset_count(&tens),
           bitset_count(&both));
    return 0;
}

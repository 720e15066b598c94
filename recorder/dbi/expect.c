/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which code is going to run, where that is known: a set of hashes, one bit each. */
#include "recorder/dbi/expect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_table.h"

#define BITS 20

static uint64_t hash_of(uint64_t pc)
{
    return pc * 0x9e3779b97f4a7c15ull >> (64 - BITS);
}

int dbi_expect(struct dbi *dbi, const uint64_t *pcs, size_t count)
{
    size_t bytes = ((size_t)1 << BITS) / 8;
    dbi->expects = pcs != NULL;
    if (!pcs)
        return 0;
    if (!dbi->expected)
        dbi->expected = malloc(bytes);
    if (!dbi->expected) {
        dbi->expects = false;
        return -ENOMEM;
    }
    memset(dbi->expected, 0, bytes);
    for (size_t i = 0; i < count; i++)
        dbi->expected[hash_of(pcs[i]) / 8] |= (uint8_t)(1u << (hash_of(pcs[i]) & 7));
    return 0;
}

bool dbi_is_expected(const struct dbi *dbi, uint64_t pc)
{
    return !dbi->expects || dbi->expected[hash_of(pc) / 8] >> (hash_of(pc) & 7) & 1;
}

bool dbi_is_missing(struct dbi *dbi, uint64_t pc)
{
    return dbi->expects && dbi_is_expected(dbi, pc) && !dbi_fragment_find(dbi, pc);
}

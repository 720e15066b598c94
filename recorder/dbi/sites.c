/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where indirect jumps and calls look for their targets.
 *
 * Each such instruction is a *site* with a table of its own, shared by all fragments that end in
 * it. The table has only targets that came through the agent, which notes them: so every pair of
 * jump and target that ever ran is known here, and no run has to be looked through for them.
 *
 * Most sites have one target: one entry, no index. When a second one comes the table gets 256
 * entries, and the index the first of some functions of the target that tells all known ones
 * apart; if none does, 64 K. Then those that still share an entry take turns in it.
 */
#include "recorder/dbi/sites.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_table.h"
#include "recorder/dbi/translate.h"
#include <wetdbg/errors.h>

#define PAIRS_MAX      (1u << 24)
#define SMALL_BITS     8
#define LARGE_BITS     16
#define TARGETS_SMALL  128 /* more than that are never told apart by 8 bits */
#define LARGE_ROTATION 3

int dbi_sites_init(struct dbi *dbi)
{
    dbi->sites.by_key = dbi_heads_new();
    dbi->sites.pairs_by_both = dbi_heads_new();
    return dbi->sites.by_key && dbi->sites.pairs_by_both ? 0 : -ENOMEM;
}

void dbi_sites_fini(struct dbi *dbi)
{
    free(dbi->sites.sites);
    free(dbi->sites.by_key);
    free(dbi->sites.pairs);
    free(dbi->sites.pairs_by_both);
}

/* ---- sites ---- */

/* The key of a site; a call's is its return address: fragments that share a pad (lookup.c) share
 * what is in it. */
static uint64_t site_key(const struct dbi_insn *last)
{
    return last->is.terminal == DBI_JMP_INDIRECT ? last->pc : last->pc + last->is.length;
}

static bool has_site(const struct dbi_insn *last)
{
    return last->is.terminal == DBI_JMP_INDIRECT || last->is.terminal == DBI_CALL_INDIRECT ||
           (last->is.terminal == DBI_RET && dbi_insn_extra_bytes(last));
}

int dbi_site_get(struct dbi *dbi, const struct dbi_code *code, uint32_t *out)
{
    const struct dbi_insn *last = &code->insns[code->count - 1];
    *out = 0;
    if (!has_site(last))
        return 0;
    uint64_t key = site_key(last);
    bool is_jump = last->is.terminal == DBI_JMP_INDIRECT;
    uint32_t *head = &dbi->sites.by_key[slot_of(key)];
    for (*out = *head; *out; *out = dbi->sites.sites[*out - 1].next) {
        if (dbi->sites.sites[*out - 1].key == key && dbi->sites.sites[*out - 1].is_jump == is_jump)
            return 0;
    }
    if (wd_grow(dbi->sites.sites, dbi->sites.site_capacity, dbi->sites.site_count + 1))
        return -ENOMEM;
    dbi->sites.sites[dbi->sites.site_count] =
        (struct site){.key = key, .is_jump = is_jump, .next = *head};
    *head = *out = ++dbi->sites.site_count;
    return 0;
}

/* ---- pairs ---- */

static uint32_t *pair_slot(struct dbi *dbi, uint32_t site, uint64_t target)
{
    return &dbi->sites.pairs_by_both[slot_of(target + site)];
}

static int pair_add(struct dbi *dbi, uint32_t index, uint64_t target)
{
    struct site *site = &dbi->sites.sites[index - 1];
    uint32_t *head = pair_slot(dbi, index, target);
    for (uint32_t i = *head; i; i = dbi->sites.pairs[i - 1].next) {
        if (dbi->sites.pairs[i - 1].site == index && dbi->sites.pairs[i - 1].target == target)
            return 0;
    }
    if (dbi->sites.pair_count == PAIRS_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "the program's indirect jumps have more than %u targets", PAIRS_MAX);
    if (wd_grow(dbi->sites.pairs, dbi->sites.pair_capacity, dbi->sites.pair_count + 1))
        return -ENOMEM;
    dbi->sites.pairs[dbi->sites.pair_count] =
        (struct pair){.target = target, .site = index, .next = *head, .next_of_site = site->pairs};
    *head = site->pairs = ++dbi->sites.pair_count;
    site->pair_count++;
    return 0;
}

int dbi_jump_note(struct dbi *dbi, uint32_t fragment, uint64_t target)
{
    uint32_t site = fragment < dbi->fragment_count ? dbi->fragments[fragment]->site : 0;
    return site ? pair_add(dbi, site, target) : 0;
}

static int jump_order(const void *a, const void *b)
{
    const struct dbi_jump *x = a, *y = b;
    if (x->pc != y->pc)
        return x->pc < y->pc ? -1 : 1;
    return x->target < y->target ? -1 : x->target > y->target;
}

int dbi_jumps_get(const struct dbi *dbi, struct dbi_jump **out, size_t *count)
{
    struct dbi_jump *jumps = malloc((dbi->sites.pair_count + 1) * sizeof(*jumps));
    *count = 0;
    if (!jumps)
        return -ENOMEM;
    for (uint32_t i = 0; i < dbi->sites.pair_count; i++) {
        const struct pair *pair = &dbi->sites.pairs[i];
        const struct site *site = &dbi->sites.sites[pair->site - 1];
        if (site->is_jump)
            jumps[(*count)++] = (struct dbi_jump){.pc = site->key, .target = pair->target};
    }
    qsort(jumps, *count, sizeof(*jumps), jump_order);
    *out = jumps;
    return 0;
}

/* ---- tables ---- */

static bool is_separating(const struct dbi *dbi, const struct site *site, const struct agt_site *is)
{
    uint64_t taken[(1 << SMALL_BITS) / 64] = {0};
    for (uint32_t i = site->pairs; i; i = dbi->sites.pairs[i - 1].next_of_site) {
        uint32_t at = agt_site_index(is, dbi->sites.pairs[i - 1].target);
        if (taken[at / 64] >> (at % 64) & 1)
            return false;
        taken[at / 64] |= 1ull << (at % 64);
    }
    return true;
}

/* Chooses a function of the targets known that tells them apart in a small table. */
static bool small_choose(const struct dbi *dbi, const struct site *site, struct agt_site *is)
{
    static const uint8_t multiples[] = {0, 1, 2, 4, 8};
    unsigned turns = dbi_lookup_shift() ? 32 : 1; /* what can be emitted */
    is->bits = SMALL_BITS;
    if (site->pair_count > TARGETS_SMALL)
        return false;
    for (unsigned m = 0; m < sizeof(multiples); m++) {
        for (unsigned turn = 0; turn < turns; turn++) {
            is->multiple = multiples[m];
            is->rotate = (uint8_t)turn;
            if (is_separating(dbi, site, is))
                return true;
        }
    }
    is->multiple = 0;
    is->rotate = (uint8_t)dbi_lookup_shift();
    return false;
}

/* Room for a table, 0 if there is none. Large ones leave half of it to others. */
static uint32_t table_place(struct dbi *dbi, unsigned bits)
{
    size_t bytes = sizeof(uint64_t) << bits;
    assert(bits <= LARGE_BITS && dbi->sites.tables_bytes <= AGT_TABLES_BYTES);
    size_t room = bits == LARGE_BITS ? AGT_TABLES_BYTES / 2 : AGT_TABLES_BYTES;
    if (dbi->sites.tables_bytes + bytes > room)
        return 0;
    uint32_t off = (uint32_t)(AGT_TABLES_OFF + dbi->sites.tables_bytes);
    dbi->sites.tables_bytes += bytes;
    return off;
}

static void table_empty(struct dbi *dbi, const struct agt_site *is)
{
    uint64_t *table = (uint64_t *)(dbi->config.shm + is->table_off);
    for (size_t i = 0; i < (size_t)1 << is->bits; i++)
        table[i] = dbi->regions[0].shared.missed;
}

/* Chooses what the site's table is to be, by the targets known; nothing better than *is:
 * unchanged. */
static void table_choose(struct dbi *dbi, const struct site *site, struct agt_site *is)
{
    struct agt_site next = {0};
    bool apart = site->pair_count <= 1 || small_choose(dbi, site, &next);
    if (!apart) {
        next = (struct agt_site){.bits = LARGE_BITS,
                                 .rotate = dbi_lookup_shift() ? LARGE_ROTATION : 0};
        next.table_off = table_place(dbi, LARGE_BITS);
        next.is_full = 1;
        if (next.table_off) {
            *is = next;
            return;
        }
        small_choose(dbi, site, &next);
    }
    next.is_full = !apart;
    next.table_off = is->bits == next.bits ? is->table_off : 0;
    if (!next.table_off)
        next.table_off = table_place(dbi, next.bits);
    if (next.table_off)
        *is = next;
    else
        is->is_full = 1;
}

/* Tells the replayee of a site's table, which it finds by the fragment that it comes from. */
static void record_set(struct dbi *dbi, uint32_t fragment, const struct agt_site *is)
{
    ((struct agt_site *)(dbi->config.shm + AGT_SITES_OFF))[fragment] = *is;
}

const struct agt_site *dbi_site_table(struct dbi *dbi, uint32_t index)
{
    struct site *site = index ? &dbi->sites.sites[index - 1] : NULL;
    if (!site)
        return NULL;
    if (!site->is.table_off) {
        table_choose(dbi, site, &site->is);
        if (site->is.table_off)
            table_empty(dbi, &site->is);
    }
    return &site->is;
}

void dbi_site_use(struct dbi *dbi, struct fragment *fragment)
{
    assert(fragment->site && fragment->site <= dbi->sites.site_count);
    struct site *site = &dbi->sites.sites[fragment->site - 1];
    fragment->next_user = site->users;
    site->users = fragment->is.id + 1;
    record_set(dbi, fragment->is.id, &site->is);
}

void dbi_site_grow(struct dbi *dbi, uint32_t fragment)
{
    uint32_t index = fragment < dbi->fragment_count ? dbi->fragments[fragment]->site : 0;
    struct site *site = index ? &dbi->sites.sites[index - 1] : NULL;
    if (!site || !site->is.table_off || site->is.is_full)
        return;
    if (site->pair_count <= 1 || (site->is.bits && is_separating(dbi, site, &site->is)))
        return; /* an old prefix of the same target */
    table_choose(dbi, site, &site->is);
    table_empty(dbi, &site->is);
    for (uint32_t id = site->users; id; id = dbi->fragments[id - 1]->next_user) {
        const struct fragment *user = dbi->fragments[id - 1];
        record_set(dbi, id - 1, &site->is);
        if (user->lookup)
            dbi_site_patch(user->lookup, &site->is);
    }
}

void dbi_sites_flush(struct dbi *dbi)
{
    static const struct agt_site none = {0};
    for (uint32_t i = 0; i < dbi->sites.site_count; i++) {
        struct site *site = &dbi->sites.sites[i];
        for (uint32_t id = site->users; id; id = dbi->fragments[id - 1]->next_user)
            record_set(dbi, id - 1, &none);
        site->users = 0;
        site->is = none;
    }
    dbi->sites.tables_bytes = 0;
}

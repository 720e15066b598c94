/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/fragment_hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_table.h"
#include "recorder/dbi/pads.h"
#include "recorder/dbi/region.h"
#include <wetdbg/errors.h>

#define ENTRY_FREED      1u /* as an address */
#define PREFIX_BYTES_MAX 64u

static struct agt_lookup *hash_table(struct dbi *dbi)
{
    return (struct agt_lookup *)(dbi->config.shm + AGT_LOOKUP_OFF);
}

static struct agt_lookup *hash_at(struct dbi *dbi, uint64_t pc, unsigned tries)
{
    uint64_t hash = (pc * AGT_HASH) >> 32;
    return &hash_table(dbi)[(hash + tries) & (dbi->hash.size - 1)];
}

static struct agt_lookup *hash_find(struct dbi *dbi, uint64_t pc)
{
    for (unsigned tries = 0; tries < dbi->hash.size; tries++) {
        struct agt_lookup *entry = hash_at(dbi, pc, tries);
        if (!entry->pc)
            return NULL;
        if (entry->pc == pc && entry->body)
            return entry;
    }
    return NULL;
}

void dbi_hash_empty(struct dbi *dbi)
{
    size_t bytes = dbi->hash.size * sizeof(struct agt_lookup);
    if (bytes && madvise(hash_table(dbi), bytes, MADV_REMOVE))
        memset(hash_table(dbi), 0, bytes);
    dbi->hash.used = dbi->hash.live = 0;
}

/* Puts an entry into the first place that is free: by hash_make_room() there is one, unless the
 * replayee has written to what it shares with us. */
static int hash_put(struct dbi *dbi, const struct agt_lookup *what)
{
    for (unsigned tries = 0; tries < dbi->hash.size; tries++) {
        struct agt_lookup *entry = hash_at(dbi, what->pc, tries);
        if (entry->pc && entry->pc != ENTRY_FREED)
            continue;
        dbi->hash.used += !entry->pc;
        dbi->hash.live++;
        *entry = *what;
        return 0;
    }
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "the hash of fragments is damaged");
}

/* Replaces the hash by one of `size` entries, without those that are free again. The replayee
 * stands in the agent, which keeps no place in it. */
static int hash_resize(struct dbi *dbi, uint32_t size)
{
    struct agt_lookup *table = hash_table(dbi);
    struct agt_lookup *live = malloc((dbi->hash.live + 1) * sizeof(*live));
    uint32_t count = 0;
    assert(size && (size & (size - 1)) == 0 && size <= AGT_LOOKUP_MAX);
    if (!live)
        return -ENOMEM;
    for (uint32_t i = 0; i < dbi->hash.size && count < dbi->hash.live; i++) {
        if (table[i].pc && table[i].pc != ENTRY_FREED)
            live[count++] = table[i];
    }
    memset(table, 0, dbi->hash.size * sizeof(*table));
    dbi->hash.used = dbi->hash.live = 0;
    dbi->hash.size = size;
    ((struct agt_ctx *)dbi->config.shm)->lookup_mask = size - 1;
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++)
        err = hash_put(dbi, &live[i]);
    free(live);
    return err;
}

/* Makes room for an entry: at most half of the hash may be used. There are as many places as
 * fragments have numbers, twice over. */
static int hash_make_room(struct dbi *dbi)
{
    uint32_t size = dbi->hash.size;
    if (dbi->hash.used < size / 2)
        return 0;
    if (dbi->hash.live >= size / 4 && size < AGT_LOOKUP_MAX)
        size *= 2;
    return hash_resize(dbi, size);
}

int dbi_hash_enter(struct dbi *dbi, const struct fragment *fragment)
{
    int err = hash_make_room(dbi);
    struct agt_lookup entry = {.pc = fragment->is.pc,
                               .body = fragment->is.host_body,
                               .prefix = fragment->is.host_prefix,
                               .landing = dbi_landing_of(dbi, fragment->is.pc)};
    return err ? err : hash_put(dbi, &entry);
}

void dbi_hash_leave(struct dbi *dbi, uint64_t pc)
{
    struct agt_lookup *entry = hash_find(dbi, pc);
    if (!entry)
        return;
    *entry = (struct agt_lookup){.pc = ENTRY_FREED};
    dbi->hash.live -= dbi->hash.live > 0;
}

int dbi_hash_land(struct dbi *dbi, uint64_t pc, uint64_t landing)
{
    struct agt_lookup *entry = hash_find(dbi, pc);
    const struct fragment *returned = entry ? NULL : dbi_fragment_find(dbi, pc);
    if (entry)
        entry->landing = landing;
    return returned ? dbi_hash_enter(dbi, returned) : 0;
}

static void prefix_make(struct dbi *dbi, struct fragment *fragment)
{
    struct region *region = dbi_region_of(dbi, fragment);
    struct agt_lookup *entry = hash_find(dbi, fragment->is.pc);
    size_t promised = region ? region->stubless * DBI_LEAVE_BYTES : 0;
    if (!entry || !region || fragment->is.host_prefix ||
        region->cold_bytes + promised + PREFIX_BYTES_MAX > DBI_REGION_BYTES)
        return;
    struct emit e = dbi_region_cold(region);
    fragment->is.host_prefix = emit_host(&e);
    dbi_emit_prefix(&e, &region->shared, fragment->is.pc, fragment->is.host_body);
    dbi_region_cold_end(region, &e);
    entry->prefix = fragment->is.host_prefix;
}

int dbi_hash_offer(struct dbi *dbi, struct fragment *fragment)
{
    int err = hash_find(dbi, fragment->is.pc) ? 0 : dbi_hash_enter(dbi, fragment);
    if (!err)
        prefix_make(dbi, fragment);
    return err;
}

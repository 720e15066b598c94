/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the code cache is what its parts promise each other.
 *
 * dbi_validate() looks at our own memory alone. What the replayee can write to, the hash and the
 * tables in the shared memory and translated code, is dbi_validate_shared()'s: a program may spoil
 * that.
 */
#include "recorder/dbi/dbi_validate.h"

#include <string.h>

#include "common/page.h"

/* Failures name what they are about by an address or a number. */
#define WRONG(what, n) wd_fail_defect("code cache: " what, (unsigned long long)(n))
#define SPOILT(what, n)                                                                            \
    wetdbg_fail(-WETDBG_ERR_MACHINE, "code cache: " what, (unsigned long long)(n))

/* ---- regions ---- */

static bool is_in_use(const struct region *region, const uint8_t *at, unsigned bytes)
{
    const uint8_t *hot = region->writable, *cold = region->writable + REGION_HOT_BYTES;
    bool is_hot = at >= hot && at + bytes <= hot + region->hot_bytes;
    return is_hot || (at >= cold && at + bytes <= region->writable + region->cold_bytes);
}

/* Whether code that the replayee may run is at a host address. */
static bool is_code(const struct dbi *dbi, uint64_t host)
{
    const struct region *region = dbi_region_at(dbi, host);
    return region && is_in_use(region, region->writable + (host - region->address), 1);
}

static int region_validate(const struct dbi *dbi, const struct region *region)
{
    uint64_t last = 0;
    size_t stubless = 0;
    if (region->hot_bytes < WD_PAGE || region->hot_bytes > REGION_HOT_BYTES)
        return WRONG("the region at %#llx has no first part", region->address);
    if (region->cold_bytes < REGION_HOT_BYTES || region->cold_bytes > DBI_REGION_BYTES)
        return WRONG("the region at %#llx has no second part", region->address);
    for (size_t i = 0; i < region->id_count; i++) {
        if (region->ids[i] >= dbi->fragment_count)
            return WRONG("there is no fragment %llu, which a region has", region->ids[i]);
        const struct fragment *fragment = dbi->fragments[region->ids[i]];
        if (fragment->host_start < last)
            return WRONG("fragment %llu of a region is not in order", fragment->is.id);
        last = fragment->host_start;
        if (last - region->address >= region->hot_bytes || fragment->is.host_end < last ||
            fragment->is.host_end - region->address > region->hot_bytes)
            return WRONG("fragment %llu is not in its region", fragment->is.id);
        stubless += !fragment->is.cut && !fragment->stub;
    }
    if (region->stubless < stubless)
        return WRONG("the region at %#llx keeps too little room for stubs", region->address);
    return 0;
}

/* ---- fragments and their chains ---- */

static bool is_full(const struct fragment *fragment)
{
    return !fragment->is.cut && !fragment->gone && fragment->is.host_body;
}

static bool is_gone(const struct fragment *fragment)
{
    return !fragment->is.cut && fragment->gone && fragment->is.host_body;
}

static bool is_cut(const struct fragment *fragment)
{
    return fragment->is.cut;
}

/* Chains by address: each has what it is for, in the place of its address. *count: how many in
 * all. */
static int chains_validate(const struct dbi *dbi, const uint32_t *heads,
                           bool (*belongs)(const struct fragment *fragment), uint32_t *count)
{
    *count = 0;
    for (uint32_t slot = 0; slot < BY_PC_SLOTS; slot++) {
        for (uint32_t id = heads[slot]; id; id = dbi->tables.links[id - 1].next) {
            if (id > dbi->fragment_count)
                return WRONG("there is no fragment %llu, which a chain has", id - 1);
            const struct fragment *fragment = dbi->fragments[id - 1];
            if (++*count > dbi->fragment_count)
                return WRONG("the chain of fragment %llu has no end", id - 1);
            if (dbi->tables.links[id - 1].pc != fragment->is.pc || slot_of(fragment->is.pc) != slot)
                return WRONG("the code at %#llx is in another's chain", fragment->is.pc);
            if (!belongs(fragment))
                return WRONG("the code at %#llx is in a chain for others", fragment->is.pc);
        }
    }
    return 0;
}

static int pages_of_fragments_validate(const struct dbi *dbi)
{
    uint32_t count = 0;
    for (uint32_t slot = 0; slot < BY_PC_SLOTS; slot++) {
        for (uint32_t id = dbi->tables.by_page[slot]; id;
             id = dbi->fragments[id - 1]->next_by_page) {
            if (id > dbi->fragment_count || ++count > dbi->fragment_count)
                return WRONG("the fragments of page %llu have no end", slot);
            const struct fragment *fragment = dbi->fragments[id - 1];
            if (slot_of(wd_page_down(fragment->is.pc)) != slot)
                return WRONG("the code at %#llx is in another page's chain", fragment->is.pc);
            if (fragment->gone)
                return WRONG("the code at %#llx is forgotten, but not by its page",
                             fragment->is.pc);
        }
    }
    return 0;
}

static bool is_chained(const struct dbi *dbi, const uint32_t *heads,
                       const struct fragment *fragment)
{
    uint32_t id = heads[slot_of(fragment->is.pc)];
    while (id && id != fragment->is.id + 1)
        id = dbi->tables.links[id - 1].next;
    return id;
}

static int fragment_validate(const struct dbi *dbi, uint32_t id)
{
    const struct fragment *fragment = dbi->fragments[id];
    if (fragment->is.id != id)
        return WRONG("fragment %llu has another number", id);
    if (!is_full(fragment) || fragment == dbi->stop_fragment)
        return 0;
    if (!is_chained(dbi, dbi->tables.by_pc, fragment))
        return WRONG("nobody finds the code at %#llx", fragment->is.pc);
    if (dbi_fragment_find(dbi, fragment->is.pc) != fragment)
        return WRONG("there are two fragments of the code at %#llx", fragment->is.pc);
    return 0;
}

static int fragments_validate(const struct dbi *dbi)
{
    uint32_t count;
    int err = chains_validate(dbi, dbi->tables.by_pc, is_full, &count);
    if (!err)
        err = chains_validate(dbi, dbi->tables.cut_by_pc, is_cut, &count);
    if (!err)
        err = chains_validate(dbi, dbi->tables.gone_by_pc, is_gone, &count);
    if (!err && count != dbi->tables.gone_count)
        return WRONG("not %llu fragments are forgotten", dbi->tables.gone_count);
    if (!err)
        err = pages_of_fragments_validate(dbi);
    for (uint32_t id = 0; id < dbi->fragment_count && !err; id++)
        err = fragment_validate(dbi, id);
    return err;
}

/* ---- exits, pads ---- */

static int waiting_validate(const struct dbi *dbi)
{
    size_t count = 0;
    for (uint32_t slot = 0; slot < BY_PC_SLOTS; slot++) {
        for (uint32_t i = dbi->exits.waiting_by_pc[slot]; i; i = dbi->exits.waiting[i - 1].next) {
            if (i > dbi->exits.waiting_count || ++count > dbi->exits.waiting_count)
                return WRONG("exit %llu, which waits, is none", i - 1);
            const struct waiting *waiting = &dbi->exits.waiting[i - 1];
            if (slot_of(waiting->target) != slot)
                return WRONG("an exit to %#llx waits elsewhere", waiting->target);
            if (waiting->region >= dbi->region_count ||
                !is_in_use(&dbi->regions[waiting->region], waiting->site.rel32, 4))
                return WRONG("an exit to %#llx is in no region", waiting->target);
            if (dbi_fragment_find(dbi, waiting->target))
                return WRONG("an exit waits for the code at %#llx, which is there",
                             waiting->target);
        }
    }
    return 0;
}

static int pads_validate(const struct dbi *dbi)
{
    size_t count = 0;
    for (uint32_t slot = 0; slot < BY_PC_SLOTS; slot++) {
        for (uint32_t i = dbi->pads.by_next[slot]; i; i = dbi->pads.pads[i - 1].next) {
            if (i > dbi->pads.count || ++count > dbi->pads.count)
                return WRONG("pad %llu is none", i - 1);
            const struct pad *pad = &dbi->pads.pads[i - 1];
            if (slot_of(pad->is.next) != slot)
                return WRONG("the pad of returns to %#llx is another's", pad->is.next);
            if (!is_code(dbi, pad->is.landing) || !is_code(dbi, pad->is.call))
                return WRONG("the pad of returns to %#llx is no code", pad->is.next);
        }
    }
    return 0;
}

/* ---- sites ---- */

static int site_users_validate(const struct dbi *dbi, uint32_t index)
{
    const struct site *site = &dbi->sites.sites[index];
    uint32_t count = 0;
    for (uint32_t id = site->users; id; id = dbi->fragments[id - 1]->next_user) {
        if (id > dbi->fragment_count || ++count > dbi->fragment_count)
            return WRONG("the users of the site of %#llx have no end", site->key);
        if (dbi->fragments[id - 1]->site != index + 1)
            return WRONG("fragment %llu uses another's site", id - 1);
    }
    return 0;
}

static int site_pairs_validate(const struct dbi *dbi, uint32_t index)
{
    const struct site *site = &dbi->sites.sites[index];
    uint32_t count = 0;
    for (uint32_t i = site->pairs; i; i = dbi->sites.pairs[i - 1].next_of_site) {
        if (i > dbi->sites.pair_count || ++count > site->pair_count)
            return WRONG("the targets of the site of %#llx are too many", site->key);
        if (dbi->sites.pairs[i - 1].site != index + 1)
            return WRONG("target %#llx is another site's", dbi->sites.pairs[i - 1].target);
    }
    return count == site->pair_count ? 0 : WRONG("the site of %#llx lacks targets", site->key);
}

static int sites_validate(const struct dbi *dbi)
{
    int err = 0;
    if (dbi->sites.tables_bytes > AGT_TABLES_BYTES)
        return WRONG("sites' tables take %llu bytes", dbi->sites.tables_bytes);
    for (uint32_t i = 0; i < dbi->sites.site_count && !err; i++) {
        const struct site *site = &dbi->sites.sites[i];
        uint64_t end = site->is.table_off + (sizeof(uint64_t) << site->is.bits);
        if (site->is.table_off &&
            (site->is.table_off < AGT_TABLES_OFF || end > AGT_TABLES_OFF + dbi->sites.tables_bytes))
            return WRONG("the table of the site of %#llx is not among the tables", site->key);
        err = site_users_validate(dbi, i);
        if (!err)
            err = site_pairs_validate(dbi, i);
    }
    return err;
}

/* ---- pages ---- */

static int pages_validate(const struct dbi *dbi)
{
    const struct dbi_pages *pages = &dbi->pages;
    size_t count = 0;
    bool has_recent = !pages->recent;
    for (size_t i = 0; i < pages->slot_count; i++) {
        const struct page *page = pages->slots[i];
        if (!page)
            continue;
        count++;
        has_recent |= page == pages->recent;
        if (!wd_page_is_start(page->address))
            return WRONG("%#llx is no page", page->address);
        if (!dbi_page_is_findable(dbi, page))
            return WRONG("nobody finds the page at %#llx", page->address);
    }
    if (!has_recent)
        return WRONG("the page asked for last is none of %llu", count);
    return count == pages->count ? 0 : WRONG("there are not %llu pages", pages->count);
}

int dbi_validate(const struct dbi *dbi)
{
    int err = pages_validate(dbi);
    for (unsigned i = 0; i < dbi->region_count && !err; i++)
        err = region_validate(dbi, &dbi->regions[i]);
    if (!err)
        err = fragments_validate(dbi);
    if (!err)
        err = waiting_validate(dbi);
    if (!err)
        err = pads_validate(dbi);
    return err ? err : sites_validate(dbi);
}

/* ---- what is shared with the replayee ---- */

static int hash_validate(const struct dbi *dbi)
{
    const struct agt_lookup *table = (const struct agt_lookup *)(dbi->config.shm + AGT_LOOKUP_OFF);
    uint32_t used = 0, live = 0;
    for (uint32_t i = 0; i < dbi->hash.size; i++) {
        const struct agt_lookup *entry = &table[i];
        used += entry->pc != 0;
        live += entry->body != 0;
        if (!entry->body)
            continue;
        const struct fragment *fragment = dbi_fragment_find(dbi, entry->pc);
        if (!fragment || fragment->is.host_body != entry->body)
            return SPOILT("the hash has another body for the code at %#llx", entry->pc);
        if (entry->prefix && entry->prefix != fragment->is.host_prefix)
            return SPOILT("the hash has another prefix for the code at %#llx", entry->pc);
        if (entry->landing && !is_code(dbi, entry->landing))
            return SPOILT("returns to %#llx land on no code", entry->pc);
    }
    if (used != dbi->hash.used || live != dbi->hash.live)
        return SPOILT("the hash has not %llu entries", dbi->hash.live);
    return 0;
}

/* A forgotten body is a jump to code: another body, or the way out. */
static int gone_bodies_validate(const struct dbi *dbi)
{
    for (uint32_t id = 0; id < dbi->fragment_count; id++) {
        const struct fragment *fragment = dbi->fragments[id];
        if (is_gone(fragment) &&
            !is_code(dbi, emit_jmp_target(fragment->body, fragment->is.host_body)))
            return SPOILT("the forgotten code at %#llx leads nowhere", fragment->is.pc);
    }
    return 0;
}

static int waiting_stubs_validate(const struct dbi *dbi)
{
    for (uint32_t slot = 0; slot < BY_PC_SLOTS; slot++) {
        for (uint32_t i = dbi->exits.waiting_by_pc[slot]; i; i = dbi->exits.waiting[i - 1].next) {
            const struct waiting *waiting = &dbi->exits.waiting[i - 1];
            const struct region *region = &dbi->regions[waiting->region];
            uint64_t site = dbi_region_host(region, waiting->site.rel32);
            if (!is_code(dbi, emit_site_target(waiting->site.rel32, site)))
                return SPOILT("an exit to %#llx has no stub", waiting->target);
        }
    }
    return 0;
}

static int site_records_validate(const struct dbi *dbi)
{
    const struct agt_site *records = (const struct agt_site *)(dbi->config.shm + AGT_SITES_OFF);
    for (uint32_t i = 0; i < dbi->sites.site_count; i++) {
        const struct site *site = &dbi->sites.sites[i];
        for (uint32_t id = site->users; id; id = dbi->fragments[id - 1]->next_user) {
            if (memcmp(&records[id - 1], &site->is, sizeof(site->is)))
                return SPOILT("the agent knows another table of fragment %llu", id - 1);
        }
    }
    return 0;
}

int dbi_validate_shared(const struct dbi *dbi)
{
    int err = hash_validate(dbi);
    if (!err)
        err = gone_bodies_validate(dbi);
    if (!err)
        err = waiting_stubs_validate(dbi);
    return err ? err : site_records_validate(dbi);
}

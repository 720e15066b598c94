/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who jumps to whom, and what is forgotten.
 *
 * A branch to a fragment that exists jumps straight to its body. One to a fragment that does not
 * leaves through its stub, and is kept in `waiting` under the address that it wants.
 *
 * Nobody knows all the jumps that lead to a fragment, so forgetting one leaves them alone: the
 * first bytes of its body become a jump out to the agent, or to the fragment that took its place.
 * The bytes are kept, and put back if the same code is wanted again.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "recorder/dbi/dbi_priv.h"
#include <wetdbg/errors.h>

#define FRAGMENT_BYTES_MAX (DBI_INSN_MAX * 15u)
#define MANY_PAGES         1024u
#define LOOKUP_FREED       1u
#define PREFIX_BYTES_MAX   64u

/* ---- links ---- */

struct fragment *dbi_fragment_find(struct dbi *dbi, uint64_t pc)
{
    for (uint32_t id = dbi->by_pc[slot_of(pc)]; id; id = dbi->links[id - 1].next) {
        if (dbi->links[id - 1].pc == pc)
            return dbi->fragments[id - 1];
    }
    return NULL;
}

struct emit dbi_region_cold(const struct region *region)
{
    return (struct emit){.at = region->writable + region->cold_bytes,
                         .limit = region->writable + DBI_REGION_BYTES,
                         .host = region->address - (uintptr_t)region->writable};
}

static void cold_end(struct region *region, const struct emit *e)
{
    region->cold_bytes = (size_t)(e->at - region->writable);
}

static uint64_t host_of(const struct region *region, const uint8_t *at)
{
    return region->address + (uint64_t)(at - region->writable);
}

static bool is_in_reach(const struct region *from, const struct dbi_exit_site *site, uint64_t host)
{
    int64_t distance = (int64_t)(host - host_of(from, site->rel32 + 4));
    return distance == (int32_t)distance;
}

static void site_set(const struct region *from, const struct dbi_exit_site *site, uint64_t host)
{
    int32_t rel = (int32_t)(host - host_of(from, site->rel32 + 4));
    memcpy(site->rel32, &rel, 4);
}

static int link_to(struct region *from, const struct dbi_exit_site *site, uint64_t body)
{
    if (is_in_reach(from, site, body)) {
        site_set(from, site, body);
        return 0;
    }
    struct emit e = dbi_region_cold(from);
    site_set(from, site, emit_host(&e));
    dbi_emit_far(&e, body);
    cold_end(from, &e);
    return e.overflow ? -ENOSPC : 0;
}

/* An exit that has a stub: that becomes a jump where the body is out of reach. */
static void relink_to(const struct region *from, const struct dbi_exit_site *site, uint64_t body)
{
    int32_t rel;
    if (is_in_reach(from, site, body)) {
        site_set(from, site, body);
        return;
    }
    memcpy(&rel, site->rel32, 4);
    struct emit e = {.at = site->rel32 + 4 + rel, .limit = site->rel32 + 4 + rel + DBI_FAR_BYTES};
    dbi_emit_far(&e, body);
}

/* Leads an exit to a stub, which leaves for the agent. */
static int stub_lead(struct region *region, const struct dbi_exit_site *site)
{
    struct emit e = dbi_region_cold(region);
    site_set(region, site, emit_host(&e));
    dbi_emit_leave(&e, &region->shared, site->target);
    cold_end(region, &e);
    return e.overflow ? -ENOSPC : 0;
}

static int wait_for(struct dbi *dbi, struct region *region, const struct dbi_exit_site *site)
{
    if (dbi->waiting_count == dbi->waiting_capacity) {
        size_t capacity = dbi->waiting_capacity ? dbi->waiting_capacity * 2 : 1024;
        struct waiting *waiting = realloc(dbi->waiting, capacity * sizeof(*waiting));
        if (!waiting)
            return -ENOMEM;
        dbi->waiting = waiting;
        dbi->waiting_capacity = capacity;
    }
    uint32_t *head = &dbi->waiting_by_pc[slot_of(site->target)];
    dbi->waiting[dbi->waiting_count] = (struct waiting){.target = site->target,
                                                        .site = *site,
                                                        .region = (uint32_t)(region - dbi->regions),
                                                        .next = *head};
    *head = (uint32_t)++dbi->waiting_count;
    return stub_lead(region, site);
}

static void waiters_link(struct dbi *dbi, const struct fragment *fragment)
{
    uint32_t *at = &dbi->waiting_by_pc[slot_of(fragment->is.pc)];
    while (*at) {
        struct waiting *waiting = &dbi->waiting[*at - 1];
        if (waiting->target != fragment->is.pc) {
            at = &waiting->next;
            continue;
        }
        relink_to(&dbi->regions[waiting->region], &waiting->site, fragment->is.host_body);
        *at = waiting->next;
    }
}

static int exit_link(struct dbi *dbi, struct region *region, const struct dbi_exit_site *site)
{
    const struct fragment *target = dbi_fragment_find(dbi, site->target);
    return target ? link_to(region, site, target->is.host_body) : wait_for(dbi, region, site);
}

int dbi_exits_link(struct dbi *dbi, struct region *region, struct fragment *fragment,
                   const struct dbi_output *output)
{
    int err = 0;
    for (unsigned i = 0; !err && i < output->exit_count; i++) {
        const struct dbi_exit_site *site = &output->exits[i];
        if (i + 1 == output->exit_count && output->falls && !dbi_fragment_find(dbi, site->target))
            dbi->fall = (struct fall){.region = region, .from = fragment, .site = *site};
        else
            err = exit_link(dbi, region, site);
    }
    return err;
}

int dbi_exits_leave(struct region *region, const struct dbi_output *output)
{
    int err = 0;
    for (unsigned i = 0; !err && i < output->exit_count; i++)
        err = stub_lead(region, &output->exits[i]);
    return err;
}

int dbi_fall_close(struct dbi *dbi)
{
    struct region *region = dbi->fall.region;
    dbi->fall.region = NULL;
    return region ? exit_link(dbi, region, &dbi->fall.site) : 0;
}

/*
 * ---- tables ----
 *
 * The hash has what the agent asked for, and what calls return to. A place for each fragment would be
 * most of the memory that translating touches; nearly all are only jumped to.
 */

static struct agt_lookup *lookup_at(struct dbi *dbi, uint64_t pc, unsigned tries)
{
    uint64_t hash = (pc * AGT_HASH) >> 32;
    return &lookup_table(dbi)[(hash + tries) & (dbi->lookup_size - 1)];
}

static struct agt_lookup *lookup_find(struct dbi *dbi, uint64_t pc)
{
    for (unsigned tries = 0; tries < dbi->lookup_size; tries++) {
        struct agt_lookup *entry = lookup_at(dbi, pc, tries);
        if (!entry->pc)
            return NULL;
        if (entry->pc == pc && entry->body)
            return entry;
    }
    return NULL;
}

/* ---- pads ---- */

static uint64_t landing_of(const struct dbi *dbi, uint64_t pc)
{
    for (uint32_t i = dbi->pads_by_next[slot_of(pc)]; i; i = dbi->pads[i - 1].next) {
        if (dbi->pads[i - 1].is.next == pc)
            return dbi->pads[i - 1].is.landing;
    }
    return 0;
}

/* ---- entering and leaving ---- */

void dbi_lookup_empty(struct dbi *dbi)
{
    size_t bytes = dbi->lookup_size * sizeof(struct agt_lookup);
    if (bytes && madvise(lookup_table(dbi), bytes, MADV_REMOVE))
        memset(lookup_table(dbi), 0, bytes);
    dbi->lookup_used = dbi->lookup_live = 0;
}

/* In the first place that is free: by lookup_make_room() there is one, unless the replayee has written
 * to what it shares with us. */
static int lookup_put(struct dbi *dbi, const struct agt_lookup *what)
{
    for (unsigned tries = 0; tries < dbi->lookup_size; tries++) {
        struct agt_lookup *entry = lookup_at(dbi, what->pc, tries);
        if (entry->pc && entry->pc != LOOKUP_FREED)
            continue;
        dbi->lookup_used += !entry->pc;
        dbi->lookup_live++;
        *entry = *what;
        return 0;
    }
    return wetdbg_fail(-WETDBG_ERR_MACHINE, "the hash of fragments is damaged");
}

/* One of `size` entries takes its place, without those that are free again. The replayee stands in the
 * agent, which keeps no place in it. */
static int lookup_resize(struct dbi *dbi, uint32_t size)
{
    struct agt_lookup *table = lookup_table(dbi);
    struct agt_lookup *live = malloc((dbi->lookup_live + 1) * sizeof(*live));
    uint32_t count = 0;
    if (!live)
        return -ENOMEM;
    for (uint32_t i = 0; i < dbi->lookup_size && count < dbi->lookup_live; i++) {
        if (table[i].pc && table[i].pc != LOOKUP_FREED)
            live[count++] = table[i];
    }
    memset(table, 0, dbi->lookup_size * sizeof(*table));
    dbi->lookup_used = dbi->lookup_live = 0;
    dbi->lookup_size = size;
    ((struct agt_ctx *)dbi->config.shm)->lookup_mask = size - 1;
    int err = 0;
    for (uint32_t i = 0; i < count && !err; i++)
        err = lookup_put(dbi, &live[i]);
    free(live);
    return err;
}

/* At most half of it may be used. There are as many places as fragments have numbers, twice over. */
static int lookup_make_room(struct dbi *dbi)
{
    uint32_t size = dbi->lookup_size;
    if (dbi->lookup_used < size / 2)
        return 0;
    if (dbi->lookup_live >= size / 4 && size < AGT_LOOKUP_MAX)
        size *= 2;
    return lookup_resize(dbi, size);
}

static int lookup_enter(struct dbi *dbi, const struct fragment *fragment)
{
    int err = lookup_make_room(dbi);
    struct agt_lookup entry = {.pc = fragment->is.pc,
                               .body = fragment->is.host_body,
                               .prefix = fragment->is.host_prefix,
                               .landing = landing_of(dbi, fragment->is.pc)};
    return err ? err : lookup_put(dbi, &entry);
}

const struct dbi_pad *dbi_pad_find(const struct dbi *dbi, const struct region *region,
                                   uint64_t next, uint64_t target)
{
    for (uint32_t i = dbi->pads_by_next[slot_of(next)]; i; i = dbi->pads[i - 1].next) {
        const struct pad *pad = &dbi->pads[i - 1];
        if (pad->is.next == next && pad->is.target == target && pad->region == region)
            return &pad->is;
    }
    return NULL;
}

int dbi_pad_keep(struct dbi *dbi, const struct region *region, const struct dbi_pad *pad)
{
    if (dbi->pad_count == dbi->pad_capacity) {
        size_t capacity = dbi->pad_capacity ? dbi->pad_capacity * 2 : 1024;
        struct pad *pads = realloc(dbi->pads, capacity * sizeof(*pads));
        if (!pads)
            return -ENOMEM;
        dbi->pads = pads;
        dbi->pad_capacity = capacity;
    }
    uint32_t *head = &dbi->pads_by_next[slot_of(pad->next)];
    struct agt_lookup *entry = lookup_find(dbi, pad->next);
    const struct fragment *returned = entry ? NULL : dbi_fragment_find(dbi, pad->next);
    dbi->pads[dbi->pad_count] = (struct pad){.is = *pad, .region = region, .next = *head};
    *head = (uint32_t)++dbi->pad_count;
    if (entry)
        entry->landing = pad->landing;
    return returned ? lookup_enter(dbi, returned) : 0;
}

static void lookup_leave(struct dbi *dbi, uint64_t pc)
{
    struct agt_lookup *entry = lookup_find(dbi, pc);
    if (!entry)
        return;
    *entry = (struct agt_lookup){.pc = LOOKUP_FREED};
    dbi->lookup_live -= dbi->lookup_live > 0;
}

static void chain_add(struct dbi *dbi, uint32_t *heads, const struct fragment *fragment)
{
    uint32_t *head = &heads[slot_of(fragment->is.pc)];
    dbi->links[fragment->is.id] = (struct link){.pc = fragment->is.pc, .next = *head};
    *head = fragment->is.id + 1;
}

static uint32_t *gone_by_code(struct dbi *dbi, uint64_t pc, const uint8_t *code, unsigned bytes)
{
    uint64_t hash = pc;
    for (unsigned i = 0; i < bytes; i++)
        hash = (hash ^ code[i]) * 0x100000001b3ull;
    return &dbi->gone_by_code[slot_of(hash)];
}

static void gone_add(struct dbi *dbi, struct fragment *fragment)
{
    uint32_t *head = gone_by_code(dbi, fragment->is.pc, fragment->is.code, fragment->is.code_bytes);
    fragment->next_by_code = *head;
    *head = fragment->is.id + 1;
    chain_add(dbi, dbi->gone_by_pc, fragment);
    dbi->gone_count++;
}

static void chain_remove(struct dbi *dbi, uint32_t *heads, const struct fragment *fragment)
{
    uint32_t *at = &heads[slot_of(fragment->is.pc)];
    while (*at && *at != fragment->is.id + 1)
        at = &dbi->links[*at - 1].next;
    if (*at)
        *at = dbi->links[fragment->is.id].next;
}

static void gone_remove(struct dbi *dbi, struct fragment *fragment)
{
    uint32_t *at = gone_by_code(dbi, fragment->is.pc, fragment->is.code, fragment->is.code_bytes);
    while (*at && *at != fragment->is.id + 1)
        at = &dbi->fragments[*at - 1]->next_by_code;
    if (*at)
        *at = fragment->next_by_code;
    chain_remove(dbi, dbi->gone_by_pc, fragment);
    dbi->gone_count--;
}

void dbi_cut_enter(struct dbi *dbi, struct fragment *fragment)
{
    chain_add(dbi, dbi->cut_by_pc, fragment);
}

void dbi_page_enter(struct dbi *dbi, struct fragment *fragment)
{
    uint32_t *head = &dbi->by_page[slot_of(fragment->is.pc & ~(PAGE - 1))];
    fragment->next_by_page = *head;
    *head = fragment->is.id + 1;
}

/* ---- forgetting ---- */

static struct region *region_of(struct dbi *dbi, const struct fragment *fragment)
{
    for (unsigned i = 0; i < dbi->region_count; i++) {
        if (fragment->is.host_body - dbi->regions[i].address < DBI_REGION_BYTES)
            return &dbi->regions[i];
    }
    return NULL;
}

/* The body's first bytes become a jump to `host`, if that is in reach. */
static bool body_divert(struct fragment *fragment, uint64_t host)
{
    int64_t distance = (int64_t)(host - (fragment->is.host_body + GONE_PATCH_BYTES));
    int32_t rel = (int32_t)distance;
    if (distance != rel)
        return false;
    emit_jmp_over(fragment->body, rel);
    return true;
}

/* Code that leaves for the agent at the fragment's address, in the fragment's own region: every
 * region keeps room for that (region_has_room()). */
static int stub_make(struct dbi *dbi, struct fragment *fragment)
{
    struct region *region = region_of(dbi, fragment);
    if (!region || DBI_REGION_BYTES - region->cold_bytes < DBI_LEAVE_BYTES)
        return -ENOSPC;
    region->stubless--;
    struct emit e = dbi_region_cold(region);
    fragment->stub = emit_host(&e);
    dbi_emit_leave(&e, &region->shared, fragment->is.pc);
    cold_end(region, &e);
    return e.overflow ? -ENOSPC : 0;
}

static void prefix_make(struct dbi *dbi, struct fragment *fragment)
{
    struct region *region = region_of(dbi, fragment);
    struct agt_lookup *entry = lookup_find(dbi, fragment->is.pc);
    size_t promised = region ? region->stubless * DBI_LEAVE_BYTES : 0;
    if (!entry || !region || fragment->is.host_prefix ||
        region->cold_bytes + promised + PREFIX_BYTES_MAX > DBI_REGION_BYTES)
        return;
    struct emit e = dbi_region_cold(region);
    fragment->is.host_prefix = emit_host(&e);
    dbi_emit_prefix(&e, &region->shared, fragment->is.pc, fragment->is.host_body);
    cold_end(region, &e);
    entry->prefix = fragment->is.host_prefix;
}

int dbi_fragment_offer(struct dbi *dbi, struct fragment *fragment)
{
    int err = lookup_find(dbi, fragment->is.pc) ? 0 : lookup_enter(dbi, fragment);
    if (!err)
        prefix_make(dbi, fragment);
    return err;
}

static int full_forget(struct dbi *dbi, struct fragment *fragment)
{
    int err = fragment->stub ? 0 : stub_make(dbi, fragment);
    if (err)
        return err;
    chain_remove(dbi, dbi->by_pc, fragment);
    lookup_leave(dbi, fragment->is.pc);
    memcpy(fragment->saved, fragment->body, GONE_PATCH_BYTES);
    body_divert(fragment, fragment->stub);
    fragment->gone = true;
    gone_add(dbi, fragment);
    return 0;
}

/* Cut fragments are entered by the agent alone, when the supervisor says so. */
static void cut_forget(struct dbi *dbi, struct fragment *fragment)
{
    chain_remove(dbi, dbi->cut_by_pc, fragment);
    fragment->is.host_body = 0;
}

static bool touches(const struct fragment *fragment, uint64_t start, uint64_t end)
{
    return fragment->is.pc < end && fragment->is.pc + fragment->is.code_bytes > start;
}

/* In the chain of one page. */
static int page_forget(struct dbi *dbi, uint64_t page, uint64_t start, uint64_t end, bool for_stop)
{
    uint32_t *at = &dbi->by_page[slot_of(page)];
    int err = 0;
    while (*at && !err) {
        struct fragment *fragment = dbi->fragments[*at - 1];
        bool stays = !touches(fragment, start, end) || (for_stop && fragment->is.cut);
        if (stays) {
            at = &fragment->next_by_page;
            continue;
        }
        *at = fragment->next_by_page;
        if (fragment == dbi->stop_fragment)
            dbi->stop_fragment = NULL;
        if (fragment->is.cut)
            cut_forget(dbi, fragment);
        else
            err = full_forget(dbi, fragment);
    }
    return err;
}

static int range_forget(struct dbi *dbi, uint64_t start, uint64_t end, bool for_stop)
{
    uint64_t first = start > FRAGMENT_BYTES_MAX ? start - FRAGMENT_BYTES_MAX : 0;
    int err = 0;
    if ((end - first) / PAGE < MANY_PAGES) {
        for (uint64_t page = first & ~(PAGE - 1); page < end && !err; page += PAGE)
            err = page_forget(dbi, page, start, end, for_stop);
        return err;
    }
    for (uint32_t id = 0; id < dbi->fragment_count && !err; id++) {
        const struct fragment *fragment = dbi->fragments[id];
        if (!fragment->gone && touches(fragment, start, end))
            err = page_forget(dbi, fragment->is.pc & ~(PAGE - 1), start, end, for_stop);
    }
    return err;
}

/* A region is full: begin again. */
static int forgotten(struct dbi *dbi, int err)
{
    if (err != -ENOSPC)
        return err;
    dbi_flush(dbi);
    return 0;
}

int dbi_forget(struct dbi *dbi, uint64_t start, uint64_t end)
{
    dbi_pages_forget(dbi, start, end);
    return forgotten(dbi, range_forget(dbi, start, end, false));
}

int dbi_stop_at(struct dbi *dbi, uint64_t pc)
{
    uint64_t before = dbi->stop;
    int err = 0;
    if (before == pc)
        return 0;
    dbi->stop = pc;
    dbi->has_filter = false;
    if (before) /* fragments that end there, and the one that begins there */
        err = range_forget(dbi, before - 1, before + 1, true);
    if (pc && !err)
        err = range_forget(dbi, pc, pc + 1, true);
    return forgotten(dbi, err);
}

int dbi_stop_filter(struct dbi *dbi, const struct dbi_filter *filter)
{
    dbi->has_filter = true;
    dbi->filter = *filter;
    return forgotten(dbi, range_forget(dbi, dbi->stop, dbi->stop + 1, true));
}

/* ---- coming back ---- */

/* Whoever jumps to what was here before comes here from now on: from the latest ones, that is. Older
 * ones lead to one of those, or to the agent. */
static void gone_divert(struct dbi *dbi, const struct fragment *to)
{
    unsigned left = dbi->gone_count ? 8 : 0;
    for (uint32_t id = dbi->gone_by_pc[slot_of(to->is.pc)]; id && left;
         id = dbi->links[id - 1].next, left--) {
        struct fragment *gone = dbi->fragments[id - 1];
        if (gone->is.pc == to->is.pc && !body_divert(gone, to->is.host_body))
            body_divert(gone, gone->stub);
    }
}

int dbi_fragment_enter(struct dbi *dbi, struct fragment *fragment)
{
    chain_add(dbi, dbi->by_pc, fragment);
    dbi_page_enter(dbi, fragment);
    waiters_link(dbi, fragment);
    gone_divert(dbi, fragment);
    return landing_of(dbi, fragment->is.pc) ? lookup_enter(dbi, fragment) : 0;
}

static bool is_made_from(const struct fragment *fragment, const struct dbi_code *code,
                         const uint8_t *bytes)
{
    return fragment->is.pc == code->insns[0].pc && fragment->is.insn_count == code->count &&
           fragment->is.code_bytes == code->code_bytes && (fragment->checks || !code->unwatched) &&
           !memcmp(fragment->is.code, bytes, code->code_bytes);
}

struct fragment *dbi_gone_find(struct dbi *dbi, const struct dbi_code *code)
{
    uint8_t bytes[FRAGMENT_BYTES_MAX];
    if (!dbi->gone_count)
        return NULL;
    for (unsigned i = 0, at = 0; i < code->count; at += code->insns[i++].is.length)
        memcpy(bytes + at, code->insns[i].bytes, code->insns[i].is.length);
    for (uint32_t id = *gone_by_code(dbi, code->insns[0].pc, bytes, code->code_bytes); id;
         id = dbi->fragments[id - 1]->next_by_code) {
        struct fragment *fragment = dbi->fragments[id - 1];
        if (!fragment->at_stop && is_made_from(fragment, code, bytes))
            return fragment;
    }
    return NULL;
}

int dbi_fragment_revive(struct dbi *dbi, struct fragment *fragment)
{
    gone_remove(dbi, fragment);
    memcpy(fragment->body, fragment->saved, GONE_PATCH_BYTES);
    fragment->gone = false;
    return dbi_fragment_enter(dbi, fragment);
}

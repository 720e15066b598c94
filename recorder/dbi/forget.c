/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/forget.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/page.h"
#include "recorder/dbi/code_pages.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/dbi_validate.h"
#include "recorder/dbi/fragment_hash.h"
#include "recorder/dbi/fragment_table.h"
#include "recorder/dbi/links.h"
#include "recorder/dbi/pads.h"
#include "recorder/dbi/region.h"
#include "recorder/dbi/sites.h"

#define MANY_PAGES 1024u

/* ---- forgetting ---- */

/* Makes the body's first bytes a jump to `host`, if that is in reach. */
static bool body_divert(struct fragment *fragment, uint64_t host)
{
    int64_t distance = (int64_t)(host - (fragment->is.host_body + GONE_PATCH_BYTES));
    int32_t rel = (int32_t)distance;
    if (distance != rel)
        return false;
    emit_jmp_over(fragment->body, rel);
    return true;
}

/* Makes code that leaves for the agent at the fragment's address, in the fragment's own region:
 * every region keeps room for that (region_has_room()). */
static int stub_make(struct dbi *dbi, struct fragment *fragment)
{
    struct region *region = dbi_region_of(dbi, fragment);
    if (!region || DBI_REGION_BYTES - region->cold_bytes < DBI_LEAVE_BYTES)
        return -ENOSPC;
    region->stubless--;
    struct emit e = dbi_region_cold(region);
    fragment->stub = emit_host(&e);
    dbi_emit_leave(&e, &region->shared, fragment->is.pc);
    dbi_region_cold_end(region, &e);
    return e.overflow ? -ENOSPC : 0;
}

static int full_forget(struct dbi *dbi, struct fragment *fragment)
{
    assert(!fragment->gone && !fragment->is.cut && fragment->is.host_body);
    int err = fragment->stub ? 0 : stub_make(dbi, fragment);
    if (err)
        return err;
    dbi_full_leave(dbi, fragment);
    dbi_hash_leave(dbi, fragment->is.pc);
    memcpy(fragment->saved, fragment->body, GONE_PATCH_BYTES);
    body_divert(fragment, fragment->stub);
    fragment->gone = true;
    dbi_gone_enter(dbi, fragment);
    return 0;
}

/* Forgets a cut fragment; those are entered by the agent alone, when the supervisor says so. */
static void cut_forget(struct dbi *dbi, struct fragment *fragment)
{
    dbi_cut_leave(dbi, fragment);
    fragment->is.host_body = 0;
    dbi->cut_round++;
}

static bool touches(const struct fragment *fragment, uint64_t start, uint64_t end)
{
    return fragment->is.pc < end && fragment->is.pc + fragment->is.code_bytes > start;
}

/* Forgets in the chain of one page. */
static int page_forget(struct dbi *dbi, uint64_t page, uint64_t start, uint64_t end, bool for_stop)
{
    uint32_t *at = &dbi->tables.by_page[slot_of(page)];
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
    if ((end - first) / WD_PAGE < MANY_PAGES) {
        for (uint64_t page = first & ~(WD_PAGE - 1); page < end && !err; page += WD_PAGE)
            err = page_forget(dbi, page, start, end, for_stop);
        return err;
    }
    for (uint32_t id = 0; id < dbi->fragment_count && !err; id++) {
        const struct fragment *fragment = dbi->fragments[id];
        if (!fragment->gone && touches(fragment, start, end))
            err = page_forget(dbi, fragment->is.pc & ~(WD_PAGE - 1), start, end, for_stop);
    }
    return err;
}

uint64_t dbi_cut_round(const struct dbi *dbi)
{
    return dbi->cut_round + 1;
}

void dbi_flush(struct dbi *dbi)
{
    dbi->cut_round++;
    dbi_pages_empty(dbi);
    for (uint32_t i = 0; i < dbi->fragment_count; i++) {
        dbi->fragments[i]->is.host_body = dbi->fragments[i]->is.host_prefix = 0;
        dbi->fragments[i]->stub = 0;
        dbi->fragments[i]->gone = true;
    }
    dbi->stop_fragment = NULL;
    dbi_tables_empty(dbi);
    dbi_exits_empty(dbi);
    dbi_pads_empty(dbi);
    dbi_hash_empty(dbi);
    dbi_regions_empty(dbi);
    dbi_sites_flush(dbi);
}

/* Begins again where a region is full. */
static int forgotten(struct dbi *dbi, int err)
{
    if (err == -ENOSPC) {
        dbi_flush(dbi);
        err = 0;
    }
    return err ? err : dbi_changed(dbi);
}

int dbi_forget(struct dbi *dbi, uint64_t start, uint64_t end)
{
    dbi_pages_forget(dbi, start, end);
    return forgotten(dbi, range_forget(dbi, start, end, false));
}

int dbi_verify(struct dbi *dbi)
{
    uint64_t *addresses;
    size_t count;
    int err = dbi_pages_list(dbi, &addresses, &count);
    for (size_t i = 0; i < count && !err; i++) {
        int same = dbi_page_is_same(dbi, addresses[i]);
        if (same <= 0)
            err = same < 0 ? same : dbi_forget(dbi, addresses[i], addresses[i] + WD_PAGE);
    }
    free(addresses);
    return err;
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

/* Lets whoever jumps to what was here before come here from now on: from the latest ones, that is.
 * Older ones lead to one of those, or to the agent. */
static void gone_divert(struct dbi *dbi, const struct fragment *to)
{
    unsigned left = dbi->tables.gone_count ? 8 : 0;
    for (uint32_t id = dbi->tables.gone_by_pc[slot_of(to->is.pc)]; id && left;
         id = dbi->tables.links[id - 1].next, left--) {
        struct fragment *gone = dbi->fragments[id - 1];
        if (gone->is.pc == to->is.pc && !body_divert(gone, to->is.host_body))
            body_divert(gone, gone->stub);
    }
}

int dbi_fragment_enter(struct dbi *dbi, struct fragment *fragment)
{
    assert(!fragment->gone && !fragment->is.cut && fragment->is.host_body);
    dbi_full_enter(dbi, fragment);
    dbi_page_enter(dbi, fragment);
    dbi_waiters_link(dbi, fragment);
    gone_divert(dbi, fragment);
    return dbi_landing_of(dbi, fragment->is.pc) ? dbi_hash_enter(dbi, fragment) : 0;
}

int dbi_fragment_revive(struct dbi *dbi, struct fragment *fragment)
{
    assert(fragment->gone && !fragment->is.cut && !fragment->at_stop);
    dbi_gone_leave(dbi, fragment);
    memcpy(fragment->body, fragment->saved, GONE_PATCH_BYTES);
    fragment->gone = false;
    return dbi_fragment_enter(dbi, fragment);
}

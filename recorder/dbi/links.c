/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_table.h"

int dbi_exits_init(struct dbi *dbi)
{
    dbi->exits.waiting_by_pc = dbi_heads_new();
    return dbi->exits.waiting_by_pc ? 0 : -ENOMEM;
}

void dbi_exits_fini(struct dbi *dbi)
{
    free(dbi->exits.waiting);
    free(dbi->exits.waiting_by_pc);
}

void dbi_exits_empty(struct dbi *dbi)
{
    dbi_heads_empty(dbi->exits.waiting_by_pc);
    dbi->exits.waiting_count = 0;
    dbi->exits.fall.region = NULL;
}

static bool is_in_reach(const struct region *from, const struct dbi_exit_site *site, uint64_t host)
{
    int64_t distance = (int64_t)(host - dbi_region_host(from, site->rel32 + 4));
    return distance == (int32_t)distance;
}

static void site_set(const struct region *from, const struct dbi_exit_site *site, uint64_t host)
{
    int32_t rel = (int32_t)(host - dbi_region_host(from, site->rel32 + 4));
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
    dbi_region_cold_end(from, &e);
    return e.overflow ? -ENOSPC : 0;
}

/* Leads an exit that has a stub to a fragment: the stub becomes a jump where the body is out of
 * reach. */
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
    dbi_region_cold_end(region, &e);
    return e.overflow ? -ENOSPC : 0;
}

static int wait_for(struct dbi *dbi, struct region *region, const struct dbi_exit_site *site)
{
    if (wd_grow(dbi->exits.waiting, dbi->exits.waiting_capacity, dbi->exits.waiting_count + 1))
        return -ENOMEM;
    uint32_t *head = &dbi->exits.waiting_by_pc[slot_of(site->target)];
    dbi->exits.waiting[dbi->exits.waiting_count] =
        (struct waiting){.target = site->target,
                         .site = *site,
                         .region = (uint32_t)(region - dbi->regions),
                         .next = *head};
    *head = (uint32_t)++dbi->exits.waiting_count;
    return stub_lead(region, site);
}

void dbi_waiters_link(struct dbi *dbi, const struct fragment *fragment)
{
    uint32_t *at = &dbi->exits.waiting_by_pc[slot_of(fragment->is.pc)];
    while (*at) {
        struct waiting *waiting = &dbi->exits.waiting[*at - 1];
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
            dbi->exits.fall = (struct fall){.region = region, .from = fragment, .site = *site};
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
    struct region *region = dbi->exits.fall.region;
    dbi->exits.fall.region = NULL;
    return region ? exit_link(dbi, region, &dbi->exits.fall.site) : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/region.h"

#include <assert.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/page.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/translate.h"
#include <wetdbg/errors.h>

#define NEAR_BYTES 0x78000000ll

static void region_empty(struct region *region)
{
    region->hot_bytes = WD_PAGE; /* what its fragments share stays */
    region->cold_bytes = REGION_HOT_BYTES;
    region->stubless = region->id_count = 0;
}

static void return_table_empty(struct dbi *dbi)
{
    uint64_t *table = (uint64_t *)(dbi->config.shm + AGT_RETURN_OFF);
    for (unsigned i = 0; i < 65536; i++)
        table[i] = dbi->regions[0].shared.returned;
}

static int region_add(struct dbi *dbi, uint64_t near, struct region **out)
{
    if (dbi->region_count == DBI_REGIONS_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the program's code fills more than %u regions",
                           DBI_REGIONS_MAX);
    struct region *region = &dbi->regions[dbi->region_count];
    int err = dbi->config.place(dbi->config.arg, dbi->region_count, near, &region->address,
                                &region->writable);
    if (err)
        return err;
    struct emit e = {.at = region->writable,
                     .limit = region->writable + WD_PAGE,
                     .host = region->address - (uintptr_t)region->writable};
    dbi_emit_shared(&e, &region->shared);
    region_empty(region);
    if (dbi->region_count++ == 0) {
        struct agt_ctx *ctx = (struct agt_ctx *)dbi->config.shm;
        ctx->lookup_shift = dbi_lookup_shift();
        ctx->lookup_mask = AGT_LOOKUP_MIN - 1;
        dbi->hash.size = AGT_LOOKUP_MIN;
        ctx->return_missed = region->shared.missed_return;
        ctx->jump_missed = region->shared.missed;
        return_table_empty(dbi);
    }
    *out = region;
    return 0;
}

static bool is_near(uint64_t a, uint64_t b)
{
    int64_t distance = (int64_t)(a - b);
    return distance > -NEAR_BYTES && distance < NEAR_BYTES;
}

static bool region_has_room(const struct region *region)
{
    size_t promised = region->stubless * DBI_LEAVE_BYTES;
    return region->hot_bytes + (64 << 10) < REGION_HOT_BYTES &&
           region->cold_bytes + promised + (64 << 10) < DBI_REGION_BYTES;
}

int dbi_region_get(struct dbi *dbi, uint64_t pc, struct region **out)
{
    for (unsigned i = 0; i < dbi->region_count; i++) {
        struct region *region = &dbi->regions[i];
        if (is_near(pc, region->address) && region_has_room(region)) {
            *out = region;
            return 0;
        }
    }
    return region_add(dbi, pc, out);
}

struct emit dbi_region_cold(const struct region *region)
{
    return (struct emit){.at = region->writable + region->cold_bytes,
                         .limit = region->writable + DBI_REGION_BYTES,
                         .host = region->address - (uintptr_t)region->writable};
}

void dbi_region_cold_end(struct region *region, const struct emit *e)
{
    assert(e->at >= region->writable + region->cold_bytes &&
           e->at <= region->writable + DBI_REGION_BYTES);
    region->cold_bytes = (size_t)(e->at - region->writable);
}

uint64_t dbi_region_host(const struct region *region, const uint8_t *at)
{
    assert(at >= region->writable && at <= region->writable + DBI_REGION_BYTES);
    return region->address + (uint64_t)(at - region->writable);
}

struct region *dbi_region_of(struct dbi *dbi, const struct fragment *fragment)
{
    for (unsigned i = 0; i < dbi->region_count; i++) {
        if (fragment->is.host_body - dbi->regions[i].address < DBI_REGION_BYTES)
            return &dbi->regions[i];
    }
    return NULL;
}

const struct region *dbi_region_at(const struct dbi *dbi, uint64_t host)
{
    for (unsigned i = 0; i < dbi->region_count; i++) {
        if (host - dbi->regions[i].address < DBI_REGION_BYTES)
            return &dbi->regions[i];
    }
    return NULL;
}

int dbi_region_note(struct region *region, uint32_t id)
{
    if (wd_grow(region->ids, region->id_capacity, region->id_count + 1))
        return -ENOMEM;
    region->ids[region->id_count++] = id;
    return 0;
}

void dbi_regions_empty(struct dbi *dbi)
{
    for (unsigned i = 0; i < dbi->region_count; i++)
        region_empty(&dbi->regions[i]);
    if (dbi->region_count)
        return_table_empty(dbi);
}

void dbi_regions_fini(struct dbi *dbi)
{
    for (unsigned i = 0; i < dbi->region_count; i++)
        free(dbi->regions[i].ids);
}

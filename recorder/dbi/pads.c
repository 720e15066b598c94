/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/pads.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_table.h"

int dbi_pads_init(struct dbi *dbi)
{
    dbi->pads.by_next = dbi_heads_new();
    return dbi->pads.by_next ? 0 : -ENOMEM;
}

void dbi_pads_fini(struct dbi *dbi)
{
    free(dbi->pads.pads);
    free(dbi->pads.by_next);
}

void dbi_pads_empty(struct dbi *dbi)
{
    dbi_heads_empty(dbi->pads.by_next);
    dbi->pads.count = 0;
}

uint64_t dbi_landing_of(const struct dbi *dbi, uint64_t pc)
{
    for (uint32_t i = dbi->pads.by_next[slot_of(pc)]; i; i = dbi->pads.pads[i - 1].next) {
        if (dbi->pads.pads[i - 1].is.next == pc)
            return dbi->pads.pads[i - 1].is.landing;
    }
    return 0;
}

const struct dbi_pad *dbi_pad_find(const struct dbi *dbi, const struct region *region,
                                   uint64_t next, uint64_t target)
{
    for (uint32_t i = dbi->pads.by_next[slot_of(next)]; i; i = dbi->pads.pads[i - 1].next) {
        const struct pad *pad = &dbi->pads.pads[i - 1];
        if (pad->is.next == next && pad->is.target == target && pad->region == region)
            return &pad->is;
    }
    return NULL;
}

int dbi_pad_keep(struct dbi *dbi, const struct region *region, const struct dbi_pad *pad)
{
    if (wd_grow(dbi->pads.pads, dbi->pads.capacity, dbi->pads.count + 1))
        return -ENOMEM;
    uint32_t *head = &dbi->pads.by_next[slot_of(pad->next)];
    dbi->pads.pads[dbi->pads.count] = (struct pad){.is = *pad, .region = region, .next = *head};
    *head = (uint32_t)++dbi->pads.count;
    return 0;
}

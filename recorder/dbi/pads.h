/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pads: code that calls share which push the same return address and go to the same target
 * (lookup.c). */
#ifndef RECORDER_DBI_PADS_H
#define RECORDER_DBI_PADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/translate.h"

struct dbi;
struct region;

struct pad {
    struct dbi_pad is;
    const struct region *region;
    uint32_t next; /* chain in by_next, 1 + index */
};

struct dbi_pads {
    struct pad *pads;
    size_t count, capacity;
    uint32_t *by_next; /* heads, 1 + index */
};

/* 0 or -ENOMEM; dbi_pads_fini() is due either way. */
int dbi_pads_init(struct dbi *dbi);
void dbi_pads_fini(struct dbi *dbi);
void dbi_pads_empty(struct dbi *dbi);

/* A pad in the region for a call that pushes `next` and goes to `target`, or NULL. Borrowed until
 * the next is kept. */
const struct dbi_pad *dbi_pad_find(const struct dbi *dbi, const struct region *region,
                                   uint64_t next, uint64_t target);

/* Keeps a pad. 0 or -ENOMEM. */
int dbi_pad_keep(struct dbi *dbi, const struct region *region, const struct dbi_pad *pad);

/* Where a call that returns to `pc` lands, by the pad kept last; 0: none. */
uint64_t dbi_landing_of(const struct dbi *dbi, uint64_t pc);

#endif

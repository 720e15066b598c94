/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Indirect jumps and calls, their tables and where they went. */
#ifndef RECORDER_DBI_SITES_H
#define RECORDER_DBI_SITES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/decode.h"
#include "recorder/dbi/fragment.h"

/* An instruction that jumps or calls indirectly. */
struct site {
    uint64_t key; /* a jump's address, a call's return address */
    struct agt_site is;
    bool is_jump;
    uint32_t users; /* fragments in the cache that end in it, 1 + id */
    uint32_t pairs; /* 1 + index */
    uint32_t pair_count;
    uint32_t next; /* chain in by_key, 1 + index */
};

struct pair {
    uint64_t target;
    uint32_t site;         /* 1 + index */
    uint32_t next;         /* chain in pairs_by_both, 1 + index */
    uint32_t next_of_site; /* 1 + index */
};

struct dbi_sites {
    struct site *sites; /* kept for good, and so are pairs */
    uint32_t site_count;
    size_t site_capacity;
    uint32_t *by_key; /* heads, 1 + index */
    struct pair *pairs;
    uint32_t pair_count;
    size_t pair_capacity;
    uint32_t *pairs_by_both;
    size_t tables_bytes; /* used of the room for sites' tables */
};

/* 0 or -ENOMEM; dbi_sites_fini() is due either way. */
int dbi_sites_init(struct dbi *dbi);
void dbi_sites_fini(struct dbi *dbi);

/* The site (1 + index) in which some code ends, 0: none. 0 or -ENOMEM. */
int dbi_site_get(struct dbi *dbi, const struct dbi_code *code, uint32_t *out);

/* A site's table, which may have no room (table_off 0). NULL for no site. Borrowed until the next
 * call. */
const struct agt_site *dbi_site_table(struct dbi *dbi, uint32_t index);

/* Notes that a fragment that goes by its site's table is in the cache. */
void dbi_site_use(struct dbi *dbi, struct fragment *fragment);

/* To be called when the cache is empty. */
void dbi_sites_flush(struct dbi *dbi);

#endif

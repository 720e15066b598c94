/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's pages that code was read from, as they were then. */
#ifndef RECORDER_DBI_CODE_PAGES_H
#define RECORDER_DBI_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/page.h"

struct dbi;

struct page {
    uint64_t address;
    unsigned flags;
    uint32_t round; /* in which it was fetched; counts if it is unwatched */
    bool stale;     /* to be fetched again before it is used */
    uint8_t bytes[WD_PAGE];
};

struct dbi_pages {
    struct page **slots; /* open hash by address */
    size_t slot_count, count;
    const struct page *recent; /* of these the one asked for last; NULL: none */
    uint32_t round;            /* of translation */
};

/* 0 or -ENOMEM; dbi_pages_fini() is due either way. */
int dbi_pages_init(struct dbi *dbi);
void dbi_pages_fini(struct dbi *dbi);

/* The page that `address` is in, fetched if need be: 0, a positive reason as for AGT_CMD_FETCH, or
 * an error. `seen_only`: do not ask for pages that are not here. Borrowed until a page is
 * forgotten. */
int dbi_page_get(struct dbi *dbi, uint64_t address, bool seen_only, const struct page **out);

/* Whether the page at `address` (if it is here) would be fetched as it was then: 1, 0 or an
 * error. */
int dbi_page_is_same(struct dbi *dbi, uint64_t address);

/* Whether the page is where a search for its address comes to. */
bool dbi_page_is_findable(const struct dbi *dbi, const struct page *page);

/* The addresses of all pages; *out is to be freed. 0 or -ENOMEM. */
int dbi_pages_list(const struct dbi *dbi, uint64_t **out, size_t *count);

/* Forgets the bytes of the pages in [start, end); pages of which it touches a part are fetched
 * again before they are used. */
void dbi_pages_forget(struct dbi *dbi, uint64_t start, uint64_t end);
void dbi_pages_empty(struct dbi *dbi);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/code_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/dbi/dbi_priv.h"

#define SLOTS_FIRST 1024u
#define FEW_PAGES   64u

int dbi_pages_init(struct dbi *dbi)
{
    dbi->pages.slot_count = SLOTS_FIRST;
    dbi->pages.slots = calloc(SLOTS_FIRST, sizeof(*dbi->pages.slots));
    return dbi->pages.slots ? 0 : -ENOMEM;
}

void dbi_pages_empty(struct dbi *dbi)
{
    for (size_t i = 0; dbi->pages.slots && i < dbi->pages.slot_count; i++) {
        free(dbi->pages.slots[i]);
        dbi->pages.slots[i] = NULL;
    }
    dbi->pages.count = 0;
    dbi->pages.recent = NULL;
}

void dbi_pages_fini(struct dbi *dbi)
{
    dbi_pages_empty(dbi);
    free(dbi->pages.slots);
}

static struct page **page_slot(const struct dbi *dbi, uint64_t address)
{
    size_t i = (size_t)((address >> 12) * 0x9e3779b97f4a7c15ull) & (dbi->pages.slot_count - 1);
    while (dbi->pages.slots[i] && dbi->pages.slots[i]->address != address)
        i = (i + 1) & (dbi->pages.slot_count - 1);
    return &dbi->pages.slots[i];
}

bool dbi_page_is_findable(const struct dbi *dbi, const struct page *page)
{
    return *page_slot(dbi, page->address) == page;
}

static int pages_grow(struct dbi *dbi)
{
    struct page **old = dbi->pages.slots;
    size_t old_slots = dbi->pages.slot_count;
    struct page **pages = calloc(old_slots * 2, sizeof(*pages));
    if (!pages)
        return -ENOMEM;
    dbi->pages.slots = pages;
    dbi->pages.slot_count = old_slots * 2;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i])
            *page_slot(dbi, old[i]->address) = old[i];
    }
    free(old);
    return 0;
}

static int page_fetch(struct dbi *dbi, struct page *page)
{
    page->flags = 0;
    page->round = dbi->pages.round;
    page->stale = false;
    return dbi->config.fetch(dbi->config.arg, page->address, page->bytes, &page->flags);
}

/* Takes a page out of the table. Pages that had given way to it move up. */
static void page_remove(struct dbi *dbi, struct page **slot)
{
    size_t hole = (size_t)(slot - dbi->pages.slots), mask = dbi->pages.slot_count - 1;
    free(*slot);
    dbi->pages.recent = NULL;
    dbi->pages.slots[hole] = NULL;
    dbi->pages.count--;
    for (size_t i = (hole + 1) & mask; dbi->pages.slots[i]; i = (i + 1) & mask) {
        struct page *page = dbi->pages.slots[i];
        dbi->pages.slots[i] = NULL;
        *page_slot(dbi, page->address) = page;
    }
}

static int page_refresh(struct dbi *dbi, struct page **slot)
{
    int result = page_fetch(dbi, *slot);
    if (result < 0)
        (*slot)->stale = true;
    else if (result > 0)
        page_remove(dbi, slot);
    return result;
}

static bool is_current(const struct dbi *dbi, const struct page *page)
{
    return !page->stale && (!(page->flags & DBI_PAGE_UNWATCHED) || page->round == dbi->pages.round);
}

int dbi_page_get(struct dbi *dbi, uint64_t address, bool seen_only, const struct page **out)
{
    if (dbi->pages.recent && dbi->pages.recent->address == (address & ~(WD_PAGE - 1)) &&
        is_current(dbi, dbi->pages.recent)) {
        *out = dbi->pages.recent;
        return 0;
    }
    struct page **slot = page_slot(dbi, address & ~(WD_PAGE - 1));
    if (*slot && !is_current(dbi, *slot)) {
        int result = page_refresh(dbi, slot);
        if (result)
            return result;
    }
    if (!*slot) {
        if (seen_only)
            return 1;
        if (dbi->pages.count * 2 >= dbi->pages.slot_count) {
            int err = pages_grow(dbi);
            if (err)
                return err;
            slot = page_slot(dbi, address & ~(WD_PAGE - 1));
        }
        struct page *page = malloc(sizeof(*page));
        if (!page)
            return -ENOMEM;
        page->address = address & ~(WD_PAGE - 1);
        int result = page_fetch(dbi, page);
        if (result) {
            free(page);
            return result;
        }
        *slot = page;
        dbi->pages.count++;
    }
    *out = dbi->pages.recent = *slot;
    return 0;
}

size_t dbi_code_seen(struct dbi *dbi, uint64_t pc, uint8_t *bytes, size_t count)
{
    const struct page *page = *page_slot(dbi, pc & ~(WD_PAGE - 1));
    size_t off = pc & (WD_PAGE - 1), left = WD_PAGE - off;
    if (!page || page->stale || page->flags & DBI_PAGE_UNWATCHED)
        return 0;
    count = count < left ? count : left;
    memcpy(bytes, page->bytes + off, count);
    return count;
}

void dbi_pages_forget(struct dbi *dbi, uint64_t start, uint64_t end)
{
    uint64_t first = start & ~(WD_PAGE - 1);
    if (end - first <= FEW_PAGES * WD_PAGE) {
        for (uint64_t at = first; at < end; at += WD_PAGE) {
            struct page **slot = page_slot(dbi, at);
            if (*slot && at >= start && at + WD_PAGE <= end)
                page_remove(dbi, slot);
            else if (*slot)
                (*slot)->stale = true;
        }
        return;
    }
    for (size_t i = 0; i < dbi->pages.slot_count;) {
        struct page *page = dbi->pages.slots[i];
        if (page && page->address >= first && page->address < end)
            page_remove(dbi, &dbi->pages.slots[i]); /* another may have moved here */
        else
            i++;
    }
}

int dbi_page_is_same(struct dbi *dbi, uint64_t address)
{
    const struct page *page = *page_slot(dbi, address);
    uint8_t bytes[WD_PAGE];
    unsigned flags = 0;
    if (!page)
        return 1;
    int result = dbi->config.fetch(dbi->config.arg, address, bytes, &flags);
    if (result < 0)
        return result;
    return !result && !page->stale && flags == page->flags && !(flags & DBI_PAGE_UNWATCHED) &&
           !memcmp(bytes, page->bytes, WD_PAGE);
}

int dbi_pages_list(const struct dbi *dbi, uint64_t **out, size_t *count)
{
    *count = 0;
    *out = malloc((dbi->pages.count + 1) * sizeof(**out));
    if (!*out)
        return -ENOMEM;
    for (size_t i = 0; i < dbi->pages.slot_count; i++) {
        if (dbi->pages.slots[i])
            (*out)[(*count)++] = dbi->pages.slots[i]->address;
    }
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/footprint.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/checked.h"
#include "common/hash.h"

#define PAGES_MAX  32768
#define RANGES_MAX (UINT64_C(1) << 20) /* bytes of one operand */

void slc_footprint_maker_fini(struct slc_footprint_maker *maker)
{
    free(maker->pages);
    free(maker->masks);
    wd_index_fini(&maker->by_number);
    *maker = (struct slc_footprint_maker){0};
}

void slc_footprint_free(struct slc_footprint *footprint)
{
    if (!footprint)
        return;
    free(footprint->pages);
    free(footprint->masks);
    free(footprint);
}

uint64_t slc_footprint_bytes(const struct slc_footprint *footprint)
{
    return sizeof(*footprint) + footprint->page_count * sizeof(*footprint->pages) +
           footprint->word_count * sizeof(*footprint->masks);
}

/* ---- pages by number ---- */

static uint32_t *page_slot(const struct slc_footprint_maker *maker, uint64_t number)
{
    return wd_index_find(&maker->by_number, wd_hash_u64(number) >> 32, n,
                         maker->pages[n].number == number);
}

static int maker_grow(struct slc_footprint_maker *maker)
{
    size_t capacity = maker->capacity, as_many = maker->capacity;

    if (wd_grow(maker->pages, capacity, maker->count + 1) ||
        wd_grow(maker->masks, as_many, maker->count + 1) ||
        wd_index_renew(&maker->by_number, capacity * 4))
        return -ENOMEM;
    maker->capacity = capacity;
    for (size_t i = 0; i < maker->count; i++)
        *page_slot(maker, maker->pages[i].number) = (uint32_t)i + 1;
    return 0;
}

static void maker_clear(struct slc_footprint_maker *maker)
{
    maker->count = 0;
    wd_index_clear(&maker->by_number);
}

/* Index of a page; 0 or -ENOMEM. */
static int page_at(struct slc_footprint_maker *maker, uint64_t number, size_t *index)
{
    uint32_t *slot = maker->capacity ? page_slot(maker, number) : NULL;

    if (!slot || !*slot) {
        if (maker->count == maker->capacity && maker_grow(maker))
            return -ENOMEM;
        slot = page_slot(maker, number);
        maker->pages[maker->count] = (struct slc_footprint_page){.number = number};
        memset(maker->masks[maker->count], 0, sizeof(*maker->masks));
        *slot = (uint32_t)++maker->count;
        assert(maker->count * 4 <= maker->by_number.capacity);
    }
    *index = *slot - 1;
    assert(*index < maker->count);
    return 0;
}

/* ---- what executions touch ---- */

/* The pages that were lately added to: most stores go to a few. */
#define LATELY 16

struct lately {
    uint64_t number[LATELY]; /* + 1 */
    size_t index[LATELY];
};

static inline int add_word(struct slc_footprint_maker *maker, struct lately *lately,
                           uint64_t address, uint64_t mask)
{
    uint64_t number = address >> SLC_PAGE_BITS;
    unsigned way = number % LATELY;

    if (lately->number[way] != number + 1) {
        if (page_at(maker, number, &lately->index[way]))
            return -ENOMEM;
        lately->number[way] = number + 1;
    }
    maker->masks[lately->index[way]][address % SLC_PAGE_BYTES / 64] |= mask;
    return 0;
}

/* Adds a range; one that wraps around at the top of the address space is cut there. */
static int add_range(struct slc_footprint_maker *maker, struct lately *lately, uint64_t address,
                     uint64_t size)
{
    int err = 0;

    if (size > UINT64_MAX - address)
        size = UINT64_MAX - address;
    if (size > RANGES_MAX)
        return 1;
    while (size && !err) {
        unsigned off = address % 64;
        uint64_t count = 64 - off < size ? 64 - off : size;
        err = add_word(maker, lately, address, UINT64_MAX >> (64 - count) << off);
        address += count;
        size -= count;
    }
    return err;
}

static int add_store(struct slc_footprint_maker *maker, struct lately *lately,
                     const struct slc_node *node, const struct slc_store *store,
                     const uint64_t *slots)
{
    struct ins_range ranges[INS_RANGES_MAX];
    uint64_t address = slots[store->slot];
    int err = 0;

    if (!store->is_range && store->size_bytes && address % 64 + store->size_bytes <= 64)
        return add_word(maker, lately, address,
                        UINT64_MAX >> (64 - store->size_bytes) << (address % 64));
    if (!store->is_range)
        return add_range(maker, lately, address, store->size_bytes);
    unsigned count =
        slc_operand_ranges(&node->wet->statements[store->statement], store->operand, slots, ranges);
    for (unsigned r = 0; r < count && !err; r++)
        err = add_range(maker, lately, ranges[r].address, ranges[r].size_bytes);
    return err;
}

static int add_exec(struct slc_footprint_maker *maker, struct lately *lately,
                    const struct slc_node *node, const uint64_t *slots)
{
    int err = 0;
    uint64_t slot = 0;

    for (uint32_t i = 0; i < node->store_count && !err; i++)
        err = add_store(maker, lately, node, &node->stores[i], slots);
    for (uint32_t s = 0; s < node->statement_count && node->has_pops && !err; s++)
        if (node->popped[s] >= 0) {
            slc_restored_register(node, s, slots,
                                  &slot); /* here perhaps not; a memo may take it for one */
            err = add_range(maker, lately, slot, 8);
        }
    return err;
}

/* ---- the result ---- */

static int compare_pages(const void *a, const void *b)
{
    uint64_t x = ((const struct slc_footprint_page *)a)->number;
    uint64_t y = ((const struct slc_footprint_page *)b)->number;
    return x < y ? -1 : x > y;
}

static struct slc_footprint *finish(struct slc_footprint_maker *maker)
{
    struct slc_footprint *footprint = calloc(1, sizeof(*footprint));
    size_t words = 0;

    for (size_t i = 0; i < maker->count; i++) {
        maker->pages[i].first = i;
        maker->pages[i].groups = 0;
        for (unsigned g = 0; g < SLC_PAGE_BYTES / 64; g++)
            maker->pages[i].groups |= (uint64_t)(maker->masks[i][g] != 0) << g;
        words += (size_t)__builtin_popcountll(maker->pages[i].groups);
    }
    if (!footprint)
        return NULL;
    footprint->pages = malloc((maker->count + 1) * sizeof(*footprint->pages));
    footprint->masks = malloc((words + 1) * sizeof(*footprint->masks));
    if (!footprint->pages || !footprint->masks) {
        slc_footprint_free(footprint);
        return NULL;
    }
    footprint->page_count = maker->count;
    if (maker->count) {
        qsort(maker->pages, maker->count, sizeof(*maker->pages), compare_pages);
        memcpy(footprint->pages, maker->pages, maker->count * sizeof(*maker->pages));
    }
    for (size_t i = 0; i < maker->count; i++) {
        struct slc_footprint_page *page = &footprint->pages[i];
        const uint64_t *masks = maker->masks[page->first];
        page->first = footprint->word_count;
        for (uint64_t left = page->groups; left; left &= left - 1)
            footprint->masks[footprint->word_count++] = masks[__builtin_ctzll(left)];
    }
    return footprint;
}

int slc_footprint_make(struct slc_footprint_maker *maker, struct slc_code *code,
                       const struct wet_interval *interval, size_t first, size_t end,
                       struct slc_footprint **out)
{
    struct lately lately = {.number = {0}};
    int err = 0;

    assert(first < end && end <= interval->exec_count);
    maker_clear(maker);
    for (size_t i = first; i < end && !err && maker->count <= PAGES_MAX; i++) {
        const struct slc_node *node = slc_code_node(code, interval->execs[i].node);
        if (!node)
            return -ENOMEM;
        if (node->store_count || node->has_pops)
            err = add_exec(maker, &lately, node, interval->slots + interval->execs[i].slot_off);
    }
    if (err < 0)
        return err;
    if (err || maker->count > PAGES_MAX)
        return 0;
    *out = finish(maker);
    err = *out ? wd_checked(slc_footprint_validate(*out)) : -ENOMEM;
    return err ? err : 1;
}

static const struct slc_footprint_page *page_of(const struct slc_footprint *footprint,
                                                uint64_t number)
{
    const struct slc_footprint_page key = {.number = number};

    if (footprint->page_count == 0)
        return NULL;
    return bsearch(&key, footprint->pages, footprint->page_count, sizeof(key), compare_pages);
}

uint64_t slc_footprint_groups(const struct slc_footprint *footprint, uint64_t number)
{
    const struct slc_footprint_page *page = page_of(footprint, number);
    return page ? page->groups : 0;
}

bool slc_footprint_has_slot(const struct slc_footprint *footprint, uint64_t slot)
{
    const struct slc_footprint_page *page = page_of(footprint, slot >> SLC_PAGE_BITS);
    unsigned group = slot % SLC_PAGE_BYTES / 64;

    assert(slot % 8 == 0);
    if (!page || !(page->groups >> group & 1))
        return false;
    uint64_t below = page->groups & ((UINT64_C(1) << group) - 1);
    uint64_t mask = footprint->masks[page->first + (size_t)__builtin_popcountll(below)];
    return mask >> (slot % 64) & 0xff;
}

int slc_footprint_validate(const struct slc_footprint *footprint)
{
    size_t words = 0;

    for (size_t i = 0; i < footprint->page_count; i++) {
        const struct slc_footprint_page *page = &footprint->pages[i];
        if (i && page[-1].number >= page->number)
            return wd_fail_defect("page %zu of a footprint is not sorted", i);
        if (page->first != words || !page->groups)
            return wd_fail_defect("page %zu of a footprint has masks from %zu on, and not %zu", i,
                                  page->first, words);
        words += (size_t)__builtin_popcountll(page->groups);
    }
    if (words != footprint->word_count)
        return wd_fail_defect("a footprint has %zu words, and not %zu", footprint->word_count,
                              words);
    for (size_t i = 0; i < words; i++)
        if (!footprint->masks[i])
            return wd_fail_defect("word %zu of a footprint has no bytes", i);
    return 0;
}

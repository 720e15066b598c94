/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wanted memory is a hash table of pages that have ever been wanted; a page has a bitmap, and wants
 * for each 64 bytes of which one is wanted. Pages stay in the table when they empty: a scan comes
 * back to the same stack pages all the time.
 */
#include "slicer/want.h"

#include <errno.h>
#include <stdlib.h>

void slc_regs_init(struct slc_regs *regs)
{
    regs->wanted = (struct ins_regset){0};
    for (unsigned i = 0; i < INS_LOC_COUNT; i++) {
        regs->value[i] = slc_no_want();
        regs->address[i] = slc_no_want();
    }
}

void slc_regs_move(struct slc_regs *to, struct slc_regs *from, const struct ins_regset *mask)
{
    struct ins_regset set = from->wanted;

    for (unsigned i = 0; i < 4; i++)
        set.bits[i] &= mask->bits[i];
    for (unsigned l = ins_regset_next(&set, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&set, l + 1)) {
        if (from->value[l].distance != SLC_NOT_WANTED)
            slc_want_merge(&to->value[l], &from->value[l]);
        if (from->address[l].distance != SLC_NOT_WANTED)
            slc_want_merge(&to->address[l], &from->address[l]);
        ins_regset_add(&to->wanted, l);
        slc_regs_drop(from, l);
    }
}

int slc_memory_init(struct slc_memory *memory)
{
    *memory = (struct slc_memory){.capacity = 1024};
    memory->table = calloc(memory->capacity, sizeof(*memory->table));
    return memory->table ? 0 : -ENOMEM;
}

void slc_memory_fini(struct slc_memory *memory)
{
    for (size_t i = 0; memory->table && i < memory->capacity; i++) {
        struct slc_page *page = memory->table[i];
        if (!page)
            continue;
        for (unsigned g = 0; g < SLC_PAGE_BYTES / 64; g++)
            free(page->wants[g]);
        free(page);
    }
    free(memory->table);
    while (memory->spare) {
        struct slc_want *next = (struct slc_want *)(uintptr_t)memory->spare->user;
        free(memory->spare);
        memory->spare = next;
    }
    *memory = (struct slc_memory){0};
}

static int grow(struct slc_memory *memory)
{
    struct slc_memory bigger = {.capacity = memory->capacity * 2};

    bigger.table = calloc(bigger.capacity, sizeof(*bigger.table));
    if (!bigger.table)
        return -ENOMEM;
    for (size_t i = 0; i < memory->capacity; i++) {
        struct slc_page *page = memory->table[i];
        if (!page)
            continue;
        size_t at = slc_page_hash(&bigger, page->number);
        while (bigger.table[at])
            at = (at + 1) & (bigger.capacity - 1);
        bigger.table[at] = page;
    }
    free(memory->table);
    memory->table = bigger.table;
    memory->capacity = bigger.capacity;
    return 0;
}

static struct slc_page *page_make(struct slc_memory *memory, uint64_t number)
{
    struct slc_page *page = slc_page_find(memory, number);

    if (page)
        return page;
    if (memory->page_count * 2 >= memory->capacity && grow(memory))
        return NULL;
    page = calloc(1, sizeof(*page));
    if (!page)
        return NULL;
    page->number = number;
    size_t at = slc_page_hash(memory, number);
    while (memory->table[at])
        at = (at + 1) & (memory->capacity - 1);
    memory->table[at] = page;
    memory->page_count++;
    return page;
}

static struct slc_want *group_make(struct slc_memory *memory, struct slc_page *page, unsigned group)
{
    if (page->wants[group])
        return page->wants[group];
    struct slc_want *wants = memory->spare;
    if (wants)
        memory->spare = (struct slc_want *)(uintptr_t)wants->user;
    else
        wants = malloc(64 * sizeof(*wants));
    if (!wants)
        return NULL;
    for (unsigned i = 0; i < 64; i++)
        wants[i] = slc_no_want();
    page->wants[group] = wants;
    return wants;
}

int slc_memory_add(struct slc_memory *memory, uint64_t address, uint64_t size,
                   const struct slc_want *want)
{
    struct slc_page *page = NULL;

    for (uint64_t i = 0; i < size; i++) {
        uint64_t at = address + i;
        if (!page || page->number != at >> SLC_PAGE_BITS)
            page = page_make(memory, at >> SLC_PAGE_BITS);
        unsigned off = at % SLC_PAGE_BYTES;
        struct slc_want *wants = page ? group_make(memory, page, off / 64) : NULL;
        if (!wants)
            return -ENOMEM;
        slc_want_merge(&wants[off % 64], want);
        if (!(page->bytes[off / 64] >> (off % 64) & 1))
            memory->byte_count++;
        page->bytes[off / 64] |= UINT64_C(1) << (off % 64);
    }
    return 0;
}

/* First set bit in [from, to) of a bitmap, or `to`. */
static unsigned bit_next(const uint64_t *bits, unsigned from, unsigned to)
{
    while (from < to) {
        uint64_t word = bits[from / 64] >> (from % 64);
        if (word) {
            unsigned at = from + (unsigned)__builtin_ctzll(word);
            return at < to ? at : to;
        }
        from = (from / 64 + 1) * 64;
    }
    return to;
}

/* The page with the smallest number in [number, last] that is in the table. */
static struct slc_page *page_next(const struct slc_memory *memory, uint64_t number, uint64_t last)
{
    struct slc_page *best = slc_page_find(memory, number);

    if (best || number == last)
        return best;
    if (last - number < memory->capacity) {
        for (; !best && number <= last; number++)
            best = slc_page_find(memory, number);
        return best;
    }
    for (size_t i = 0; i < memory->capacity; i++) {
        struct slc_page *page = memory->table[i];
        if (page && page->number >= number && page->number <= last &&
            (!best || page->number < best->number))
            best = page;
    }
    return best;
}

/* Bit search over pages: `unit` bytes to a bit. */
static struct slc_page *range_next(const struct slc_memory *memory, uint64_t *address, uint64_t end,
                                   unsigned unit)
{
    uint64_t at = *address;

    while (at < end) {
        struct slc_page *page = page_next(memory, at >> SLC_PAGE_BITS, (end - 1) >> SLC_PAGE_BITS);
        if (!page)
            return NULL;
        uint64_t base = page->number << SLC_PAGE_BITS;
        unsigned from = at > base ? (unsigned)(at - base) / unit : 0;
        unsigned to = end - base < SLC_PAGE_BYTES ? (unsigned)(end - base + unit - 1) / unit
                                                  : SLC_PAGE_BYTES / unit;
        unsigned bit = bit_next(unit == 1 ? page->bytes : page->slots, from, to);
        if (bit < to) {
            *address = base + (uint64_t)bit * unit;
            return page;
        }
        if (base + SLC_PAGE_BYTES == 0)
            return NULL;
        at = base + SLC_PAGE_BYTES;
    }
    return NULL;
}

struct slc_want *slc_memory_next(const struct slc_memory *memory, uint64_t *address, uint64_t end)
{
    struct slc_page *page = range_next(memory, address, end, 1);
    unsigned off = *address % SLC_PAGE_BYTES;

    return page ? &page->wants[off / 64][off % 64] : NULL;
}

bool slc_memory_next_slot(const struct slc_memory *memory, uint64_t *address, uint64_t end)
{
    return memory->slot_count && range_next(memory, address, end, 8);
}

/* A range that wraps around at the top of the address space is cut there. */
bool slc_memory_wants_long(const struct slc_memory *memory, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    uint64_t byte = address, slot = address;

    return slc_memory_next(memory, &byte, end) || slc_memory_next_slot(memory, &slot, end);
}

int slc_memory_mark_slot(struct slc_memory *memory, uint64_t address)
{
    struct slc_page *page = page_make(memory, address >> SLC_PAGE_BITS);
    unsigned slot = address % SLC_PAGE_BYTES / 8;

    if (!page)
        return -ENOMEM;
    page->slots[slot / 64] |= UINT64_C(1) << (slot % 64);
    memory->slot_count++;
    return 0;
}

void slc_memory_unmark_slot(struct slc_memory *memory, uint64_t address)
{
    struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);
    unsigned slot = address % SLC_PAGE_BYTES / 8;

    page->slots[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    memory->slot_count--;
}

/* Forgets wants; the group goes to the spare ones when its last byte does. */
void slc_memory_drop(struct slc_memory *memory, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    struct slc_page *page;

    while ((page = range_next(memory, &address, end, 1))) {
        unsigned off = address % SLC_PAGE_BYTES, group = off / 64;
        page->wants[group][off % 64] = slc_no_want();
        page->bytes[group] &= ~(UINT64_C(1) << (off % 64));
        memory->byte_count--;
        if (!page->bytes[group]) {
            page->wants[group]->user = (uint64_t)(uintptr_t)memory->spare;
            memory->spare = page->wants[group];
            page->wants[group] = NULL;
        }
        address++;
    }
}

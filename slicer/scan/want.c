/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Wanted memory is a hash table of pages that have ever been wanted; a page has a bitmap, and wants
 * for each 64 bytes of which one is wanted. Pages stay in the table when they empty: a scan comes
 * back to the same stack pages all the time.
 */
#include "slicer/scan/want.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/checked.h"

struct slc_want slc_some_want = {.distance = 1, .edge = WETDBG_EDGE_VALUE};

int slc_regs_init(struct slc_regs *regs, bool has_wants)
{
    *regs = (struct slc_regs){0};
    if (has_wants && !(regs->wants = calloc(1, sizeof(*regs->wants))))
        return -ENOMEM;
    return 0;
}

void slc_regs_fini(struct slc_regs *regs)
{
    free(regs->wants);
    regs->wants = NULL;
}

struct slc_want slc_regs_nearest(const struct slc_regs *regs, unsigned loc)
{
    struct slc_want want = slc_no_want();

    if (ins_regset_has(&regs->value, loc))
        slc_want_merge(&want, slc_regs_value(regs, loc));
    if (ins_regset_has(&regs->address, loc))
        slc_want_merge(&want, slc_regs_address(regs, loc));
    return want;
}

void slc_regs_add_mask(struct slc_regs *regs, unsigned loc, uint32_t mask,
                       const struct slc_want *want)
{
    assert(!(mask & ~slc_piece_mask(loc)));
    if (!mask)
        return;
    mask |= slc_regs_value_mask(regs, loc);
    slc_regs_merge(regs, &regs->value, loc, want, false);
    ins_regset_add(&regs->value, loc);
    if (mask == slc_piece_mask(loc)) {
        regs->narrow.bits[loc / 64] &= ~(UINT64_C(1) << (loc % 64));
        return;
    }
    ins_regset_add(&regs->narrow, loc);
    if (mask == SLC_HALF_MASK) {
        regs->odd.bits[loc / 64] &= ~(UINT64_C(1) << (loc % 64));
        return;
    }
    regs->masks[loc] = mask;
    ins_regset_add(&regs->odd, loc);
}

void slc_regs_add_bytes(struct slc_regs *regs, unsigned base, uint64_t bytes,
                        const struct slc_want *want)
{
    const struct slc_shape *shape = slc_shape_of(base);

    for (unsigned p = 0; p < shape->count && bytes >> shape->start[p]; p++)
        slc_regs_add_mask(regs, base + p, (uint32_t)(bytes >> shape->start[p]) & shape->mask[p],
                          want);
}

void slc_regs_keep(struct slc_regs *regs, const struct ins_regset *set)
{
    for (unsigned i = 0; i < 4; i++) {
        regs->value.bits[i] &= set->bits[i];
        regs->address.bits[i] &= set->bits[i];
        regs->narrow.bits[i] &= set->bits[i];
    }
}

void slc_regs_join(struct slc_regs *to, const struct slc_regs *from)
{
    struct ins_regset whole = from->value;

    assert(!to->wants && !from->wants);
    ins_regset_remove(&whole, &from->narrow);
    ins_regset_join(&to->value, &whole);
    ins_regset_remove(&to->narrow, &whole);
    ins_regset_join(&to->address, &from->address);
    for (unsigned l = ins_regset_next(&from->narrow, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&from->narrow, l + 1))
        slc_regs_add_mask(to, l, slc_regs_narrow_mask(from, l), &slc_some_want);
}

bool slc_regs_is_same(const struct slc_regs *a, const struct slc_regs *b,
                      const struct ins_regset *among)
{
    uint64_t differs = 0;

    for (unsigned i = 0; i < 4; i++)
        differs |= among->bits[i] & ((a->value.bits[i] ^ b->value.bits[i]) |
                                     (a->address.bits[i] ^ b->address.bits[i]) |
                                     (a->narrow.bits[i] ^ b->narrow.bits[i]));
    for (unsigned l = ins_regset_next(&a->narrow, 0); l < INS_LOC_COUNT && !differs;
         l = ins_regset_next(&a->narrow, l + 1))
        differs =
            ins_regset_has(among, l) && slc_regs_narrow_mask(a, l) != slc_regs_narrow_mask(b, l);
    return !differs;
}

/* Adds all wants of a location. */
static void add_wants(struct slc_regs *to, const struct slc_regs *from, unsigned loc)
{
    if (ins_regset_has(&from->narrow, loc))
        slc_regs_add_mask(to, loc, slc_regs_narrow_mask(from, loc), slc_regs_value(from, loc));
    else if (ins_regset_has(&from->value, loc))
        slc_regs_add(to, loc, slc_regs_value(from, loc), false);
    if (ins_regset_has(&from->address, loc))
        slc_regs_add(to, loc, slc_regs_address(from, loc), true);
}

void slc_regs_copy(struct slc_regs *to, const struct slc_regs *from, const struct ins_regset *set)
{
    slc_regs_remove(to, set);
    for (unsigned l = ins_regset_next(set, 0); l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1))
        add_wants(to, from, l);
}

void slc_regs_move(struct slc_regs *to, struct slc_regs *from, const struct ins_regset *mask)
{
    for (unsigned l = ins_regset_next(mask, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(mask, l + 1)) {
        add_wants(to, from, l);
        slc_regs_drop(from, l);
    }
}

int slc_memory_init(struct slc_memory *memory, bool has_wants)
{
    *memory = (struct slc_memory){.capacity = 1024, .has_wants = has_wants};
    memory->table = calloc(memory->capacity, sizeof(*memory->table));
    return memory->table ? 0 : -ENOMEM;
}

void slc_memory_fini(struct slc_memory *memory)
{
    slc_memory_unhide(memory);
    for (size_t i = 0; memory->table && i < memory->capacity; i++) {
        struct slc_page *page = memory->table[i].page;
        if (!page)
            continue;
        for (unsigned g = 0; g < SLC_PAGE_BYTES / 64; g++)
            free(page->wants[g]);
        free(page);
    }
    free(memory->table);
    while (memory->spare_logs) {
        struct slc_log *next = memory->spare_logs->next;
        free(memory->spare_logs);
        memory->spare_logs = next;
    }
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
        struct slc_page *page = memory->table[i].page;
        if (!page)
            continue;
        size_t at = slc_page_hash(&bigger, page->number);
        while (bigger.table[at].page)
            at = (at + 1) & (bigger.capacity - 1);
        bigger.table[at] = memory->table[i];
    }
    free(memory->table);
    memory->table = bigger.table;
    memory->capacity = bigger.capacity;
    return 0;
}

struct slc_page *slc_memory_page(struct slc_memory *memory, uint64_t number)
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
    page->hidden = memory->is_logged ? 0 : UINT64_MAX;
    size_t at = slc_page_hash(memory, number);
    while (memory->table[at].page)
        at = (at + 1) & (memory->capacity - 1);
    memory->table[at] = (struct slc_page_ref){number, page};
    memory->page_count++;
    assert(memory->page_count * 2 <= memory->capacity);
    return page;
}

/* ---- hiding ---- */

void slc_memory_log(struct slc_memory *memory)
{
    assert(!memory->has_wants);
    memory->is_logged = true;
    for (size_t i = 0; i < memory->capacity; i++)
        if (memory->table[i].page)
            memory->table[i].page->hidden = 0;
}

static struct slc_log *log_of(struct slc_memory *memory, struct slc_page *page)
{
    struct slc_log *log = page->log;

    assert(memory->is_logged);
    if (log)
        return log;
    log = memory->spare_logs;
    if (log)
        memory->spare_logs = log->next;
    else
        log = malloc(sizeof(*log));
    if (!log) {
        memory->is_blurred = true;
        return NULL;
    }
    log->page = page;
    log->next = memory->logs;
    memory->logs = log;
    page->log = log;
    return log;
}

void slc_memory_hide(struct slc_memory *memory, struct slc_page *page, unsigned group,
                     uint64_t mask)
{
    struct slc_log *log = log_of(memory, page);
    uint64_t *word = &page->bytes[group];

    assert(group < SLC_PAGE_BYTES / 64 && !(page->hidden >> group & 1));
    if (!log)
        return;
    assert(memory->word_count || !*word);
    page->hidden |= UINT64_C(1) << group;
    log->bytes[group] = *word & ~mask;
    memory->word_count -= *word && !(*word & mask);
    *word &= mask;
}

void slc_log_note(struct slc_memory *memory, struct slc_page *page, unsigned group)
{
    if (memory->is_hiding)
        slc_memory_hide(memory, page, group, 0);
}

void slc_memory_unhide(struct slc_memory *memory)
{
    while (memory->logs) {
        struct slc_log *log = memory->logs;
        struct slc_page *page = log->page;
        for (uint64_t left = page->hidden; left; left &= left - 1) {
            unsigned group = (unsigned)__builtin_ctzll(left);
            memory->word_count += !page->bytes[group] && log->bytes[group];
            page->bytes[group] |= log->bytes[group];
        }
        page->hidden = 0;
        page->log = NULL;
        memory->logs = log->next;
        log->next = memory->spare_logs;
        memory->spare_logs = log;
    }
    memory->is_hiding = memory->is_blurred = false;
}

/* ---- wants ---- */

/* Spare ones hold no wants: who dropped their bytes saw to it. */
static struct slc_want *group_make(struct slc_memory *memory, struct slc_page *page, unsigned group)
{
    assert(memory->has_wants && group < SLC_PAGE_BYTES / 64);
    if (page->wants[group])
        return page->wants[group];
    struct slc_want *wants = memory->spare;
    if (wants) {
        memory->spare = (struct slc_want *)(uintptr_t)wants->user;
    } else {
        wants = malloc(64 * sizeof(*wants));
        for (unsigned i = 0; i < 64 && wants; i++)
            wants[i] = slc_no_want();
    }
    page->wants[group] = wants;
    return wants;
}

int slc_memory_add_mask(struct slc_memory *memory, uint64_t address, uint64_t mask)
{
    struct slc_page *page = slc_memory_page(memory, address >> SLC_PAGE_BITS);

    assert(mask << (address % 64) >> (address % 64) == mask);
    if (!page)
        return -ENOMEM;
    unsigned group = address % SLC_PAGE_BYTES / 64;
    uint64_t *word = &page->bytes[group];
    if (!(page->hidden >> group & 1))
        slc_log_note(memory, page, group);
    memory->word_count += *word == 0 && mask;
    *word |= mask << (address % 64);
    return 0;
}

static int add_bytes(struct slc_memory *memory, uint64_t address, uint64_t size)
{
    int err = 0;

    while (size && !err) {
        uint64_t count = 64 - address % 64;
        count = count < size ? count : size;
        err = slc_memory_add_mask(memory, address, UINT64_MAX >> (64 - count));
        address += count;
        size -= count;
    }
    return err;
}

/* Of one aligned word. */
static int add_wants_of_word(struct slc_memory *memory, uint64_t address, uint64_t mask,
                             const struct slc_want *want)
{
    struct slc_page *page = slc_memory_page(memory, address >> SLC_PAGE_BITS);
    unsigned group = address % SLC_PAGE_BYTES / 64;
    struct slc_want *wants = page ? group_make(memory, page, group) : NULL;

    assert(mask && mask << (address % 64) >> (address % 64) == mask);
    if (!wants)
        return -ENOMEM;
    for (uint64_t left = mask; left; left &= left - 1)
        slc_want_merge(&wants[address % 64 + (unsigned)__builtin_ctzll(left)], want);
    memory->word_count += page->bytes[group] == 0;
    page->bytes[group] |= mask << (address % 64);
    return 0;
}

int slc_memory_add_wants(struct slc_memory *memory, uint64_t address, uint64_t mask,
                         const struct slc_want *want)
{
    unsigned off = address % 64;
    uint64_t rest = off ? mask >> (64 - off) : 0, here = mask & (UINT64_MAX >> off);
    int err = 0;

    if (here)
        err = add_wants_of_word(memory, address, here, want);
    return err || !rest ? err : add_wants_of_word(memory, address - off + 64, rest, want);
}

int slc_memory_add(struct slc_memory *memory, uint64_t address, uint64_t size,
                   const struct slc_want *want)
{
    int err = 0;

    if (!memory->has_wants)
        return add_bytes(memory, address, size);
    for (; size && !err; size -= size < 64 ? size : 64, address += 64)
        err =
            slc_memory_add_wants(memory, address, UINT64_MAX >> (size < 64 ? 64 - size : 0), want);
    return err;
}

/* The first set bit in [from, to) of a bitmap, or `to`. */
static unsigned bit_next(const uint64_t *bits, unsigned from, unsigned to)
{
    assert(to <= SLC_PAGE_BYTES);
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

    assert(number <= last);
    if (best || number == last)
        return best;
    if (last - number < memory->capacity) {
        for (; !best && number <= last; number++)
            best = slc_page_find(memory, number);
        return best;
    }
    for (size_t i = 0; i < memory->capacity; i++) {
        struct slc_page *page = memory->table[i].page;
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

    assert(unit == 1 || unit == 8);
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

struct slc_want *slc_memory_next(struct slc_memory *memory, uint64_t *address, uint64_t end)
{
    struct slc_page *page = range_next(memory, address, end, 1);
    unsigned off = *address % SLC_PAGE_BYTES;

    if (!page)
        return NULL;
    assert(!memory->has_wants || page->wants[off / 64]);
    return memory->has_wants ? &page->wants[off / 64][off % 64] : &slc_some_want;
}

bool slc_memory_next_slot(struct slc_memory *memory, uint64_t *address, uint64_t end)
{
    return memory->slot_count && range_next(memory, address, end, 8);
}

/* A range that wraps around at the top of the address space is cut there. */
bool slc_memory_wants_long(struct slc_memory *memory, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    uint64_t byte = address, slot = address;

    return slc_memory_next(memory, &byte, end) || slc_memory_next_slot(memory, &slot, end);
}

int slc_memory_mark_slot(struct slc_memory *memory, uint64_t address)
{
    struct slc_page *page = slc_memory_page(memory, address >> SLC_PAGE_BITS);
    unsigned slot = address % SLC_PAGE_BYTES / 8;

    assert(address % 8 == 0);
    if (!page)
        return -ENOMEM;
    assert(!(page->slots[slot / 64] >> (slot % 64) & 1));
    page->slots[slot / 64] |= UINT64_C(1) << (slot % 64);
    memory->slot_count++;
    return 0;
}

void slc_memory_unmark_slot(struct slc_memory *memory, uint64_t address)
{
    struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);
    unsigned slot = address % SLC_PAGE_BYTES / 8;

    assert(page && page->slots[slot / 64] >> (slot % 64) & 1);
    assert(memory->slot_count);
    page->slots[slot / 64] &= ~(UINT64_C(1) << (slot % 64));
    memory->slot_count--;
}

/* A group without bytes goes to the spare ones. */
void slc_page_drop(struct slc_memory *memory, struct slc_page *page, unsigned group, uint64_t mask)
{
    assert(mask && !(mask & ~page->bytes[group]));
    page->bytes[group] &= ~mask;
    if (page->bytes[group] == 0)
        memory->word_count--;
    struct slc_want *wants = page->wants[group];
    if (!wants)
        return;
    for (uint64_t left = mask; left; left &= left - 1)
        wants[__builtin_ctzll(left)] = slc_no_want();
    if (page->bytes[group] == 0) {
        wants->user = (uint64_t)(uintptr_t)memory->spare;
        memory->spare = wants;
        page->wants[group] = NULL;
    }
}

void slc_memory_drop(struct slc_memory *memory, uint64_t address, uint64_t size)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    struct slc_page *page;

    while ((page = range_next(memory, &address, end, 1))) {
        unsigned off = address % SLC_PAGE_BYTES;
        uint64_t room = 64 - off % 64, count = end - address < room ? end - address : room;
        uint64_t mask = (UINT64_MAX >> (64 - count)) << (off % 64);
        slc_page_drop(memory, page, off / 64, mask & page->bytes[off / 64]);
        if (address + count < address)
            return;
        address += count;
    }
}

/* ---- what is trusted ---- */

int slc_regs_validate(const struct slc_regs *regs)
{
    for (unsigned l = ins_regset_next(&regs->narrow, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&regs->narrow, l + 1)) {
        uint32_t mask = slc_regs_narrow_mask(regs, l);
        if (!ins_regset_has(&regs->value, l))
            return wd_fail_defect("piece %u is narrow and not wanted", l);
        if (!mask || mask & ~slc_piece_mask(l) || mask == slc_piece_mask(l))
            return wd_fail_defect("piece %u is narrow and has bytes %#x", l, mask);
    }
    return 0;
}

static int wants_validate(const struct slc_page *page, unsigned group, bool has_wants)
{
    const struct slc_want *wants = page->wants[group];
    uint64_t wanted = 0;

    for (unsigned i = 0; i < 64 && wants; i++)
        wanted |= (uint64_t)(wants[i].distance != SLC_NOT_WANTED) << i;
    if (wanted != (has_wants ? page->bytes[group] : 0))
        return wd_fail_defect("page %#llx wants bytes %#llx of word %u, and has wants of %#llx",
                              (unsigned long long)page->number,
                              (unsigned long long)page->bytes[group], group,
                              (unsigned long long)wanted);
    return 0;
}

static int page_validate(const struct slc_memory *memory, const struct slc_page_ref *ref)
{
    const struct slc_page *page = ref->page;
    int err = 0;

    if (page->number != ref->number || slc_page_find(memory, ref->number) != page)
        return wd_fail_defect("page %#llx is not found by its number",
                              (unsigned long long)page->number);
    if (page->log ? page->log->page != page : page->hidden && page->hidden != UINT64_MAX)
        return wd_fail_defect("page %#llx hides words %#llx and has no log of them",
                              (unsigned long long)page->number, (unsigned long long)page->hidden);
    for (unsigned g = 0; g < SLC_PAGE_BYTES / 64 && !err; g++)
        err = wants_validate(page, g, memory->has_wants);
    return err;
}

int slc_memory_validate(const struct slc_memory *memory)
{
    uint64_t pages = 0, words = 0, slots = 0;

    if (!memory->capacity || memory->capacity & (memory->capacity - 1))
        return wd_fail_defect("the table of wanted pages has %zu places", memory->capacity);
    for (size_t i = 0; i < memory->capacity; i++)
        pages += memory->table[i].page != NULL;
    if (pages != memory->page_count || pages * 2 > memory->capacity)
        return wd_fail_defect("%llu pages were counted as %zu, in a table of %zu",
                              (unsigned long long)pages, memory->page_count, memory->capacity);
    for (size_t i = 0; i < memory->capacity; i++) {
        const struct slc_page *page = memory->table[i].page;
        int err = page ? page_validate(memory, &memory->table[i]) : 0;
        if (err)
            return err;
        for (unsigned g = 0; page && g < SLC_PAGE_BYTES / 64; g++) {
            words += page->bytes[g] != 0;
            slots += (unsigned)__builtin_popcount(slc_page_slots(page, g));
        }
    }
    if (words != memory->word_count || slots != memory->slot_count)
        return wd_fail_defect("%llu words and %llu slots were counted as %llu and %llu",
                              (unsigned long long)words, (unsigned long long)slots,
                              (unsigned long long)memory->word_count,
                              (unsigned long long)memory->slot_count);
    return 0;
}

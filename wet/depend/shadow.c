/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last-writer shadow. Most programs define and use memory by aligned words: one label for four
 * bytes is as much memory as the program's own, so that a look at it costs one cache line and not
 * four. Where single bytes are stored, their labels are beside it; a granule that was mixed is
 * whole again when a store covers it. (A label for each byte throughout was four times the memory
 * and the misses.)
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/page.h"
#include "wet/depend/depend_priv.h"
#include <wetdbg/errors.h>

#define ADDRESS_MASK ((UINT64_C(1) << 48) - 1)
#define CHUNK_MASK   (DEP_CHUNK_BYTES - 1)
#define SIDE_BYTES   (DEP_CHUNK_BYTES * sizeof(uint32_t))
/* Less than this is overwritten rather than given back. */
#define GIVE_BACK_BYTES (64ull << 10)

static int chunk_reserve(struct dep_shadow *shadow, size_t chunk)
{
    uint8_t *at = mmap(NULL, DEP_CHUNK_BYTES + SIDE_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return wetdbg_fail(-ENOMEM, "no room for the labels of the program's memory");
    shadow->granules[chunk] = at;
    shadow->sides[chunk] = (uint32_t *)(at + DEP_CHUNK_BYTES);
    return 0;
}

void dep_shadow_fini(struct dep_shadow *shadow)
{
    for (size_t chunk = 0; chunk < DEP_CHUNKS; chunk++)
        if (shadow->granules[chunk])
            munmap(shadow->granules[chunk], DEP_CHUNK_BYTES + SIDE_BYTES);
}

/* ---- reading ---- */

static inline uint32_t granule_at(const struct dep_shadow *shadow, uint64_t address)
{
    uint32_t label;
    const uint8_t *granules = shadow->granules[(address & ADDRESS_MASK) / DEP_CHUNK_BYTES];

    if (!granules)
        return 0;
    memcpy(&label, granules + (address & CHUNK_MASK & ~3ull), sizeof(label));
    return label;
}

/* The run of one label from a byte on, at most to the end of its granule, which is mixed. */
static uint64_t side_run(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes,
                         uint32_t *label)
{
    const uint32_t *side = shadow->sides[address / DEP_CHUNK_BYTES] + (address & CHUNK_MASK);
    uint64_t count = 1, left = 4 - (address & 3);

    assert(bytes && granule_at(shadow, address) == DEP_MIXED);
    left = left < bytes ? left : bytes;
    *label = side[0];
    while (count < left && side[count] == side[0])
        count++;
    return count;
}

uint64_t dep_shadow_run(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes,
                        uint32_t *label)
{
    address &= ADDRESS_MASK;
    *label = granule_at(shadow, address);
    if (*label == DEP_MIXED)
        return side_run(shadow, address, bytes, label);
    uint64_t count = 4 - (address & 3);
    while (count < bytes && granule_at(shadow, address + count) == *label)
        count += 4;
    return count < bytes ? count : bytes;
}

/* ---- labelling ---- */

/* Labels bytes [first, end) of the granule at an address. */
static void granule_set_part(struct dep_shadow *shadow, uint64_t granule, unsigned first,
                             unsigned end, uint32_t label)
{
    uint32_t *whole =
        (uint32_t *)(shadow->granules[granule / DEP_CHUNK_BYTES] + (granule & CHUNK_MASK));
    uint32_t *side = shadow->sides[granule / DEP_CHUNK_BYTES] + (granule & CHUNK_MASK);

    assert(granule % 4 == 0 && first < end && end <= 4);
    if (*whole == label)
        return;
    if (*whole != DEP_MIXED)
        side[0] = side[1] = side[2] = side[3] = *whole;
    *whole = DEP_MIXED;
    for (unsigned i = first; i < end; i++)
        side[i] = label;
}

static void memory_clear(uint8_t *from, uint64_t bytes)
{
    uint64_t ahead = -(uintptr_t)from % WD_PAGE;
    uint64_t pages = bytes > ahead ? wd_page_down(bytes - ahead) : 0;

    if (bytes < GIVE_BACK_BYTES || madvise(from + ahead, pages, MADV_DONTNEED)) {
        memset(from, 0, bytes);
        return;
    }
    memset(from, 0, ahead);
    memset(from + ahead + pages, 0, bytes - ahead - pages);
}

/* Labels whole granules of one chunk. */
static void granules_set(struct dep_shadow *shadow, uint64_t address, uint64_t bytes,
                         uint32_t label)
{
    size_t chunk = address / DEP_CHUNK_BYTES;
    uint32_t *granules = (uint32_t *)(shadow->granules[chunk] + (address & CHUNK_MASK));
    uint32_t *sides = shadow->sides[chunk] + (address & CHUNK_MASK);

    assert(address % 4 == 0 && bytes % 4 == 0);
    if (label) {
        for (uint64_t i = 0; i < bytes / 4; i++)
            granules[i] = label;
        return;
    }
    memory_clear((uint8_t *)granules, bytes);
    /* nobody looks at these any more */
    if (bytes * sizeof(*sides) >= GIVE_BACK_BYTES)
        memory_clear((uint8_t *)sides, bytes * sizeof(*sides));
}

/* Labels a range of one chunk; it is not empty. */
static int part_fill(struct dep_shadow *shadow, uint64_t address, uint64_t bytes, uint32_t label)
{
    uint64_t end = address + bytes, first_whole = (address + 3) & ~3ull, end_whole = end & ~3ull;
    size_t chunk = address / DEP_CHUNK_BYTES;

    assert(bytes && (address & CHUNK_MASK) + bytes <= DEP_CHUNK_BYTES);
    if (!shadow->granules[chunk]) {
        int err = label ? chunk_reserve(shadow, chunk) : 0;
        if (err || !label)
            return err;
    }
    if (first_whole > end_whole) { /* in the middle of one */
        granule_set_part(shadow, end_whole, address & 3, end & 3, label);
        return 0;
    }
    if (first_whole > address)
        granule_set_part(shadow, address & ~3ull, address & 3, 4, label);
    if (end_whole > first_whole)
        granules_set(shadow, first_whole, end_whole - first_whole, label);
    if (end > end_whole)
        granule_set_part(shadow, end_whole, 0, end & 3, label);
    return 0;
}

int dep_shadow_fill(struct dep_shadow *shadow, uint64_t address, uint64_t bytes, uint32_t label)
{
    uint64_t space = ADDRESS_MASK + 1;
    int err = 0;

    address &= ADDRESS_MASK;
    bytes = bytes < space - address ? bytes : space - address;
    while (!err && bytes) {
        uint64_t left = DEP_CHUNK_BYTES - (address & CHUNK_MASK);
        uint64_t part = bytes < left ? bytes : left;
        err = part_fill(shadow, address, part, label);
        address += part;
        bytes -= part;
    }
    return err;
}

/* ---- moving ---- */

static bool is_zero(const uint8_t *bytes, size_t count)
{
    static const uint8_t zeros[WD_PAGE];

    return memcmp(bytes, zeros, count) == 0;
}

/* Copies labels of a page or less, of whole granules, in one chunk on either side. */
static int page_copy(struct dep_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes)
{
    const uint8_t *source = shadow->granules[from / DEP_CHUNK_BYTES];
    size_t chunk = to / DEP_CHUNK_BYTES;

    assert(bytes % 4 == 0 && (from & CHUNK_MASK) + bytes <= DEP_CHUNK_BYTES);
    /* what was never labelled takes no memory at its new place either */
    if (!source || is_zero(source + (from & CHUNK_MASK), bytes))
        return part_fill(shadow, to, bytes, 0);
    int err = shadow->granules[chunk] ? 0 : chunk_reserve(shadow, chunk);
    for (uint64_t i = 0; !err && i < bytes; i += 4) {
        uint32_t label = granule_at(shadow, from + i);
        memcpy(shadow->granules[chunk] + ((to + i) & CHUNK_MASK), &label, sizeof(label));
        if (label == DEP_MIXED)
            memcpy(shadow->sides[chunk] + ((to + i) & CHUNK_MASK),
                   shadow->sides[from / DEP_CHUNK_BYTES] + ((from + i) & CHUNK_MASK),
                   4 * sizeof(label));
    }
    return err;
}

int dep_shadow_copy(struct dep_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes)
{
    int err = 0;

    to &= wd_page_down(ADDRESS_MASK);
    from &= wd_page_down(ADDRESS_MASK);
    for (uint64_t at = 0; !err && at < bytes; at += WD_PAGE)
        err = page_copy(shadow, (to + at) & ADDRESS_MASK, (from + at) & ADDRESS_MASK,
                        bytes - at < WD_PAGE ? (bytes - at + 3) & ~3ull : WD_PAGE);
    return err;
}

/* ---- all of it ---- */

/* Asks which pages have contents. Bit i: whether page i has, as the kernel's page map says; all, if
 * it cannot be asked. */
#define PAGES_ASKED 512
static void pages_ask(int pagemap, const uint8_t *first, bool is_there[PAGES_ASKED])
{
    uint64_t entries[PAGES_ASKED];
    off_t at = (off_t)((uintptr_t)first / WD_PAGE * sizeof(entries[0]));
    bool is_known = pread(pagemap, entries, sizeof(entries), at) == (ssize_t)sizeof(entries);

    for (size_t i = 0; i < PAGES_ASKED; i++)
        is_there[i] = !is_known || entries[i] >> 62; /* present, or swapped out */
}

void dep_shadow_each(struct dep_shadow *shadow,
                     void (*fn)(void *arg, uint32_t *labels, size_t count), void *arg)
{
    int pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    bool is_there[PAGES_ASKED];

    for (size_t chunk = 0; chunk < DEP_CHUNKS; chunk++) {
        uint8_t *start = shadow->granules[chunk];
        uint64_t bytes = start ? DEP_CHUNK_BYTES + SIDE_BYTES : 0;
        for (uint64_t off = 0; off < bytes; off += PAGES_ASKED * WD_PAGE) {
            pages_ask(pagemap, start + off, is_there);
            for (size_t i = 0; i < PAGES_ASKED; i++)
                if (is_there[i])
                    fn(arg, (uint32_t *)(start + off + i * WD_PAGE), WD_PAGE / sizeof(uint32_t));
        }
    }
    if (pagemap >= 0)
        close(pagemap);
}

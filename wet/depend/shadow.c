/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last-writer shadow: a label of four bytes for each byte of the program's memory, in a mapping
 * that is reserved for each span of addresses and gets pages as they are labelled. Byte by byte,
 * since many programs store bytes; for wide accesses the labels of their bytes are compared at once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/err.h"
#include "wet/depend/depend_priv.h"

#define LABEL_BYTES sizeof(uint32_t)
#define PAGE_BYTES  4096ull
/* Less than this is overwritten rather than given back. */
#define GIVE_BACK_BYTES (64ull << 10)

static int span_reserve(struct dep_span *span)
{
    void *at = mmap(NULL, span->bytes * LABEL_BYTES, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return wd_fail(-ENOMEM, "no room for the labels of %llu bytes of memory",
                       (unsigned long long)span->bytes);
    span->labels = at;
    return 0;
}

int dep_shadow_init(struct dep_shadow *shadow, const struct rep_range *ranges, size_t count)
{
    int err = 0;

    shadow->count = 0;
    shadow->spans = calloc(count + 1, sizeof *shadow->spans);
    if (!shadow->spans)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct dep_span *last = shadow->count ? &shadow->spans[shadow->count - 1] : NULL;
        if (last && last->start + last->bytes == ranges[i].start)
            last->bytes += ranges[i].end - ranges[i].start;
        else
            shadow->spans[shadow->count++] = (struct dep_span){
                .start = ranges[i].start, .bytes = ranges[i].end - ranges[i].start};
    }
    for (size_t i = 0; !err && i < shadow->count; i++)
        err = span_reserve(&shadow->spans[i]);
    return err;
}

void dep_shadow_fini(struct dep_shadow *shadow)
{
    for (size_t i = 0; i < shadow->count; i++)
        if (shadow->spans[i].labels)
            munmap(shadow->spans[i].labels, shadow->spans[i].bytes * LABEL_BYTES);
    free(shadow->spans);
    *shadow = (struct dep_shadow){0};
}

/* The first span that ends beyond an address; the empty one if none does. */
static struct dep_span *span_from(const struct dep_shadow *shadow, uint64_t address)
{
    size_t low = 0, high = shadow->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shadow->spans[middle].start + shadow->spans[middle].bytes <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return &shadow->spans[low];
}

struct dep_span *dep_shadow_find(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes)
{
    struct dep_span *span = span_from(shadow, address);

    if (address < span->start || span->bytes < bytes || address - span->start > span->bytes - bytes)
        return &shadow->spans[shadow->count];
    return span;
}

uint32_t dep_shadow_get(const struct dep_shadow *shadow, uint64_t address)
{
    const struct dep_span *span = dep_shadow_find(shadow, address, 1);

    return span->bytes ? span->labels[address - span->start] : 0;
}

static void span_clear(struct dep_span *span, uint64_t off, uint64_t bytes)
{
    const uint64_t labels_per_page = PAGE_BYTES / LABEL_BYTES;
    uint64_t first = (off + labels_per_page - 1) & ~(labels_per_page - 1);
    uint64_t end = (off + bytes) & ~(labels_per_page - 1);

    if (bytes < GIVE_BACK_BYTES ||
        madvise(span->labels + first, (end - first) * LABEL_BYTES, MADV_DONTNEED)) {
        memset(span->labels + off, 0, bytes * LABEL_BYTES);
        return;
    }
    memset(span->labels + off, 0, (first - off) * LABEL_BYTES);
    memset(span->labels + end, 0, (off + bytes - end) * LABEL_BYTES);
}

/* Calls `fn` for each part of the range that is in a span: offset in the span, and bytes. */
#define FOR_PARTS(shadow, address, size, span, off, part)                                          \
    for (struct dep_span *span = span_from(shadow, address);                                       \
         span->bytes && span->start < (address) + (size); span++)                                  \
        for (uint64_t off = (address) > span->start ? (address)-span->start : 0,                   \
                      part = (address) + (size) - (span->start + off) < span->bytes - off          \
                                 ? (address) + (size) - (span->start + off)                        \
                                 : span->bytes - off;                                              \
             part; part = 0)

void dep_shadow_fill(const struct dep_shadow *shadow, uint64_t address, uint64_t bytes,
                     uint32_t label)
{
    if (bytes > UINT64_MAX - address)
        return;
    FOR_PARTS(shadow, address, bytes, span, off, part)
    {
        if (label == 0)
            span_clear(span, off, part);
        for (uint64_t i = 0; label && i < part; i++)
            span->labels[off + i] = label;
    }
}

void dep_shadow_copy(const struct dep_shadow *shadow, uint64_t to, uint64_t from, uint64_t bytes)
{
    static const uint32_t zeros[PAGE_BYTES];

    for (uint64_t at = 0; at < bytes;) {
        uint64_t piece = bytes - at < PAGE_BYTES ? bytes - at : PAGE_BYTES;
        struct dep_span *source = dep_shadow_find(shadow, from + at, piece);
        struct dep_span *goal = dep_shadow_find(shadow, to + at, piece);
        const uint32_t *labels =
            source->bytes ? source->labels + (from + at - source->start) : zeros;
        /* what was never labelled takes no memory at its new place either */
        if (goal->bytes && memcmp(labels, zeros, piece * LABEL_BYTES) == 0)
            span_clear(goal, to + at - goal->start, piece);
        else if (goal->bytes)
            memcpy(goal->labels + (to + at - goal->start), labels, piece * LABEL_BYTES);
        at += piece;
    }
}

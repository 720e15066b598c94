/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A sorted array of ranges. Every change first splits ranges at its two ends, so that it then
 * deals with whole elements only: index_of_boundary() is the one place that knows about overlap.
 * An array does: processes have some hundred mappings, and changes come once per system call.
 */
#include "recorder/feed/feed_space.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/checked.h"

void feed_vmas_fini(struct feed_vmas *vmas)
{
    free(vmas->list);
    memset(vmas, 0, sizeof(*vmas));
}

int feed_vmas_validate(const struct feed_vmas *vmas)
{
    if (vmas->count > vmas->capacity)
        return wd_fail_defect("%zu mappings have room for %zu", vmas->count, vmas->capacity);
    for (size_t i = 0; i < vmas->count; i++) {
        const struct feed_vma *vma = &vmas->list[i];
        if (vma->start >= vma->end)
            return wd_fail_defect("mapping %zu of %zu is empty", i, vmas->count);
        if (!wd_page_is_start(vma->start) || !wd_page_is_start(vma->end))
            return wd_fail_defect("mapping %zu of %zu has half a page", i, vmas->count);
        if (i && vma->start < vma[-1].end)
            return wd_fail_defect("mapping %zu of %zu begins before the end of another", i,
                                  vmas->count);
    }
    return 0;
}

/* What a change gives that came to `err`. */
static int changed(const struct feed_vmas *vmas, int err)
{
    (void)vmas;
    return err ? err : wd_checked(feed_vmas_validate(vmas));
}

static size_t index_above(const struct feed_vmas *vmas, uint64_t address)
{
    return wd_bisect(0, vmas->count, i, vmas->list[i].end <= address);
}

/* Splits the range that holds `address` inside, if any; the index of the first range at or above
 * it. There must be room for one more. */
static size_t index_of_boundary(struct feed_vmas *vmas, uint64_t address)
{
    size_t at = index_above(vmas, address);
    if (at == vmas->count || vmas->list[at].start >= address)
        return at;
    assert(vmas->count < vmas->capacity);
    struct feed_vma *low = &vmas->list[at];
    memmove(low + 1, low, (vmas->count - at) * sizeof(*low));
    vmas->count++;
    low[0].end = address;
    low[1].offset += address - low[1].start;
    low[1].start = address;
    return at + 1;
}

/* The elements [*first, *last) that make up [start, end), after splitting; leaves room for one
 * more element. */
static int isolate(struct feed_vmas *vmas, uint64_t start, uint64_t end, size_t *first,
                   size_t *last)
{
    int err = wd_grow(vmas->list, vmas->capacity, vmas->count + 3);
    if (err)
        return err;
    *first = index_of_boundary(vmas, start);
    *last = index_of_boundary(vmas, end);
    return 0;
}

/* The same for what changes only what is mapped: of an empty range, or space, there are no
 * elements. */
static int isolate_mapped(struct feed_vmas *vmas, uint64_t start, uint64_t end, size_t *first,
                          size_t *last)
{
    *first = *last = 0;
    return start >= end || !vmas->count ? 0 : isolate(vmas, start, end, first, last);
}

static void remove_elements(struct feed_vmas *vmas, size_t first, size_t last)
{
    assert(first <= last && last <= vmas->count);
    memmove(&vmas->list[first], &vmas->list[last], (vmas->count - last) * sizeof(*vmas->list));
    vmas->count -= last - first;
}

int feed_vmas_unmap(struct feed_vmas *vmas, uint64_t start, uint64_t end)
{
    size_t first, last;
    int err = isolate_mapped(vmas, start, end, &first, &last);
    if (!err && first < last)
        remove_elements(vmas, first, last);
    return changed(vmas, err);
}

int feed_vmas_map(struct feed_vmas *vmas, const struct feed_vma *vma)
{
    size_t first, last;
    if (vma->start >= vma->end)
        return 0;
    int err = isolate(vmas, vma->start, vma->end, &first, &last);
    if (err)
        return err;
    remove_elements(vmas, first, last);
    memmove(&vmas->list[first + 1], &vmas->list[first],
            (vmas->count - first) * sizeof(*vmas->list));
    vmas->list[first] = *vma;
    vmas->count++;
    return changed(vmas, 0);
}

int feed_vmas_protect(struct feed_vmas *vmas, uint64_t start, uint64_t end, uint32_t prot)
{
    size_t first, last;
    int err = isolate_mapped(vmas, start, end, &first, &last);
    for (size_t i = first; !err && i < last; i++)
        vmas->list[i].prot = prot;
    return changed(vmas, err);
}

int feed_vmas_flag(struct feed_vmas *vmas, uint64_t start, uint64_t end, uint32_t set,
                   uint32_t clear)
{
    size_t first, last;
    int err = isolate_mapped(vmas, start, end, &first, &last);
    for (size_t i = first; !err && i < last; i++)
        vmas->list[i].flags = (vmas->list[i].flags & ~clear) | set;
    return changed(vmas, err);
}

/* The last of the moved ranges takes the growth, so that a moved stack stays one range. */
static void place_moved(struct feed_vma *moved, size_t count, uint64_t from, uint64_t to,
                        uint64_t to_bytes)
{
    for (size_t i = 0; i < count; i++) {
        moved[i].start = to + (moved[i].start - from);
        moved[i].end = to + (moved[i].end - from);
    }
    moved[count - 1].end = to + to_bytes;
}

int feed_vmas_move(struct feed_vmas *vmas, uint64_t from, uint64_t from_bytes, uint64_t to,
                   uint64_t to_bytes, bool keep)
{
    size_t first, last;
    if (!from_bytes || !to_bytes)
        return 0;
    uint64_t moved_bytes = from_bytes < to_bytes ? from_bytes : to_bytes;
    int err = isolate(vmas, from, from + moved_bytes, &first, &last);
    if (err || first == last)
        return err;
    size_t count = last - first;
    struct feed_vma *moved = malloc(count * sizeof(*moved));
    if (!moved)
        return -ENOMEM;
    memcpy(moved, &vmas->list[first], count * sizeof(*moved));
    place_moved(moved, count, from, to, to_bytes);
    err = keep ? 0 : feed_vmas_unmap(vmas, from, from + from_bytes);
    for (size_t i = 0; i < count && !err; i++)
        err = feed_vmas_map(vmas, &moved[i]);
    free(moved);
    return err;
}

int feed_vmas_fork(const struct feed_vmas *from, struct feed_vmas *to)
{
    int err = wd_grow(to->list, to->capacity, from->count + 1);
    if (err)
        return err;
    for (size_t i = 0; i < from->count; i++) {
        if (from->list[i].flags & FEED_VMA_DONTFORK)
            continue;
        to->list[to->count] = from->list[i];
        to->list[to->count++].flags |= FEED_VMA_INHERITED;
    }
    return changed(to, 0);
}

const struct feed_vma *feed_vmas_above(const struct feed_vmas *vmas, uint64_t address)
{
    size_t at = index_above(vmas, address);
    return at < vmas->count ? &vmas->list[at] : NULL;
}

uint64_t feed_vmas_mapped_until(const struct feed_vmas *vmas, uint64_t start, uint64_t end)
{
    size_t at = index_above(vmas, start);
    while (start < end && at < vmas->count && vmas->list[at].start <= start)
        start = vmas->list[at++].end;
    return start < end ? start : end;
}

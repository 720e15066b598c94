/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which lines of a slice gave something to which: its members and their parents, put together by
 * line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "slicer/slice_priv.h"
#include <wetdbg/errors.h>

#define PLACES_FIRST 1024

#define NO_LINE UINT32_MAX

struct gather {
    const struct wetdbg_slice *slice;
    const bool *passed; /* by index in wetdbg_slice_lines(); NULL: none */
    uint32_t *line_of;  /* by index in the code's lines: index in wetdbg_slice_lines() */
    /* By share and member: the line that its users are linked to, its own or, where that is passed
     * by, that of who used it. NO_LINE for what only leads to a source's instance that is no
     * member. */
    uint32_t **stands;
    struct wetdbg_slice_link *items;
    uint32_t count, capacity;
    struct wd_index index;
};

static uint32_t *place_of(const struct gather *gather, size_t user, size_t line)
{
    uint64_t hash = wd_hash_u64((uint64_t)user << 32 ^ line) >> 32;
    return wd_index_find(&gather->index, hash, n,
                         gather->items[n].user == user && gather->items[n].line == line);
}

static int add(struct gather *gather, size_t user, size_t line, const struct slc_member *member)
{
    if (wd_index_room(&gather->index, gather->count, PLACES_FIRST, i,
                      place_of(gather, gather->items[i].user, gather->items[i].line)))
        return -ENOMEM;
    uint32_t *place = place_of(gather, user, line);
    if (!*place) {
        if (wd_grow(gather->items, gather->capacity, gather->count + 1))
            return -ENOMEM;
        gather->items[gather->count] =
            (struct wetdbg_slice_link){.user = user, .line = line, .distance = member->distance};
        *place = ++gather->count;
    }
    struct wetdbg_slice_link *link = &gather->items[*place - 1];
    link->instances[member->edge]++;
    if (member->distance < link->distance)
        link->distance = member->distance;
    return 0;
}

/* The line that a member's parent stands for. */
static uint32_t line_of_parent(const struct gather *gather, const struct slc_member *member)
{
    const struct wetdbg_slice *slice = gather->slice;
    const struct slc_share *share;

    if (member->parent == SLC_USER_FAULT)
        return slice->has_fault ? gather->line_of[slice->code->pcs[slice->fault_pc].line] : NO_LINE;
    const struct slc_member *parent = slc_slice_find(slice, member->parent, &share);
    return parent ? gather->stands[share - slice->shares][parent - share->members] : NO_LINE;
}

static int add_member(struct gather *gather, uint64_t k, size_t i)
{
    const struct slc_member *member = &gather->slice->shares[k].members[i];
    uint32_t line = gather->line_of[gather->slice->code->pcs[member->pc_index].line];
    bool has_parent = member->parent && member->edge < WETDBG_EDGE_NONE;
    uint32_t user = has_parent ? line_of_parent(gather, member) : NO_LINE;

    if (has_parent && gather->passed && gather->passed[line]) {
        gather->stands[k][i] = user;
        return 0;
    }
    gather->stands[k][i] = line;
    return user == NO_LINE ? 0 : add(gather, user, line, member);
}

/* Parents come first: of backward slices they are later, of forward ones earlier. Members are
 * latest first. */
static int add_share(struct gather *gather, uint64_t k)
{
    size_t count = gather->slice->shares[k].member_count;
    int err = 0;

    gather->stands[k] = malloc((count + 1) * sizeof(**gather->stands));
    if (!gather->stands[k])
        return -ENOMEM;
    for (size_t i = 0; i < count && !err; i++)
        err = add_member(gather, k, gather->slice->is_forward ? count - 1 - i : i);
    return err;
}

/* The instruction that did not complete, to which a forward slice came: nothing uses it. */
static int add_reached_fault(struct gather *gather)
{
    const struct wetdbg_slice *slice = gather->slice;

    if (!slice->is_forward || !slice->has_fault)
        return 0;
    const struct slc_member fault = {.parent = slice->fault_want.user,
                                     .pc_index = slice->fault_pc,
                                     .distance = slice->fault_want.distance,
                                     .edge = slice->fault_want.edge};
    uint32_t line = gather->line_of[slice->code->pcs[slice->fault_pc].line];
    uint32_t user = line_of_parent(gather, &fault);
    bool is_passed = gather->passed && gather->passed[line];
    return user == NO_LINE || is_passed ? 0 : add(gather, user, line, &fault);
}

static int by_user(const void *a, const void *b)
{
    const struct wetdbg_slice_link *x = a, *y = b;

    if (x->user != y->user)
        return x->user < y->user ? -1 : 1;
    return x->line < y->line ? -1 : x->line > y->line;
}

static int gather_all(struct gather *gather)
{
    const struct wetdbg_slice *slice = gather->slice;
    size_t count;
    int err = 0;

    wetdbg_slice_lines(slice, &count);
    for (size_t i = 0; i < count; i++)
        gather->line_of[slice->order[i]] = (uint32_t)i;
    for (uint64_t k = 0; k < slice->share_count && !err; k++)
        err = add_share(gather, slice->is_forward ? k : slice->share_count - 1 - k);
    return err ? err : add_reached_fault(gather);
}

static void free_work(struct gather *gather)
{
    for (uint64_t k = 0; gather->stands && k < gather->slice->share_count; k++)
        free(gather->stands[k]);
    free(gather->stands);
    free(gather->line_of);
    wd_index_fini(&gather->index);
}

int wetdbg_slice_links(const struct wetdbg_slice *slice, const bool *passed,
                       struct wetdbg_slice_link **links, size_t *count)
{
    struct gather gather = {.slice = slice, .passed = passed};

    if (!slice->options.record_parents)
        return wetdbg_fail(-EINVAL, "the slice was made without parents");
    gather.line_of = calloc((size_t)slice->code->line_count + 1, sizeof(*gather.line_of));
    gather.stands = calloc(slice->share_count + 1, sizeof(*gather.stands));
    int err = gather.line_of && gather.stands ? gather_all(&gather) : -ENOMEM;
    free_work(&gather);
    if (!err && !gather.items && !(gather.items = malloc(sizeof(*gather.items))))
        err = -ENOMEM;
    if (err) {
        free(gather.items);
        return err;
    }
    qsort(gather.items, gather.count, sizeof(*gather.items), by_user);
    *links = gather.items;
    *count = gather.count;
    return 0;
}

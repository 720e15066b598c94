/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/nearness.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"

/* How near something is: less is nearer, by the fields in their order. */
struct place {
    uint32_t is_partial;      /* one of two distances is not known */
    uint32_t distance, first; /* of a sum, the first one of the two */
};

struct near {
    const char *file;
    uint32_t line;
    struct place place;
};

struct cli_nearness {
    size_t count;
    struct near list[]; /* by line and file */
};

static int by_line(const void *left, const void *right)
{
    const struct near *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->file == b->file ? 0 : strcmp(a->file, b->file);
}

static int compare_places(const struct place *a, const struct place *b)
{
    if (a->is_partial != b->is_partial)
        return a->is_partial < b->is_partial ? -1 : 1;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static struct cli_nearness *new_of(size_t most)
{
    struct cli_nearness *near = cli_malloc(sizeof(*near) + most * sizeof(*near->list));
    near->count = 0;
    return near;
}

struct cli_nearness *cli_nearness_of(const struct wetdbg_slice *slice)
{
    size_t count;
    if (!slice)
        return NULL;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    struct cli_nearness *near = new_of(count);
    for (size_t i = 0; i < count; i++)
        if (lines[i].file && lines[i].min_distance != WETDBG_DISTANCE_UNKNOWN)
            near->list[near->count++] =
                (struct near){lines[i].file, lines[i].line, {.distance = lines[i].min_distance}};
    qsort(near->list, near->count, sizeof(*near->list), by_line);
    return near;
}

void cli_nearness_free(struct cli_nearness *near)
{
    free(near);
}

static struct place add_places(const struct place *a, const struct place *b)
{
    return (struct place){
        .is_partial = a->is_partial | b->is_partial,
        .distance =
            a->distance + b->distance < a->distance ? UINT32_MAX : a->distance + b->distance,
        .first = a->distance,
    };
}

/* What is known of a line by one of two, or by both; NULL: nothing is. */
static struct place join(const struct near *a, enum wetdbg_set_operation operation,
                         const struct near *b)
{
    struct place place = a ? a->place : b->place;
    if (operation == WETDBG_SET_AND && a && b)
        return add_places(&a->place, &b->place);
    if (operation == WETDBG_SET_OR && a && b && compare_places(&b->place, &place) < 0)
        place = b->place;
    if (operation == WETDBG_SET_AND)
        place.is_partial = 1;
    return place;
}

struct cli_nearness *cli_nearness_combine(const struct cli_nearness *a,
                                          enum wetdbg_set_operation operation,
                                          const struct cli_nearness *b)
{
    static const struct cli_nearness nothing = {0};
    a = a ? a : &nothing;
    b = b && operation != WETDBG_SET_MINUS ? b : &nothing;
    if (!a->count && !b->count)
        return NULL;
    struct cli_nearness *both = new_of(a->count + b->count);
    for (size_t i = 0, k = 0; i < a->count || k < b->count;) {
        const struct near *left = i < a->count ? &a->list[i] : NULL;
        const struct near *right = k < b->count ? &b->list[k] : NULL;
        int order = !left ? 1 : !right ? -1 : by_line(left, right);
        left = order <= 0 ? left : NULL;
        right = order >= 0 ? right : NULL;
        const struct near *either = left ? left : right;
        both->list[both->count++] =
            (struct near){either->file, either->line, join(left, operation, right)};
        i += left != NULL;
        k += right != NULL;
    }
    return both;
}

/* ---- sorting ---- */

struct item {
    const struct near *near; /* NULL: not known */
    size_t index, at;        /* of the line; in the old order */
};

static int nearest_first(const void *left, const void *right)
{
    const struct item *a = left, *b = right;
    int order = 0;
    if (!a->near != !b->near)
        return a->near ? -1 : 1;
    if (a->near)
        order = compare_places(&a->near->place, &b->near->place);
    return order ? order : a->at < b->at ? -1 : a->at > b->at;
}

void cli_nearness_sort(const struct cli_nearness *near, const struct wetdbg_slice_line *lines,
                       size_t *order, size_t count)
{
    if (!near)
        return;
    struct item *items = cli_realloc(NULL, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct near key = {lines[order[i]].file, lines[order[i]].line, {0}};
        items[i] = (struct item){
            key.file ? bsearch(&key, near->list, near->count, sizeof(key), by_line) : NULL,
            order[i], i};
    }
    qsort(items, count, sizeof(*items), nearest_first);
    for (size_t i = 0; i < count; i++)
        order[i] = items[i].index;
    free(items);
}

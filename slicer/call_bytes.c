/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/call_bytes.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/bisect.h"

void slc_call_bytes_fini(struct slc_call_bytes *bytes)
{
    free(bytes->list);
    *bytes = (struct slc_call_bytes){.count = 0};
}

int slc_call_bytes_add(struct slc_call_bytes *bytes, struct slc_call_run run)
{
    struct slc_call_run *last = bytes->count ? &bytes->list[bytes->count - 1] : NULL;

    if (last && last->time == run.time && last->kind == run.kind &&
        (run.kind >= SLC_BYTES_RESULT || last->at + last->size == run.at)) {
        last->size += run.size;
        return 0;
    }
    if (wd_grow(bytes->list, bytes->capacity, bytes->count + 1))
        return -ENOMEM;
    bytes->list[bytes->count++] = run;
    bytes->is_sorted = false;
    return 0;
}

int slc_call_bytes_join(struct slc_call_bytes *bytes, const struct slc_call_bytes *other,
                        wetdbg_time time)
{
    int err = 0;

    for (size_t i = 0; i < other->count && !err; i++) {
        struct slc_call_run run = other->list[i];
        run.time = time ? time : run.time;
        err = slc_call_bytes_add(bytes, run);
    }
    return err;
}

static int compare_runs(const void *a, const void *b)
{
    const struct slc_call_run *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

void slc_call_bytes_sort(struct slc_call_bytes *bytes)
{
    if (bytes->count)
        qsort(bytes->list, bytes->count, sizeof(*bytes->list), compare_runs);
    bytes->is_sorted = true;
}

bool slc_call_bytes_next(const struct slc_call_bytes *bytes, wetdbg_time after,
                         const struct slc_call_run **runs, size_t *count)
{
    const struct slc_call_run *list = bytes->list;
    size_t first = wd_bisect(0, bytes->count, i, list[i].time <= after), end = first;

    assert(bytes->is_sorted || !bytes->count);
    while (end < bytes->count && list[end].time == list[first].time)
        end++;
    *runs = list + first;
    *count = end - first;
    return end > first;
}

bool slc_call_bytes_meet(const struct slc_call_bytes *forward,
                         const struct slc_call_bytes *backward, wetdbg_time time)
{
    const struct slc_call_run *x, *y;
    size_t x_count, y_count;
    bool has_x = slc_call_bytes_next(forward, time - 1, &x, &x_count) && x->time == time;
    bool has_y = slc_call_bytes_next(backward, time - 1, &y, &y_count) && y->time == time;

    if (!has_y || y[y_count - 1].kind == SLC_BYTES_ALL)
        return true;
    if (!has_x || x[x_count - 1].kind == SLC_BYTES_ALL)
        return has_x;
    for (size_t i = 0, j = 0; i < x_count && j < y_count;) {
        bool is_same = x[i].kind == y[j].kind;
        if (is_same && x[i].at < y[j].at + y[j].size && y[j].at < x[i].at + x[i].size)
            return true;
        bool is_before =
            is_same ? x[i].at + x[i].size <= y[j].at + y[j].size : x[i].kind < y[j].kind;
        i += is_before;
        j += !is_before;
    }
    return false;
}

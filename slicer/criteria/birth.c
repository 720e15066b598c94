/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/criteria/birth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/writers.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

struct births {
    struct slc_writer_finder finder;
    struct slc_writer *items;
    size_t count, capacity;
    struct slc_place *left; /* of the seed: what nothing stored */
    size_t left_count;
};

static int note(void *arg, const struct slc_writer *writer)
{
    struct births *births = arg;

    if (writer->time == 0) {
        if (wd_grow_one(births->left, births->left_count))
            return -ENOMEM;
        births->left[births->left_count++] = (struct slc_place){.address = writer->address,
                                                                .size_bytes = writer->size_bytes,
                                                                .edge = WETDBG_EDGE_VALUE};
        return 0;
    }
    if (wd_grow(births->items, births->capacity, births->count + 1))
        return -ENOMEM;
    births->items[births->count++] = *writer;
    return 0;
}

/* Takes the bytes of a call that were stored before: true in *is_empty if there are no others. */
static int leave_call(struct slc_seed *seed, struct births *births, bool *is_empty)
{
    int err = 0;

    births->left = NULL;
    births->left_count = 0;
    for (size_t i = 0; i < seed->place_count && !err; i++)
        if (seed->places[i].edge == WETDBG_EDGE_VALUE)
            err = slc_last_writers(&births->finder, seed->time, seed->places[i].address,
                                   seed->places[i].size_bytes, note, births);
    *is_empty = births->left_count == 0 && seed->passed.size == 0;
    for (size_t i = 0; i < seed->place_count && !err && !*is_empty; i++)
        if (seed->places[i].edge != WETDBG_EDGE_VALUE) {
            if (wd_grow_one(births->left, births->left_count))
                err = -ENOMEM;
            else
                births->left[births->left_count++] = seed->places[i];
        }
    free(seed->places);
    seed->places = births->left;
    seed->place_count = births->left_count;
    return err;
}

/* The state that a birth is about is that after an instruction; after what the kernel did it is
 * that before the next one. */
static wetdbg_time seed_time(const struct slc_writer *birth)
{
    return birth->pc ? birth->time : birth->time + 1;
}

static int latest_first(const void *a, const void *b)
{
    wetdbg_time x = seed_time(a), y = seed_time(b);

    return x > y ? -1 : x < y;
}

static struct slc_seed *seed_at(struct wetdbg_criterion *criterion, size_t calls, wetdbg_time time,
                                const struct slc_writer *birth)
{
    struct slc_seed *last =
        criterion->seed_count > calls ? &criterion->seeds[criterion->seed_count - 1] : NULL;

    if (last && last->time == time)
        return last;
    for (size_t i = 0; i < calls; i++)
        if (criterion->seeds[i].time == time)
            return &criterion->seeds[i];
    last = slc_criterion_add(criterion, time, birth->pc);
    if (last)
        last->task = birth->task;
    return last;
}

static int add_births(struct wetdbg_criterion *criterion, struct births *births)
{
    size_t calls = criterion->seed_count;

    if (births->count)
        qsort(births->items, births->count, sizeof(*births->items), latest_first);
    for (size_t i = 0; i < births->count; i++) {
        const struct slc_writer *birth = &births->items[i];
        struct slc_seed *seed = seed_at(criterion, calls, seed_time(birth), birth);
        if (!seed || slc_seed_add_place(seed, birth->address, birth->size_bytes, WETDBG_EDGE_VALUE))
            return -ENOMEM;
        seed->places[seed->place_count - 1].is_after = birth->pc != 0;
    }
    return 0;
}

int slc_criterion_to_birth(struct wetdbg_criterion *criterion)
{
    struct births births = {.count = 0};
    wetdbg_time written = 0;
    size_t kept = 0;
    int err = slc_writer_finder_init(&births.finder, criterion->wet);

    if (err)
        return err;
    for (size_t i = 0; i < criterion->seed_count && !err; i++) {
        struct slc_seed *seed = &criterion->seeds[i];
        bool is_empty = false;
        if (seed->time > written)
            written = seed->time;
        err = leave_call(seed, &births, &is_empty);
        if (is_empty) {
            free(seed->places);
            *seed = (struct slc_seed){.time = 0};
        }
    }
    for (size_t i = 0; i < criterion->seed_count && !err; i++)
        if (criterion->seeds[i].time)
            criterion->seeds[kept++] = criterion->seeds[i];
    if (!err) {
        criterion->seed_count = kept;
        criterion->info.written = births.count ? written : 0;
        err = add_births(criterion, &births);
    }
    slc_writer_finder_fini(&births.finder);
    free(births.items);
    return err;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int slc_criterion_name_birth(struct wetdbg_criterion *criterion)
{
    struct slc_seed *seed = &criterion->seeds[0]; /* the latest */
    size_t length = strlen(criterion->description);
    struct wetdbg_caller caller;
    char place[300];
    int err = 0;

    if (!criterion->info.written || seed->time >= criterion->info.written)
        return 0;
    if (!seed->pc)
        err = slc_state_at(criterion->wet, seed->time, &seed->pc, &seed->task);
    if (!err)
        err = wetdbg_own_caller(criterion->wet, seed->time, &caller);
    if (err == -WETDBG_ERR_NOT_FOUND) {
        caller = (struct wetdbg_caller){.time = seed->time, .pc = seed->pc};
        err = 0;
    }
    if (err)
        return err;
    if (!caller.time)
        caller.time = seed->time;
    criterion->info.born = caller;
    slc_describe_pc(criterion->wet, caller.pc, place, sizeof(place));
    if (caller.file)
        snprintf(place, sizeof(place), "%s:%u%s%s", base_name(caller.file), caller.line,
                 caller.function ? " in " : "", caller.function ? caller.function : "");
    snprintf(criterion->description + length, sizeof(criterion->description) - length,
             ", put there at time %llu by %s", (unsigned long long)caller.time, place);
    return 0;
}

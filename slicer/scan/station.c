/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/station.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/checked.h"

/* The stations of an interval; NULL if memory is short. */
static struct slc_stations *stations_of(struct wetdbg_slice_session *session,
                                        const struct wet_interval *interval)
{
    size_t count = (interval->instructions >> session->stretch_bits) + 1;

    assert(interval->index < session->interval_count);
    if (!session->places)
        session->places = calloc(session->interval_count + 1, sizeof(struct slc_stations *));
    if (!session->places)
        return NULL;
    struct slc_stations **row = &session->places[interval->index];
    if (!*row) {
        *row = calloc(1, sizeof(**row) + count * sizeof(struct slc_station *));
        if (*row)
            (*row)->count = count;
    }
    return *row;
}

struct slc_station *slc_station_of(struct wetdbg_slice_session *session,
                                   const struct wet_interval *interval,
                                   const struct slc_reach *reach)
{
    struct slc_stations *row = stations_of(session, interval);

    assert(reach->first < reach->end && reach->end <= interval->exec_count);
    if (!row || reach->number >= row->count)
        return NULL;
    struct slc_station **first = &row->at[reach->number], *station = *first;
    while (station && (station->first_exec != reach->first || station->end_exec != reach->end))
        station = station->more;
    if (!station && (station = calloc(1, sizeof(*station)))) {
        station->first_exec = reach->first;
        station->end_exec = reach->end;
        station->more = *first;
        *first = station;
    }
    return station;
}

int slc_station_describe(struct slc_station *station, struct slc_code *code,
                         const struct wet_interval *interval)
{
    size_t first = station->first_exec;
    struct ins_regset defs = {0};

    assert(station->end_exec <= interval->exec_count);
    if (station->is_described)
        return 0;
    for (size_t i = first; i < station->end_exec; i++) {
        const struct slc_node *node = slc_code_node(code, interval->execs[i].node);
        if (!node)
            return -ENOMEM;
        ins_regset_join(&defs, &node->defs);
        station->has_loader |= node->is_loader;
        station->has_turns |= node->is_recorder;
        station->has_turns |= interval->execs[i].task != interval->execs[first].task;
    }
    station->defs = defs;
    station->is_described = true;
    return 0;
}

int slc_station_prepare(struct wetdbg_slice_session *session, struct slc_station *station,
                        struct slc_code *code, const struct wet_interval *interval)
{
    assert(station->is_described);
    if (station->is_large)
        return 0;
    if (station->footprint)
        return 1;
    int result = slc_footprint_make(&session->maker, code, interval, station->first_exec,
                                    station->end_exec, &station->footprint);
    station->is_large = result == 0;
    return result;
}

void slc_station_leave(struct slc_station *station)
{
    if (station->first)
        return;
    slc_footprint_free(station->footprint);
    station->footprint = NULL;
}

/* ---- by last use ---- */

static void unlink_stretch(struct wetdbg_slice_session *session, struct slc_stretch *stretch)
{
    assert(stretch->newer ? stretch->newer->older == stretch : session->newest == stretch);
    *(stretch->newer ? &stretch->newer->older : &session->newest) = stretch->older;
    *(stretch->older ? &stretch->older->newer : &session->oldest) = stretch->newer;
}

static void link_stretch(struct wetdbg_slice_session *session, struct slc_stretch *stretch)
{
    stretch->newer = NULL;
    stretch->older = session->newest;
    *(session->newest ? &session->newest->newer : &session->oldest) = stretch;
    session->newest = stretch;
}

void slc_station_touch(struct wetdbg_slice_session *session, struct slc_stretch *stretch)
{
    unlink_stretch(session, stretch);
    link_stretch(session, stretch);
}

void slc_stretch_free(struct slc_stretch *stretch)
{
    slc_frames_copy_free(&stretch->frames_before);
    slc_frames_copy_free(&stretch->frames_after);
    free(stretch->saved_before);
    free(stretch->saved_after);
    slc_change_fini(&stretch->memory);
    free(stretch->counts);
    free(stretch->bits);
    free(stretch);
}

static void drop(struct wetdbg_slice_session *session, struct slc_stretch *stretch)
{
    struct slc_station *station = stretch->station;

    assert(session->stretch_bytes >= stretch->bytes && *stretch->link == stretch);
    unlink_stretch(session, stretch);
    session->stretch_bytes -= stretch->bytes;
    *stretch->link = stretch->next;
    if (stretch->next)
        stretch->next->link = stretch->link;
    slc_stretch_free(stretch);
    if (!station->first)
        session->stretch_bytes -= slc_footprint_bytes(station->footprint);
    slc_station_leave(station);
}

void slc_stretches_forget(struct wetdbg_slice_session *session, uint64_t interval)
{
    for (struct slc_stretch *stretch = session->newest, *older; stretch; stretch = older) {
        older = stretch->older;
        if (interval == UINT64_MAX || stretch->interval == interval)
            drop(session, stretch);
    }
}

void slc_station_keep(struct wetdbg_slice_session *session, struct slc_station *station,
                      struct slc_stretch *stretch)
{
    unsigned count = 0;
    struct slc_stretch *stalest = NULL;

    assert(station->footprint && !stretch->station);
    if (!station->first)
        session->stretch_bytes += slc_footprint_bytes(station->footprint);
    stretch->station = station;
    stretch->next = station->first;
    stretch->link = &station->first;
    if (station->first)
        station->first->link = &stretch->next;
    station->first = stretch;
    link_stretch(session, stretch);
    session->stretch_bytes += stretch->bytes;
    for (struct slc_stretch *other = stretch; other; other = other->next, count++)
        stalest = other;
    if (count > SLC_STRETCHES_MAX)
        drop(session, stalest);
    while (session->stretch_bytes > SLC_STRETCH_BYTES && session->oldest != stretch)
        drop(session, session->oldest);
}

static void row_free(struct slc_stations *row)
{
    for (size_t i = 0; row && i < row->count; i++)
        while (row->at[i]) {
            struct slc_station *station = row->at[i];
            row->at[i] = station->more;
            slc_footprint_free(station->footprint);
            free(station);
        }
    free(row);
}

void slc_stations_free(struct wetdbg_slice_session *session)
{
    slc_stretches_forget(session, UINT64_MAX);
    for (uint64_t k = 0; session->places && k < session->interval_count; k++)
        row_free(session->places[k]);
    free(session->places);
    session->places = NULL;
    slc_footprint_maker_fini(&session->maker);
}

/* ---- what is trusted ---- */

static int copy_validate(const struct slc_frames_copy *copy)
{
    size_t classes = 0;

    for (size_t i = 0; i < copy->count; i++)
        classes += copy->frames[i].class_count;
    if (classes != copy->class_count)
        return wd_fail_defect("frames of a stretch wait for %zu classes, and not %zu",
                              copy->class_count, classes);
    return 0;
}

static int members_validate(const struct slc_stretch *stretch)
{
    uint64_t counted = 0, members = 0;

    for (size_t i = 0; i < stretch->count_count; i++)
        counted += stretch->counts[i].instances;
    for (size_t i = 0; i < stretch->bit_words && stretch->bits; i++)
        members += (uint64_t)__builtin_popcountll(stretch->bits[i]);
    return members == counted
               ? 0
               : wd_fail_defect("a stretch has %llu members, and %llu were counted",
                                (unsigned long long)members, (unsigned long long)counted);
}

int slc_stretch_validate(const struct slc_stretch *stretch)
{
    const struct slc_station *station = stretch->station;

    if (!station || !station->footprint || station->first_exec >= station->end_exec)
        return wd_fail_defect("a stretch has no station, or one without a footprint");
    if (stretch->lowest > stretch->frames_before.count)
        return wd_fail_defect("a stretch leaves %zu frames of %zu", stretch->lowest,
                              stretch->frames_before.count);
    int err = members_validate(stretch);
    if (!err)
        err = copy_validate(&stretch->frames_before);
    if (!err)
        err = copy_validate(&stretch->frames_after);
    if (!err)
        err = slc_regs_validate(&stretch->regs_before);
    if (!err)
        err = slc_regs_validate(&stretch->regs_after);
    return err ? err : slc_change_validate(&stretch->memory, station->footprint);
}

static int links_validate(const struct wetdbg_slice_session *session)
{
    const struct slc_stretch *newer = NULL;

    for (const struct slc_stretch *stretch = session->newest; stretch;
         newer = stretch, stretch = stretch->older)
        if (stretch->newer != newer || *stretch->link != stretch ||
            (stretch->next && stretch->next->link != &stretch->next))
            return wd_fail_defect("a stretch is not in its lists");
    return session->oldest == newer ? 0 : wd_fail_defect("the oldest stretch is not the last one");
}

int slc_stations_validate(const struct wetdbg_slice_session *session)
{
    uint64_t bytes = 0;
    int err = links_validate(session);

    for (const struct slc_stretch *stretch = session->newest; stretch && !err;
         stretch = stretch->older) {
        const struct slc_station *station = stretch->station;
        err = slc_stretch_validate(stretch);
        bytes += stretch->bytes;
        if (!err && station->first == stretch)
            bytes += slc_footprint_bytes(station->footprint);
    }
    if (!err && bytes != session->stretch_bytes)
        return wd_fail_defect("stretches have %llu bytes, and %llu were counted",
                              (unsigned long long)bytes,
                              (unsigned long long)session->stretch_bytes);
    return err;
}

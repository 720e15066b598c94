/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where scans of a session come by: the stretches of each interval, and what they did there, the
 * least lately used of which goes when there is too much.
 */
#ifndef SLICER_SCAN_STATION_H
#define SLICER_SCAN_STATION_H

#include "slicer/scan/bypass.h"
#include "slicer/scan/change.h"
#include "slicer/scan/frames.h"
#include "slicer/scan/reach.h"
#include "slicer/slice_session.h"

struct slc_station;

/* What a scan did to a stretch. */
struct slc_stretch {
    struct slc_stretch *next, **link; /* of the same station */
    struct slc_stretch *newer, *older;
    struct slc_station *station;
    uint64_t bytes; /* that it takes */
    uint64_t interval;
    uint32_t mode, task;
    struct slc_regs regs_before, regs_after;
    const struct slc_node *next_before, *next_after;
    struct slc_frames_copy frames_before, frames_after;
    size_t lowest; /* of frames_before: the first that played a part; those of frames_after begin
                    * there */
    struct slc_saved *saved_before, *saved_after;
    size_t saved_before_count, saved_after_count;
    struct slc_change memory;
    struct slc_count *counts;
    size_t count_count;
    uint64_t *bits; /* of the words that hold its members, NULL if it has none */
    size_t bit_words;
};

/* A stretch of the run, or a part of one that lies between events. */
struct slc_station {
    struct slc_station *more; /* of the same number */
    size_t first_exec, end_exec;
    struct slc_stretch *first;       /* what scans did there, the latest one first */
    struct ins_regset defs;          /* registers that its instructions define */
    struct slc_footprint *footprint; /* NULL until it is needed, or nothing is kept any more */
    bool is_described, has_loader;
    bool has_turns; /* of several threads */
    bool is_large;  /* too much for a footprint */
};

/* The stations of an interval. */
struct slc_stations {
    size_t count;
    struct slc_station *at[];
};

/* The station of some executions of an interval; NULL if memory is short. */
struct slc_station *slc_station_of(struct wetdbg_slice_session *session,
                                   const struct wet_interval *interval,
                                   const struct slc_reach *reach);

/* Finds out what a station's executions are. 0 or -ENOMEM. */
int slc_station_describe(struct slc_station *station, struct slc_code *code,
                         const struct wet_interval *interval);

/* Makes their footprint, too: 1; 0 if it is too large, or -ENOMEM. */
int slc_station_prepare(struct wetdbg_slice_session *session, struct slc_station *station,
                        struct slc_code *code, const struct wet_interval *interval);

/* Frees the footprint if nothing is kept there. */
void slc_station_leave(struct slc_station *station);

/* Takes a stretch over, which has its interval and bytes set. */
void slc_station_keep(struct wetdbg_slice_session *session, struct slc_station *station,
                      struct slc_stretch *stretch);
/* Notes that a stretch has been used: the least lately used ones go first. */
void slc_station_touch(struct wetdbg_slice_session *session, struct slc_stretch *stretch);

void slc_stretch_free(struct slc_stretch *stretch);

/* Forgets what scans did in one interval, or (UINT64_MAX) in all. */
void slc_stretches_forget(struct wetdbg_slice_session *session, uint64_t interval);

/* Frees all stations. */
void slc_stations_free(struct wetdbg_slice_session *session);

/* What a stretch holds fits its station, whose footprint it needs. 0, or what is wrong. */
int slc_stretch_validate(const struct slc_stretch *stretch);

/* All stretches, each in the lists of its station and of last use, and their bytes together. 0, or
 * what is wrong. */
int slc_stations_validate(const struct wetdbg_slice_session *session);

#endif

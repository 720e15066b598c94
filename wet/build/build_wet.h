/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a Whole Execution Trace: replays a process once and keeps what cannot be recomputed. */
#ifndef WET_BUILD_BUILD_WET_H
#define WET_BUILD_BUILD_WET_H

#include <signal.h>
#include <stdint.h>

#include "recorder/feed/feed.h"

#define WET_BUILD_LEVEL_COMPACT 12

/* A moment of the run. */
struct wet_moment {
    enum {
        WET_MOMENT_NONE,
        WET_MOMENT_TIME,    /* before the instruction with this number, from 1 */
        WET_MOMENT_EVENT,   /* before the recording's event with this number */
        WET_MOMENT_PERCENT, /* of the recording's events; 100: the end */
    } kind;
    uint64_t value;
};

/* The run is one that went on differently from that of another .wet. */
struct wet_branch_of {
    const char *path;        /* of that file: what it holds of the disk is taken over */
    const char *fingerprint; /* its own */
    const char *change;      /* in words */
    uint64_t time;           /* at which it was made */
};

struct wet_build_options {
    const char *fingerprint; /* identifies recording and process; kept in the file */
    /* What only those know who may have begun an unfinished file that this build goes on with:
     * another one is not read. NULL: everybody knows. Kept in the journal only. */
    const char *maker;
    const struct wet_branch_of *branch; /* NULL: a recorded run */
    int level;                          /* effort of compression, wet/store/codec.h; 0: default */
    uint64_t interval_instructions;     /* after so many an interval ends; 0: 4 Mi */
    /*
     * The part of the run to build; NONE: its start, its end. It ends at the first place from `to`
     * on where stopping is possible, some instructions later at most.
     */
    struct wet_moment from, to;
    unsigned jobs; /* processors to be used; 0: all. Same bytes for any. */
    /*
     * From 4 jobs on a run that is long enough is built by several processes (side.h), each a
     * window of so many intervals; 0: by a rule.
     */
    enum { WET_SIDE_AUTO, WET_SIDE_ALWAYS, WET_SIDE_NEVER } side_by_side;
    uint64_t window_intervals;
    uint64_t memory_bytes; /* bound for what waits to be written and the like; 0: 2 GiB */
    const volatile sig_atomic_t *interrupted; /* may be NULL */
    bool is_once; /* nobody will go on with it: an unfinished file is removed, whatever ended it */
    /* Told now and then; may be NULL. */
    void (*progress)(void *arg, uint64_t frames_done, uint64_t frames_total, uint64_t instructions);
    void *progress_arg;
    /* Told in a sentence what the user should know and is no error; may be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
};

struct wet_build_result {
    uint64_t events_checked, instructions, nodes;
    double seconds; /* how long it took, without writing the file's end */
};

/*
 * Replays `feed` (at its beginning) to its end and writes `path`. An existing file at `path` is
 * replaced only when everything went well. Errors: those of replaying (rep_engine_run), of the
 * recording, of writing.
 *
 * Until then the file is PATH.part, with a journal PATH.part-log beside it. If the build is
 * interrupted, killed, or finds no room, they stay (after a kill only, if options->is_once), and
 * the next one with the same fingerprint and options goes on with the last interval that is whole.
 * The file is then the same, byte for byte, as that of a build that was left alone.
 */
int wet_build(struct rep_feed *feed, const char *path, const struct wet_build_options *options,
              struct wet_build_result *result);

#endif

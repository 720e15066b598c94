/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replays that count conditional branches, and the ticks that a recording should have had. */
#ifndef TESTS_TICKS_COUNTED_H
#define TESTS_TICKS_COUNTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define COUNTED_PROGRAMS_MAX 16

/* An entry at which registers are compared. */
struct counted_stop {
    uint64_t frame;
    uint64_t time;  /* instructions executed before */
    uint64_t ticks; /* conditional branches that its task had executed since it began */
    uint64_t kind;  /* enum evq_kind */
    uint64_t flags; /* enum evq_place_flags of a place */
    int64_t signal; /* at a place; 0: a switch to another thread */
};

/* The run of one program, all of it. */
struct counted_run {
    char program[300]; /* as in rep_selection_parse */
    bool has_ticks;    /* the recording has */
    struct wd_buf stops;
    uint64_t instructions;
};

/* The runs of a recording's programs, in the order of wetdbg_recording_processes(). All zero is
 * none. */
struct counted_runs {
    struct counted_run list[COUNTED_PROGRAMS_MAX];
    size_t count;
};

const struct counted_stop *counted_stops(const struct counted_run *run, size_t *count);

/* Replays run->program of the recording in `dir`, counting, whether it has ticks or not. 0, or why
 * it could not be replayed; run->stops are those so far, to be freed in either case. */
int counted_run_make(const char *dir, struct counted_run *run);

/* Makes the runs of every program of the recording; the runs so far are to be freed in either
 * case. */
int counted_runs_make(const char *dir, struct counted_runs *runs);
void counted_runs_fini(struct counted_runs *runs);

/*
 * The ticks of all frames of the recording, as rr counts: per task, from 0 where it begins and at
 * the first exec, on through later ones. Frames at which nobody counted have the task's last ones.
 * To be freed. Fails the test if two runs do not agree on a frame.
 */
int64_t *counted_ticks(const char *dir, const struct counted_runs *runs, size_t *frame_count);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pruning slices by confidence: what also led to output that is right is probably right.
 *
 * An instance's confidence is 1 - log|alt| / log|range|: `range` are the values that its
 * instruction has produced in this run, `alt` those of them that could stand in for its own with
 * everything unchanged that is known to be right. 1: only the value that it had fits. 0: any would
 * do, or nothing is known. Of an instruction that always produced one value, it is 1 only if right
 * output tells that value step by step, by instructions of which different values give different
 * results. A branch that went both ways in this run and let something right run has 1. What cannot
 * be judged has 0. A source line's confidence is the least of its instances'. Only confidence 1
 * prunes.
 *
 * X. Zhang, N. Gupta, R. Gupta, Pruning dynamic slices with confidence, PLDI 2006; rounds of
 * marking: X. Zhang, S. Tallam, N. Gupta, R. Gupta, Towards locating execution omission errors,
 * PLDI 2007. Where these invert an instruction by the operands and results that a profile has of
 * it, here it is computed once more with other operands.
 *
 * A value that comes to one instruction by two ways is tried in both operands at once only where
 * these ways are copies: where they compute, each is tried with the other as it was, and confidence
 * can be larger than it should.
 *
 * A fault whose wrong value happened to give right output is lost by it (coincidental correctness);
 * and nothing is found where nothing right came before what is wrong.
 *
 * Errors are as for slices (<wetdbg/slice.h>).
 */
#ifndef WETDBG_PRUNE_H
#define WETDBG_PRUNE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/set.h>
#include <wetdbg/slice.h>

WETDBG_BEGIN

/*
 * The values that each instruction of a run has produced. It is made by running all intervals; or,
 * of a long run, those that hold the `instructions` up to time `last` (0: all; `last` means nothing
 * then). It serves all prunings of which what is right came in these. Memory: at most 256 MiB and
 * some 200 bytes for each instruction. `progress` as in struct wetdbg_slice_options, may be NULL.
 * *out is for wetdbg_profile_free(), before the wet is closed. -ENOMEM, -WETDBG_ERR_INTERRUPTED,
 * errors of running intervals.
 */
struct wetdbg_profile;
int wetdbg_profile_make(struct wetdbg *wet, wetdbg_time last, uint64_t instructions,
                        int (*progress)(void *arg, uint64_t done, uint64_t total), void *arg,
                        struct wetdbg_profile **out);
void wetdbg_profile_free(struct wetdbg_profile *profile); /* NULL is fine */

struct wetdbg_prune_options {
    /* What held the right values: places of criteria, as they were just before their instances (of
     * output that is sliced from its birth: as these put it there). Instances of a crash count for
     * nothing. */
    const struct wetdbg_criterion *const *right;
    size_t right_count;
    /* Instances that made what they should, in any order. */
    const wetdbg_time *good;
    size_t good_count;
    struct wetdbg_profile *profile; /* of the same wet */
    /* So many instances of the run that led to something right are judged, the latest first: what
     * came before is not looked at. 0: all. */
    uint64_t limit;
    /* As in struct wetdbg_slice_options, may be NULL; if it ends the pass, what was looked at until
     * then is the answer. So does wetdbg_interrupt(), which is cleared then. */
    int (*progress)(void *arg, uint64_t done, uint64_t total);
    void *arg;
};

struct wetdbg_prune_line {
    const struct wetdbg_slice_line *line; /* of the slice */
    /* 0 to 1: the least of its instances' that were looked at; less than 1 unless all were, 0 if
     * none was. */
    double confidence;
    uint64_t kept;   /* of the line's instances */
    uint64_t looked; /* at so many of them */
};

struct wetdbg_prune_counts {
    uint64_t instances, kept;   /* of the slice */
    uint64_t lines, kept_lines; /* source lines of the slice, as its own counts have them */
    uint64_t right_bytes;       /* that were known to be right */
    uint64_t known;             /* instances of the run of which these tell something */
    uint64_t unjudged;          /* of these: whose operands nothing could be said about */
    uint64_t looked;            /* of `instances`: what is before has no confidence, and is kept */
    wetdbg_time looked_to;      /* these came at this time or later; 0: all were looked at */
    bool is_interrupted;        /* the pass was ended before it came to its limit */
    double seconds;
};

struct wetdbg_prune;

/*
 * Judges the instances of a slice: backward, or of a set. One pass back over the run, from what is
 * right latest to the start of the run, or of the profile's part of it. -WETDBG_ERR_NOT_FOUND if
 * nothing is known to be right. *out is for wetdbg_prune_free(), before the slice is freed.
 */
int wetdbg_prune(const struct wetdbg_slice *slice, const struct wetdbg_prune_options *options,
                 struct wetdbg_prune **out);
void wetdbg_prune_free(struct wetdbg_prune *prune); /* NULL is fine */

const struct wetdbg_prune_counts *wetdbg_prune_get_counts(const struct wetdbg_prune *prune);

/* All lines of the slice, the least confidence first, then the nearest to the criterion; those with
 * confidence 1 are pruned. Lines of which nothing was looked at come last. Lives as long as the
 * pruning. */
const struct wetdbg_prune_line *wetdbg_prune_lines(const struct wetdbg_prune *prune, size_t *count);

/* The instances that are left: those with less than 1, and of a line that is left what has no value
 * of its own. Lives as long as the pruning. */
const struct wetdbg_set *wetdbg_prune_get_set(const struct wetdbg_prune *prune);

/*
 * All output of the descriptor that `wrong` is a byte of, before its first wrong byte; of another
 * criterion, all that descriptor 1 got before its instance. -WETDBG_ERR_NOT_FOUND if there is none.
 * *out is for wetdbg_criterion_free().
 */
int wetdbg_prune_right_before(struct wetdbg *wet, const struct wetdbg_criterion *wrong,
                              struct wetdbg_criterion **out);

/* -WETDBG_ERR_USAGE, explained, if `right` names output that is `wrong`, or comes after it. */
int wetdbg_prune_check(const struct wetdbg_criterion *right, const struct wetdbg_criterion *wrong);

WETDBG_END

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where is the fault? What is known of a failing run, by source line, and a ranked list of lines
 * to suspect.
 *
 * Whoever locates asks the questions (slices, passing runs, confidence, switched runs), and hands
 * each answer over as it comes; the list can be asked for at any time, and gets better. Only lines
 * of the program's own code (<wetdbg/caller.h>) that ran in the failing run are suspects; code of
 * the system's headers is none.
 *
 * A line's score is a sum of features of its evidence, with the weights of one table
 * (locate/weights.h), and what other runs say of lines beside it. The weights were learned from
 * faults that are not those of our tests; what each feature is, and how they were learned, is in
 * docs/architecture/locate.md.
 *
 * Functions return 0 or a negative code (<wetdbg/errors.h>): besides what they say, -ENOMEM and
 * errors of running intervals again.
 */
#ifndef WETDBG_LOCATE_H
#define WETDBG_LOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/candidates.h>
#include <wetdbg/implicit.h>
#include <wetdbg/mutate.h>
#include <wetdbg/prune.h>
#include <wetdbg/replace.h>
#include <wetdbg/slice.h>
#include <wetdbg/spectrum.h>
#include <wetdbg/switch_search.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

/* What the instructions of a line do, as bits. */
enum wetdbg_doing {
    WETDBG_DOING_BRANCH = 1, /* a conditional jump, or one to several places */
    WETDBG_DOING_CALL = 2,
    WETDBG_DOING_RETURN = 4,
};

/* What is known of one line; all zero is nothing. */
struct wetdbg_evidence {
    /* Of the failing run: how often its most executed instruction ran. */
    uint64_t executions;
    unsigned doing; /* bits of enum wetdbg_doing */
    /* Of the full backward slice of what is wrong: */
    bool in_slice;
    bool only_calls;       /* nothing of it is there but calls of what is */
    uint32_t distance;     /* the least of its instances', copies being as near as their users */
    uint32_t place;        /* among the own lines of the slice, from 1, the nearest first */
    uint64_t instances;    /* in the slice */
    wetdbg_time last;      /* of the latest of them */
    uint32_t decision;     /* among wetdbg_slice_decisions(), from 1; 0: it is none */
    bool in_data, in_thin; /* in these slices, too */
    /* Of passing runs: how many of them executed the line, had it in their slice, and which values
     * of its instructions no passing run made: as struct wetdbg_against has them. */
    uint32_t executed, sliced, values, new_values;
    /* Of the pieces of the run before what is wrong: in how many it ran (`piece_bits`, from the
     * first one on), whether it ran in what was left until the wrong was made, and if not, how many
     * pieces ago (1: in the last one). */
    uint64_t piece_bits;
    uint32_t pieces, pieces_ago;
    bool in_failing_piece;
    /* Of pruning: */
    bool is_judged;
    double confidence;
    /* Of switched runs: the best verdict for a switch of the line, and of that one: */
    bool is_switched;
    enum wetdbg_verdict verdict;
    struct wetdbg_candidate change;
    uint64_t trial; /* its position in the order, from 1 */
    /* Of replaced values: how many were tried, after how many of them the run was right, and after
     * how many it was at least less wrong; and the best of these. */
    uint64_t replaced, repaired_exactly, repaired;
    struct wetdbg_replacement repair;
    /* Of mutants of its instructions: how many were tried, how many of them made the run right and
     * broke no passing run, how many made it at least less wrong; and the best of these. Of those
     * that made it right: how many left some passing run right that executes them. Of all: how many
     * changed what is wrong, and nothing before it. */
    uint64_t mutated, mutated_exactly, mutated_well, mutated_safely, mutated_here;
    struct wetdbg_mutant mutant;
    /* Predicates' instances of the line on which something of the slice depends implicitly, and
     * whether one of them repairs the output. */
    uint32_t implied;
    bool is_strong;
    bool in_test; /* it is of a test's own source: wetdbg_locate_set_tests() */
};

/* ---- suspects ---- */

enum wetdbg_reason_kind {
    WETDBG_REASON_CRITERION, /* it is where what is wrong showed */
    WETDBG_REASON_MUTANT,    /* `count` of `total` mutants of it repair: `evidence.mutant` */
    WETDBG_REASON_SWITCH,    /* a decision of it made otherwise repairs: `evidence.change` */
    WETDBG_REASON_REPAIR,    /* `count` of `total` other values of it repair: `evidence.repair` */
    WETDBG_REASON_IMPLICIT,  /* a decision of it kept something from being written: count */
    WETDBG_REASON_BESIDE,    /* more runs speak against line `count`, beside it */
    WETDBG_REASON_ONLY_HERE, /* of `total` passing runs none executed it */
    WETDBG_REASON_RARELY,    /* `count` of `total` passing runs executed it */
    WETDBG_REASON_VALUES,    /* `count` of its `total` values were made in no passing run */
    WETDBG_REASON_PIECE,     /* it ran in `count` of `total` pieces that made what is right */
    WETDBG_REASON_STEP,      /* it ran in `count` of `total` steps of the test, of late */
    WETDBG_REASON_DECISION,  /* it is the `count`-th decision back from what is wrong */
    WETDBG_REASON_DISTANCE,  /* `count` dependences from what is wrong */
    WETDBG_REASON_LONG_AGO,  /* it made what was used there, before what the full slice looked at */
    WETDBG_REASON_UNSURE,    /* nothing that is right depends on it as it was: `share` */
    WETDBG_REASON_OUTSIDE,   /* it is not in the slice */
    WETDBG_REASON_TEST,      /* it only checks: what is wrong is noticed there */
};

struct wetdbg_reason {
    enum wetdbg_reason_kind kind;
    uint64_t count, total;
    double share;
};

/* "criterion", "mutant", "switch", "repair", "implicit", "beside", "only-here", "rarely", "values",
 * "piece", "step", "decision", "distance", "long-ago", "unsure", "outside", "test"; static. */
const char *wetdbg_reason_name(enum wetdbg_reason_kind kind);

#define WETDBG_REASONS_MAX 8

/* Strings are the model's. */
struct wetdbg_suspect {
    const char *file; /* as wetdbg_line_at() gives it */
    const char *function;
    uint32_t line;
    uint64_t pc; /* an instruction of it */
    double score;
    uint32_t beside; /* the line beside it against which more runs speak; 0: none */
    uint32_t rank;   /* in the list that was asked for last, from 1; 0: in none yet */
    struct wetdbg_evidence evidence;
    struct wetdbg_reason reasons[WETDBG_REASONS_MAX]; /* the strongest first */
    unsigned reason_count;
};

struct wetdbg_locate;

/*
 * Finds the own lines that ran: all of them are suspects, of which nothing else is known yet.
 * Runs nothing. *out is for wetdbg_locate_free(), before the wet is closed.
 * -WETDBG_ERR_UNSUPPORTED, explained, if none has a source line.
 */
int wetdbg_locate_new(struct wetdbg *wet, struct wetdbg_locate **out);
void wetdbg_locate_free(struct wetdbg_locate *locate); /* NULL is fine */

/*
 * Says which source files are a failing test's own. What is wrong is only noticed there: any change
 * of a check makes the test pass. So the lines of these files keep a quarter of their scores, if
 * other lines ran, too. Replaces what an earlier call said; `is_tests` is asked only now.
 */
void wetdbg_locate_set_tests(struct wetdbg_locate *locate,
                             bool (*is_tests)(void *arg, const char *file), void *arg);

/* How many lines that is. */
size_t wetdbg_locate_executed(const struct wetdbg_locate *locate);

/*
 * Takes what a backward slice of what is wrong says: of WETDBG_SLICE_FULL lines, distances and
 * decisions (-EINVAL without record_parents), of WETDBG_SLICE_DATA and WETDBG_SLICE_THIN which
 * lines it has. Others are -EINVAL. Nothing of the slice is kept.
 */
int wetdbg_locate_take_slice(struct wetdbg_locate *locate, enum wetdbg_slice_kinds kinds,
                             const struct wetdbg_slice *slice);

/*
 * Holds the run against passing ones: `slice` is that of wetdbg_locate_take_slice(). They replace
 * those of an earlier call. Arguments and errors are those of wetdbg_slice_hold_against(); what is
 * not in the slice is held against them by executions only.
 */
int wetdbg_locate_take_passing(struct wetdbg_locate *locate, const struct wetdbg_slice *slice,
                               const struct wetdbg_passing *passing, size_t count,
                               bool (*is_unwanted)(void *arg), void *arg);

enum wetdbg_pieces {
    WETDBG_PIECES_OUTPUT, /* each ended with some more output that is right */
    /* Each ended with a line of the test itself. What such a step leaves behind is often not
     * checked by the next one, so that the last few of them are suspected, too. */
    WETDBG_PIECES_STEPS,
};

/*
 * Cuts the run into pieces: piece i ends with times[i], when nothing was known to be wrong yet
 * (ascending; WETDBG_PIECES_MAX at most), and what follows, up to `until`, made what is wrong. So
 * one run tells as much as several: pieces are passing ones (E. Wong et al., A Survey on Software
 * Fault Localization, TSE 42(8), 2016, section 3.2, for spectra; that pieces of one run make one is
 * ours). Runs all intervals before `until` once.
 */
#define WETDBG_PIECES_MAX 63
int wetdbg_locate_take_pieces(struct wetdbg_locate *locate, enum wetdbg_pieces kind,
                              const wetdbg_time *times, size_t count, wetdbg_time until,
                              bool (*is_unwanted)(void *arg), void *arg);

/* Takes confidences; those of an earlier pruning are forgotten. 0. */
int wetdbg_locate_take_prune(struct wetdbg_locate *locate, const struct wetdbg_prune *prune);

/* Takes the findings of a search; of a pair of switches both lines have its verdict. 0. */
int wetdbg_locate_take_findings(struct wetdbg_locate *locate,
                                const struct wetdbg_search_result *result);

/* Takes what replaced values brought; `slice` is that in which they were. Those of an earlier call
 * are forgotten. 0. */
int wetdbg_locate_take_replacements(struct wetdbg_locate *locate, const struct wetdbg_slice *slice,
                                    const struct wetdbg_replacement_result *result);

/* Takes what mutants brought; those of an earlier call are forgotten. 0. */
int wetdbg_locate_take_mutants(struct wetdbg_locate *locate,
                               const struct wetdbg_mutant_result *result);

/* Takes dependences that were proven; -ENOMEM if it was the first to name a line. */
int wetdbg_locate_take_implicit(struct wetdbg_locate *locate,
                                const struct wetdbg_implicit_result *result);

/*
 * The suspects, the most suspicious first, by what was taken so far; of those with one score the
 * nearest first. *suspects lives until the next call with this `locate`. 0 or -ENOMEM.
 */
int wetdbg_locate_suspects(struct wetdbg_locate *locate, const struct wetdbg_suspect **suspects,
                           size_t *count);

/* The rank of an instruction's line in the list that was asked for last, from 0; UINT32_MAX: it is
 * no suspect. For wetdbg_mutants_find(). */
uint32_t wetdbg_locate_rank(void *locate, uint64_t pc);

/* ---- features ---- */

/* The features that scores are made of, from 0 on, by name; NULL behind the last one. Static. */
const char *wetdbg_feature_name(unsigned feature);

/* A suspect's value of each, as many as there are names; 0 to 1. Of a suspect that
 * wetdbg_locate_suspects() gave. */
void wetdbg_locate_features(const struct wetdbg_locate *locate,
                            const struct wetdbg_suspect *suspect, double *features);

#define WETDBG_FEATURES_MAX 40

WETDBG_END

#endif

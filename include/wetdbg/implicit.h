/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Execution omission: what went wrong because something did *not* run.
 *
 * If a decision kept a definition from being made, nothing in the run leads from who used the older
 * value to that decision, and it is not in the backward slice. Such a *potential* dependence of a
 * use on a predicate's instance is put to the proof: the run goes on with the predicate switched
 * (<wetdbg/switch.h>), and both runs are aligned. The use depends on the predicate *implicitly* if
 * it has no counterpart in the switched run, or reads another value there. Only then there is an
 * edge, and the slice grows by what the predicate depends on, which may have uses of its own.
 *
 * X. Zhang, S. Tallam, N. Gupta, R. Gupta, Towards Locating Execution Omission Errors, PLDI 2007,
 * sections 2 to 4. That a value is another one is stronger than what is asked there, that the
 * switched predicate is in the counterpart's backward slice: a definition that came from the other
 * side and made the same value is no edge.
 *
 * Functions return 0 or a negative code (<wetdbg/errors.h>).
 */
#ifndef WETDBG_IMPLICIT_H
#define WETDBG_IMPLICIT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/candidates.h>
#include <wetdbg/slice.h>
#include <wetdbg/switch.h>

WETDBG_BEGIN

struct wetdbg_implicit_progress {
    uint64_t tried; /* switched runs */
    uint64_t found; /* edges */
    double seconds;
};

struct wetdbg_implicit_options {
    struct wetdbg_slice_session *session; /* of the wet; may be NULL */
    bool no_exits;                        /* as in struct wetdbg_slice_options */
    const struct wetdbg_set *unsure;      /* wetdbg_prune_get_set(): uses of what is not in it come
                                           * last; may be NULL */
    /* What the program should have put out to descriptor 1, or left in a file of that name, or of
     * which that is the end: an edge whose switch makes it so is *strong*. NULL: that is not asked.
     */
    const void *expected;
    size_t expected_size;
    const char *expected_file; /* NULL: descriptor 1 */
    /* Ends: switched runs, and seconds; 0: none. */
    uint64_t budget_trials;
    double budget_seconds;
    const volatile sig_atomic_t *interrupted; /* may be NULL; then what was found is the answer */
    void (*progress)(void *arg, const struct wetdbg_implicit_progress *progress); /* may be NULL */
    void *arg;
};

enum wetdbg_implicit_effect {
    WETDBG_IMPLICIT_VALUE,   /* the use reads another value */
    WETDBG_IMPLICIT_MISSING, /* the use does not happen: it is one by the paper's definition, and
                              * says less: whatever ends the program early does that */
};

#define WETDBG_IMPLICIT_BYTES_MAX 16

/* A dependence that was proven. */
struct wetdbg_implicit {
    struct wetdbg_implicit_edge edge;
    struct wetdbg_candidate proof; /* the switch */
    enum wetdbg_implicit_effect effect;
    bool is_strong;         /* with it the output is right */
    uint64_t use_pc;        /* what uses, */
    uint16_t location;      /* and in which register, or WETDBG_LOCATION_NONE: in memory, */
    uint64_t address, size; /* ... here; what it read, at most WETDBG_IMPLICIT_BYTES_MAX bytes */
    uint8_t was[WETDBG_IMPLICIT_BYTES_MAX], is[WETDBG_IMPLICIT_BYTES_MAX]; /* `is`: if switched */
    unsigned round; /* from 1: after how many slices it was found */
};

/* Why switched runs proved nothing, and how many. */
struct wetdbg_implicit_reason {
    char text[96];
    uint64_t count;
};
#define WETDBG_IMPLICIT_REASONS_MAX 16

struct wetdbg_implicit_result {
    /* The most telling first: those that give their use another value, of these the strong ones;
     * then those that take it away, in the same manner; else in the order in which they were
     * found. */
    struct wetdbg_implicit *items;
    size_t count;
    struct wetdbg_implicit_edge *edges; /* those of the items, for struct wetdbg_slice_options */
    uint64_t tried;                     /* switched runs */
    uint64_t proving;                   /* that proved an edge */
    uint64_t refuted;    /* that had all the uses asked about, with the same values */
    uint64_t unresolved; /* also switches that need no run: nothing that it told would be known */
    struct wetdbg_implicit_reason reasons[WETDBG_IMPLICIT_REASONS_MAX]; /* of these */
    size_t reason_count;
    uint64_t left; /* candidates that the budget left untried, as far as they are known */
    unsigned rounds;
    bool is_cut; /* the budget was over before all candidates of a round were known */
    bool is_interrupted;
    double seconds;
};
void wetdbg_implicit_result_fini(struct wetdbg_implicit_result *result);

/*
 * Finds the implicit dependences of a criterion's full backward slice, the nearest uses first, of
 * the last 32 M instructions before the criterion. What takes its use away is asked about further
 * when nothing else is left to be tried. The switcher is that of the criterion's wet.
 * 0, also if none was found, and wetdbg_implicit_result_fini() is due. Errors of slices, of the
 * switcher and of replay.
 */
int wetdbg_implicit_find(struct wetdbg *wet, struct wetdbg_switcher *switcher,
                         const struct wetdbg_criterion *criterion,
                         const struct wetdbg_implicit_options *options,
                         struct wetdbg_implicit_result *result);

WETDBG_END

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Candidates of predicate switching: where a failing run might have gone on otherwise, and in which
 * order to try that.
 *
 * A *predicate* is an instruction that chooses: a conditional jump, the indirect jump of a switch
 * table, a cmov or a setcc. Each of its executions before the failure is an *instance*, from 1 in
 * order of time. A *candidate* is an instance and somewhere else where it is to lead. Runs have
 * millions of instances: they are found by counting executions, and only those that are asked for
 * are looked at closely.
 *
 * Sources: X. Zhang, N. Gupta, R. Gupta, Locating faults through automated predicate switching,
 * ICSE 2006 (the orders LEFS and PRIOR); of spectra, T. Zhang and others' order as
 * <wetdbg/spectrum.h> measures them. What else there is, and the order that is ours, are in
 * docs/architecture/switching.md.
 *
 * Errors are 0, negative errno or -WETDBG_ERR_* with a sentence (<wetdbg/errors.h>): besides what
 * the functions say, -ENOMEM, -WETDBG_ERR_INTERRUPTED and errors of running intervals again.
 */
#ifndef WETDBG_CANDIDATES_H
#define WETDBG_CANDIDATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/set.h>
#include <wetdbg/slice.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

/* ---- predicates ---- */

enum wetdbg_predicate_kind {
    WETDBG_PREDICATE_BRANCH, /* a conditional jump: its ways are addresses */
    WETDBG_PREDICATE_TABLE,  /* the jump of a switch table: its ways are addresses */
    WETDBG_PREDICATE_CMOV,   /* its ways are 1, the condition held and it moved, and 0 */
    WETDBG_PREDICATE_SETCC,  /* its ways are 1, the condition held, and 0 */
};

/* "branch", "switch", "cmov", "setcc"; static. */
const char *wetdbg_predicate_kind_name(enum wetdbg_predicate_kind kind);

/* Strings are the model's; NULL and 0: not known. */
struct wetdbg_predicate {
    uint64_t pc;
    enum wetdbg_predicate_kind kind;
    const char *file, *function;
    uint32_t line;
    /* Branches of one expression (`a && b`: one line, two exits) have the same number, from 1; 0:
     * it is one of its own. */
    uint32_t expression;
    uint64_t instances; /* in the whole file, those after the failure too */
};

struct wetdbg_candidates;

struct wetdbg_candidates_options {
    /* The failure: only instances before that time are candidates (wetdbg_failure_time()). 0: the
     * end of the run. */
    wetdbg_time until;
    /* Also those of libraries that are not the program's own (<wetdbg/caller.h>); never those of
     * the dynamic linker. */
    bool libraries;
    /* Which of these predicates are candidates; NULL: all. `instances` is not known yet. */
    bool (*is_wanted)(void *arg, const struct wetdbg_predicate *predicate);
    bool (*is_unwanted)(void *arg); /* asked once for each interval; may be NULL */
    void *arg;
};

/*
 * Finds the predicates that ran. Runs nothing; memory is some 100 bytes for each predicate and 4
 * for each node, whatever the run's length. *out is for wetdbg_candidates_free(), before the wet is
 * closed. -WETDBG_ERR_NOT_FOUND, explained, if the program's own code has none that is wanted.
 */
int wetdbg_candidates_find(struct wetdbg *wet, const struct wetdbg_candidates_options *options,
                           struct wetdbg_candidates **out);
void wetdbg_candidates_free(struct wetdbg_candidates *candidates); /* NULL is fine */

/* In order of address. Lives as long as the candidates. */
const struct wetdbg_predicate *
wetdbg_candidates_predicates(const struct wetdbg_candidates *candidates, size_t *count);

/* How many instances there are before the failure, of all predicates. Runs one interval. */
int wetdbg_candidates_count(struct wetdbg_candidates *candidates, uint64_t *count);

/* When a criterion's failure was final: of output when the call wrote it, else its instance. */
wetdbg_time wetdbg_failure_time(const struct wetdbg_criterion *criterion);

/* ---- candidates ---- */

/* Which instances are sent another way. */
enum wetdbg_extent {
    WETDBG_EXTENT_ONE,
    WETDBG_EXTENT_ONWARD, /* this one, and each later one that would not go there */
    WETDBG_EXTENT_ALL,    /* each one that would not go there; it is told by the first one */
};

struct wetdbg_candidate {
    uint32_t predicate; /* in wetdbg_candidates_predicates() */
    enum wetdbg_extent extent;
    uint64_t instance; /* from 1, in order of time */
    wetdbg_time time;
    uint64_t pc;
    uint64_t went, to;  /* ways: see enum wetdbg_predicate_kind */
    bool is_expression; /* `to` is the exit of its expression that was not taken */
};

/*
 * The candidates of the instance at a time: its other ways. At most `max` are written, *count is
 * how many there are: none if it went where no way is known to lead (a signal struck there), or if
 * the run ended with it. -WETDBG_ERR_NOT_FOUND if there is no predicate's instance at that time.
 */
int wetdbg_candidates_at(struct wetdbg_candidates *candidates, wetdbg_time time,
                         struct wetdbg_candidate *list, size_t max, size_t *count);

/* ---- proofs of equality ---- */

enum wetdbg_equality {
    WETDBG_EQUALITY_NONE,  /* nothing is proven */
    WETDBG_EQUALITY_PLACE, /* both ways are one place */
    /* Both ways come to one place within some instructions that read and write no memory, cannot
     * fault and change only registers and flags that are written there before they are read. */
    WETDBG_EQUALITY_JOIN,
};

/* "same place", "same state at the join"; "" for none; static. */
const char *wetdbg_equality_name(enum wetdbg_equality equality);

/* Whether a switch is proven to change nothing but a few instructions. Sound: what it does not know
 * is different. */
enum wetdbg_equality wetdbg_candidate_equality(struct wetdbg_candidates *candidates,
                                               const struct wetdbg_candidate *candidate);

/* ---- orders ---- */

enum wetdbg_order_kind {
    WETDBG_ORDER_NEAR, /* ours */
    WETDBG_ORDER_LEFS, /* last executed, first switched */
    /* The failure-inducing chop first, then the rest of the backward slice, each by dependence
     * distance (ties: the later first), then all others as LEFS does. */
    WETDBG_ORDER_PRIOR,
    /* Ways that passing runs took least, each as LEFS does. */
    WETDBG_ORDER_SPECTRUM,
};

/* "near", "lefs", "prior", "spectrum"; static. NULL for a number that is none. */
const char *wetdbg_order_name(enum wetdbg_order_kind kind);

/* The order of a name; -WETDBG_ERR_USAGE, with the list, if there is none. */
int wetdbg_order_parse(const char *name, enum wetdbg_order_kind *kind);

struct wetdbg_order_options {
    enum wetdbg_order_kind kind;
    /* Of PRIOR and ours: the backward slice of what is wrong, with record_parents and
     * copies_are_near. It must outlive the order. */
    const struct wetdbg_slice *slice;
    const struct wetdbg_set *chop;   /* of PRIOR: the chop; may be NULL */
    const struct wetdbg_set *unsure; /* of ours: wetdbg_prune_get_set(); may be NULL */
    /* Of the spectrum and ours: passing runs of the same program. All of their intervals are run
     * again, once. */
    struct wetdbg *const *passing;
    size_t passing_count;
};

struct wetdbg_order;

/* -WETDBG_ERR_USAGE if an order lacks what it needs. PRIOR and ours take 32 bytes for each
 * predicate's instance in the slice. *out is for wetdbg_order_close(), before the candidates. */
int wetdbg_order_open(struct wetdbg_candidates *candidates,
                      const struct wetdbg_order_options *options, struct wetdbg_order **out);
void wetdbg_order_close(struct wetdbg_order *order); /* NULL is fine */

/* The next candidate: 1; 0 if there is none left; an error. Each comes once. */
int wetdbg_order_next(struct wetdbg_order *order, struct wetdbg_candidate *candidate);

WETDBG_END

#endif

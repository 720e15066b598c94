/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Delta debugging: what of a difference makes a failure.
 *
 * A *delta* is one piece of the difference between an input that passes (no delta) and one that
 * fails (all of them): a byte, a line, an argument, a file. Deltas have numbers, 0 to count - 1; a
 * set of them stands for an input, its *candidate*. What the deltas are, and how a candidate is
 * tried, only the caller knows; delta_program.h does that for inputs of programs.
 *
 * A test has one of three outcomes, which are never mixed: it shows the same failure, or it shows
 * none, or nothing can be said of it (another failure, no end, nonsense as input).
 *
 * Sources: A. Zeller, R. Hildebrandt: Simplifying and Isolating Failure-Inducing Input, IEEE TSE
 * 28(2), 2002, sections 3 (ddmin) and 4 (dd); G. Misherghi, Z. Su: HDD: Hierarchical Delta
 * Debugging, ICSE 2006.
 *
 * Functions return 0 or a negative code (errors.h); callbacks too, and an error of one ends the
 * search and comes back.
 */
#ifndef WETDBG_DELTA_H
#define WETDBG_DELTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

enum wetdbg_delta_outcome {
    WETDBG_DELTA_UNRESOLVED,
    WETDBG_DELTA_PASS,
    WETDBG_DELTA_FAIL,
};

/* A set of deltas: delta i is bit i % 64 of words[i / 64]. Bits beyond `count` are 0. */
struct wetdbg_delta_set {
    const uint64_t *words;
    size_t count; /* of all deltas, members or not */
};

static inline bool wetdbg_delta_has(const struct wetdbg_delta_set *set, size_t i)
{
    return set->words[i / 64] >> (i % 64) & 1;
}

#define WETDBG_DELTA_JOBS_MAX  64
#define WETDBG_DELTA_COUNT_MAX (UINT32_C(1) << 30)

/* Names a candidate: equal ones have equal keys, different ones different keys (128 bits of a
 * hash). */
struct wetdbg_delta_key {
    uint64_t low, high;
};

/*
 * How candidates are tested: by `test`, one after the other; or, with `test` NULL, by `start` and
 * `finish`, up to `jobs` at once. A set is borrowed for the call. Outcomes are kept and no
 * candidate is tested twice, so tests have to be repeatable.
 */
struct wetdbg_delta_tests {
    void *context;
    int (*test)(void *context, const struct wetdbg_delta_set *set,
                enum wetdbg_delta_outcome *outcome);

    unsigned jobs; /* 1 to WETDBG_DELTA_JOBS_MAX; 0 is 1 */
    /* Starts a test in a free slot, 0 to jobs - 1. */
    int (*start)(void *context, unsigned slot, const struct wetdbg_delta_set *set);
    /* Waits until some started test has ended, whose slot is free then. */
    int (*finish)(void *context, unsigned *slot, enum wetdbg_delta_outcome *outcome);
    /* Ends a started test whose outcome nobody needs; its slot is free then. */
    void (*cancel)(void *context, unsigned slot);

    /* The candidate's key, which may be equal for two sets that make the same candidate; NULL: sets
     * are told apart. */
    void (*key)(void *context, const struct wetdbg_delta_set *set, struct wetdbg_delta_key *key);
    /* An outcome that is known from before (0), or -WETDBG_ERR_NOT_FOUND; may be NULL. */
    int (*recall)(void *context, const struct wetdbg_delta_key *key,
                  enum wetdbg_delta_outcome *outcome);
    /* Told of each outcome that a test gave, to be recalled another day; may be NULL. */
    int (*learned)(void *context, const struct wetdbg_delta_key *key,
                   enum wetdbg_delta_outcome outcome);
    /* Told after each test how many deltas the search still has to tell apart; may be NULL. */
    void (*progress)(void *context, uint64_t tests, size_t left);
};

/*
 * A unit: deltas that go together. Group g is the deltas starts[g] to starts[g + 1] - 1, the last
 * one goes up to the last delta; starts[0] is 0.
 */
struct wetdbg_delta_unit {
    const uint32_t *starts;
    size_t count;
};

struct wetdbg_delta_result {
    uint64_t *pass, *fail;    /* words of the two sets that were found */
    size_t count;             /* of deltas */
    uint64_t tests, recalled; /* made; and answered from what was known */
};

void wetdbg_delta_result_fini(struct wetdbg_delta_result *result);

/*
 * ddmin: a failing set that is 1-minimal by the last unit: take any one of its groups away, and it
 * does not fail (any more, or not in the same way). `units` go from coarse to fine, each a
 * refinement of the one before; without any, each delta is a group. result->fail is that set,
 * result->pass is empty.
 *
 * Groups are taken away by halves, from the last to the first, and the search does not begin anew
 * after a success, as the paper's does: the same result takes k log(n/k) instead of k² tests for k
 * needed deltas. The last rounds ask for each group alone until none can go. The answer is the same
 * for any number of jobs.
 *
 * -WETDBG_ERR_USAGE if all deltas together do not fail, or none of them does.
 */
int wetdbg_delta_minimize(const struct wetdbg_delta_tests *tests, size_t count,
                          const struct wetdbg_delta_unit *units, size_t unit_count,
                          struct wetdbg_delta_result *result);

/*
 * dd: result->pass passes, result->fail fails and contains it, and their difference is 1-minimal by
 * the last unit: unless it is one group, any of its groups added to the one or taken from the other
 * is unresolved. The paper's rules, in its order, with some 2 log(count) tests if none is
 * unresolved. Units as above.
 *
 * -WETDBG_ERR_USAGE if all deltas do not fail, or none of them does not pass.
 */
int wetdbg_delta_isolate(const struct wetdbg_delta_tests *tests, size_t count,
                         const struct wetdbg_delta_unit *units, size_t unit_count,
                         struct wetdbg_delta_result *result);

#define WETDBG_DELTA_NO_NODE UINT32_MAX

/* Deltas that nest: a node covers [first, end), and goes with all that is in it. */
struct wetdbg_delta_node {
    uint32_t parent; /* an earlier node, or WETDBG_DELTA_NO_NODE */
    uint32_t first, end;
    /* What stands between it and the sibling before it (a comma): it goes with either, so that what
     * is left has one between any two. Empty where there is none. Outside of all nodes but the
     * parent. */
    uint32_t separator_first, separator_end;
};

/*
 * Hierarchical delta debugging: ddmin over the nodes of each level, from the outermost on, and
 * again until no node of any level can go alone (HDD*): result->fail is 1-tree-minimal. Nodes come
 * parents first and in order; siblings do not overlap. What no node covers stays. Errors as of
 * ddmin; -EINVAL for nodes that do not nest.
 */
int wetdbg_delta_minimize_tree(const struct wetdbg_delta_tests *tests, size_t count,
                               const struct wetdbg_delta_node *nodes, size_t node_count,
                               struct wetdbg_delta_result *result);

WETDBG_END

#endif

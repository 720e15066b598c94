/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search for critical predicates: candidates (<wetdbg/candidates.h>) are tried in an order,
 * until one of them makes the failing run a passing one. How a candidate is tried, only the caller
 * knows: it brings a *runner*.
 *
 * X. Zhang, N. Gupta, R. Gupta, Locating faults through automated predicate switching, ICSE 2006,
 * section 3; two switches at once: Y. Liu, B. Li, Automated program debugging via multiple
 * predicate switching, AAAI 2010, here in the bounded form of pairs.
 *
 * Functions return 0 or a negative code (<wetdbg/errors.h>); so do callbacks, and an error of one
 * ends the search and comes back.
 */
#ifndef WETDBG_SWITCH_SEARCH_H
#define WETDBG_SWITCH_SEARCH_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/candidates.h>

WETDBG_BEGIN

/* What came of a switched run: the better, the higher. These are never mixed. */
enum wetdbg_verdict {
    WETDBG_VERDICT_WRONG, /* it fails still, or in another way */
    WETDBG_VERDICT_EQUAL, /* it does what the failing run does */
    /* Nothing can be said: a limit was reached, or a call that is not modelled. */
    WETDBG_VERDICT_UNRESOLVED,
    WETDBG_VERDICT_NO_CRASH, /* it no longer crashes; nothing is known of its output */
    WETDBG_VERDICT_PREFIX,   /* the output is right up to and past the failure, but not all */
    WETDBG_VERDICT_EXACT,    /* output and exit status are right */
};
#define WETDBG_VERDICTS 6

/* "wrong", "equal", "unresolved", "no-crash", "prefix", "exact"; static, "?" for no verdict. */
const char *wetdbg_verdict_name(enum wetdbg_verdict verdict);

#define WETDBG_TRIAL_SWITCHES 2

/* One run to be tried: its switches, by time, and how the run came to be tried. */
struct wetdbg_trial {
    struct wetdbg_candidate switches[WETDBG_TRIAL_SWITCHES];
    unsigned count;
    uint64_t position; /* in the order, from 1: which trial of the search it is */
};

#define WETDBG_TRIAL_REASON_MAX 96

/* Where the output of a run begins to be another one than that of the failing run. */
enum wetdbg_trial_effect {
    WETDBG_EFFECT_NONE,   /* nowhere, as far as it is known */
    WETDBG_EFFECT_BEFORE, /* in what was right; or nobody says what is right */
    WETDBG_EFFECT_HERE,   /* from the first wrong byte on, or later */
};

struct wetdbg_trial_answer {
    enum wetdbg_verdict verdict;
    enum wetdbg_trial_effect effect;      /* of a run that was made: a journal does not keep it */
    char reason[WETDBG_TRIAL_REASON_MAX]; /* of WETDBG_VERDICT_UNRESOLVED: which limit or call */
};

/* Takes the answer to trials[index]; each once, in any order. A result that is not 0 ends the
 * batch: answers of runs that have begun need not be given. */
typedef int (*wetdbg_trial_fn)(void *arg, size_t index, const struct wetdbg_trial_answer *answer);

/*
 * Runs a batch of trials, sorted by the time of their first switch, so that one pass over the run
 * can do them all. They are borrowed for the call. `seconds`: what the budget has left; 0: there is
 * none. When that is over, the batch may end without further answers. Returns what `answered`
 * returned if that was not 0, else 0 or an error.
 */
struct wetdbg_trial_runner {
    void *context;
    int (*run)(void *context, const struct wetdbg_trial *trials, size_t count, double seconds,
               wetdbg_trial_fn answered, void *arg);
};

struct wetdbg_search_progress {
    uint64_t tried;  /* runs that were made */
    uint64_t known;  /* trials whose answer the journal had */
    uint64_t equal;  /* that were proven equal, and not run */
    uint64_t listed; /* all that the order has given so far */
    uint64_t verdicts[WETDBG_VERDICTS];
    double seconds;
};

struct wetdbg_search_options {
    struct wetdbg_trial_runner runner;
    /* At least so many trials at once; later batches are larger, and all are with `all`. 0: 8 */
    unsigned batch;
    /* Ends: trials that are made, and seconds; 0: none. For what is running then see the runner. */
    uint64_t budget_trials;
    double budget_seconds;
    /* The search ends after the first finding of this verdict or a better one; 0: exact. */
    enum wetdbg_verdict enough;
    bool all; /* it goes on after that */
    /* The same for all instances of a predicate, and from one on, is tried when its first candidate
     * was. */
    bool extents;
    /* 2: pairs of the first candidates, once all single ones were tried (or half of the budget is
     * used up); else 1. */
    unsigned depth;
    /* A file where answers are kept, so that the same search goes on after an end; NULL: nowhere.
     * `name` tells searches apart: what the answers depend on besides the trial. */
    const char *journal, *name;
    const volatile sig_atomic_t *interrupted; /* may be NULL */
    /* Told after each batch, and about each second; may be NULL. */
    void (*progress)(void *arg, const struct wetdbg_search_progress *progress);
    void *arg;
};

struct wetdbg_finding {
    struct wetdbg_trial trial;
    enum wetdbg_verdict verdict; /* no-crash, prefix or exact */
    /* Whether what the switched instance depends on, or what depends on it, has instances in common
     * with the slice of what is wrong: wetdbg_findings_meet(). */
    bool meets;
};

struct wetdbg_search_result {
    struct wetdbg_finding *findings; /* by verdict, then by whether they meet, then by position */
    size_t count;
    struct wetdbg_search_progress progress;
    bool is_complete; /* the order has no more: it was not the budget that ended it */
    char unresolved[WETDBG_TRIAL_REASON_MAX]; /* a reason, the first that came; "" */
};

void wetdbg_search_result_fini(struct wetdbg_search_result *result);

/*
 * Tries the candidates of an order. 0, also if nothing was found, and
 * wetdbg_search_result_fini() is due. -WETDBG_ERR_INTERRUPTED, with what was found so far in
 * *result. The same answers for every size of batch: the first finding is the first in the order.
 */
int wetdbg_search(struct wetdbg_candidates *candidates, struct wetdbg_order *order,
                  const struct wetdbg_search_options *options, struct wetdbg_search_result *result);

/*
 * Sets `meets` of the first `most` findings and sorts again: whether the bidirectional slice of the
 * (first) switched instance, BS(p) | FS(p), has instances in common with `wrong`, the backward
 * slice of what is wrong. Two slices of the run for each.
 */
int wetdbg_findings_meet(struct wetdbg *wet, struct wetdbg_slice_session *session,
                         const struct wetdbg_set *wrong, struct wetdbg_search_result *result,
                         size_t most);

WETDBG_END

#endif

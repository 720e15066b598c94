/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Trials come from the order one after the other and are put into batches, which the runner gets
 * sorted by time. A batch is always answered as a whole, so that what is found first does not
 * depend on its size.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "common/hash.h"
#include "predicate_switch/candidates_priv.h"
#include "predicate_switch/trial_journal.h"
#include <wetdbg/errors.h>
#include <wetdbg/switch_search.h>

#define BATCH_FIRST 8u
#define QUICK_S     0.3
#define TELL_S      1.0 /* seconds */
#define LEAST_S     1e-3
#define BATCH_MOST  512u
#define PAIRED_MAX  64u /* candidates of which pairs are made */
#define ENOUGH      1   /* of an answer's callback: the budget is used up */

const char *wetdbg_verdict_name(enum wetdbg_verdict verdict)
{
    static const char *const names[WETDBG_VERDICTS] = {"wrong",    "equal",  "unresolved",
                                                       "no-crash", "prefix", "exact"};

    return (size_t)verdict < WETDBG_VERDICTS ? names[verdict] : "?";
}

/* A static way that the order has come to. */
struct met {
    uint64_t pc, to;
};

struct search {
    struct wetdbg_candidates *candidates;
    struct wetdbg_order *order;
    const struct wetdbg_search_options *options;
    struct wetdbg_search_result *result;
    size_t finding_capacity;
    struct psw_journal *journal;
    double began, told; /* seconds: its begin, and when progress was told last */
    uint64_t position;
    /* Trials that come before what the order gives next: of other extents. */
    struct wetdbg_trial waiting[2];
    unsigned waiting_count;
    struct met *met;
    uint32_t met_count, met_capacity;
    struct wd_index by_way;
    /* The first candidates, and the pair that is next: `one` with `other`, other < one. */
    struct wetdbg_candidate firsts[PAIRED_MAX];
    unsigned first_count, one, other;
    bool are_pairs;
    struct wetdbg_trial *batch;
    size_t batch_count, batch_capacity;
};

/* ---- trials ---- */

static uint32_t *place_of(const struct search *search, uint64_t pc, uint64_t to)
{
    return wd_index_find(&search->by_way, wd_hash_u64(pc * 31 + to) >> 32, n,
                         search->met[n].pc == pc && search->met[n].to == to);
}

/* Whether the order comes to a way for the first time: 1, 0, -ENOMEM. */
static int meet(struct search *search, uint64_t pc, uint64_t to)
{
    if (wd_grow(search->met, search->met_capacity, search->met_count + 1) ||
        wd_index_room(&search->by_way, search->met_count, 256, i,
                      place_of(search, search->met[i].pc, search->met[i].to)))
        return -ENOMEM;
    uint32_t *place = place_of(search, pc, to);
    if (*place)
        return 0;
    search->met[search->met_count++] = (struct met){pc, to};
    *place = search->met_count;
    return 1;
}

/* Puts the other extents of a candidate in line, unless its predicate was switched so before. */
static int add_extents(struct search *search, const struct wetdbg_candidate *candidate)
{
    const struct wetdbg_predicate *predicate =
        &search->candidates->predicates.items[candidate->predicate];

    if (!search->options->extents || predicate->instances < 2)
        return 0;
    int result = meet(search, candidate->pc, candidate->to);
    if (result <= 0)
        return result;
    for (unsigned i = 0; i < 2; i++) {
        struct wetdbg_trial *trial = &search->waiting[search->waiting_count++];
        *trial = (struct wetdbg_trial){.switches = {*candidate}, .count = 1};
        trial->switches[0].extent = i ? WETDBG_EXTENT_ONWARD : WETDBG_EXTENT_ALL;
    }
    struct wetdbg_candidate *all = &search->waiting[search->waiting_count - 2].switches[0];
    all->instance = 1;
    return psw_instance_first(search->candidates, candidate->predicate, &all->time);
}

/* The next pair: 1 or 0. */
static int next_pair(struct search *search, struct wetdbg_trial *trial)
{
    while (search->one < search->first_count) {
        const struct wetdbg_candidate *a = &search->firsts[search->one];
        const struct wetdbg_candidate *b = &search->firsts[search->other];
        if (search->one > search->other && a->time != b->time) {
            bool is_after = a->time > b->time;
            *trial = (struct wetdbg_trial){.switches = {is_after ? *b : *a, is_after ? *a : *b},
                                           .count = 2};
        } else {
            trial->count = 0;
        }
        if (++search->other >= search->one) {
            search->other = 0;
            search->one++;
        }
        if (trial->count)
            return 1;
    }
    return 0;
}

/* The next candidate that is not proven equal: 1, 0, an error. */
static int next_single(struct search *search, struct wetdbg_candidate *candidate)
{
    struct wetdbg_search_progress *progress = &search->result->progress;

    for (;;) {
        int result = wetdbg_order_next(search->order, candidate);
        if (result <= 0)
            return result;
        progress->listed++;
        if (wetdbg_candidate_equality(search->candidates, candidate) == WETDBG_EQUALITY_NONE)
            return 1;
        progress->equal++;
    }
}

/* Whether single candidates had their share of the budget, where pairs are to come. */
static bool is_time_for_pairs(const struct search *search)
{
    const struct wetdbg_search_options *options = search->options;

    return options->depth > 1 && ((options->budget_trials &&
                                   2 * search->result->progress.tried >= options->budget_trials) ||
                                  (options->budget_seconds > 0 &&
                                   2 * (wd_seconds() - search->began) >= options->budget_seconds));
}

/* 1, 0 if there is nothing more to try, an error. */
static int next_trial(struct search *search, struct wetdbg_trial *trial)
{
    struct wetdbg_candidate candidate;
    int result;

    if (search->waiting_count) {
        *trial = search->waiting[--search->waiting_count];
    } else if (!search->are_pairs && !is_time_for_pairs(search) &&
               (result = next_single(search, &candidate)) != 0) {
        if (result < 0)
            return result;
        *trial = (struct wetdbg_trial){.switches = {candidate}, .count = 1};
        if (search->first_count < PAIRED_MAX)
            search->firsts[search->first_count++] = candidate;
        result = add_extents(search, &candidate);
        if (result < 0)
            return result;
    } else {
        search->are_pairs = true;
        if (search->options->depth < 2 || !next_pair(search, trial))
            return 0;
    }
    trial->position = ++search->position;
    return 1;
}

/* ---- answers ---- */

static int take(struct search *search, const struct wetdbg_trial *trial,
                const struct wetdbg_trial_answer *answer)
{
    struct wetdbg_search_result *result = search->result;

    if ((size_t)answer->verdict >= WETDBG_VERDICTS)
        return wetdbg_fail(-EINVAL, "a run that was switched has no verdict %u",
                           (unsigned)answer->verdict);
    result->progress.verdicts[answer->verdict]++;
    if (answer->verdict == WETDBG_VERDICT_UNRESOLVED && !*result->unresolved)
        memcpy(result->unresolved, answer->reason, sizeof(result->unresolved));
    if (answer->verdict < WETDBG_VERDICT_NO_CRASH)
        return 0;
    if (wd_grow(result->findings, search->finding_capacity, result->count + 1))
        return -ENOMEM;
    result->findings[result->count++] = (struct wetdbg_finding){*trial, answer->verdict, false};
    return 0;
}

static void tell(struct search *search)
{
    search->told = wd_seconds();
    search->result->progress.seconds = search->told - search->began;
    if (search->options->progress)
        search->options->progress(search->options->arg, &search->result->progress);
}

static bool is_time_over(const struct search *search)
{
    return search->options->budget_seconds > 0 &&
           wd_seconds() - search->began >= search->options->budget_seconds;
}

static int on_answer(void *arg, size_t index, const struct wetdbg_trial_answer *answer)
{
    struct search *search = arg;
    const struct wetdbg_search_options *options = search->options;

    if (index >= search->batch_count)
        return wetdbg_fail(-EINVAL, "there is no trial %zu in a batch of %zu", index,
                           search->batch_count);
    int err = take(search, &search->batch[index], answer);
    if (!err)
        err = psw_journal_learn(search->journal, &search->batch[index], answer);
    search->result->progress.tried++;
    if (!err && options->interrupted && *options->interrupted)
        err = wetdbg_fail_plain(-WETDBG_ERR_INTERRUPTED);
    if (!err && is_time_over(search))
        err = ENOUGH;
    if (wd_seconds() - search->told >= TELL_S)
        tell(search);
    return err;
}

/* ---- batches ---- */

static int by_time(const void *a, const void *b)
{
    const struct wetdbg_trial *x = a, *y = b;

    if (x->switches[0].time != y->switches[0].time)
        return x->switches[0].time < y->switches[0].time ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

static bool is_found(const struct search *search)
{
    enum wetdbg_verdict enough = search->options->enough;
    uint64_t found = 0;

    for (unsigned i = enough ? enough : WETDBG_VERDICT_EXACT; i < WETDBG_VERDICTS; i++)
        found += search->result->progress.verdicts[i];
    return found && !search->options->all;
}

/* Fills a batch with trials whose answers are not known, until a known one is enough. 1, 0 if there
 * will be no more. */
static int fill(struct search *search, size_t size)
{
    struct wetdbg_trial_answer answer;
    struct wetdbg_trial trial;
    int result = 1;

    search->batch_count = 0;
    while (search->batch_count < size && !is_found(search) &&
           (result = next_trial(search, &trial)) == 1) {
        if (psw_journal_recall(search->journal, &trial, &answer) == 0) {
            search->result->progress.known++;
            int err = take(search, &trial, &answer);
            if (err)
                return err;
            continue;
        }
        if (wd_grow(search->batch, search->batch_capacity, search->batch_count + 1))
            return -ENOMEM;
        search->batch[search->batch_count++] = trial;
    }
    return result;
}

/* What the budget has left; 0: it has no end. */
static double seconds_left(const struct search *search)
{
    double left = search->began + search->options->budget_seconds - wd_seconds();

    return search->options->budget_seconds <= 0 ? 0 : left > LEAST_S ? left : LEAST_S;
}

static size_t limit_batch(const struct search *search, size_t size)
{
    uint64_t budget = search->options->budget_trials, tried = search->result->progress.tried;

    return budget && budget - tried < size ? (size_t)(budget - tried) : size;
}

/*
 * A batch begins with a pass over the recorded run, so quick ones grow faster. Slow ones do not:
 * what an order has first is known sooner, and one more trial that never ends is waited for long.
 */
static int run_batches(struct search *search)
{
    const struct wetdbg_search_options *options = search->options;
    size_t first = options->batch ? options->batch : BATCH_FIRST;
    size_t largest = first < BATCH_MOST ? BATCH_MOST : first;
    size_t size = options->all && options->budget_seconds <= 0 ? largest : first;
    int result = 1;

    while (result == 1 && !is_found(search)) {
        size_t most = limit_batch(search, size);
        if (!most)
            return 0;
        result = fill(search, most);
        if (result < 0)
            return result;
        if (search->batch_count) {
            double began = wd_seconds();
            qsort(search->batch, search->batch_count, sizeof(*search->batch), by_time);
            int err =
                options->runner.run(options->runner.context, search->batch, search->batch_count,
                                    seconds_left(search), on_answer, search);
            tell(search);
            if (err || is_time_over(search))
                return err == ENOUGH ? 0 : err;
            size *= wd_seconds() - began < QUICK_S ? 4 : 2;
            size = size < largest ? size : largest;
        }
    }
    search->result->is_complete = result == 0;
    return 0;
}

/* ---- the search ---- */

static int by_worth(const void *a, const void *b)
{
    const struct wetdbg_finding *x = a, *y = b;

    if (x->verdict != y->verdict)
        return x->verdict > y->verdict ? -1 : 1;
    if (x->meets != y->meets)
        return x->meets ? -1 : 1;
    return x->trial.position < y->trial.position ? -1 : x->trial.position > y->trial.position;
}

static void sort_findings(struct wetdbg_search_result *result)
{
    if (result->count)
        qsort(result->findings, result->count, sizeof(*result->findings), by_worth);
}

int wetdbg_search(struct wetdbg_candidates *candidates, struct wetdbg_order *order,
                  const struct wetdbg_search_options *options, struct wetdbg_search_result *result)
{
    struct search *search = calloc(1, sizeof(*search));

    *result = (struct wetdbg_search_result){.count = 0};
    if (!search)
        return -ENOMEM;
    search->candidates = candidates;
    search->order = order;
    search->options = options;
    search->result = result;
    search->began = search->told = wd_seconds();
    search->one = 1;
    int err = psw_journal_open(options->journal, options->name, &search->journal);
    if (!err)
        err = run_batches(search);
    psw_journal_close(search->journal);
    sort_findings(result);
    result->progress.seconds = wd_seconds() - search->began;
    free(search->met);
    wd_index_fini(&search->by_way);
    free(search->batch);
    free(search);
    if (err && err != -WETDBG_ERR_INTERRUPTED)
        wetdbg_search_result_fini(result);
    return err;
}

void wetdbg_search_result_fini(struct wetdbg_search_result *result)
{
    free(result->findings);
    *result = (struct wetdbg_search_result){.count = 0};
}

/* ---- what findings have to do with what is wrong ---- */

/* Whether a slice has instances in common with a set. */
static int slice_meets(const struct wetdbg_slice *slice, const struct wetdbg_set *wrong,
                       bool *meets)
{
    struct wetdbg_set *set = NULL, *common = NULL;
    int err = wetdbg_set_of_slice(slice, &set);

    if (!err)
        err = wetdbg_set_combine(set, WETDBG_SET_AND, wrong, &common);
    if (!err)
        *meets = wetdbg_set_count(common) > 0;
    wetdbg_set_free(set);
    wetdbg_set_free(common);
    return err;
}

static int find_meeting(struct wetdbg *wet, struct wetdbg_slice_session *session,
                        const struct wetdbg_set *wrong, wetdbg_time time, bool *meets)
{
    struct wetdbg_slice_options options = {.kinds = WETDBG_SLICE_FULL, .session = session};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    int err = wetdbg_criterion_of_instance(wet, time, &criterion);

    if (err)
        return err;
    *meets = wetdbg_set_contains_time(wrong, time);
    for (unsigned forward = 0; forward < 2 && !err && !*meets; forward++) {
        err = forward ? wetdbg_slice_forward(wet, criterion, &options, &slice)
                      : wetdbg_slice_backward(wet, criterion, &options, &slice);
        if (!err) {
            err = slice_meets(slice, wrong, meets);
            wetdbg_slice_free(slice);
        }
    }
    wetdbg_criterion_free(criterion);
    return err;
}

int wetdbg_findings_meet(struct wetdbg *wet, struct wetdbg_slice_session *session,
                         const struct wetdbg_set *wrong, struct wetdbg_search_result *result,
                         size_t most)
{
    int err = 0;

    for (size_t i = 0; i < result->count && i < most && !err; i++)
        err = find_meeting(wet, session, wrong, result->findings[i].trial.switches[0].time,
                           &result->findings[i].meets);
    sort_findings(result);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A whole search: the two inputs are run and judged first, which says what the failure is and
 * whether it comes reliably; then delta.h's searches ask for candidates, each a trial in a slot; at
 * the end what was found is run once more.
 */
#include "delta/dd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/clock.h"
#include "delta/candidate_test.h"
#include "delta/delta_input.h"
#include "delta/delta_journal.h"
#include "delta/input_files.h"
#include "delta/judge.h"
#include "delta/plan.h"
#include "delta/smallest.h"
#include <wetdbg/delta_program.h>
#include <wetdbg/errors.h>

struct search {
    const struct wetdbg_dd_options *options;
    struct dlt_plan plan;
    struct wetdbg_dd_bytes pass, fail;
    struct dlt_input input;
    struct dlt_journal *journal;
    struct dlt_tester tester;
    uint64_t tests; /* of inputs whose outcome has to be known, beside the tester's */
    bool is_last_live;
    /* What live runs found, while it is gone through once more: candidates between the two results
     * are doubted, and tested by real runs. */
    const struct wetdbg_delta_result *doubted;
    bool is_doubted; /* the candidate at hand */
    struct wetdbg_delta_key slot_keys[WETDBG_DELTA_JOBS_MAX];
    uint64_t confirmed, unconfirmed;
    struct dlt_report fail_report, pass_report;
    struct dlt_reference reference;
    struct wd_buf candidate; /* room */
    struct dlt_smallest smallest;
    const volatile sig_atomic_t *interrupted; /* NULL: nobody may interrupt (any more) */
    bool is_settled;                          /* nothing is left to go on with */
};

/* ---- one run ---- */

static int run(struct search *search, const struct wetdbg_dd_bytes *candidate,
               struct dlt_report *report)
{
    size_t which;
    struct dlt_trial *trial = &search->tester.trials[0];
    int err = dlt_trial_start(trial, &search->plan, candidate);
    if (err)
        return err;
    search->tests++;
    err = dlt_trial_finish(trial, 1, search->interrupted, &which, report);
    dlt_trial_cancel(trial);
    return err;
}

static void key_of(const void *bytes, size_t size, struct wetdbg_delta_key *key)
{
    XXH128_hash_t hash = XXH3_128bits(bytes, size);
    *key = (struct wetdbg_delta_key){.low = hash.low64, .high = hash.high64};
}

/* ---- the two inputs ---- */

static const char *name_of(const struct search *search, bool is_fail)
{
    const struct wetdbg_dd_options *options = search->options;
    if (options->unit == WETDBG_DD_ARGV)
        return is_fail ? "the program with its arguments" : "the program without arguments";
    if (options->unit == WETDBG_DD_ENV)
        return is_fail ? "the program in this environment" : "the program in an empty environment";
    return is_fail ? options->fail : options->pass ? options->pass : "an empty input";
}

static const char *outcome_name(enum wetdbg_delta_outcome outcome)
{
    return outcome == WETDBG_DELTA_FAIL   ? "failed"
           : outcome == WETDBG_DELTA_PASS ? "passed"
                                          : "was unresolved";
}

/* What may make tests that disturb each other repeatable, of what was not asked for. */
static const char *flaky_hint(const struct wetdbg_dd_options *options)
{
    bool is_alone = options->jobs == 1, is_shared = options->argv[0] && !options->is_scratch;
    if (is_shared)
        return is_alone ? "; if it meets files of an earlier test, --scratch helps"
                        : "; if tests meet each other's files, --scratch or --jobs=1 helps";
    return is_alone ? "" : "; if tests disturb each other, --jobs=1 helps";
}

static int flaky(const struct search *search, const char *what, enum wetdbg_delta_outcome first,
                 enum wetdbg_delta_outcome second)
{
    return wetdbg_fail(
        -WETDBG_ERR_NOT_FOUND, "%s is flaky: %s %s, and %s when it was tried again%s",
        search->options->oracle == WETDBG_DD_COMMAND ? "the oracle" : "the program", what,
        outcome_name(first), outcome_name(second), flaky_hint(search->options));
}

/* Why the failing input cannot be one. If the passing one is judged alike, the oracle knows one
 * answer only. */
static int no_failure(struct search *search)
{
    char how[900];
    const char *name = name_of(search, true), *says = "";
    dlt_report_describe(&search->plan, &search->fail_report, how, sizeof(how));
    if (search->fail_report.program.ending == DLT_TOO_LONG)
        says = "; --timeout gives it longer";
    else if (search->fail_report.program.ending == DLT_TOO_MUCH_DISK)
        says = "; --disk gives it more room";
    else if (search->options->oracle == WETDBG_DD_COMMAND &&
             search->fail_report.command.ending == DLT_EXITED &&
             !search->fail_report.command.number)
        says = ": it passes what should fail; an oracle that always passes finds nothing";
    else if (search->options->oracle == WETDBG_DD_EXPECT &&
             search->fail_report.program.ending <= DLT_SIGNALED)
        says = ", and its output is all that was expected";
    else if (search->options->oracle <= WETDBG_DD_ANY_CRASH &&
             search->fail_report.program.ending <= DLT_SIGNALED)
        says = ", which is no crash; try --expect or --oracle";
    return wetdbg_fail(-WETDBG_ERR_USAGE, "%s does not fail: %s%s", name, how, says);
}

static int fail_run(struct search *search)
{
    struct dlt_report again;
    int err = run(search, &search->fail, &search->fail_report);
    if (err)
        return err;
    if (!dlt_is_failure(&search->plan, &search->fail_report))
        return no_failure(search);
    search->reference.fail = &search->fail_report;
    err = run(search, &search->fail, &again);
    if (err)
        return err;
    enum wetdbg_delta_outcome outcome = dlt_judge(&search->reference, &again);
    if (outcome != WETDBG_DELTA_FAIL)
        return flaky(search, name_of(search, true), WETDBG_DELTA_FAIL, outcome);
    if (again.seconds > search->fail_report.seconds)
        search->fail_report.seconds = again.seconds;
    return 0;
}

static int no_pass(struct search *search, const struct dlt_report *report,
                   enum wetdbg_delta_outcome outcome)
{
    char how[900];
    const char *name = name_of(search, false);
    dlt_report_describe(&search->plan, report, how, sizeof(how));
    if (outcome == WETDBG_DELTA_FAIL && search->options->oracle == WETDBG_DD_COMMAND)
        return wetdbg_fail(
            -WETDBG_ERR_USAGE,
            "the oracle fails %s too (%s): an oracle that always fails finds nothing", name, how);
    if (outcome == WETDBG_DELTA_FAIL)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s fails in the same way: %s", name, how);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "%s does not pass: %s", name, how);
}

static int pass_run(struct search *search, enum wetdbg_delta_outcome *outcome)
{
    struct dlt_report *report = &search->pass_report, again;
    int err = run(search, &search->pass, report);
    if (err)
        return err;
    search->reference.pass = report;
    *outcome = dlt_judge(&search->reference, report);
    if (*outcome == WETDBG_DELTA_FAIL || (search->options->pass && *outcome != WETDBG_DELTA_PASS))
        return no_pass(search, report, *outcome);
    err = run(search, &search->pass, &again);
    if (err)
        return err;
    enum wetdbg_delta_outcome second = dlt_judge(&search->reference, &again);
    return second == *outcome ? 0 : flaky(search, name_of(search, false), *outcome, second);
}

/* Runs both, sets the time limit of further runs, and keeps what they gave. */
static int ends_run(struct search *search)
{
    struct wetdbg_delta_key key;
    enum wetdbg_delta_outcome outcome;
    int err = fail_run(search);
    if (!err)
        err = pass_run(search, &outcome);
    if (err)
        return err;
    double seconds = search->fail_report.seconds;
    if (search->pass_report.seconds > seconds && search->pass_report.program.ending <= DLT_SIGNALED)
        seconds = search->pass_report.seconds;
    if (search->options->timeout_s <= 0)
        search->plan.timeout_s = dlt_default_timeout_s(seconds);
    key_of(search->fail.data, search->fail.size, &key);
    err = dlt_journal_learn(search->journal, &key, WETDBG_DELTA_FAIL, DLT_FROM_ENDS);
    key_of(search->pass.data, search->pass.size, &key);
    search->tester.pass_outcome = outcome;
    return err ? err : dlt_journal_learn(search->journal, &key, outcome, DLT_FROM_ENDS);
}

/* ---- tests of the searches ---- */

static int candidate_make(struct search *search, const struct wetdbg_delta_set *set)
{
    search->candidate.size_bytes = 0;
    return dlt_input_render(&search->input, set, &search->candidate, NULL);
}

/* Whether a set has all of the passing result and more, and lacks some of the failing one: were
 * such candidates otherwise, the results would not be minimal. */
static bool is_between(const struct wetdbg_delta_result *found, const struct wetdbg_delta_set *set)
{
    bool is_more = false, is_less = false;
    for (size_t i = 0; i < (set->count + 63) / 64; i++) {
        if (found->pass[i] & ~set->words[i] || set->words[i] & ~found->fail[i])
            return false;
        is_more = is_more || set->words[i] != found->pass[i];
        is_less = is_less || set->words[i] != found->fail[i];
    }
    return is_more && is_less;
}

static void test_key(void *context, const struct wetdbg_delta_set *set,
                     struct wetdbg_delta_key *key)
{
    struct search *search = context;
    search->is_doubted = search->doubted && is_between(search->doubted, set);
    if (candidate_make(search, set) == 0)
        key_of(search->candidate.data, search->candidate.size_bytes, key);
    else
        *key = (struct wetdbg_delta_key){0}; /* to start it will fail for the same reason */
}

static int test_start(void *context, unsigned slot, const struct wetdbg_delta_set *set)
{
    struct search *search = context;
    int err = candidate_make(search, set);
    if (!err && search->options->budget_s > 0)
        err = dlt_smallest_begin(&search->smallest, slot, set);
    if (err)
        return err;
    key_of(search->candidate.data, search->candidate.size_bytes, &search->slot_keys[slot]);
    return dlt_test_start(
        &search->tester, slot,
        &(struct wetdbg_dd_bytes){search->candidate.data, search->candidate.size_bytes},
        search->is_doubted);
}

/* Whoever asked is told, and a candidate that failed is kept. */
static int test_tell(struct search *search, unsigned slot, enum wetdbg_delta_outcome outcome)
{
    const struct wd_buf *candidate = &search->tester.slots[slot].candidate;
    const struct wetdbg_dd_bytes bytes = {candidate->data, candidate->size_bytes};
    if (search->options->tested)
        search->options->tested(search->options->arg, &bytes, outcome, search->is_last_live);
    return outcome == WETDBG_DELTA_FAIL && search->options->budget_s > 0
               ? dlt_smallest_learn(&search->smallest, slot, search->is_last_live)
               : 0;
}

static int test_finish(void *context, unsigned *slot, enum wetdbg_delta_outcome *outcome)
{
    struct search *search = context;
    enum wetdbg_delta_outcome known;
    int err = dlt_test_finish(&search->tester, slot, outcome, &search->is_last_live);
    if (!err)
        err = test_tell(search, *slot, *outcome);
    if (err || search->is_last_live || !search->doubted ||
        !dlt_journal_is_live(search->journal, &search->slot_keys[*slot]))
        return err;
    search->confirmed++;
    err = dlt_journal_recall(search->journal, &search->slot_keys[*slot], &known);
    return err || known == *outcome ? err : wetdbg_fail_plain(-ESTALE);
}

static void test_cancel(void *context, unsigned slot)
{
    dlt_test_cancel(&((struct search *)context)->tester, slot);
}

static int test_recall(void *context, const struct wetdbg_delta_key *key,
                       enum wetdbg_delta_outcome *outcome)
{
    struct search *search = context;
    if (search->is_doubted && dlt_journal_is_live(search->journal, key)) {
        if (search->confirmed < WETDBG_DD_CONFIRMED_MAX)
            return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
        search->unconfirmed++;
    }
    return dlt_journal_recall(search->journal, key, outcome);
}

static int test_learned(void *context, const struct wetdbg_delta_key *key,
                        enum wetdbg_delta_outcome outcome)
{
    struct search *search = context;
    return dlt_journal_learn(search->journal, key, outcome,
                             search->is_last_live ? DLT_FROM_LIVE : DLT_FROM_REAL);
}

static void test_progress(void *context, uint64_t tests, size_t left)
{
    struct search *search = context;
    (void)tests;
    if (search->options->progress)
        search->options->progress(search->options->arg, search->tests + search->tester.tests,
                                  search->tester.live_tests, left, search->input.count);
}

static int search_run(struct search *search, struct wetdbg_delta_result *found)
{
    const struct dlt_input *input = &search->input;
    const struct wetdbg_delta_tests tests = {
        .context = search,
        .jobs = search->tester.jobs,
        .start = test_start,
        .finish = test_finish,
        .cancel = test_cancel,
        .key = test_key,
        .recall = test_recall,
        .learned = test_learned,
        .progress = test_progress,
    };
    if (search->options->pass)
        return wetdbg_delta_isolate(&tests, input->count, input->units, input->unit_count, found);
    if (input->nodes)
        return wetdbg_delta_minimize_tree(&tests, input->count, input->nodes, input->node_count,
                                          found);
    return wetdbg_delta_minimize(&tests, input->count, input->units, input->unit_count, found);
}

/* ---- the result ---- */

static int bytes_render(const struct search *search, const uint64_t *words,
                        struct wetdbg_dd_bytes *bytes, uint64_t **origins)
{
    struct wd_buf buf = {0};
    struct wetdbg_delta_set set = {words, search->input.count};
    size_t most = search->pass.size + search->fail.size + 1;
    if (origins && !(*origins = malloc(most * sizeof(**origins))))
        return -ENOMEM;
    int err = wd_buf_reserve(&buf, 1);
    if (!err)
        err = dlt_input_render(&search->input, &set, &buf, origins ? *origins : NULL);
    *bytes = (struct wetdbg_dd_bytes){buf.data, buf.size_bytes};
    return err;
}

static bool joins(const struct wetdbg_dd_piece *before, const struct wetdbg_dd_piece *piece)
{
    return before->offset + before->length == piece->offset &&
           before->fail_offset + before->length == piece->fail_offset &&
           before->pass_offset + before->missing == piece->pass_offset;
}

static int piece_add(struct wetdbg_dd_result *result, size_t *capacity,
                     const struct wetdbg_dd_piece *piece)
{
    struct wetdbg_dd_piece *last =
        result->piece_count ? &result->pieces[result->piece_count - 1] : NULL;
    if (last && joins(last, piece)) {
        last->length += piece->length;
        last->missing += piece->missing;
        return 0;
    }
    int err = wd_grow(result->pieces, *capacity, result->piece_count + 1);
    if (!err)
        result->pieces[result->piece_count++] = *piece;
    return err;
}

static uint64_t length_in(const struct dlt_hunk *delta, bool is_in)
{
    return is_in ? delta->fail_end - delta->fail_first : delta->pass_end - delta->pass_first;
}

/* The deltas that are in the one and not in the other, with their places in all three inputs. */
static int pieces_find(const struct search *search, const struct wetdbg_delta_result *found,
                       struct wetdbg_dd_result *result)
{
    const struct wetdbg_delta_set fail = {found->fail, found->count},
                                  pass = {found->pass, found->count};
    uint64_t fail_at = 0, pass_at = 0;
    uint32_t before = 0;
    size_t capacity = 0;
    int err = 0;
    for (size_t i = 0; !err && i < search->input.count; i++) {
        const struct dlt_hunk *delta = &search->input.deltas[i];
        bool in_fail = wetdbg_delta_has(&fail, i), in_pass = wetdbg_delta_has(&pass, i);
        fail_at += delta->fail_first - before;
        pass_at += delta->fail_first - before;
        const struct wetdbg_dd_piece piece = {.offset = delta->fail_first,
                                              .length = length_in(delta, true),
                                              .fail_offset = fail_at,
                                              .pass_offset = pass_at,
                                              .missing = length_in(delta, false)};
        if (in_fail && !in_pass)
            err = piece_add(result, &capacity, &piece);
        fail_at += length_in(delta, in_fail);
        pass_at += length_in(delta, in_pass);
        before = delta->fail_end;
    }
    return err;
}

/* A run of a result, of which it is known that it ends: not soon enough for the default limit only
 * where the machine has become busier. */
static int result_run(struct search *search, const struct wetdbg_dd_bytes *input,
                      struct dlt_report *report)
{
    int err = run(search, input, report);
    if (err || search->options->timeout_s > 0 || !dlt_is_too_long(report))
        return err;
    search->plan.timeout_s = dlt_default_timeout_s(search->plan.timeout_s);
    return run(search, input, report);
}

/* Runs what was found once more. */
static int result_check(struct search *search, const struct wetdbg_dd_result *result)
{
    struct dlt_report report;
    int err = result_run(search, &result->fail, &report);
    if (err)
        return err;
    enum wetdbg_delta_outcome outcome = dlt_judge(&search->reference, &report);
    if (outcome != WETDBG_DELTA_FAIL)
        return flaky(search, "the minimal failing input", WETDBG_DELTA_FAIL, outcome);
    if (!search->options->pass)
        return 0;
    err = result_run(search, &result->pass, &report);
    if (err)
        return err;
    outcome = dlt_judge(&search->reference, &report);
    return outcome == WETDBG_DELTA_PASS
               ? 0
               : flaky(search, "the passing input that was found", WETDBG_DELTA_PASS, outcome);
}

static int result_make(struct search *search, const struct wetdbg_delta_result *found,
                       struct wetdbg_dd_result *result)
{
    int err = bytes_render(search, found->pass, &result->pass, NULL);
    if (!err)
        err = bytes_render(search, found->fail, &result->fail, &result->origins);
    if (!err)
        err = pieces_find(search, found, result);
    if (!err)
        err = result_check(search, result);
    dlt_failure_describe(&search->plan, &search->fail_report, result->failure,
                         sizeof(result->failure));
    result->wrong_offset = search->options->oracle == WETDBG_DD_EXPECT
                               ? search->fail_report.wrong_offset
                               : WETDBG_DD_NOWHERE;
    result->recalled = found->recalled;
    result->original_bytes = search->fail.size;
    return err;
}

/* ---- the whole ---- */

static void hash_text(XXH3_state_t *state, const char *text)
{
    uint64_t length = text ? strlen(text) + 1 : 0;
    XXH3_128bits_update(state, &length, sizeof(length));
    XXH3_128bits_update(state, text ? text : "", length);
}

static void hash_bytes(XXH3_state_t *state, const struct wetdbg_dd_bytes *bytes)
{
    uint64_t size = bytes->size;
    XXH3_128bits_update(state, &size, sizeof(size));
    XXH3_128bits_update(state, bytes->data ? (const void *)bytes->data : "", bytes->size);
}

/* A hash of all that outcomes depend on, as far as we know it. */
static int search_key(const struct search *search, struct wetdbg_delta_key *key)
{
    const struct wetdbg_dd_options *options = search->options;
    XXH3_state_t *state = XXH3_createState();
    char *here = getcwd(NULL, 0);
    struct wetdbg_dd_bytes program = {(uint8_t *)search->plan.program,
                                      search->plan.program ? strlen(search->plan.program) + 1 : 0};
    const uint64_t facts[] = {options->oracle,
                              options->unit,
                              (uint64_t)(options->timeout_s * 1e6),
                              options->memory_bytes,
                              options->disk_bytes,
                              options->is_scratch,
                              dlt_items_state(&program),
                              options->unit == WETDBG_DD_FILES ? dlt_items_state(&search->fail) : 0,
                              options->unit == WETDBG_DD_FILES ? dlt_items_state(&search->pass)
                                                               : 0};
    if (state) {
        XXH3_128bits_reset(state);
        XXH3_128bits_update(state, facts, sizeof(facts));
        hash_bytes(state, &search->fail);
        hash_bytes(state, &search->pass);
        hash_bytes(state, &search->plan.expected);
        hash_text(state, options->command);
        hash_text(state, options->pass);
        hash_text(state, here);
        for (char *const *word = options->argv; *word; word++)
            hash_text(state, *word);
        XXH128_hash_t hash = XXH3_128bits_digest(state);
        *key = (struct wetdbg_delta_key){.low = hash.low64, .high = hash.high64};
    }
    XXH3_freeState(state);
    free(here);
    return state ? 0 : -ENOMEM;
}

static int search_open(struct search *search)
{
    const struct wetdbg_dd_options *options = search->options;
    struct wetdbg_delta_key key;
    int err = options->pass && options->budget_s > 0
                  ? wetdbg_fail(-WETDBG_ERR_USAGE, "a search with a passing input has no budget")
                  : 0;
    if (!err)
        err = dlt_plan_init(&search->plan, options);
    if (!err)
        err = dlt_input_read(options, true, &search->fail);
    if (!err)
        err = dlt_input_read(options, false, &search->pass);
    if (!err)
        err = dlt_input_init(&search->input, &search->pass, &search->fail, options->unit);
    if (!err && !search->input.count)
        err = options->pass
                  ? wetdbg_fail(-WETDBG_ERR_USAGE, "%s and %s are equal", options->pass,
                                options->fail)
                  : wetdbg_fail(-WETDBG_ERR_USAGE, "%s is empty: nothing could be taken away",
                                options->fail ? options->fail : "what fails");
    if (!err)
        err = search_key(search, &key);
    return err ? err
               : dlt_journal_open(options->journal, &key, options->is_fresh, &search->journal);
}

static void search_close(struct search *search)
{
    dlt_tester_close(&search->tester);
    dlt_journal_close(search->journal, search->is_settled);
    dlt_input_fini(&search->input);
    dlt_plan_fini(&search->plan);
    dlt_smallest_fini(&search->smallest);
    wd_buf_fini(&search->candidate);
    free(search->pass.data);
    free(search->fail.data);
    free(search);
}

static unsigned jobs_of(const struct wetdbg_dd_options *options)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned jobs = options->jobs ? options->jobs : processors > 0 ? (unsigned)processors : 1;
    return jobs < WETDBG_DELTA_JOBS_MAX ? jobs : WETDBG_DELTA_JOBS_MAX;
}

static void tester_set(struct search *search, const struct dlt_live_engine *engine)
{
    search->tester = (struct dlt_tester){
        .plan = &search->plan,
        .reference = &search->reference,
        .engine = engine,
        .fail = &search->fail,
        .pass = &search->pass,
        .until_s = search->options->budget_s > 0 ? wd_seconds() + search->options->budget_s : 0,
        .jobs = jobs_of(search->options)};
}

/* Goes through the search once more, with what is known: only what the result's being minimal rests
 * on is asked again, of real runs. -ESTALE: one of them says something else. */
static int minimal_check(struct search *search, const struct wetdbg_delta_result *found)
{
    struct wetdbg_delta_result again = {0};
    search->confirmed = search->unconfirmed = 0;
    if (!dlt_journal_live_count(search->journal))
        return 0;
    search->doubted = found;
    int err = search_run(search, &again);
    search->doubted = NULL;
    wetdbg_delta_result_fini(&again);
    return err;
}

/* Searches, and confirms. What live runs gave is forgotten if it does not hold, and the search goes
 * through again with what is known of real ones. */
static int search_whole(struct search *search, struct wetdbg_delta_result *found,
                        struct wetdbg_dd_result *result)
{
    for (;;) {
        int err = search_run(search, found);
        bool has_live = dlt_journal_live_count(search->journal) > 0;
        if (!err)
            err = minimal_check(search, found);
        bool is_wrong = err == -ESTALE;
        if (!err) {
            err = result_make(search, found, result);
            is_wrong = err == -WETDBG_ERR_NOT_FOUND && has_live;
        }
        if (!is_wrong)
            return err;
        dlt_tester_give_up(&search->tester, "a real run does not confirm what live ones found");
        dlt_journal_distrust(search->journal);
        wetdbg_delta_result_fini(found);
        wetdbg_dd_result_fini(result);
    }
}

/* What a search that was cut short has: the smallest input of which a real run says that it
 * fails. */
static int search_cut(struct search *search, struct wetdbg_dd_result *result)
{
    int err = -WETDBG_ERR_NOT_FOUND;
    search->interrupted = NULL;
    for (unsigned only_real = 0; only_real < 2 && err == -WETDBG_ERR_NOT_FOUND; only_real++) {
        const struct dlt_set *smallest = dlt_smallest_get(&search->smallest, only_real);
        struct dlt_set none = {0}, all = {0};
        err = dlt_set_init(&none, search->input.count);
        if (!err && !smallest && !(err = dlt_set_init(&all, search->input.count)))
            dlt_set_add(&all, 0, all.count);
        const struct wetdbg_delta_result found = {.pass = none.words,
                                                  .fail = smallest ? smallest->words : all.words,
                                                  .count = search->input.count};
        wetdbg_dd_result_fini(result);
        if (!err)
            err = result_make(search, &found, result);
        dlt_set_fini(&none);
        dlt_set_fini(&all);
    }
    result->is_cut = true;
    return err;
}

int dlt_dd(const struct wetdbg_dd_options *options, const struct dlt_live_engine *engine,
           struct wetdbg_dd_result *result)
{
    struct wetdbg_delta_result found = {0};
    double begin = wd_seconds();
    struct search *search = calloc(1, sizeof(*search));
    if (!search)
        return -ENOMEM;
    search->options = options;
    search->interrupted = options->interrupted;
    tester_set(search, engine);
    search->reference.plan = &search->plan;
    *result = (struct wetdbg_dd_result){0};
    int err = search_open(search);
    if (!err)
        err = ends_run(search);
    if (!err)
        err = search_whole(search, &found, result);
    if (err == -WETDBG_ERR_INTERRUPTED && options->budget_s > 0 && search->tester.tests)
        err = search_cut(search, result);
    if (search->journal)
        result->resumed = dlt_journal_count(search->journal);
    result->tests = search->tests + search->tester.tests;
    result->live = search->tester.live_tests;
    result->confirmed = search->confirmed;
    result->unconfirmed = search->unconfirmed;
    snprintf(result->not_live, sizeof(result->not_live), "%s", search->tester.reason);
    result->unresolved = search->tester.unresolved;
    memcpy(result->unresolved_because, search->tester.unresolved_because,
           sizeof(result->unresolved_because));
    result->seconds = wd_seconds() - begin;
    wetdbg_delta_result_fini(&found);
    search->is_settled = err != -WETDBG_ERR_INTERRUPTED;
    search_close(search);
    if (err)
        wetdbg_dd_result_fini(result);
    return err;
}

void wetdbg_dd_result_fini(struct wetdbg_dd_result *result)
{
    free(result->pass.data);
    free(result->fail.data);
    free(result->origins);
    free(result->pieces);
    *result = (struct wetdbg_dd_result){0};
}

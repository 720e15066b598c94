/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_implied.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/commands/switching.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/general.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>
#include <wetdbg/prune.h>

#define JUDGED_INSTRUCTIONS (UINT64_C(32) << 20)
#define BUDGET              200 /* switched runs, unless somebody says something else */
#define SHOWN               40  /* dependences, in text */

/* ---- finding them ---- */

int cli_implied_wanted(const struct cli_args *args, bool is_full)
{
    bool is_wanted = cli_args_has(args, "implicit");
    uint64_t trials = 0;
    double seconds = 0;

    if (!is_wanted && (cli_args_has(args, "budget") || cli_args_has(args, "expect")))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: --budget and --expect are for --implicit",
                           args->name);
    if (is_wanted && !is_full)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s: --implicit is for backward slices of all dependences", args->name);
    int err = cli_budget_parse(args, &trials, &seconds);
    return err ? err : is_wanted;
}

struct search {
    struct wetdbg_implicit_options how;
    struct cli_progress progress;
    uint8_t *expected;
    struct wetdbg_criterion *right; /* output before what is wrong; NULL: none */
    struct wetdbg_slice *slice;
    struct wetdbg_profile *profile;
    struct wetdbg_prune *prune;
};

/* Which uses are least confident, by the output that is right: of runs for which that is quick. */
static int judge(struct cli_session *session, const struct wetdbg_criterion *criterion,
                 struct search *search)
{
    const struct wetdbg_slice_options how = {.no_exits = search->how.no_exits};
    struct wetdbg_prune_options pruning = {.right_count = 1};

    if (session->info->instructions > JUDGED_INSTRUCTIONS)
        return 0;
    int err = wetdbg_prune_right_before(session->wet, criterion, &search->right);
    if (err)
        return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    err = cli_slice_run(session, criterion, &how, false, NULL, &search->slice);
    if (!err)
        err = wetdbg_profile_make(session->wet, 0, 0, NULL, NULL, &search->profile);
    const struct wetdbg_criterion *right = search->right;
    pruning.right = &right;
    pruning.profile = search->profile;
    if (!err)
        err = wetdbg_prune(search->slice, &pruning, &search->prune);
    if (!err)
        search->how.unsure = wetdbg_prune_get_set(search->prune);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

static void clean_up(struct search *search)
{
    wetdbg_prune_free(search->prune);
    wetdbg_profile_free(search->profile);
    wetdbg_slice_free(search->slice);
    wetdbg_criterion_free(search->right);
    free(search->expected);
}

static void on_progress(void *arg, const struct wetdbg_implicit_progress *now)
{
    struct search *search = arg;
    char text[96];

    snprintf(text, sizeof(text), "%" PRIu64 " switched run%s, %" PRIu64 " implicit dependence%s",
             now->tried, now->tried == 1 ? "" : "s", now->found, now->found == 1 ? "" : "s");
    cli_progress_say(&search->progress, text);
}

static int prepare(struct cli_session *session, const struct cli_args *args, struct search *search)
{
    const char *expect = cli_args_value(args, "expect");
    struct wetdbg_implicit_options *how = &search->how;
    int err = cli_budget_parse(args, &how->budget_trials, &how->budget_seconds);

    if (!how->budget_trials && how->budget_seconds <= 0)
        how->budget_trials = BUDGET;
    if (!err && expect)
        err = cli_expected_read(expect, &search->expected, &how->expected_size);
    how->expected = search->expected;
    how->session = session->slices;
    how->interrupted = cli_interrupt_flag();
    how->progress = on_progress;
    how->arg = search;
    if (!err && !session->switcher)
        err = wetdbg_switcher_open(session->wet, &session->switcher);
    return err;
}

static int find(struct cli_session *session, const struct cli_args *args,
                const struct wetdbg_criterion *criterion, bool no_exits,
                struct wetdbg_implicit_result *found)
{
    struct search search = {.how.no_exits = no_exits};
    int err = prepare(session, args, &search);

    if (search.how.expected)
        search.how.expected_file = wetdbg_criterion_get_info(criterion)->output_path;
    if (!err)
        err = judge(session, criterion, &search);
    cli_progress_begin(&search.progress, stderr);
    if (!err)
        err = wetdbg_implicit_find(session->wet, session->switcher, criterion, &search.how, found);
    cli_progress_end(&search.progress);
    clean_up(&search);
    bool is_cut = !err && found->is_interrupted;
    if (is_cut)
        cli_session_prepare(session); /* what was found is sliced all the same */
    if (is_cut || (err < 0 && err != -WETDBG_ERR_USAGE && err != -WETDBG_ERR_NOT_FOUND)) {
        wetdbg_switcher_close(session->switcher); /* it may stand anywhere */
        session->switcher = NULL;
    }
    return err;
}

int cli_implied_find(struct cli_session *session, const struct cli_args *args,
                     const struct wetdbg_criterion *criterion, struct wetdbg_slice_options *how,
                     struct cli_implied **out)
{
    struct cli_implied *implied = cli_realloc(NULL, 1, sizeof(*implied));
    struct wetdbg_slice_options plain = *how;

    *implied = (struct cli_implied){.plain = NULL};
    plain.record_parents = false;
    int err = find(session, args, criterion, how->no_exits, &implied->found);
    if (!err && implied->found.count)
        err = cli_slice_run(session, criterion, &plain, false, NULL, &implied->plain);
    if (err) {
        cli_implied_free(implied);
        return err;
    }
    cli_implied_follow(implied, how);
    *out = implied;
    return 0;
}

void cli_implied_follow(const struct cli_implied *implied, struct wetdbg_slice_options *how)
{
    how->implicit = implied->found.edges;
    how->implicit_count = implied->found.count;
}

void cli_implied_free(struct cli_implied *implied)
{
    if (!implied)
        return;
    wetdbg_implicit_result_fini(&implied->found);
    wetdbg_slice_free(implied->plain);
    free(implied);
}

/* ---- what they are about ---- */

bool cli_implied_has_line(const struct wetdbg_slice *plain, const struct wetdbg_slice_line *line)
{
    size_t count = 0;
    const struct wetdbg_slice_line *lines = plain ? wetdbg_slice_lines(plain, &count) : NULL;
    bool is_plain = !plain;

    for (size_t i = 0; i < count && !is_plain; i++)
        is_plain = line->file ? lines[i].file == line->file && lines[i].line == line->line
                              : !lines[i].file && strcmp(lines[i].function, line->function) == 0;
    return !is_plain;
}

const struct wetdbg_implicit *cli_implied_of(const struct cli_implied *implied, wetdbg_time use,
                                             wetdbg_time predicate)
{
    for (size_t i = 0; implied && i < implied->found.count; i++) {
        const struct wetdbg_implicit *item = &implied->found.items[i];
        if (item->edge.use == use && item->edge.predicate == predicate)
            return item;
    }
    return NULL;
}

static int count_one(void *arg, wetdbg_time time, uint64_t pc)
{
    (void)time;
    (void)pc;
    ++*(uint64_t *)arg;
    return 0;
}

/* How often a breakpoint on the line of an instance was hit by then; 0: that cannot be said. */
static uint64_t count_hits(struct cli_session *session, const struct cli_place *place,
                           wetdbg_time time)
{
    uint64_t *pcs = NULL, hits = 0;
    size_t count = 0;

    if (!place->file)
        return 0;
    char *text = cli_asprintf("%s:%" PRIu32, place->file, place->line);
    int err = cli_line_pcs(session->model, text, &pcs, &count);
    if (!err)
        err = wetdbg_each_instance(session->wet, pcs, count, session->info->first_time, time,
                                   count_one, &hits);
    free(pcs);
    free(text);
    return err ? 0 : hits;
}

/* As a little-endian number; to be freed. */
static char *value_text(const uint8_t *bytes, uint64_t size)
{
    uint64_t first = size;

    while (first > 1 && !bytes[first - 1])
        first--;
    if (first == 1 && bytes[0] < 10)
        return cli_asprintf("%u", bytes[0]);
    char *text = cli_asprintf("0x%x", bytes[first - 1]);
    for (uint64_t i = first - 1; i-- > 0;) {
        char *longer = cli_asprintf("%s%02x", text, bytes[i]);
        free(text);
        text = longer;
    }
    return text;
}

/* ---- text ---- */

void cli_implied_print_proof(struct cli_session *session, const struct wetdbg_implicit *proof)
{
    struct cli_out *out = session->out;
    struct cli_place switched, use;

    cli_place_of_pc(session, proof->proof.pc, &switched);
    cli_place_of_pc(session, proof->use_pc, &use);
    uint64_t hits = count_hits(session, &use, proof->edge.use);
    fputs("implicit: ", out->stream);
    cli_place_print_exact(session, &switched);
    fprintf(out->stream, "#%" PRIu64 " switched, the use at ", proof->proof.instance);
    cli_place_print_exact(session, &use);
    if (hits)
        fprintf(out->stream, "#%" PRIu64, hits);
    if (proof->effect == WETDBG_IMPLICIT_MISSING) {
        fputs(" does not happen", out->stream);
    } else {
        char *is = value_text(proof->is, proof->size), *was = value_text(proof->was, proof->size);
        fprintf(out->stream, " gets another value: %s, not %s", is, was);
        free(is);
        free(was);
    }
    if (proof->is_strong)
        fputs(" (and the output is right)", out->stream);
}

static void print_reasons(const struct cli_session *session,
                          const struct wetdbg_implicit_result *found)
{
    FILE *to = session->out->stream;

    for (size_t i = 0; i < found->reason_count; i++) {
        fprintf(to, "%s%" PRIu64 ": ", i ? "; " : "", found->reasons[i].count);
        cli_out_text(session->out, found->reasons[i].text);
    }
}

static void print_counts(struct cli_session *session, const struct wetdbg_implicit_result *found)
{
    FILE *to = session->out->stream;

    fprintf(to,
            "implicit dependences: %zu, of %" PRIu64 " switched runs %" PRIu64
            " proved some, %" PRIu64 " refuted, %" PRIu64 " unresolved",
            found->count, found->tried, found->proving, found->refuted, found->unresolved);
    if (found->unresolved) {
        fputs(" (", to);
        print_reasons(session, found);
        putc(')', to);
    }
    if (found->is_cut)
        fputs("; the time was over before all were known, --budget allows more", to);
    else if (found->left)
        fprintf(to, "; %" PRIu64 " left untried%s", found->left,
                found->is_interrupted ? " (interrupted)" : ", --budget allows more");
    fprintf(to, " (%.2f s)\n", found->seconds);
}

/* How many of the first are shown. The last ones only take the use away: whatever ends the program
 * early, or has it do nothing, does that to all that came later. */
static size_t count_shown(const struct wetdbg_implicit_result *found)
{
    size_t telling = 0;

    while (telling < found->count && (found->items[telling].effect == WETDBG_IMPLICIT_VALUE ||
                                      found->items[telling].is_strong))
        telling++;
    size_t shown = telling ? telling : found->count;
    return shown < SHOWN ? shown : SHOWN;
}

static void print_left(FILE *to, const struct wetdbg_implicit_result *found, size_t shown)
{
    size_t left = found->count - shown, missing = 0;

    for (size_t i = shown; i < found->count; i++)
        missing += found->items[i].effect == WETDBG_IMPLICIT_MISSING;
    if (!left)
        return;
    fprintf(to, "(%zu more implicit dependence%s", left, left == 1 ? "" : "s");
    if (missing == left)
        fputs(": the use does not happen", to);
    else if (missing)
        fprintf(to, ", of %zu the use does not happen", missing);
    fputs("; 'info implicit' shows all)\n", to);
}

void cli_implied_print(struct cli_session *session, const struct cli_implied *implied,
                       bool shows_all)
{
    if (!implied)
        return;
    const struct wetdbg_implicit_result *found = &implied->found;
    size_t shown = shows_all ? found->count : count_shown(found);
    print_counts(session, found);
    for (size_t i = 0; i < shown && !cli_out_is_gone(session->out); i++) {
        cli_implied_print_proof(session, &found->items[i]);
        putc('\n', session->out->stream);
    }
    print_left(session->out->stream, found, shown);
}

/* ---- JSON ---- */

/* "rbx", "ZF", "xmm3.b0-3" */
static const char *register_name(unsigned location)
{
    unsigned number;

    return wetdbg_location_kind(location, &number) == WETDBG_LOCATION_GENERAL
               ? cli_general_name(number)
               : wetdbg_location_name(location);
}

json_t *cli_implied_proof_to_json(struct cli_session *session, const struct wetdbg_implicit *item)
{
    json_t *row = json_object(), *use = json_object(), *predicate = json_object();
    struct cli_place place;

    cli_place_of_pc(session, item->proof.pc, &place);
    cli_json_set(predicate, "time", cli_json_count(item->edge.predicate));
    cli_json_set(predicate, "instance", cli_json_count(item->proof.instance));
    cli_place_to_json(predicate, &place);
    cli_place_of_pc(session, item->use_pc, &place);
    cli_json_set(use, "time", cli_json_count(item->edge.use));
    if (item->location == WETDBG_LOCATION_NONE)
        cli_json_set(use, "address", cli_json_address(item->address));
    else
        cli_json_set(use, "register", cli_json_text(register_name(item->location)));
    cli_place_to_json(use, &place);
    cli_json_set(row, "switched", predicate);
    cli_json_set(row, "use", use);
    bool is_value = item->effect == WETDBG_IMPLICIT_VALUE;
    cli_json_set(row, "effect", cli_json_text(is_value ? "value" : "missing"));
    char *was = value_text(item->was, item->size), *is = value_text(item->is, item->size);
    cli_json_set(row, "was", cli_json_text(was));
    cli_json_set(row, "is", cli_json_text(is_value ? is : NULL));
    free(was);
    free(is);
    cli_json_set(row, "strong", json_boolean(item->is_strong));
    cli_json_set(row, "round", json_integer(item->round));
    return row;
}

void cli_implied_to_json(struct cli_session *session, const struct cli_implied *implied,
                         json_t *object)
{
    json_t *all = json_object(), *list = json_array(), *reasons = json_array();

    if (!implied) {
        json_decref(all);
        json_decref(list);
        json_decref(reasons);
        return;
    }
    const struct wetdbg_implicit_result *found = &implied->found;
    for (size_t i = 0; i < found->count; i++)
        cli_json_append(list, cli_implied_proof_to_json(session, &found->items[i]));
    for (size_t i = 0; i < found->reason_count; i++) {
        json_t *row = json_object();
        cli_json_set(row, "reason", cli_json_text(found->reasons[i].text));
        cli_json_set(row, "count", cli_json_count(found->reasons[i].count));
        cli_json_append(reasons, row);
    }
    cli_json_set(all, "edges", list);
    cli_json_set(all, "tried", cli_json_count(found->tried));
    cli_json_set(all, "proving", cli_json_count(found->proving));
    cli_json_set(all, "refuted", cli_json_count(found->refuted));
    cli_json_set(all, "unresolved", cli_json_count(found->unresolved));
    cli_json_set(all, "reasons", reasons);
    cli_json_set(all, "left", found->is_cut ? json_null() : cli_json_count(found->left));
    cli_json_set(all, "interrupted", json_boolean(found->is_interrupted));
    cli_json_set(all, "seconds", json_real(found->seconds));
    cli_json_set(object, "implicit", all);
}

/* ---- `info implicit` ---- */

int cli_info_implicit(struct cli_session *session, const char *operand)
{
    (void)operand;
    if (session->out->json) {
        json_t *object = cli_json_object("wetdbg.implicit/1");
        cli_json_set(object, "implicit", json_null());
        cli_implied_to_json(session, session->implied, object);
        cli_out_json(session->out, object);
    } else if (session->implied) {
        cli_implied_print(session, session->implied, true);
    } else {
        fputs("no implicit dependences; 'slice backward CRITERION --implicit' finds them\n",
              session->out->stream);
    }
    return 0;
}

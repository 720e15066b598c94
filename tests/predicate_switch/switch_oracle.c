/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search for critical predicates with the native oracle as its runner:
 *     switch_oracle [OPTION]... FILE.wet CRITERION EXPECTED STATUS
 * EXPECTED is a file with the right output, STATUS the right exit status. One JSON object for each
 * finding, and a last one. Exit status: 0 found, 1 nothing found, 2 an error.
 *   --order NAME  --input FILE  --journal FILE  --all  --extents  --depth 2  --budget N
 *   --passing FILE.wet  --no-confidence  --jobs N  --source CRITERION (of PRIOR's chop)
 *   --list N      the first N candidates of the order, nothing is run
 *   --live        runs are made by the virtual kernel, and not natively
 *   --equal       runs the candidates that are proven equal: whether they do the same
 */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/predicate_switch/native_switch.h"
#include <wetdbg/wetdbg.h>

struct oracle {
    struct native_program program;
    struct wetdbg *wet;
    struct wetdbg_module module; /* the executable */
    uint8_t *expected;
    size_t expected_size;
    int expected_status;
    bool is_crash;
    uint64_t wrong; /* offset of the failing run's first wrong byte of output */
    struct native_run failing;
    unsigned jobs;
    bool is_live;
};

struct request {
    enum wetdbg_order_kind order;
    const char *criterion, *source, *passing;
    bool confidence;
    unsigned list;
    bool equal;
    struct wetdbg_search_options search;
    struct wetdbg_trials *live; /* NULL: runs are native */
};

static void die(const char *what, int code)
{
    fprintf(stderr, "switch_oracle: %s: %s\n", what, wetdbg_error(code));
    exit(2);
}

/* ---- verdicts ---- */

static uint64_t common_bytes(const struct oracle *oracle, const struct native_run *run)
{
    uint64_t i = 0;

    while (i < oracle->expected_size && i < run->output_size &&
           oracle->expected[i] == run->output[i])
        i++;
    return i;
}

static enum wetdbg_verdict judge(const struct oracle *oracle, const struct native_run *run)
{
    uint64_t common = common_bytes(oracle, run);
    bool is_whole = common == oracle->expected_size && common == run->output_size;

    if (run->limit)
        return WETDBG_VERDICT_UNRESOLVED;
    if (is_whole && WIFEXITED(run->status) && WEXITSTATUS(run->status) == oracle->expected_status)
        return WETDBG_VERDICT_EXACT;
    if (!oracle->is_crash && common > oracle->wrong)
        return WETDBG_VERDICT_PREFIX;
    return oracle->is_crash && WIFEXITED(run->status) ? WETDBG_VERDICT_NO_CRASH
                                                      : WETDBG_VERDICT_WRONG;
}

/* Whether a run did what the failing one does. */
static bool is_same(const struct oracle *oracle, const struct native_run *run)
{
    const struct native_run *failing = &oracle->failing;

    return !run->limit && run->status == failing->status &&
           run->output_size == failing->output_size &&
           memcmp(run->output, failing->output, run->output_size) == 0;
}

static void try_one(const struct oracle *oracle, const struct wetdbg_trial *trial,
                    struct wetdbg_trial_answer *answer)
{
    struct native_switch switches[WETDBG_TRIAL_SWITCHES];
    struct native_run run;

    for (unsigned i = 0; i < trial->count; i++) {
        const struct wetdbg_candidate *each = &trial->switches[i];
        bool is_place = each->to > 1;
        if (each->pc < oracle->module.start || each->pc >= oracle->module.end) {
            answer->verdict = WETDBG_VERDICT_UNRESOLVED;
            snprintf(answer->reason, sizeof(answer->reason), "outside of the executable");
            return;
        }
        switches[i] = (struct native_switch){each->pc - oracle->module.bias,
                                             is_place ? each->to - oracle->module.bias : each->to,
                                             each->instance, each->extent};
    }
    if (native_switch_run(&oracle->program, switches, trial->count, &run)) {
        answer->verdict = WETDBG_VERDICT_UNRESOLVED;
        snprintf(answer->reason, sizeof(answer->reason), "not run");
        return;
    }
    answer->verdict = judge(oracle, &run);
    if (answer->verdict == WETDBG_VERDICT_WRONG && is_same(oracle, &run))
        answer->verdict = WETDBG_VERDICT_EQUAL;
    if (run.limit)
        snprintf(answer->reason, sizeof(answer->reason), "%s", run.limit);
    if (!run.reached)
        fprintf(stderr, "switch_oracle: instance %llu at %#llx was never reached\n",
                (unsigned long long)switches[0].instance, (unsigned long long)switches[0].pc);
    free(run.output);
}

/* ---- batches ---- */

/* Each of `jobs` processes takes every jobs-th trial. */
static int run_batch(void *context, const struct wetdbg_trial *trials, size_t count, double seconds,
                     wetdbg_trial_fn answered, void *arg)
{
    const struct oracle *oracle = context;
    size_t bytes = count * sizeof(struct wetdbg_trial_answer);
    struct wetdbg_trial_answer *answers =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t workers[64];
    int err = 0, status;

    (void)seconds;
    if (answers == MAP_FAILED)
        return -ENOMEM;
    for (unsigned job = 0; job < oracle->jobs; job++) {
        workers[job] = fork();
        if (workers[job] == 0) {
            for (size_t i = job; i < count; i += oracle->jobs)
                try_one(oracle, &trials[i], &answers[i]);
            _exit(0);
        }
    }
    for (unsigned job = 0; job < oracle->jobs; job++)
        if (workers[job] < 0 || waitpid(workers[job], &status, 0) < 0 || status)
            err = -ECHILD;
    for (size_t i = 0; i < count && !err; i++)
        err = answered(arg, i, &answers[i]);
    munmap(answers, bytes);
    return err;
}

/* ---- what is asked ---- */

static uint8_t *read_whole(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);

    if (!file || !bytes) {
        perror(path);
        exit(2);
    }
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

/* What the slices are of. */
struct slices {
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice_session *session;
    struct wetdbg_slice *slice;
    struct wetdbg_set *wrong, *chop;
    struct wetdbg_prune *prune;
    struct wetdbg_profile *profile;
};

static void make_slices(struct wetdbg *wet, const struct request *request, struct slices *slices)
{
    struct wetdbg_slice_options options = {
        .kinds = WETDBG_SLICE_FULL, .record_parents = true, .copies_are_near = true};
    int err = wetdbg_criterion_parse(wet, request->criterion, NULL, &slices->criterion);

    if (!err)
        err = wetdbg_slice_session_new(wet, &slices->session);
    options.session = slices->session;
    if (!err)
        err = wetdbg_slice_backward(wet, slices->criterion, &options, &slices->slice);
    if (!err)
        err = wetdbg_set_of_slice(slices->slice, &slices->wrong);
    if (err)
        die(request->criterion, err);
}

static void make_chop(struct wetdbg *wet, const struct request *request, struct slices *slices)
{
    struct wetdbg_slice_options options = {.session = slices->session};
    struct wetdbg_criterion *source = NULL;
    struct wetdbg_slice *forward = NULL;
    struct wetdbg_set *set = NULL;
    int err = wetdbg_criterion_parse(wet, request->source, NULL, &source);

    if (!err)
        err = wetdbg_slice_forward(wet, source, &options, &forward);
    if (!err)
        err = wetdbg_set_of_slice(forward, &set);
    if (!err)
        err = wetdbg_set_combine(set, WETDBG_SET_AND, slices->wrong, &slices->chop);
    if (err)
        die(request->source, err);
    wetdbg_set_free(set);
    wetdbg_slice_free(forward);
    wetdbg_criterion_free(source);
}

static void make_pruning(struct wetdbg *wet, struct slices *slices)
{
    struct wetdbg_criterion *right;
    int err = wetdbg_prune_right_before(wet, slices->criterion, &right);

    if (err == -WETDBG_ERR_NOT_FOUND)
        return;
    if (!err)
        err = wetdbg_profile_make(wet, 0, 0, NULL, NULL, &slices->profile);
    if (!err) {
        const struct wetdbg_criterion *const list[] = {right};
        struct wetdbg_prune_options options = {
            .right = list, .right_count = 1, .profile = slices->profile};
        err = wetdbg_prune(slices->slice, &options, &slices->prune);
        wetdbg_criterion_free(right);
    }
    if (err && err != -WETDBG_ERR_NOT_FOUND)
        die("pruning", err);
}

static void free_slices(struct slices *slices)
{
    wetdbg_prune_free(slices->prune);
    wetdbg_profile_free(slices->profile);
    wetdbg_set_free(slices->chop);
    wetdbg_set_free(slices->wrong);
    wetdbg_slice_free(slices->slice);
    wetdbg_slice_session_free(slices->session);
    wetdbg_criterion_free(slices->criterion);
}

/* ---- answers ---- */

static json_t *switch_to_json(const struct wetdbg_candidates *candidates,
                              const struct wetdbg_candidate *candidate)
{
    size_t count;
    const struct wetdbg_predicate *predicate =
        &wetdbg_candidates_predicates(candidates, &count)[candidate->predicate];

    return json_pack("{s:s?,s:i,s:s?,s:s,s:I,s:I,s:I,s:I,s:I,s:b,s:i,s:i}", "file",
                     predicate->file ? strrchr(predicate->file, '/') + 1 : NULL, "line",
                     (int)predicate->line, "function", predicate->function, "kind",
                     wetdbg_predicate_kind_name(predicate->kind), "pc", (json_int_t)candidate->pc,
                     "instance", (json_int_t)candidate->instance, "time",
                     (json_int_t)candidate->time, "went", (json_int_t)candidate->went, "to",
                     (json_int_t)candidate->to, "expression", candidate->is_expression, "extent",
                     (int)candidate->extent, "instances", (int)predicate->instances);
}

static void print_json(json_t *object)
{
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

static void print_finding(const struct wetdbg_candidates *candidates,
                          const struct wetdbg_finding *finding)
{
    json_t *switches = json_array();

    for (unsigned i = 0; i < finding->trial.count; i++)
        json_array_append_new(switches, switch_to_json(candidates, &finding->trial.switches[i]));
    print_json(json_pack("{s:s,s:I,s:b,s:o}", "verdict", wetdbg_verdict_name(finding->verdict),
                         "position", (json_int_t)finding->trial.position, "meets", finding->meets,
                         "switches", switches));
}

static void print_end(const struct wetdbg_search_result *result, uint64_t instances)
{
    const struct wetdbg_search_progress *progress = &result->progress;
    json_t *verdicts = json_object();

    for (unsigned i = 0; i < WETDBG_VERDICTS; i++)
        json_object_set_new(verdicts, wetdbg_verdict_name((enum wetdbg_verdict)i),
                            json_integer((json_int_t)progress->verdicts[i]));
    print_json(json_pack("{s:I,s:I,s:I,s:I,s:I,s:f,s:b,s:s,s:o}", "tried",
                         (json_int_t)progress->tried, "known", (json_int_t)progress->known, "equal",
                         (json_int_t)progress->equal, "listed", (json_int_t)progress->listed,
                         "instances", (json_int_t)instances, "seconds", progress->seconds,
                         "complete", result->is_complete, "unresolved", result->unresolved,
                         "verdicts", verdicts));
}

/* ---- the search ---- */

static int list(struct wetdbg_candidates *candidates, struct wetdbg_order *order, unsigned count)
{
    struct wetdbg_candidate candidate;
    int result = 1;

    for (unsigned i = 0; i < count && (result = wetdbg_order_next(order, &candidate)) == 1; i++)
        print_json(switch_to_json(candidates, &candidate));
    if (result < 0)
        die("the order", result);
    return 0;
}

/* Runs what is proven equal. */
static int list_equal(const struct oracle *oracle, struct wetdbg_candidates *candidates,
                      struct wetdbg_order *order)
{
    struct wetdbg_trial trial = {.count = 1};
    struct wetdbg_trial_answer answer;
    int result;

    while ((result = wetdbg_order_next(order, &trial.switches[0])) == 1) {
        enum wetdbg_equality proof = wetdbg_candidate_equality(candidates, &trial.switches[0]);
        if (proof == WETDBG_EQUALITY_NONE)
            continue;
        answer = (struct wetdbg_trial_answer){0};
        try_one(oracle, &trial, &answer);
        json_t *object = switch_to_json(candidates, &trial.switches[0]);
        json_object_set_new(object, "proof", json_string(wetdbg_equality_name(proof)));
        json_object_set_new(object, "verdict", json_string(wetdbg_verdict_name(answer.verdict)));
        print_json(object);
    }
    if (result < 0)
        die("the order", result);
    return 0;
}

static int search(const struct request *request, struct wetdbg_candidates *candidates,
                  struct wetdbg_order *order, const struct slices *slices, struct wetdbg *wet)
{
    struct wetdbg_search_options options = request->search;
    struct wetdbg_search_result result;
    uint64_t instances;
    int err = wetdbg_candidates_count(candidates, &instances);

    if (request->live)
        options.runner = wetdbg_trials_runner(request->live, candidates);
    if (!err)
        err = wetdbg_search(candidates, order, &options, &result);
    if (!err)
        err = wetdbg_findings_meet(wet, slices->session, slices->wrong, &result, 8);
    if (err)
        die("the search", err);
    for (size_t i = 0; i < result.count; i++)
        print_finding(candidates, &result.findings[i]);
    print_end(&result, instances);
    bool is_found = result.count > 0;
    wetdbg_search_result_fini(&result);
    return is_found ? 0 : 1;
}

static int run(const struct oracle *oracle, struct wetdbg *wet, const struct request *request)
{
    struct slices slices = {.slice = NULL};
    struct wetdbg *passing = NULL;
    struct wetdbg_candidates *candidates = NULL;
    struct wetdbg_order *order = NULL;

    make_slices(wet, request, &slices);
    if (request->source)
        make_chop(wet, request, &slices);
    if (request->confidence && request->order == WETDBG_ORDER_NEAR)
        make_pruning(wet, &slices);
    struct wetdbg_candidates_options options = {.until = wetdbg_failure_time(slices.criterion)};
    int err = wetdbg_candidates_find(wet, &options, &candidates);
    if (!err && request->passing)
        err = wetdbg_open(request->passing, &passing);
    struct wetdbg *const list_of_passing[] = {passing};
    struct wetdbg_order_options how = {.kind = request->order,
                                       .slice = slices.slice,
                                       .chop = slices.chop,
                                       .unsure =
                                           slices.prune ? wetdbg_prune_get_set(slices.prune) : NULL,
                                       .passing = list_of_passing,
                                       .passing_count = passing ? 1 : 0};
    if (!err)
        err = wetdbg_order_open(candidates, &how, &order);
    if (err)
        die("candidates", err);
    int status = request->list    ? list(candidates, order, request->list)
                 : request->equal ? list_equal(oracle, candidates, order)
                                  : search(request, candidates, order, &slices, wet);
    wetdbg_order_close(order);
    wetdbg_candidates_free(candidates);
    free_slices(&slices);
    if (passing)
        wetdbg_close(passing);
    return status;
}

/* ---- the command line ---- */

static void find_module(struct oracle *oracle)
{
    const struct wetdbg_model *model = wetdbg_get_model(oracle->wet);
    const char *program = wetdbg_get_info(oracle->wet)->program;

    for (size_t i = 0; i < wetdbg_module_count(model); i++)
        if (wetdbg_module_get(model, (wetdbg_module_id)i, &oracle->module) == 0 &&
            strcmp(oracle->module.name, strrchr(program, '/') + 1) == 0)
            return;
    fprintf(stderr, "switch_oracle: no module %s\n", program);
    exit(2);
}

/* What the failing run does natively: it has to be what was recorded. */
static void find_wrong(struct oracle *oracle)
{
    struct native_run run;

    if (native_switch_run(&oracle->program, NULL, 0, &run))
        exit(2);
    if (judge(oracle, &run) == WETDBG_VERDICT_EXACT) {
        fprintf(stderr, "switch_oracle: the program does not fail\n");
        exit(2);
    }
    oracle->wrong = common_bytes(oracle, &run);
    oracle->failing = run;
}

static void parse_options(int argc, char **argv, struct request *request, struct oracle *oracle)
{
    static const struct option options[] = {
        {"order", 1, NULL, 'o'},  {"input", 1, NULL, 'i'},   {"journal", 1, NULL, 'j'},
        {"all", 0, NULL, 'a'},    {"extents", 0, NULL, 'x'}, {"depth", 1, NULL, 'd'},
        {"budget", 1, NULL, 'b'}, {"passing", 1, NULL, 'p'}, {"no-confidence", 0, NULL, 'c'},
        {"jobs", 1, NULL, 'J'},   {"list", 1, NULL, 'l'},    {"source", 1, NULL, 's'},
        {"batch", 1, NULL, 'B'},  {"live", 0, NULL, 'L'},    {"equal", 0, NULL, 'e'},
        {NULL, 0, NULL, 0}};
    int option;

    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        switch (option) {
        case 'o':
            if (wetdbg_order_parse(optarg, &request->order))
                die(optarg, -WETDBG_ERR_USAGE);
            break;
        case 'i':
            oracle->program.input = optarg;
            break;
        case 'j':
            request->search.journal = optarg;
            break;
        case 'a':
            request->search.all = true;
            break;
        case 'x':
            request->search.extents = true;
            break;
        case 'd':
            request->search.depth = (unsigned)atoi(optarg);
            break;
        case 'b':
            request->search.budget_trials = strtoull(optarg, NULL, 10);
            break;
        case 'p':
            request->passing = optarg;
            break;
        case 'c':
            request->confidence = false;
            break;
        case 'J':
            oracle->jobs = (unsigned)atoi(optarg);
            break;
        case 'B':
            request->search.batch = (unsigned)atoi(optarg);
            break;
        case 'L':
            oracle->is_live = true;
            break;
        case 'l':
            request->list = (unsigned)atoi(optarg);
            break;
        case 'e':
            request->equal = true;
            break;
        case 's':
            request->source = optarg;
            break;
        default:
            exit(2);
        }
}

/* As main() has it, but that the runs are live. */
static int run_live(const struct oracle *oracle, struct request *request)
{
    struct wetdbg_expectation expected = {.kind = WETDBG_RIGHT_OUTPUT,
                                          .output = oracle->expected,
                                          .output_size = oracle->expected_size,
                                          .exit_status = oracle->expected_status,
                                          .jobs = oracle->jobs};
    struct wetdbg_switcher *switcher = NULL;
    int err = wetdbg_switcher_open(oracle->wet, &switcher);
    if (!err)
        err = wetdbg_trials_new(switcher, &expected, &request->live);
    if (err)
        die("live runs", err);
    int status = run(oracle, oracle->wet, request);
    wetdbg_trials_free(request->live);
    wetdbg_switcher_close(switcher);
    return status;
}

int main(int argc, char **argv)
{
    struct request request = {.confidence = true};
    struct oracle oracle = {
        .program = {.seconds = 2, .memory_bytes = UINT64_C(1) << 30, .output_bytes = 1 << 20},
        .jobs = 1};

    parse_options(argc, argv, &request, &oracle);
    if (argc - optind != 4 || oracle.jobs < 1 || oracle.jobs > 64) {
        fprintf(stderr, "usage: switch_oracle [OPTION]... FILE.wet CRITERION EXPECTED STATUS\n");
        return 2;
    }
    int err = wetdbg_open(argv[optind], &oracle.wet);
    if (err)
        die(argv[optind], err);
    wetdbg_trust(oracle.wet);
    request.criterion = argv[optind + 1];
    oracle.expected = read_whole(argv[optind + 2], &oracle.expected_size);
    oracle.expected_status = atoi(argv[optind + 3]);
    oracle.is_crash = strcmp(request.criterion, "crash") == 0;
    oracle.program.path = realpath(wetdbg_get_info(oracle.wet)->program, NULL);
    if (!oracle.program.path) {
        perror(wetdbg_get_info(oracle.wet)->program);
        return 2;
    }
    oracle.program.argv = wetdbg_get_info(oracle.wet)->argv;
    find_module(&oracle);
    if (!request.list)
        find_wrong(&oracle);
    request.search.runner = (struct wetdbg_trial_runner){&oracle, run_batch};
    request.search.name = argv[optind + 2];
    int status = oracle.is_live ? run_live(&oracle, &request) : run(&oracle, oracle.wet, &request);
    free(oracle.failing.output);
    free(oracle.expected);
    free((char *)oracle.program.path);
    wetdbg_close(oracle.wet);
    return status;
}

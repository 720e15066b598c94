/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/harness.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dbgcli/alloc.h"
#include "dbgcli/suggest.h"
#include "dbgcli/verbs/child_run.h"
#include "dbgcli/verbs/own_process.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/record.h>
#include <wetdbg/recording.h>
#include <wetdbg/slice.h>

#define RUN_SECONDS  1500 /* as CTest has it, where the test says nothing else */
#define HANDLE_BYTES 300

/* ---- options ---- */

bool cli_harness_is_asked(const struct cli_args *args)
{
    return cli_args_has(args, "ctest") || cli_args_has(args, "harness");
}

int cli_harness_check(const struct cli_args *args)
{
    bool is_ctest = cli_args_has(args, "ctest"), is_harness = cli_args_has(args, "harness");
    const char *wrong = NULL;

    if (is_ctest && is_harness)
        wrong = "only one of --ctest and --harness";
    else if (!is_ctest && cli_args_has(args, "build"))
        wrong = "--build goes with --ctest";
    else if (!is_ctest && !is_harness && cli_args_has(args, "case"))
        wrong = "--case goes with --ctest or --harness";
    else if (is_ctest && args->operand_count)
        wrong = "--ctest=NAME takes no program: CTest knows it";
    else if (!is_ctest && !args->operand_count)
        wrong = is_harness ? "--harness needs the test program" : "which TRACE or PROGRAM?";
    return wrong ? wetdbg_fail(-WETDBG_ERR_USAGE, "%s", wrong) : 0;
}

/* ---- how it fails ---- */

static struct cli_child child_of(const struct cli_ctest *test)
{
    return (struct cli_child){.argv = test->argv,
                              .directory = test->directory,
                              .environment = test->environment,
                              .seconds = test->seconds > 0 ? test->seconds : RUN_SECONDS};
}

static int choose_case(struct cli_harness *self, const char *wanted)
{
    const struct cli_case *item =
        wanted ? cli_cases_find(&self->cases, wanted) : cli_cases_failed(&self->cases);
    struct cli_suggestion suggestion = {.wanted = wanted ? wanted : ""};

    if (item && item->is_ok)
        return wetdbg_fail(CLI_HARNESS_PASSES, "'%s' of %s passes", item->name, self->test.name);
    if (item)
        self->target = cli_strdup(item->name);
    if (item || !wanted)
        return 0;
    for (size_t i = 0; i < self->cases.count; i++)
        cli_suggestion_offer(&suggestion, self->cases.list[i].name);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' printed of no test that is called '%s'%s%s%s",
                       self->test.name, wanted, suggestion.best ? "; did you mean '" : "",
                       suggestion.best ? suggestion.best : "", suggestion.best ? "'?" : "");
}

/* Runs it as it is, and finds the case that fails. */
static int see(struct cli_harness *self, const char *wanted)
{
    struct cli_child child = child_of(&self->test);
    struct cli_child_result result;
    int err = cli_child_run(&child, &result);

    if (err)
        return err;
    if (result.is_too_much)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                          "test '%s' printed more than %llu MB, and was ended", self->test.name,
                          (unsigned long long)CLI_CHILD_TEXT_MAX >> 20);
    else if (result.is_late)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                          "test '%s' did not end within %.0f s: only runs that end can be "
                          "switched",
                          self->test.name, child.seconds);
    else if (cli_ctest_passes(&self->test, result.status, result.text))
        err = wetdbg_fail(CLI_HARNESS_PASSES, "test '%s' passes: there is nothing to explain",
                          self->test.name);
    else
        cli_cases_read(result.text, &self->cases);
    cli_child_result_fini(&result);
    return err ? err : choose_case(self, wanted);
}

/* ---- the recording ---- */

#define FILTERS_MAX 3

/* What has the framework run the failing case alone, and in one process; "NAME=VALUE", to be freed.
 * None where it has no such filter. */
static void make_filters(const struct cli_harness *self, char *filters[FILTERS_MAX])
{
    const struct cli_case *item = self->target ? cli_cases_find(&self->cases, self->target) : NULL;

    memset(filters, 0, FILTERS_MAX * sizeof(*filters));
    if (!item)
        return;
    if (self->cases.framework == CLI_FRAMEWORK_CMOCKA)
        filters[0] = cli_asprintf("CMOCKA_TEST_FILTER=%s", item->name);
    if (self->cases.framework == CLI_FRAMEWORK_GTEST)
        filters[0] = cli_asprintf("GTEST_FILTER=%s", item->name);
    if (self->cases.framework == CLI_FRAMEWORK_CHECK) {
        filters[0] = cli_strdup("CK_FORK=no");
        filters[1] = cli_asprintf("CK_RUN_CASE=%s", item->group);
    }
}

/* Whether a recorded run failed as the one that was seen. */
static bool fails_so(const struct cli_harness *self, const struct cli_child_result *result)
{
    struct cli_cases cases;
    bool fails = !cli_ctest_passes(&self->test, result->status, result->text);

    if (!fails || !self->target)
        return fails;
    cli_cases_read(result->text, &cases);
    const struct cli_case *item = cli_cases_find(&cases, self->target);
    fails = item ? !item->is_ok : true; /* where it crashed, the framework may have said nothing */
    cli_cases_fini(&cases);
    return fails;
}

static void forget_recording(struct cli_harness *self)
{
    if (self->trace_dir)
        wetdbg_recording_remove(self->trace_dir);
    free(self->trace_dir);
    self->trace_dir = NULL;
}

static int record_once(struct cli_harness *self, const char *const *filters, bool *has_failed)
{
    struct cli_child child = child_of(&self->test);
    struct cli_child_result result;
    char **environment = cli_ctest_environment(&self->test, filters);

    child.environment = environment;
    int err = cli_child_record(&child, &result, &self->trace_dir);
    if (err)
        err = wetdbg_fail(err, "test '%s' could not be recorded: %s", self->test.name,
                          wetdbg_error(err));
    else
        *has_failed = fails_so(self, &result);
    cli_child_result_fini(&result);
    cli_environment_free(environment);
    return err;
}

/* The failing case alone; if it does not fail then, all. */
static int record(struct cli_harness *self)
{
    char *filters[FILTERS_MAX];
    bool has_failed = false;

    make_filters(self, filters);
    int err = record_once(self, (const char *const *)filters, &has_failed);
    if (!err && !has_failed && filters[0]) {
        forget_recording(self);
        err = record_once(self, NULL, &has_failed);
    }
    for (size_t i = 0; i < FILTERS_MAX; i++)
        free(filters[i]);
    if (!err && !has_failed) {
        forget_recording(self);
        err = wetdbg_fail(CLI_HARNESS_PASSES, "test '%s' failed, but not when it was recorded",
                          self->test.name);
    }
    return err;
}

/* ---- its processes ---- */

static void forget_comparer(struct cli_harness *self)
{
    for (char **word = self->comparer; word && *word; word++)
        free(*word);
    free(self->comparer);
    self->comparer = NULL;
}

static void take_comparer(struct cli_harness *self, const struct wetdbg_exec *exec)
{
    self->comparer = cli_realloc(NULL, exec->argc + 1, sizeof(*self->comparer));
    for (size_t i = 0; i < exec->argc; i++)
        self->comparer[i] = cli_strdup(exec->argv[i]);
    self->comparer[exec->argc] = NULL;
}

/* The process to look at. */
static size_t choose_process(struct cli_harness *self, const struct wetdbg_process *list,
                             size_t count, bool prefers_own)
{
    enum wetdbg_default_reason reason;
    size_t index = wetdbg_default_process(list, count, &reason);
    struct cli_own_process own;

    forget_comparer(self);
    if (!prefers_own || reason != WETDBG_DEFAULT_FAILURE ||
        !cli_own_process_find(list, count, index, &own))
        return index;
    if (own.comparer != WETDBG_NO_PROCESS)
        take_comparer(self, cli_last_exec(list, own.comparer));
    return own.process;
}

static void take_process(struct cli_harness *self, const struct wetdbg_process *list, size_t count,
                         const char *wanted, bool prefers_own)
{
    char handle[HANDLE_BYTES], first[HANDLE_BYTES];
    size_t index = choose_process(self, list, count, prefers_own && !wanted);
    struct wetdbg_program program = {index, list[index].exec_count ? list[index].exec_count - 1
                                                                   : WETDBG_FORKED};
    struct wetdbg_program whole = {0, list[0].exec_count ? list[0].exec_count - 1 : WETDBG_FORKED};
    const struct wetdbg_exec *exec = wetdbg_program_exec(list, program);

    wetdbg_program_handle(list, count, program, handle, sizeof(handle));
    wetdbg_program_handle(list, count, whole, first, sizeof(first));
    free(self->process);
    free(self->program);
    self->process = cli_strdup(wanted ? wanted : handle);
    self->program = cli_strdup(wanted ? wanted : exec ? exec->file : self->test.argv[0]);
    self->is_whole = strcmp(self->process, first) == 0;
}

static int find_process(struct cli_harness *self, const char *wanted, bool prefers_own)
{
    const struct wetdbg_process *list;
    struct wetdbg_recording *recording;
    size_t count;
    int err = wetdbg_recording_open(self->trace_dir, &recording);

    if (err)
        return err;
    err = wetdbg_recording_processes(recording, &list, &count);
    if (!err && !count)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the recording %s has no process",
                          self->trace_dir);
    if (!err)
        take_process(self, list, count, wanted, prefers_own);
    wetdbg_recording_close(recording);
    return err;
}

int cli_harness_open(const struct cli_args *args, struct cli_harness **harness)
{
    struct cli_harness *self = cli_malloc(sizeof(*self));
    const char *name = cli_args_value(args, "ctest");
    int err = 0;

    *self = (struct cli_harness){.test = {.skip_status = -1}};
    if (name)
        err = cli_ctest_find(cli_args_value(args, "build"), name, &self->test);
    else
        cli_ctest_of_command(args->operands, &self->test);
    if (!err)
        err = see(self, cli_args_value(args, "case"));
    if (!err)
        err = record(self);
    if (!err)
        err = find_process(self, cli_args_value(args, "process"), false);
    if (err) {
        cli_harness_free(self);
        self = NULL;
    }
    *harness = self;
    return err;
}

/* Has the recording of the failing case alone in place of the one that is there. */
static int record_alone(struct cli_harness *self)
{
    char *filters[FILTERS_MAX], *whole = self->trace_dir;
    bool has_failed = false;

    make_filters(self, filters);
    self->trace_dir = NULL;
    int err = filters[0] ? record_once(self, (const char *const *)filters, &has_failed) : 0;
    for (size_t i = 0; i < FILTERS_MAX; i++)
        free(filters[i]);
    if (!err && has_failed) {
        wetdbg_recording_remove(whole);
        free(whole);
        return find_process(self, NULL, false);
    }
    forget_recording(self);
    self->trace_dir = whole;
    return 0;
}

int cli_harness_take(char *const *argv, const char *text, char *trace_dir, const char *process,
                     struct cli_harness **harness)
{
    struct cli_harness *self = cli_malloc(sizeof(*self));

    *self = (struct cli_harness){.test = {.skip_status = -1}, .trace_dir = trace_dir};
    cli_ctest_of_command(argv, &self->test);
    cli_cases_read(text, &self->cases);
    const struct cli_case *item = cli_cases_failed(&self->cases);
    if (item && !item->is_ok)
        self->target = cli_strdup(item->name);
    int err = find_process(self, process, true);
    if (!err && self->is_whole)
        err = record_alone(self);
    if (err) {
        cli_harness_free(self);
        self = NULL;
    }
    *harness = self;
    return err;
}

void cli_harness_free(struct cli_harness *harness)
{
    if (!harness)
        return;
    cli_ctest_fini(&harness->test);
    cli_cases_fini(&harness->cases);
    cli_cases_fini(&harness->own);
    forget_comparer(harness);
    free(harness->target);
    free(harness->file);
    free(harness->main_file);
    free(harness->trace_dir);
    free(harness->process);
    free(harness->program);
    free(harness);
}

/* ---- what is wrong in the process ---- */

/* Where the failing assertion is, if anybody said. */
static void find_assertion(struct cli_harness *self, const char *output)
{
    const struct cli_case *item = self->target ? cli_cases_find(&self->cases, self->target) : NULL;

    if (item && item->file) {
        self->file = cli_strdup(item->file);
        self->line = item->line;
    } else {
        cli_assertion_read(output, &self->file, &self->line);
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static bool is_same_file(const char *a, const char *b)
{
    return a && b && strcmp(base_name(a), base_name(b)) == 0;
}

static void find_main(struct cli_harness *self, struct wetdbg *wet)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_function *functions;
    struct wetdbg_line line;
    size_t count;

    if (wetdbg_functions_named(model, "main", &functions, &count))
        return;
    if (count && wetdbg_line_at(model, functions[0].start, &line) == 0 && line.file)
        self->main_file = cli_strdup(line.file);
    free(functions);
}

static bool is_criterion(struct wetdbg *wet, const char *text)
{
    struct wetdbg_criterion *criterion;

    if (wetdbg_criterion_parse(wet, text, NULL, &criterion))
        return false;
    wetdbg_criterion_free(criterion);
    return true;
}

int cli_harness_look(struct cli_harness *self, struct wetdbg *wet, const char *output,
                     char **criterion)
{
    char *place;

    cli_cases_read(output, &self->own);
    self->has_case = self->target && self->own.framework == self->cases.framework;
    find_assertion(self, output);
    find_main(self, wet);
    place = self->file ? cli_asprintf("%s:%u", base_name(self->file), self->line) : NULL;
    if (wetdbg_get_info(wet)->signal)
        *criterion = cli_strdup("crash");
    else
        *criterion = cli_strdup(place && is_criterion(wet, place) ? place : "exit");
    free(place);
    return 0;
}

/* ---- what is right ---- */

bool cli_harness_is_right(const struct cli_harness *self, const char *output, int status)
{
    struct cli_cases now;
    bool is_all = true, is_right;

    if (status == -1 || !WIFEXITED(status))
        return false;
    if (self->has_case) {
        cli_cases_read(output, &now);
        is_right = cli_cases_are_right(&now, &self->own, self->target, &is_all);
        cli_cases_fini(&now);
        if (!is_right || !is_all)
            return is_right;
    }
    return self->is_whole ? cli_ctest_passes(&self->test, status, output)
                          : WEXITSTATUS(status) == 0;
}

/* ---- whose decisions ---- */

/* Of a framework that is linked in with its source lines, of the system's headers, or of the object
 * files that every program begins with. */
static bool is_foreign(const struct wetdbg_predicate *predicate)
{
    static const char *const parts[] = {"/usr/include/", "/gtest/", "/googletest/", "/CUnit/"};
    static const char *const files[] = {"cmocka.c", "unity.c", "start.S", "crti.S", "crtstuff.c"};
    bool is_one = predicate->function && strncmp(predicate->function, "testing::", 9) == 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !is_one; i++)
        is_one = strstr(predicate->file, parts[i]);
    for (size_t i = 0; i < sizeof(files) / sizeof(*files) && !is_one; i++)
        is_one = is_same_file(predicate->file, files[i]);
    return is_one;
}

static bool is_small(char c)
{
    return islower((unsigned char)c);
}

/* Whether a word begins there: after what is no letter, or as in arrayTest and XMLTest. */
static bool begins_word(const char *name, const char *at)
{
    return at == name || !isalpha((unsigned char)at[-1]) ||
           (isupper((unsigned char)at[0]) && (is_small(at[-1]) || is_small(at[1])));
}

/* Whether "test" or "tests" is a word of a file's name: test_array.c, ArrayTest.cc, but not
 * latest.c. */
static bool is_named_test(const char *name)
{
    for (const char *at = name; (at = strcasestr(at, "test")); at++) {
        const char *end = at + strlen("test");
        bool ends = !is_small(*end) || (*end == 's' && !is_small(end[1]));
        if (ends && begins_word(name, at))
            return true;
    }
    return false;
}

bool cli_harness_only_checks(const struct cli_harness *self, const char *file)
{
    bool is_known = self->cases.framework != CLI_FRAMEWORK_NONE;

    return is_named_test(base_name(file)) ||
           (is_known && (is_same_file(file, self->main_file) || is_same_file(file, self->file)));
}

static bool is_tests_own(const struct cli_harness *self, const char *file)
{
    return cli_harness_only_checks(self, file) || is_same_file(file, self->main_file);
}

bool cli_harness_wants(void *arg, const struct wetdbg_predicate *predicate)
{
    struct cli_harness *self = arg;

    if (!predicate->file || is_foreign(predicate))
        return false;
    self->has_lines = true;
    if (is_same_file(predicate->file, self->file) && predicate->line == self->line)
        return false;
    return is_tests_own(self, predicate->file) == self->is_last_look;
}

int cli_harness_no_candidates(const struct cli_harness *self)
{
    if (self->has_lines)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "switch: no decision of %s but the failing assertion itself ran before "
                           "the test failed",
                           self->program);
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "switch: the process that failed ran %s, which has no debug information: "
                       "build it with -g, or say which other process it is about (--process, "
                       "'wetdbg ps %s')",
                       self->program, self->trace_dir);
}

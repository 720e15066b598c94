/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_failure.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/verbs/harness.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>

#define OUTPUT_MAX  (UINT64_C(64) << 20)
#define SHOWN_BYTES 60
#define FRAMES_MAX  64 /* of a sanitizer's report */

const char *cli_failure_name(enum cli_failure_kind kind)
{
    static const char *const names[] = {
        [CLI_FAILURE_GIVEN] = "given",     [CLI_FAILURE_COMPARED] = "compared",
        [CLI_FAILURE_CRASH] = "crash",     [CLI_FAILURE_REPORT] = "report",
        [CLI_FAILURE_HANG] = "hang",       [CLI_FAILURE_OUTPUT] = "output",
        [CLI_FAILURE_MESSAGE] = "message", [CLI_FAILURE_MISSING] = "missing",
        [CLI_FAILURE_EXIT] = "exit",       [CLI_FAILURE_TEST] = "test",
        [CLI_FAILURE_ANY] = "any",
    };

    return names[kind];
}

void cli_failure_fini(struct cli_failure *failure)
{
    free(failure->criterion);
    free(failure->got);
    free(failure->wanted);
    *failure = (struct cli_failure){0};
}

/* ---- what it put out ---- */

int cli_failure_output(struct cli_session *session, int fd, char **text, size_t *size)
{
    size_t count;
    const struct wetdbg_output *list = wetdbg_outputs(session->wet, &count);
    struct wetdbg_state *state = NULL;
    int err = 0;

    *text = cli_strdup("");
    *size = 0;
    for (size_t i = 0; i < count && !err; i++) {
        bool is_wanted = fd ? list[i].fd == fd : list[i].fd == 1 || list[i].fd == 2;
        if (!is_wanted || !list[i].size || list[i].size > OUTPUT_MAX - *size)
            continue;
        *text = cli_realloc(*text, *size + list[i].size + 1, 1);
        err = state ? wetdbg_state_advance(state, list[i].time)
                    : wetdbg_state_open(session->wet, list[i].time, &state);
        if (!err)
            err = wetdbg_state_read(state, list[i].address, *text + *size, list[i].size);
        *size += err ? 0 : list[i].size;
        (*text)[*size] = 0;
    }
    if (state)
        wetdbg_state_close(state);
    return err;
}

/* The line around an offset, cut, to be freed. */
static char *line_around(const char *text, size_t size, size_t offset)
{
    size_t first = offset < size ? offset : size, end = first;

    while (first && text[first - 1] != '\n' && offset - first < SHOWN_BYTES / 2)
        first--;
    while (end < size && text[end] != '\n' && end - first < SHOWN_BYTES)
        end++;
    return cli_strndup(text + first, end - first);
}

/* ---- what standard error says ---- */

/* The place of a frame "#3 0x55 in f /src/a.c:12:3" or of "a.c:12:3: runtime error:", before a
 * colon; false if there is none. */
static bool read_place(const char *begin, const char *end, char **file, uint32_t *line)
{
    const char *at = end;
    uint64_t number = 0;

    for (unsigned parts = 0; parts < 2; parts++) { /* FILE:LINE, FILE:LINE:COLUMN */
        const char *digits = at;
        while (digits > begin && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (digits == at || digits <= begin || digits[-1] != ':')
            break;
        number = strtoull(digits, NULL, 10);
        at = digits - 1;
    }
    const char *name = at;
    while (name > begin && name[-1] != ' ' && name[-1] != '\n')
        name--;
    if (!number || number > UINT32_MAX || name == at || at == end)
        return false;
    *file = cli_strndup(name, (size_t)(at - name));
    *line = (uint32_t)number;
    return true;
}

/* A criterion of a place of own code that ran; NULL if it is none. */
static char *criterion_at(struct cli_session *session, const char *file, uint32_t line)
{
    struct wetdbg_line_location *places;
    size_t count;
    bool is_own = false;

    if (wetdbg_line_locations(session->model, file, line, &places, &count))
        return NULL;
    for (size_t i = 0; i < count && !is_own; i++)
        is_own = wetdbg_is_own(session->wet, places[i].pc);
    free(places);
    if (!is_own)
        return NULL;
    char *text = cli_asprintf("%s:%" PRIu32, file, line);
    struct wetdbg_criterion *criterion;
    if (wetdbg_criterion_parse(session->wet, text, NULL, &criterion)) {
        free(text);
        return NULL;
    }
    wetdbg_criterion_free(criterion);
    return text;
}

static char *criterion_of_place(struct cli_session *session, const char *begin, const char *end)
{
    uint32_t line;
    char *file, *criterion = NULL;

    if (read_place(begin, end, &file, &line)) {
        criterion = criterion_at(session, file, line);
        free(file);
    }
    return criterion;
}

/* Of a report of AddressSanitizer and kin the first frame of own code. */
static char *criterion_of_frames(struct cli_session *session, const char *text)
{
    for (unsigned n = 0; n < FRAMES_MAX && (text = strstr(text, "\n    #")); n++) {
        const char *end = text + 1 + strcspn(text + 1, "\n");
        char *criterion = criterion_of_place(session, text + 1, end);
        if (criterion)
            return criterion;
        text = end;
    }
    return NULL;
}

static char *criterion_of_report(struct cli_session *session, const char *text)
{
    const char *runtime = strstr(text, ": runtime error: ");
    const char *begin = runtime;

    while (begin && begin > text && begin[-1] != '\n')
        begin--;
    if (runtime)
        return criterion_of_place(session, begin, runtime);
    runtime = strstr(text, "Sanitizer: ");
    return runtime ? criterion_of_frames(session, runtime) : NULL;
}

/* ---- kinds of failures ---- */

static void set(struct cli_failure *failure, enum cli_failure_kind kind, char *criterion)
{
    failure->kind = kind;
    failure->criterion = criterion;
}

/* Whether a criterion is an instance that made `time`. */
static bool is_at(struct cli_session *session, const char *text, wetdbg_time time)
{
    struct wetdbg_criterion *criterion;
    wetdbg_time *times = NULL;
    size_t count = 0;
    bool is_there = false;

    if (wetdbg_criterion_parse(session->wet, text, NULL, &criterion))
        return false;
    if (!wetdbg_criterion_times(criterion, &times, &count))
        for (size_t i = 0; i < count && !is_there; i++)
            is_there = times[i] == time;
    free(times);
    wetdbg_criterion_free(criterion);
    return is_there;
}

/* The decision that kept it in a loop: its line, if that is where the line was last or, where the
 * line has called something that did not come back, the time before; else the instruction. */
static char *criterion_of_decision(struct cli_session *session, const struct cli_loop *loop)
{
    static const char *const instances[] = {"", "#-2"};
    struct wetdbg_line line = {0};
    struct wetdbg_module module;
    char *text = NULL;

    wetdbg_line_of_instruction(session->model, loop->exit_pc, &line);
    for (size_t i = 0; line.file && i < sizeof(instances) / sizeof(*instances); i++) {
        text = cli_asprintf("%s:%" PRIu32 "%s", line.file, line.line, instances[i]);
        if (is_at(session, text, loop->last))
            return text;
        free(text);
    }
    if (wetdbg_module_at(session->model, loop->exit_pc, &module))
        return NULL;
    text = cli_asprintf("%s+0x%" PRIx64, module.name, loop->exit_pc - module.bias);
    if (is_at(session, text, loop->last))
        return text;
    free(text);
    return NULL;
}

/* Where it was in own code. */
static char *criterion_of_end(struct cli_session *session)
{
    struct wetdbg_caller caller;

    if (wetdbg_own_caller(session->wet, session->info->last_time, &caller) || !caller.file)
        return NULL;
    return criterion_at(session, caller.file, caller.line);
}

/* A run that was ended from outside went on and on, or waited. */
static int find_hang(struct cli_session *session, struct cli_failure *failure)
{
    char *criterion = NULL;
    int number;
    enum cli_run_end end = cli_run_end(session->wet, &number);
    bool is_outside = number == SIGTERM || number == SIGINT || number == SIGKILL ||
                      number == SIGALRM || number == SIGXCPU || number == SIGHUP;

    if ((end != CLI_RUN_END_KILLED && end != CLI_RUN_END_SIGNAL) || !is_outside)
        return 0;
    int err = cli_loop_find(session->wet, &failure->loop);
    if (err && err != -WETDBG_ERR_NOT_FOUND)
        return err;
    if (!err)
        criterion = criterion_of_decision(session, &failure->loop);
    failure->is_loop = criterion != NULL;
    if (!criterion)
        criterion = criterion_of_end(session);
    if (criterion)
        set(failure, CLI_FAILURE_HANG, criterion);
    return 0;
}

/* The first byte that is not as expected; missing output may have its reason on standard error. */
static int find_output(struct cli_session *session, const struct cli_right *right,
                       struct cli_failure *failure)
{
    const char *wanted = (const char *)right->expected;
    char *text, *errors = NULL;
    size_t size, at = 0, said = 0;
    int err = cli_failure_output(session, 1, &text, &size);

    while (!err && at < size && at < right->expected_size && text[at] == wanted[at])
        at++;
    if (!err && (at < size || at < right->expected_size)) {
        failure->offset = at;
        failure->got = line_around(text, size, at);
        failure->wanted = line_around(wanted, right->expected_size, at);
        if (at == size)
            err = cli_failure_output(session, 2, &errors, &said);
        if (at < size)
            set(failure, CLI_FAILURE_OUTPUT, cli_asprintf("output:%zu", at));
        else if (said)
            set(failure, CLI_FAILURE_MESSAGE, cli_strdup("output:2:0"));
        else
            set(failure, CLI_FAILURE_MISSING, cli_strdup("output:end"));
    }
    free(errors);
    free(text);
    return err;
}

static int find_test(struct cli_session *session, const struct cli_right *right,
                     struct cli_failure *failure)
{
    char *text;
    size_t size;
    int err = cli_failure_output(session, 0, &text, &size);

    if (!err)
        err = cli_harness_look(right->harness, session->wet, text, &failure->criterion);
    failure->kind = CLI_FAILURE_TEST;
    if (!err && !strcmp(failure->criterion, "crash"))
        failure->kind = CLI_FAILURE_CRASH;
    free(text);
    return err;
}

/* A command knows that something is wrong: the last line that was put out, or the exit status. */
static int find_any(struct cli_session *session, struct cli_failure *failure)
{
    char *text;
    size_t size, first;
    int err = cli_failure_output(session, 1, &text, &size);

    for (first = size ? size - 1 : 0; !err && first && text[first - 1] != '\n';)
        first--;
    if (!err)
        set(failure, size ? CLI_FAILURE_ANY : CLI_FAILURE_EXIT,
            size ? cli_asprintf("output:%zu+%zu", first, size - first) : cli_strdup("exit"));
    free(text);
    return err;
}

static int find_report(struct cli_session *session, struct cli_failure *failure)
{
    char *text;
    size_t size;
    int err = cli_failure_output(session, 2, &text, &size);
    char *criterion = err ? NULL : criterion_of_report(session, text);

    if (criterion)
        set(failure, CLI_FAILURE_REPORT, criterion);
    free(text);
    return err;
}

static int no_crash(struct cli_session *session)
{
    int number;
    enum cli_run_end end = cli_run_end(session->wet, &number);

    return end == CLI_RUN_END_EXIT
               ? wetdbg_fail(-WETDBG_ERR_USAGE, "locate: the run did not crash: it exits with %d",
                             number)
               : wetdbg_fail(-WETDBG_ERR_USAGE, "locate: no signal ended the run");
}

static int no_failure(const struct cli_right *right)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       right->expected
                           ? "locate: the recorded run does not fail: its output and exit status "
                             "are as expected"
                           : "locate: the run exits with 0, and nothing says what is wrong: "
                             "--expect=FILE, --oracle=CMD or --target=CRITERION would");
}

/* What the run itself tells. */
static int find_by_end(struct cli_session *session, const struct cli_right *right,
                       struct cli_failure *failure)
{
    int number;
    int err = find_report(session, failure);

    if (!err && !failure->criterion)
        err = find_hang(session, failure);
    if (err || failure->criterion)
        return err;
    enum cli_run_end end = cli_run_end(session->wet, &number);
    if (end == CLI_RUN_END_SIGNAL)
        set(failure, CLI_FAILURE_CRASH, cli_strdup("crash"));
    else if (right->is_crash)
        return no_crash(session);
    else if (right->expected)
        err = find_output(session, right, failure);
    else if (right->command)
        err = find_any(session, failure);
    if (!err && !failure->criterion && end == CLI_RUN_END_EXIT &&
        number != (right->status < 0 ? 0 : right->status))
        set(failure, CLI_FAILURE_EXIT, cli_strdup("exit"));
    return err || failure->criterion ? err : no_failure(right);
}

int cli_failure_find(struct cli_session *session, const struct cli_right *right,
                     struct cli_failure *failure)
{
    *failure = (struct cli_failure){0};
    int err = right->harness  ? find_test(session, right, failure)
              : right->target ? 0
                              : find_by_end(session, right, failure);
    if (!err && right->target) {
        free(failure->criterion);
        set(failure, right->is_compared ? CLI_FAILURE_COMPARED : CLI_FAILURE_GIVEN,
            cli_strdup(right->target));
    }
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/ci_locate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/report/locate_html.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/child_run.h"
#include "dbgcli/verbs/ci_summary.h"
#include "dbgcli/verbs/compared.h"
#include "dbgcli/verbs/harness.h"
#include "dbgcli/verbs/locate_answer.h"
#include "dbgcli/verbs/locate_junit.h"
#include "dbgcli/verbs/locate_sarif.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/errors.h>

#define SUSPECTS_SAID     5
#define SUSPECTS_REPORTED 10

/* All of one call. `locating` comes first: answers are called with it. */
struct work {
    struct cli_locating locating;
    const struct cli_ci *ci;
    const char *folder; /* NULL: there is none to write to */
    struct cli_harness *harness;
    struct cli_compared compared;
    struct cli_ci_summary summary;
};

__attribute__((format(printf, 2, 3))) static void say(struct work *self, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    char *text = cli_vasprintf(format, args);
    va_end(args);
    fputs("wetdbg: ci: ", stderr);
    cli_text_put(stderr, text);
    putc('\n', stderr);
    cli_ci_summary_say(&self->summary, text);
    free(text);
}

/* ---- files ---- */

/* Makes a folder, and those that it is in. */
static int make_folder(const char *path)
{
    char *part = cli_strdup(path);
    int err = 0;

    for (char *at = part + 1; *part && !err; at++) {
        if (*at && *at != '/')
            continue;
        char end = *at;
        *at = 0;
        if (mkdir(part, 0777) && errno != EEXIST)
            err = wetdbg_fail_errno("%s", part);
        *at = end;
        if (!end)
            break;
    }
    free(part);
    if (!err && access(path, W_OK | X_OK))
        err = wetdbg_fail_errno("%s", path);
    return err;
}

static char *file_in(const struct work *self, const char *name)
{
    return cli_asprintf("%s/%s", self->folder, name);
}

/* What the recorded run printed. */
static void keep_output(struct work *self, const struct cli_child_result *result)
{
    if (!self->folder)
        return;
    char *path = file_in(self, "output.txt");
    int err = cli_whole_file_write(path, result->text, result->size);
    if (err)
        say(self, "output.txt: %s", wetdbg_error(err));
    free(path);
}

/* An answer, to a descriptor. */
static int answer_to(struct cli_locating *locating, int fd, bool is_json, uint64_t limit)
{
    struct cli_out out, *before = locating->session->out;
    int err = cli_out_init(&out, fd, stderr);

    if (err)
        return err;
    out.json = is_json;
    locating->session->out = &out;
    locating->limit = limit;
    err = cli_locate_answer(locating);
    locating->session->out = before;
    int end = cli_out_fini(&out);
    return err ? err : end;
}

static int write_answer(struct cli_locating *locating, const char *path, bool is_json)
{
    struct cli_whole_file file;
    int err = cli_whole_file_open(&file, path);

    if (!err)
        err = answer_to(locating, file.fd, is_json, is_json ? 0 : SUSPECTS_REPORTED);
    return cli_whole_file_close(&file, err);
}

static int write_text(struct cli_locating *locating, const char *path)
{
    return write_answer(locating, path, false);
}

static int write_json(struct cli_locating *locating, const char *path)
{
    return write_answer(locating, path, true);
}

static void write_reports(struct work *self)
{
    static const struct {
        const char *name;
        int (*write)(struct cli_locating *locating, const char *path);
    } reports[] = {
        {"locate.txt", write_text},       {"locate.json", write_json},
        {"locate.html", cli_locate_html}, {"locate.sarif", cli_locate_sarif},
        {"junit.xml", cli_locate_junit},
    };

    for (size_t i = 0; i < sizeof(reports) / sizeof(*reports) && self->folder; i++) {
        char *path = file_in(self, reports[i].name);
        int err = reports[i].write(&self->locating, path);
        if (err)
            say(self, "%s: %s", reports[i].name, wetdbg_error(err));
        free(path);
    }
}

/* ---- the recording ---- */

/* "exit status 1", "signal 11"; to be freed. */
static char *end_of(int status)
{
    return WIFSIGNALED(status) ? cli_asprintf("signal %d", WTERMSIG(status))
                               : cli_asprintf("exit status %d", WEXITSTATUS(status));
}

static void say_runs(struct work *self, const struct cli_child_result *result, bool has_failed)
{
    const char *lots = result->drew_lots ? ", drawing lots about the order of threads" : "";

    if (!has_failed)
        say(self,
            "none of %" PRIu64 " recorded runs failed: the failure is flaky, or does not come "
            "where it is recorded; --tries=N makes more",
            result->runs);
    else if (result->runs > 1)
        say(self, "it is flaky: of the recorded runs the %" PRIu64 ". failed%s", result->runs,
            lots);
}

/* *trace_dir is NULL, and it was said why, if there is no recording of a run that failed. */
static int record(struct work *self, struct cli_child_result *result, char **trace_dir)
{
    const struct cli_ci *ci = self->ci;
    struct cli_child child = {.argv = ci->argv, .has_input = ci->has_input, .runs = ci->runs};
    char *end = end_of(ci->status);

    say(self, "%s failed (%s); it is recorded again", ci->argv[0], end);
    free(end);
    if (ci->is_input_gone)
        say(self, "standard input is no file: the recorded run has none");
    if (ci->has_input)
        lseek(STDIN_FILENO, ci->input_begin, SEEK_SET);
    int err = cli_child_record(&child, result, trace_dir);
    if (err)
        return err == -WETDBG_ERR_INTERRUPTED
                   ? err
                   : wetdbg_fail(err, "it could not be recorded: %s", wetdbg_error(err));
    say_runs(self, result, *trace_dir);
    return 0;
}

/* ---- locating ---- */

static int answer(struct cli_locating *locating)
{
    struct work *self = (struct work *)locating;

    if (locating->has_more)
        return 0;
    int err = answer_to(locating, STDERR_FILENO, false, SUSPECTS_SAID);
    if (err)
        return err;
    write_reports(self);
    return cli_ci_summary_take(&self->summary, locating);
}

static void say_process(struct work *self)
{
    const struct cli_harness *harness = self->harness;
    char *words = cli_strdup("");

    for (char **word = harness->comparer; word && *word; word++) {
        char *longer = cli_asprintf("%s%s%s", words, *words ? " " : "", *word);
        free(words);
        words = longer;
    }
    if (harness->comparer)
        say(self, "in it, process %s is looked at: %s, whose output '%s' found wrong",
            harness->process, harness->program, words);
    else if (!harness->is_whole)
        say(self, "in it, process %s failed: %s", harness->process, harness->program);
    free(words);
}

/* The .wet file of the process that failed, with the reports. */
static int build(struct work *self, char **path)
{
    struct cli_harness *harness = self->harness;
    char *output = self->folder ? file_in(self, "run.wet") : NULL;
    struct wetdbg_build_options how = {.interrupted = cli_interrupt_flag(),
                                       .is_trusted = true,
                                       .process = harness->process,
                                       .output = output};
    double seconds;

    say_process(self);
    int err = cli_build_wet(harness->trace_dir, &how, path, &seconds);
    free(output);
    return err;
}

/* What is right, of the process that is looked at. */
static int find_right(struct work *self)
{
    struct cli_right *right = &self->locating.right;

    right->harness = self->harness;
    if (!self->harness->comparer)
        return 0;
    int err = cli_compared_look(self->locating.session, self->harness->comparer, &self->compared);
    if (err)
        return err;
    if (!self->compared.expected && !self->compared.target)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "what it should have put out is not known; 'wetdbg locate --expect=FILE "
                           "%s' would say it",
                           self->locating.wet_path);
    right->harness = NULL;
    right->expected = self->compared.expected;
    right->expected_size = self->compared.expected_size;
    right->target = self->compared.target;
    right->command = self->compared.command;
    right->is_compared = true;
    return 0;
}

static int locate(struct work *self)
{
    struct cli_session session;
    struct cli_out out;
    char *path;
    int err = build(self, &path);

    if (err)
        return err;
    err = cli_out_init(&out, STDERR_FILENO, stderr);
    if (!err) {
        err = cli_session_open(&session, &out, path);
        if (!err) {
            wetdbg_trust(session.wet);
            self->locating.session = &session;
            self->locating.wet_path = path;
            cli_locating_begin(&self->locating);
            err = find_right(self);
            if (!err)
                err = cli_locating_run(&self->locating, answer);
            cli_locating_fini(&self->locating);
            cli_compared_fini(&self->compared);
            cli_session_close(&session);
        }
        cli_out_fini(&out);
    }
    free(path);
    return err;
}

static int record_and_locate(struct work *self)
{
    struct cli_child_result result;
    char *trace_dir = NULL;
    int err = record(self, &result, &trace_dir);

    if (!err && trace_dir) {
        keep_output(self, &result);
        err = cli_harness_take(self->ci->argv, result.text, trace_dir, self->ci->process,
                               &self->harness);
    }
    cli_child_result_fini(&result);
    if (err || !self->harness)
        return err;
    err = locate(self);
    say(self, "the recording is %s", self->harness->trace_dir);
    cli_harness_free(self->harness);
    return err;
}

/* ---- the summary ---- */

static int append(const char *path, const char *text)
{
    FILE *to = fopen(path, "ae");

    if (!to)
        return wetdbg_fail_errno("%s", path);
    bool is_written = fputs(text, to) >= 0;
    if (fclose(to) || !is_written)
        return wetdbg_fail_errno("%s", path);
    return 0;
}

/* With the reports, and where GitHub wants it. */
static void summarize(struct work *self)
{
    const char *step = getenv("GITHUB_STEP_SUMMARY");
    char *text = cli_ci_summary_text(&self->summary, self->ci->argv);
    char *path = self->folder ? file_in(self, "summary.md") : NULL;
    int err = path ? cli_whole_file_write(path, text, strlen(text)) : 0;

    if (err)
        say(self, "summary.md: %s", wetdbg_error(err));
    err = step && *step ? append(step, text) : 0;
    if (err)
        say(self, "$GITHUB_STEP_SUMMARY: %s", wetdbg_error(err));
    free(path);
    free(text);
}

void cli_ci_locate(const struct cli_ci *ci)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct work self = {
        .locating = {.budget = ci->budget, .reported = SUSPECTS_REPORTED, .right = {.status = -1}},
        .ci = ci,
        .folder = ci->folder};

    self.locating.jobs = processors < 1                       ? 1
                         : processors > WETDBG_TRIAL_JOBS_MAX ? WETDBG_TRIAL_JOBS_MAX
                                                              : (unsigned)processors;
    int err = make_folder(ci->folder);
    if (err) {
        say(&self, "no reports are kept: %s", wetdbg_error(err));
        self.folder = NULL;
    }
    err = record_and_locate(&self);
    if (err)
        say(&self, "%s", wetdbg_error(err));
    if (self.folder)
        say(&self, "reports: %s", self.folder);
    summarize(&self);
    cli_ci_summary_fini(&self.summary);
}

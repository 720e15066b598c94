/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a search for critical predicates answers: findings, the first ones in detail, and an end. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slice_made.h"
#include "dbgcli/commands/switching.h"
#include "dbgcli/eval/line_values.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/ordinal.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/verbs/switch_report.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define DETAILED_MAX 3  /* findings of the best verdict that are shown in detail */
#define LINES_MAX    10 /* of the slice of one */
#define VALUES_MAX   12
#define BYTES_SHOWN  60 /* of output that became another */

static const struct wetdbg_predicate *predicate_of(const struct cli_switching *self,
                                                   const struct wetdbg_candidate *switched)
{
    size_t count;

    return &wetdbg_candidates_predicates(self->candidates, &count)[switched->predicate];
}

static const char *extent_name(const struct wetdbg_candidate *switched)
{
    static const char *const names[] = {[WETDBG_EXTENT_ONE] = "one",
                                        [WETDBG_EXTENT_ONWARD] = "onward",
                                        [WETDBG_EXTENT_ALL] = "all"};

    return names[switched->extent];
}

/* ---- values on the line ---- */

struct values {
    struct cli_out *out;
    json_t *object; /* NULL: text */
    size_t count;
};

static void show_value(void *arg, const char *name, const char *text)
{
    struct values *values = arg;

    if (values->object) {
        cli_json_set(values->object, name, cli_json_text(text));
    } else {
        fputs(values->count ? ", " : "  values: ", values->out->stream);
        cli_out_text(values->out, name);
        fputs(" = ", values->out->stream);
        cli_out_text(values->out, text);
    }
    values->count++;
}

/* Just before the decision. */
static void show_values(struct cli_switching *self, const struct wetdbg_candidate *switched,
                        const char *line, json_t *object)
{
    struct values values = {.out = self->session->out, .object = object};
    struct cli_moment *moment;

    if (!line || cli_moment_open(self->session->wet, switched->time, &moment))
        return;
    cli_line_values_each(moment, line, VALUES_MAX, show_value, &values);
    if (values.count && !object)
        putc('\n', self->session->out->stream);
    cli_moment_close(moment);
}

/* ---- what the switch changed ---- */

/* What the run puts out to descriptor 1 from where it goes on differently. */
struct output {
    uint64_t from; /* offset in all that it put out */
    char *text;
    size_t size;
    FILE *to;
};

static int output_take(void *arg, int fd, const void *bytes, size_t size)
{
    struct output *output = arg;

    if (fd == 1)
        fwrite(bytes, 1, size, output->to);
    return 0;
}

static int run_again(struct cli_switching *self, const struct wetdbg_trial *trial,
                     struct output *output, struct wetdbg_switch_result *result)
{
    size_t count;
    const struct wetdbg_output *pieces = wetdbg_outputs(self->session->wet, &count);

    *output = (struct output){0};
    for (size_t i = 0; i < count; i++)
        if (pieces[i].fd == 1 && pieces[i].time < trial->switches[0].time)
            output->from += pieces[i].size;
    output->to = open_memstream(&output->text, &output->size);
    if (!output->to)
        cli_die();
    int err = wetdbg_trials_show(self->trials, trial, output_take, output, result);
    fclose(output->to);
    return err;
}

/* What stands from the first byte on that is another one. */
static const char *other_bytes(const struct output *output,
                               const struct wetdbg_switch_result *result, size_t *size)
{
    *size = 0;
    if (result->output_fd != 1 || result->output_offset < output->from ||
        result->output_offset - output->from > output->size)
        return NULL;
    size_t at = (size_t)(result->output_offset - output->from), left = output->size - at;
    *size = left < BYTES_SHOWN ? left : BYTES_SHOWN;
    return output->text + at;
}

static void print_then(struct cli_switching *self, const struct output *output,
                       const struct wetdbg_switch_result *result)
{
    struct cli_out *out = self->session->out;
    int status = result->wait_status;
    size_t size;
    const char *bytes = other_bytes(output, result, &size);

    if (result->end != WETDBG_SWITCH_EXIT) {
        fputs("  then: ", out->stream);
        cli_out_text(out, result->reason);
    } else if (WIFSIGNALED(status)) {
        fprintf(out->stream, "  then: it ends by %s", cli_signal_name(WTERMSIG(status)));
    } else {
        fprintf(out->stream, "  then: it exits with status %d", WEXITSTATUS(status));
    }
    if (!result->output_differs) {
        fputs("; output is as recorded\n", out->stream);
        return;
    }
    fprintf(out->stream, "; output differs from byte %" PRIu64 " of descriptor %d on",
            result->output_offset, result->output_fd);
    if (bytes && size) {
        fputs(": \"", out->stream);
        cli_out_quoted(out, bytes, size);
        putc('"', out->stream);
    }
    putc('\n', out->stream);
}

static json_t *json_of_then(const struct output *output, const struct wetdbg_switch_result *result)
{
    json_t *object = json_object();
    bool has_ended = result->end == WETDBG_SWITCH_EXIT;
    bool is_signal = has_ended && WIFSIGNALED(result->wait_status);
    size_t size;
    const char *bytes = other_bytes(output, result, &size);

    cli_json_set(object, "exit",
                 has_ended && !is_signal ? json_integer(WEXITSTATUS(result->wait_status))
                                         : json_null());
    cli_json_set(object, "signal",
                 is_signal ? json_integer(WTERMSIG(result->wait_status)) : json_null());
    cli_json_set(object, "output_differs_at",
                 result->output_differs ? cli_json_count(result->output_offset) : json_null());
    cli_json_set(object, "output", bytes ? cli_json_bytes(bytes, size) : json_null());
    return object;
}

static int show_then(struct cli_switching *self, const struct wetdbg_trial *trial, json_t *object)
{
    struct wetdbg_switch_result result;
    struct output output;
    int err = run_again(self, trial, &output, &result);

    if (!err && object)
        cli_json_set(object, "then", json_of_then(&output, &result));
    else if (!err)
        print_then(self, &output, &result);
    free(output.text);
    return err;
}

/* ---- a finding ---- */

static int show_slice(struct cli_switching *self, const struct wetdbg_candidate *switched,
                      json_t *object)
{
    struct wetdbg_criterion *criterion;
    json_t *slice = object ? json_object() : NULL;
    int err = wetdbg_criterion_of_instance(self->session->wet, switched->time, &criterion);

    if (!err)
        err = cli_slice_both_show(self->session, criterion, LINES_MAX, slice);
    if (object && !err)
        cli_json_set(object, "slice", slice);
    else
        json_decref(slice);
    return err;
}

/* Where a table's jump goes then: by line, and by address too where the line does not tell. */
static void print_way(const struct cli_switching *self, uint64_t to)
{
    struct cli_out *out = self->session->out;
    struct wetdbg_range *ranges = NULL;
    struct wetdbg_line line;
    size_t count = 0;
    bool has_line = wetdbg_line_at(self->session->model, to, &line) == 0 && line.line;

    fputs(" to ", out->stream);
    if (has_line) {
        fprintf(out->stream, "line %" PRIu32, line.line);
        if (wetdbg_line_ranges(self->session->model, line.file, line.line, &ranges, &count))
            count = 0;
        bool is_plain = count == 1 && ranges[0].start == to;
        free(ranges);
        if (is_plain)
            return;
        fputs(", ", out->stream);
    }
    cli_address_print(out->stream, self->session->model, to);
}

char *cli_switching_when(const struct wetdbg_candidate *switched, uint64_t instances)
{
    uint64_t k = switched->instance, time = switched->time;

    if (switched->extent == WETDBG_EXTENT_ALL)
        return instances == 1 ? cli_strdup(", the only time")
                              : cli_asprintf(", each of its %" PRIu64 " times", instances);
    if (instances == 1)
        return cli_asprintf(" at time %" PRIu64 ", the only time", time);
    if (switched->extent == WETDBG_EXTENT_ONWARD)
        return cli_asprintf(" from time %" PRIu64 " on, the %" PRIu64 "%s of its %" PRIu64 " times",
                            time, k, cli_ordinal_end(k), instances);
    if (k == instances)
        return cli_asprintf(" at time %" PRIu64 ", the last of its %" PRIu64 " times", time, k);
    return cli_asprintf(" at time %" PRIu64 ", the %" PRIu64 "%s of its %" PRIu64 " times", time, k,
                        cli_ordinal_end(k), instances);
}

static void print_switched(const struct cli_switching *self,
                           const struct wetdbg_candidate *switched)
{
    const struct wetdbg_predicate *predicate = predicate_of(self, switched);
    struct cli_out *out = self->session->out;

    if (predicate->file) {
        cli_out_text(out, cli_base_name(predicate->file));
        fprintf(out->stream, ":%" PRIu32, predicate->line);
    } else {
        cli_address_print(out->stream, self->session->model, switched->pc);
    }
    if (predicate->function && predicate->file) {
        fputs(" in ", out->stream);
        cli_out_text(out, predicate->function);
    }
    fprintf(out->stream, ", the %s",
            switched->is_expression ? "whole expression"
                                    : wetdbg_predicate_kind_name(predicate->kind));
    if (predicate->kind == WETDBG_PREDICATE_TABLE)
        print_way(self, switched->to);
    char *when = cli_switching_when(switched, predicate->instances);
    fputs(when, out->stream);
    free(when);
}

static int print_finding(struct cli_switching *self, const struct wetdbg_finding *finding,
                         bool is_detailed)
{
    const struct wetdbg_trial *trial = &finding->trial;
    struct cli_out *out = self->session->out;
    int err = 0;

    fprintf(out->stream, "%-8s  ", wetdbg_verdict_name(finding->verdict));
    for (unsigned i = 0; i < trial->count; i++) {
        fputs(i ? "\n     and  " : "", out->stream);
        print_switched(self, &trial->switches[i]);
    }
    fprintf(out->stream, " (switch %" PRIu64 "%s)\n", trial->position,
            self->harness && self->harness->is_last_look ? "; in the test itself"
            : finding->meets                             ? ""
                             : "; nothing of it meets the slice of what is wrong");
    for (unsigned i = 0; i < trial->count && is_detailed; i++) {
        const struct wetdbg_predicate *predicate = predicate_of(self, &trial->switches[i]);
        const char *text =
            cli_source_text(self->session, predicate->file, predicate->line, predicate->pc);
        if (text) {
            fputs("  | ", out->stream);
            cli_out_text(out, text);
            putc('\n', out->stream);
        }
        show_values(self, &trial->switches[i], text, NULL);
    }
    if (is_detailed)
        err = show_then(self, trial, NULL);
    return err || !is_detailed ? err : show_slice(self, &trial->switches[0], NULL);
}

/* ---- JSON ---- */

static void switched_to_json(struct cli_switching *self, const struct wetdbg_candidate *switched,
                             bool is_detailed, json_t *object)
{
    const struct wetdbg_predicate *predicate = predicate_of(self, switched);
    bool is_place = switched->to > 1;

    cli_json_set(object, "file", cli_json_text(predicate->file));
    cli_json_set(object, "line", cli_json_count(predicate->line));
    cli_json_set(object, "function", cli_json_text(predicate->function));
    cli_json_set(object, "kind", cli_json_text(wetdbg_predicate_kind_name(predicate->kind)));
    cli_json_set(object, "address", cli_json_address(switched->pc));
    cli_json_set(object, "instance", cli_json_count(switched->instance));
    cli_json_set(object, "instances", cli_json_count(predicate->instances));
    cli_json_set(object, "extent", cli_json_text(extent_name(switched)));
    cli_json_set(object, "expression", json_boolean(switched->is_expression));
    cli_json_set(object, "time", cli_json_count(switched->time));
    cli_json_set(object, "went",
                 is_place ? cli_json_address(switched->went) : cli_json_count(switched->went));
    cli_json_set(object, "to",
                 is_place ? cli_json_address(switched->to) : cli_json_count(switched->to));
    if (!is_detailed)
        return;
    json_t *values = json_object();
    show_values(self, switched,
                cli_source_text(self->session, predicate->file, predicate->line, predicate->pc),
                values);
    cli_json_set(object, "values", values);
}

static int print_json(struct cli_switching *self, const struct wetdbg_finding *finding,
                      bool is_detailed)
{
    const struct wetdbg_trial *trial = &finding->trial;
    json_t *object = cli_json_object("wetdbg.switch/1");
    int err = 0;

    cli_json_set(object, "verdict", cli_json_text(wetdbg_verdict_name(finding->verdict)));
    switched_to_json(self, &trial->switches[0], is_detailed, object);
    if (trial->count > 1) {
        json_t *other = json_object();
        switched_to_json(self, &trial->switches[1], is_detailed, other);
        cli_json_set(object, "and", other);
    }
    cli_json_set(object, "meets", json_boolean(finding->meets));
    cli_json_set(object, "tried", cli_json_count(trial->position));
    if (is_detailed)
        err = show_then(self, trial, object);
    if (is_detailed && !err)
        err = show_slice(self, &trial->switches[0], object);
    if (err)
        json_decref(object);
    else if (self->all)
        cli_json_append(self->all, object);
    else
        cli_out_json(self->session->out, object);
    return err;
}

/* ---- the end ---- */

static void print_end(const struct cli_switching *self)
{
    const struct wetdbg_search_result *result = &self->result;
    const struct wetdbg_search_progress *progress = &result->progress;
    struct cli_out *out = self->session->out;
    uint64_t unresolved = progress->verdicts[WETDBG_VERDICT_UNRESOLVED];
    uint64_t left = result->is_complete ? 0 : cli_switching_left(self, progress);

    fprintf(out->stream,
            "%s: %" PRIu64 " switched runs in %.1f s, %" PRIu64 " known from before, %" PRIu64
            " proven equal; ",
            result->count ? "found" : "none found", progress->tried, progress->seconds,
            progress->known, progress->equal);
    if (result->is_complete)
        fputs("none left\n", out->stream);
    else if (left)
        fprintf(out->stream, "some %" PRIu64 " left\n", left);
    else
        fputs("how many are left is not known\n", out->stream);
    if (unresolved) {
        fprintf(out->stream, "unresolved: %" PRIu64 ", the first: ", unresolved);
        cli_out_text(out, result->unresolved);
        putc('\n', out->stream);
    }
}

static void print_json_end(const struct cli_switching *self)
{
    const struct wetdbg_search_result *result = &self->result;
    const struct wetdbg_search_progress *progress = &result->progress;
    json_t *object = cli_json_object("wetdbg.switch-end/1");
    json_t *verdicts = json_object();

    for (unsigned i = 0; i < WETDBG_VERDICTS; i++)
        cli_json_set(verdicts, wetdbg_verdict_name((enum wetdbg_verdict)i),
                     cli_json_count(progress->verdicts[i]));
    cli_json_set(object, "tried", cli_json_count(progress->tried));
    cli_json_set(object, "known", cli_json_count(progress->known));
    cli_json_set(object, "equal", cli_json_count(progress->equal));
    cli_json_set(object, "left",
                 cli_json_count(result->is_complete ? 0 : cli_switching_left(self, progress)));
    cli_json_set(object, "unresolved",
                 cli_json_count(progress->verdicts[WETDBG_VERDICT_UNRESOLVED]));
    cli_json_set(object, "reason",
                 *result->unresolved ? cli_json_text(result->unresolved) : json_null());
    cli_json_set(object, "seconds", json_real(progress->seconds));
    cli_json_set(object, "complete", json_boolean(result->is_complete));
    cli_json_set(object, "verdicts", verdicts);
    cli_json_set(object, "target", cli_json_text(self->target));
    if (self->harness)
        cli_report_set_test(self->harness, object);
    if (self->all)
        cli_json_set(object, "findings", json_incref(self->all));
    cli_out_json(self->session->out, object);
}

/* Whether a finding is one that was asked for. */
static bool is_right(const struct cli_switching *self, const struct wetdbg_finding *finding)
{
    return finding->verdict == WETDBG_VERDICT_EXACT || self->right.kind == WETDBG_RIGHT_EXIT;
}

/* For other tools: as TAP, and as JUnit's XML. */
static int report(const struct cli_switching *self)
{
    const struct wetdbg_search_result *result = &self->result;
    const char *junit = cli_args_value(self->args, "junit");
    struct cli_report report = {.harness = self->harness,
                                .program = self->session->info->program,
                                .target = self->target,
                                .result = result,
                                .left = cli_switching_left(self, &result->progress)};

    for (size_t i = 0; i < result->count && report.count < CLI_REPORT_ROWS; i++)
        if (is_right(self, &result->findings[i])) {
            const struct wetdbg_finding *finding = &result->findings[i];
            report.rows[report.count++] =
                (struct cli_report_row){finding, predicate_of(self, &finding->trial.switches[0])};
        }
    if (cli_args_has(self->args, "tap"))
        cli_report_tap(&report, self->session->out);
    return junit ? cli_report_junit(&report, junit) : 0;
}

static int print_findings(struct cli_switching *self)
{
    const struct wetdbg_search_result *result = &self->result;
    struct cli_out *out = self->session->out;
    int err = 0;

    if (self->harness && !out->json)
        cli_report_print_test(self->harness, out);
    for (size_t i = 0; i < result->count && !err && !cli_out_is_gone(out); i++) {
        const struct wetdbg_finding *finding = &result->findings[i];
        bool is_best = finding->verdict == result->findings[0].verdict;
        err = (out->json ? print_json : print_finding)(
            self, finding, i < DETAILED_MAX && is_best && !self->is_cut);
    }
    if (!err && out->json)
        print_json_end(self);
    else if (!err)
        print_end(self);
    return err;
}

int cli_switching_answer(struct cli_switching *self)
{
    const struct wetdbg_search_result *result = &self->result;
    bool is_found = false;
    int err = cli_args_has(self->args, "tap") ? 0 : print_findings(self);

    for (size_t i = 0; i < result->count; i++)
        is_found = is_found || is_right(self, &result->findings[i]);
    if (!err)
        err = report(self);
    if (err)
        return err;
    if (is_found)
        return CLI_EXIT_OK;
    return result->progress.verdicts[WETDBG_VERDICT_UNRESOLVED] ? WETDBG_EXIT_FAILED
                                                                : CLI_EXIT_NOT_FOUND;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/switch_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/switching.h"
#include "dbgcli/verbs/junit.h"

/* ---- which test ---- */

void cli_report_print_test(const struct cli_harness *harness, struct cli_out *out)
{
    fputs("test ", out->stream);
    cli_out_text(out, harness->test.name);
    if (harness->target) {
        fprintf(out->stream, ", %s: ", cli_framework_name(harness->cases.framework));
        cli_out_text(out, harness->target);
    }
    if (harness->file) {
        fputs(", fails at ", out->stream);
        cli_out_text(out, harness->file);
        fprintf(out->stream, ":%u", harness->line);
    }
    if (!harness->is_whole) {
        fputs(", in process ", out->stream);
        cli_out_text(out, harness->process);
        fputs(", ", out->stream);
        cli_out_text(out, harness->program);
    }
    fputs("\nrecording: ", out->stream);
    cli_out_text(out, harness->trace_dir);
    putc('\n', out->stream);
}

void cli_report_set_test(const struct cli_harness *harness, json_t *object)
{
    const char *framework = harness->target ? cli_framework_name(harness->cases.framework) : NULL;

    cli_json_set(object, "test", cli_json_text(harness->test.name));
    cli_json_set(object, "case", cli_json_text(harness->target));
    cli_json_set(object, "framework", cli_json_text(framework));
    cli_json_set(object, "assertion_file", cli_json_text(harness->file));
    cli_json_set(object, "assertion_line",
                 harness->file ? cli_json_count(harness->line) : json_null());
    cli_json_set(object, "recording", cli_json_text(harness->trace_dir));
    cli_json_set(object, "process", cli_json_text(harness->process));
    cli_json_set(object, "program", cli_json_text(harness->program));
    cli_json_set(object, "in_test", json_boolean(harness->is_last_look));
}

/* ---- sentences ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* "shop.c:10 in shop_price, the 2nd of 3 times" without the file's folders; to be freed. */
static char *describe(const struct cli_report_row *row)
{
    const struct wetdbg_predicate *predicate = row->predicate;
    const struct wetdbg_candidate *switched = &row->finding->trial.switches[0];
    char *place = predicate->file
                      ? cli_asprintf("%s:%" PRIu32, base_name(predicate->file), predicate->line)
                      : cli_asprintf("%#" PRIx64, switched->pc);
    char *when = cli_switching_when(switched, predicate->instances);
    char *text = cli_asprintf("%s%s%s, the %s%s", place, predicate->function ? " in " : "",
                              predicate->function ? predicate->function : "",
                              wetdbg_predicate_kind_name(predicate->kind), when);

    free(when);
    free(place);
    return text;
}

/* To be freed. */
static char *summarize(const struct cli_report *report)
{
    const struct wetdbg_search_progress *progress = &report->result->progress;
    const char *where =
        report->harness && report->harness->is_last_look ? ", in the test itself" : "";

    if (report->count) {
        char *first = describe(&report->rows[0]);
        char *text = cli_asprintf("critical predicate: %s%s", first, where);
        free(first);
        return text;
    }
    if (progress->verdicts[WETDBG_VERDICT_UNRESOLVED])
        return cli_asprintf("no critical predicate was found; %" PRIu64 " runs are unresolved: %s",
                            progress->verdicts[WETDBG_VERDICT_UNRESOLVED],
                            report->result->unresolved);
    return cli_asprintf("no critical predicate%s",
                        report->result->is_complete ? "" : " was found within the budget");
}

static char *name_of(const struct cli_report *report)
{
    const struct cli_harness *harness = report->harness;

    if (!harness)
        return cli_strdup(report->program ? base_name(report->program) : "program");
    return cli_asprintf("%s%s%s", harness->test.name, harness->target ? ": " : "",
                        harness->target ? harness->target : "");
}

/* ---- TAP ---- */

/* A JSON value is one of YAML's, too. */
static void put_yaml(struct cli_out *out, const char *key, json_t *value)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_COMPACT);

    if (!text)
        cli_die();
    fprintf(out->stream, "%s: %s\n", key, text);
    free(text);
    json_decref(value);
}

static void put_rows(const struct cli_report *report, struct cli_out *out)
{
    fputs("  critical_predicates:", out->stream);
    fputs(report->count ? "\n" : " []\n", out->stream);
    for (size_t i = 0; i < report->count; i++) {
        const struct wetdbg_finding *finding = report->rows[i].finding;
        const struct wetdbg_predicate *predicate = report->rows[i].predicate;
        put_yaml(out, "    - verdict", cli_json_text(wetdbg_verdict_name(finding->verdict)));
        put_yaml(out, "      file", cli_json_text(predicate->file));
        put_yaml(out, "      line", cli_json_count(predicate->line));
        put_yaml(out, "      function", cli_json_text(predicate->function));
        put_yaml(out, "      instance", cli_json_count(finding->trial.switches[0].instance));
        put_yaml(out, "      time", cli_json_count(finding->trial.switches[0].time));
    }
}

/* In a description '#' would begin a directive. */
static void put_description(struct cli_out *out, const char *name)
{
    char *copy = cli_strdup(name);

    for (char *at = copy; *at; at++)
        if (*at == '#' || *at == '\n' || *at == '\r')
            *at = ' ';
    cli_out_text(out, copy);
    free(copy);
}

void cli_report_tap(const struct cli_report *report, struct cli_out *out)
{
    const struct wetdbg_search_progress *progress = &report->result->progress;
    char *name = name_of(report), *message = summarize(report);

    fputs("TAP version 13\n1..1\nnot ok 1 - ", out->stream);
    put_description(out, name);
    fputs("\n  ---\n", out->stream);
    put_yaml(out, "  message", cli_json_text(message));
    put_yaml(out, "  severity", cli_json_text("fail"));
    put_yaml(out, "  target", cli_json_text(report->target));
    if (report->harness) {
        put_yaml(out, "  recording", cli_json_text(report->harness->trace_dir));
        put_yaml(out, "  process", cli_json_text(report->harness->process));
    }
    put_rows(report, out);
    put_yaml(out, "  tried", cli_json_count(progress->tried));
    put_yaml(out, "  left", cli_json_count(report->result->is_complete ? 0 : report->left));
    put_yaml(out, "  unresolved", cli_json_count(progress->verdicts[WETDBG_VERDICT_UNRESOLVED]));
    put_yaml(out, "  seconds", json_real(progress->seconds));
    fputs("  ...\n", out->stream);
    free(name);
    free(message);
}

/* ---- JUnit ---- */

static char *rows_text(const struct cli_report *report)
{
    char *text = cli_strdup("");

    for (size_t i = 0; i < report->count; i++) {
        char *row = describe(&report->rows[i]);
        char *more = cli_asprintf("%s%s\n", text, row);
        free(row);
        free(text);
        text = more;
    }
    return text;
}

int cli_report_junit(const struct cli_report *report, const char *path)
{
    const struct wetdbg_search_progress *progress = &report->result->progress;
    const struct cli_harness *harness = report->harness;
    const struct wetdbg_predicate *first = report->count ? report->rows[0].predicate : NULL;
    char *name = name_of(report), *message = summarize(report), *text = rows_text(report);
    char tried[24], left[24], unresolved[24];

    snprintf(tried, sizeof(tried), "%" PRIu64, progress->tried);
    snprintf(left, sizeof(left), "%" PRIu64, report->result->is_complete ? 0 : report->left);
    snprintf(unresolved, sizeof(unresolved), "%" PRIu64,
             progress->verdicts[WETDBG_VERDICT_UNRESOLVED]);
    const struct cli_junit_property properties[] = {
        {"tried", tried},
        {"left", left},
        {"unresolved", unresolved},
        {"target", report->target},
        {harness ? "recording" : NULL, harness ? harness->trace_dir : NULL},
        {"process", harness ? harness->process : NULL},
        {NULL, NULL}};
    const struct cli_junit junit = {.suite = "wetdbg switch",
                                    .name = name,
                                    .classname = harness ? harness->test.name : "wetdbg.switch",
                                    .file = first ? first->file : NULL,
                                    .line = first ? first->line : 0,
                                    .seconds = progress->seconds,
                                    .type = report->count ? "critical predicate" : "failed",
                                    .message = message,
                                    .text = text,
                                    .properties = properties};
    int err = cli_junit_write(&junit, path);
    free(text);
    free(message);
    free(name);
    return err;
}

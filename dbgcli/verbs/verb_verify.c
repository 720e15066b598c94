/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg verify`: whether a .wet file is what docs/format.md says, rule by rule. */
#include <inttypes.h>

#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/progress.h"
#include "dbgcli/verbs/memory_arg.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/verify.h>

static const struct cli_option options[] = {
    {"deep", 0, NULL, "run every interval again too, and see that it reproduces itself"},
    CLI_MEMORY_OPTION,
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct cli_syntax cli_verify_syntax = {
    .usage = "[--deep] [--json] [--memory=SIZE] FILE.wet",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details = "Reads all of a whole execution trace: checksums, every record, and whether its\n"
               "sections agree with each other. Exit status 0: it is sound; 3: it is damaged.\n"
               "What is wrong is told with section, number and byte, the first 20 of it.",
};

struct report {
    struct cli_out *out;
    struct cli_progress progress;
    json_t *list; /* with --json */
};

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    cli_progress_update(&((struct report *)arg)->progress, done, total, instructions);
}

static void on_found(void *arg, const struct wetdbg_violation *violation)
{
    struct report *report = arg;
    if (report->list) {
        json_t *object = json_object();
        cli_json_set(object, "section", cli_json_text(violation->section));
        cli_json_set(object, "kind", cli_json_count(violation->kind));
        cli_json_set(object, "key", cli_json_count(violation->key));
        cli_json_set(object, "offset", cli_json_count(violation->off));
        cli_json_set(object, "what", cli_json_text(violation->what));
        cli_json_append(report->list, object);
        return;
    }
    cli_progress_end(&report->progress);
    fprintf(report->out->stream, "%s", violation->section);
    if (violation->kind)
        fprintf(report->out->stream, " %" PRIu64, violation->key);
    fprintf(report->out->stream, ", byte %" PRIu64 ": ", violation->off);
    cli_out_text(report->out, violation->what);
    putc('\n', report->out->stream);
}

static void print_text(struct cli_out *out, const char *path, bool deep,
                       const struct wetdbg_verify_result *result)
{
    cli_out_text(out, path);
    if (result->violations)
        fprintf(out->stream, ": damaged, %" PRIu64 "%s found\n", result->violations,
                result->violations < WETDBG_VERIFY_MOST ? "" : " and perhaps more");
    else
        fprintf(out->stream,
                ": sound, %" PRIu64 " sections, %" PRIu64 " intervals%s, %" PRIu64
                " instructions\n",
                result->sections, result->intervals, deep ? ", which reproduce themselves" : "",
                result->instructions);
}

static void print_json(struct report *report, const char *path, bool deep,
                       const struct wetdbg_verify_result *result)
{
    json_t *object = cli_json_object("wetdbg.verify/1");
    cli_json_set(object, "file", cli_json_text(path));
    cli_json_set(object, "sound", json_boolean(!result->violations));
    cli_json_set(object, "deep", json_boolean(deep));
    cli_json_set(object, "bytes", cli_json_count(result->bytes));
    cli_json_set(object, "sections", cli_json_count(result->sections));
    cli_json_set(object, "intervals", cli_json_count(result->intervals));
    cli_json_set(object, "instructions", cli_json_count(result->instructions));
    cli_json_set(object, "complete", json_boolean(result->violations < WETDBG_VERIFY_MOST));
    cli_json_set(object, "violations", report->list);
    cli_out_json(report->out, object);
}

int cli_verify_run(struct cli_app *app, const struct cli_args *args)
{
    const char *path = args->operands[0];
    bool deep = cli_args_has(args, "deep");
    struct report report = {.out = app->out, .list = app->out->json ? json_array() : NULL};
    struct wetdbg_verify_result result;
    struct wetdbg_verify_options how = {.deep = deep,
                                        .interrupted = cli_interrupt_flag(),
                                        .found = on_found,
                                        .progress = on_progress,
                                        .arg = &report};
    int failed = cli_memory_parse(args, &how.memory_bytes);
    if (failed) {
        json_decref(report.list);
        return failed;
    }
    cli_progress_begin(&report.progress, stderr);
    cli_interrupt_catch(NULL, NULL);
    failed = wetdbg_verify(path, &how, &result);
    cli_interrupt_release();
    cli_progress_end(&report.progress);
    if (failed) {
        json_decref(report.list);
        return failed;
    }
    if (report.list)
        print_json(&report, path, deep, &result);
    else
        print_text(app->out, path, deep, &result);
    return result.violations ? CLI_EXIT_TRACE : 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_sarif.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/commands/slice_path.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/verbs/locate_words.h"
#include "dbgcli/verbs/sarif.h"
#include "dbgcli/whole_file.h"
#include <wetdbg/build.h>
#include <wetdbg/errors.h>

#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"

/* Some readers want each rule to have it. */
#define HELP                                                                                       \
    "A suspect is where to look first, and not proven to be the fault. Its commands are for the "  \
    "prompt of 'wetdbg open' with the run, after 'slice backward' with the criterion."

/* ---- rules: the strongest reason is what a result is an instance of ---- */

static const struct {
    enum wetdbg_reason_kind kind;
    const char *name, *says;
} rules[] = {
    {WETDBG_REASON_CRITERION, "WhereItShowed",
     "What is wrong was made here, or only copied after that."},
    {WETDBG_REASON_MUTANT, "ChangeThatRepairs",
     "Another instruction in the place of one of the line's makes the run less wrong or right."},
    {WETDBG_REASON_SWITCH, "DecisionThatRepairs",
     "A decision of the line, made the other way, makes the run less wrong or right."},
    {WETDBG_REASON_REPAIR, "ValueThatRepairs",
     "Another value in place of what the line computed makes the run less wrong or right."},
    {WETDBG_REASON_IMPLICIT, "DecisionThatOmits",
     "A decision of the line kept something from being written that led to what is wrong."},
    {WETDBG_REASON_BESIDE, "BesideASuspect", "More speaks against a line beside it."},
    {WETDBG_REASON_TEST, "TestsOwn",
     "The line is the test's own, where what is wrong is only noticed."},
    {WETDBG_REASON_ONLY_HERE, "OnlyInTheFailingRun", "No passing run executed the line."},
    {WETDBG_REASON_RARELY, "RarelyInPassingRuns", "Few passing runs executed the line."},
    {WETDBG_REASON_VALUES, "ValuesOfNoPassingRun",
     "The line computed values that no passing run computed there."},
    {WETDBG_REASON_PIECE, "NotForWhatIsRight",
     "The line ran for what is wrong, and for little of what came out right before."},
    {WETDBG_REASON_STEP, "InLateSteps",
     "The line ran in few steps of the test, shortly before that failed."},
    {WETDBG_REASON_DECISION, "NearDecision", "The line decided, not long before what is wrong."},
    {WETDBG_REASON_DISTANCE, "NearDependence", "What is wrong depends on what the line did."},
    {WETDBG_REASON_LONG_AGO, "LongBefore",
     "What is wrong was computed from what the line made, longer ago than was looked at closely."},
    {WETDBG_REASON_UNSURE, "NothingRightDependsOnIt",
     "Little that came out right depends on the line."},
    {WETDBG_REASON_OUTSIDE, "OutsideTheSlice",
     "The line ran, and what is wrong does not depend on what it did."},
};

#define RULE_COUNT (sizeof(rules) / sizeof(*rules))

static json_t *rules_to_json(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < RULE_COUNT; i++) {
        json_t *rule = json_object();
        cli_json_set(rule, "id", cli_json_text(wetdbg_reason_name(rules[i].kind)));
        cli_json_set(rule, "name", cli_json_text(rules[i].name));
        cli_json_set(rule, "shortDescription", cli_sarif_message(rules[i].says));
        cli_json_set(rule, "fullDescription", cli_sarif_message(rules[i].says));
        cli_json_set(rule, "help", cli_sarif_message(HELP));
        cli_json_append(list, rule);
    }
    return list;
}

static void set_rule(json_t *result, const struct wetdbg_suspect *suspect)
{
    enum wetdbg_reason_kind kind =
        suspect->reason_count ? suspect->reasons[0].kind : WETDBG_REASON_OUTSIDE;

    for (size_t i = 0; i < RULE_COUNT; i++)
        if (rules[i].kind == kind)
            cli_json_set(result, "ruleIndex", json_integer((json_int_t)i));
    cli_json_set(result, "ruleId", cli_json_text(wetdbg_reason_name(kind)));
    cli_json_set(result, "level",
                 cli_json_text(kind == WETDBG_REASON_OUTSIDE ? "note" : "warning"));
}

/* ---- results ---- */

static json_t *message_of(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                          size_t rank)
{
    char *wrong = cli_locate_failure_words(self), *reasons = cli_locate_reasons(self, suspect);
    char *text = cli_asprintf("Suspect %zu of %zu lines for %s: %s.", rank,
                              wetdbg_locate_executed(self->locate), wrong, reasons);
    json_t *message = cli_sarif_message(text);

    free(text);
    free(reasons);
    free(wrong);
    return message;
}

/* The line's text with where it is: it stays the same where lines are added above. */
static json_t *fingerprints_of(const struct cli_locating *self,
                               const struct wetdbg_suspect *suspect)
{
    const char *text = cli_source_text(self->session, suspect->file, suspect->line, suspect->pc);
    char *print =
        cli_asprintf("%s|%s|%s", cli_base_name(suspect->file), suspect->function, text ? text : "");
    json_t *object = json_object();

    cli_json_set(object, "fileFunctionText/v1", cli_json_text(print));
    free(print);
    return object;
}

static json_t *properties_of(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                             size_t rank)
{
    json_t *object = json_object(), *commands = json_array();

    for (unsigned i = 0; i < suspect->reason_count; i++) {
        char *command = cli_locate_command(self, suspect, &suspect->reasons[i]);
        if (command)
            cli_json_append(commands, cli_json_text(command));
        free(command);
    }
    cli_json_set(object, "rank", json_integer((json_int_t)rank));
    cli_json_set(object, "score", json_real(suspect->score));
    cli_json_set(object, "commands", commands);
    return object;
}

/* The way from the suspect to what is wrong, as `why` tells it; none of what is not in the
 * slice. */
static void set_flow(struct cli_sarif *sarif, const struct cli_locating *self, json_t *result,
                     const struct wetdbg_suspect *suspect)
{
    struct wetdbg_slice_path *path;

    if (cli_slice_path_to(self->slice, suspect->file, suspect->line, &path) != 0)
        return;
    json_t *flow =
        cli_sarif_flow(sarif, path, wetdbg_criterion_get_info(self->criterion)->description);
    if (flow) {
        json_t *flows = json_array();
        cli_json_append(flows, flow);
        cli_json_set(result, "codeFlows", flows);
    }
    wetdbg_slice_path_free(path);
}

/* The standard's rank is 100 for what matters most: the share of the lines that come after. */
static double share_behind(const struct cli_locating *self, size_t rank)
{
    size_t count = wetdbg_locate_executed(self->locate);

    return 100.0 * (double)(count - rank + 1) / (double)count;
}

static json_t *result_of(struct cli_sarif *sarif, const struct cli_locating *self,
                         const struct wetdbg_suspect *suspect, size_t rank)
{
    json_t *result = json_object(), *locations = json_array();

    cli_json_append(locations, cli_sarif_location(sarif, suspect->file, suspect->line,
                                                  suspect->function, suspect->pc, NULL));
    set_rule(result, suspect);
    cli_json_set(result, "rank", json_real(share_behind(self, rank)));
    cli_json_set(result, "message", message_of(self, suspect, rank));
    cli_json_set(result, "locations", locations);
    set_flow(sarif, self, result, suspect);
    cli_json_set(result, "partialFingerprints", fingerprints_of(self, suspect));
    cli_json_set(result, "properties", properties_of(self, suspect, rank));
    return result;
}

/* ---- the run ---- */

static json_t *tool_of(void)
{
    json_t *tool = json_object(), *driver = json_object();

    cli_json_set(driver, "name", cli_json_text("wetdbg"));
    cli_json_set(driver, "version", cli_json_text(wetdbg_version()));
    cli_json_set(driver, "semanticVersion", cli_json_text(wetdbg_version()));
    cli_json_set(driver, "rules", rules_to_json());
    cli_json_set(tool, "driver", driver);
    return tool;
}

static void set_time(json_t *object, const char *name, time_t when)
{
    char text[32];
    struct tm parts;

    gmtime_r(&when, &parts);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    cli_json_set(object, name, cli_json_text(text));
}

/* What could not be asked. */
static json_t *notifications_of(const struct cli_locating *self)
{
    json_t *list = json_array();

    for (size_t i = 0; i < self->missing_count; i++) {
        json_t *object = json_object();
        cli_json_set(object, "level", cli_json_text("note"));
        cli_json_set(object, "message", cli_sarif_message(self->missing[i]));
        cli_json_append(list, object);
    }
    return list;
}

/* The invocation (3.20) of this program. */
static json_t *invocation_of(const struct cli_locating *self)
{
    json_t *object = json_object();
    bool is_whole = !cli_interrupt_is_pending();
    time_t now = time(NULL);
    char *directory = getcwd(NULL, 0);

    set_time(object, "startTimeUtc", now - (time_t)cli_locating_seconds(self));
    set_time(object, "endTimeUtc", now);
    cli_json_set(object, "exitCode", json_integer(is_whole ? CLI_EXIT_OK : CLI_EXIT_INTERRUPTED));
    cli_json_set(object, "executionSuccessful", json_boolean(is_whole));
    if (directory) {
        char *uri = cli_sarif_uri(directory);
        json_t *location = json_object();
        cli_json_set(location, "uri", cli_json_text(uri));
        cli_json_set(object, "workingDirectory", location);
        free(uri);
    }
    cli_json_set(object, "toolExecutionNotifications", notifications_of(self));
    free(directory);
    return object;
}

/* The failing run, which the standard has no place for. */
static json_t *failing_run_of(const struct cli_locating *self)
{
    const struct wetdbg_info *info = self->session->info;
    json_t *object = json_object(), *arguments = json_array();
    int number;
    enum cli_run_end end = cli_run_end(self->session->wet, &number);
    bool is_signal = end == CLI_RUN_END_SIGNAL || end == CLI_RUN_END_KILLED;

    for (size_t i = 0; i < info->argc; i++)
        cli_json_append(arguments, cli_json_text(info->argv[i]));
    cli_json_set(object, "program", cli_json_text(info->program));
    cli_json_set(object, "arguments", arguments);
    cli_json_set(object, "workingDirectory", cli_json_text(info->recorded_in));
    cli_json_set(object, "exitCode", end == CLI_RUN_END_EXIT ? json_integer(number) : json_null());
    cli_json_set(object, "exitSignalName",
                 is_signal ? cli_json_text(cli_signal_name(number)) : json_null());
    cli_json_set(object, "criterion", cli_json_text(self->failure.criterion));
    cli_json_set(object, "wrong",
                 cli_json_text(wetdbg_criterion_get_info(self->criterion)->description));
    return object;
}

static json_t *automation_of(const struct cli_locating *self)
{
    char *id = cli_asprintf("wetdbg/%s/", cli_base_name(self->session->info->program));
    json_t *object = json_object();

    cli_json_set(object, "id", cli_json_text(id));
    free(id);
    return object;
}

/* Takes the results over. */
static json_t *run_of(struct cli_sarif *sarif, const struct cli_locating *self, json_t *results)
{
    json_t *run = json_object(), *invocations = json_array(), *properties = json_object();
    char *wet_path = realpath(self->wet_path, NULL);

    json_decref(cli_sarif_artifact(sarif, wet_path ? wet_path : self->wet_path, "debugOutputFile"));
    free(wet_path);
    cli_json_append(invocations, invocation_of(self));
    cli_json_set(properties, "failingRun", failing_run_of(self));
    cli_json_set(run, "tool", tool_of());
    cli_json_set(run, "automationDetails", automation_of(self));
    cli_json_set(run, "invocations", invocations);
    cli_json_set(run, "artifacts", sarif->artifacts);
    cli_json_set(run, "results", results);
    cli_json_set(run, "columnKind", cli_json_text("unicodeCodePoints"));
    cli_json_set(run, "properties", properties);
    return run;
}

int cli_locate_sarif(struct cli_locating *self, const char *path)
{
    struct cli_sarif sarif = {self->session, NULL};
    const struct wetdbg_suspect *suspects;
    size_t count;
    int err = wetdbg_locate_suspects(self->locate, &suspects, &count);

    if (err)
        return err;
    sarif.artifacts = json_array();
    json_t *log = json_object(), *runs = json_array(), *results = json_array();
    for (size_t i = 0; i < count && (!self->reported || i < self->reported); i++)
        cli_json_append(results, result_of(&sarif, self, &suspects[i], i + 1));
    cli_json_append(runs, run_of(&sarif, self, results));
    cli_json_set(log, "$schema", cli_json_text(SCHEMA));
    cli_json_set(log, "version", cli_json_text("2.1.0"));
    cli_json_set(log, "runs", runs);
    char *text = json_dumps(log, JSON_INDENT(1));
    if (!text)
        cli_die();
    err = cli_whole_file_write(path, text, strlen(text));
    free(text);
    json_decref(log);
    return err;
}

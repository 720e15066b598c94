/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info WHAT`: a table of subjects, found by unique prefix as commands are. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/display.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/repl/complete.h"
#include "dbgcli/repl/words.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/suggest.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_info_syntax = {
    .example = "info functions parse_",
    .usage =
        "[program|threads|signals|ambiguous|modules|files|slices|implicit|breakpoints|display|\n"
        "      functions [REGEX]|variables [REGEX]|types [REGEX]|line [PLACE]|lines FILE|\n"
        "      symbol ADDRESS|source|frame|sharedlibrary|locals|args|registers [NAME]...|\n"
        "      all-registers]",
    .operands_max = CLI_OPERANDS_ANY,
    .details =
        "  program              the run: its end and its sizes (the default)\n"
        "  threads              the threads, and where each one stands now\n"
        "  signals              signals that arrived, and when\n"
        "  ambiguous            events that may have come at another moment than shown\n"
        "  modules              the program and its libraries, where they were, and which files\n"
        "                       of the disk the trace holds\n"
        "  files                what the run read and wrote\n"
        "  slices               the slices that have names (see 'let')\n"
        "  implicit             the implicit dependences of the last slice: all of them\n"
        "  breakpoints          breakpoints and their like: conditions, hits; how often reached\n"
        "  display              what is shown at each stop\n"
        "  functions [REGEX]    functions whose names match\n"
        "  variables [REGEX]    variables outside of functions, by file\n"
        "  types [REGEX]        types declared outside of functions, by file\n"
        "  line [PLACE]         where the code of a line or function begins and ends\n"
        "  symbol ADDRESS       the function or object that an address is in\n"
        "  source               the source file of the selected frame\n"
        "  frame                where the selected frame lies, what called it, which registers it\n"
        "                       saved where\n"
        "  sharedlibrary        the libraries, where they were\n"
        "  lines FILE           lines of a source file that have code, and where\n"
        "  locals               variables of the selected frame, of inner blocks first\n"
        "  args                 arguments of the selected frame's function\n"
        "  registers [NAME]...  registers of the selected frame; those named, eax and xmm0 too\n"
        "  all-registers        with the floating-point and vector registers",
};

static int info_program(struct cli_session *session, const char *operand)
{
    (void)operand;
    cli_facts_print(session->out, session->wet, session->build_seconds);
    return 0;
}

/* ---- signals ---- */

struct signal_walk {
    struct cli_session *session;
    json_t *array;
    uint64_t count;
};

static int show_signal(void *context, const struct wetdbg_event *event)
{
    struct signal_walk *walk = context;
    struct cli_out *out = walk->session->out;
    if (event->kind != WETDBG_EVENT_FAULT && event->kind != WETDBG_EVENT_SIGNAL)
        return 0;
    const char *reason = cli_signal_reason(event->number, event->code);
    wetdbg_time time = event->time + 1; /* the state that the signal interrupted */
    walk->count++;
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "time", cli_json_count(time));
        cli_json_set(row, "task", json_integer(event->task));
        cli_thread_to_json(row, walk->session,
                           wetdbg_thread_of(walk->session->wet, event->task, event->time));
        cli_json_set(row, "signal", cli_json_text(cli_signal_name(event->number)));
        cli_json_set(row, "fault", json_boolean(event->kind == WETDBG_EVENT_FAULT));
        cli_json_set(row, "address", cli_json_address(event->address));
        cli_json_set(row, "reason", cli_json_text(reason));
        cli_json_append(walk->array, row);
        return 0;
    }
    bool is_alone = event->kind != WETDBG_EVENT_FAULT && !cli_has_threads(walk->session);
    fprintf(out->stream, "time %-12" PRIu64 " %-*s", time, is_alone ? 0 : 9,
            cli_signal_name(event->number));
    if (cli_has_threads(walk->session)) {
        putc(' ', out->stream);
        cli_thread_print(out, wetdbg_thread_of(walk->session->wet, event->task, event->time));
    }
    if (event->kind == WETDBG_EVENT_FAULT)
        fprintf(out->stream, " %s: 0x%" PRIx64, reason ? reason : "fault", event->address);
    putc('\n', out->stream);
    return cli_out_is_gone(out);
}

static int info_signals(struct cli_session *session, const char *operand)
{
    struct signal_walk walk = {.session = session};
    (void)operand;
    walk.array = session->out->json ? json_array() : NULL;
    int result = wetdbg_each_event(session->wet, show_signal, &walk);
    if (result < 0) {
        json_decref(walk.array);
        return result;
    }
    if (walk.array) {
        json_t *object = cli_json_object("wetdbg.signals/1");
        cli_json_set(object, "signals", walk.array);
        cli_out_json(session->out, object);
    } else if (!walk.count) {
        fputs("no signals\n", session->out->stream);
    }
    return 0;
}

/* ---- the table ---- */

static const struct cli_info_subject subjects[] = {
    {"program", false, false, info_program},
    {"threads", false, false, cli_info_threads},
    {"signals", false, false, info_signals},
    {"ambiguous", false, false, cli_info_ambiguous},
    {"modules", false, false, cli_info_modules},
    {"files", false, false, cli_info_files},
    {"slices", false, false, cli_info_slices},
    {"implicit", false, false, cli_info_implicit},
    {"breakpoints", true, false, cli_info_breakpoints},
    {"display", false, false, cli_info_display},
    {"functions", true, false, cli_info_functions},
    {"variables", true, false, cli_info_variables},
    {"types", true, true, cli_info_types},
    {"line", true, false, cli_info_line},
    {"lines", true, false, cli_info_lines},
    {"symbol", true, true, cli_info_symbol},
    {"source", false, false, cli_info_source},
    {"frame", false, false, cli_info_frame},
    {"sharedlibrary", false, false, cli_info_sharedlibrary},
    {"locals", false, false, cli_info_locals},
    {"args", false, false, cli_info_args},
    {"registers", true, true, cli_info_registers},
    {"all-registers", false, false, cli_info_all_registers},
};
#define SUBJECT_COUNT (sizeof(subjects) / sizeof(*subjects))

void cli_info_subjects_each(const char *typed, struct cli_completions *completions)
{
    for (size_t i = 0; i < SUBJECT_COUNT; i++)
        cli_completions_add(completions, typed, subjects[i].name);
}

/* What gdb is asked for and what is asked in another way here; of each what to use. */
static const struct cli_other_word other_subjects[] = {
    {"address", "'print &NAME' shows where it is"},
    {"auxv", "'info program' tells of the run"},
    {"checkpoints", "'bookmark' lists the times that have names"},
    {"exceptions", "'catch throw' stops at them"},
    {"inferiors", "'!wetdbg ps' lists the processes of a recording"},
    {"macro", "macros are not looked up"},
    {"proc", "'info program' tells of the run, 'info modules' what was mapped"},
    {"record", "the whole run is recorded: 'info program' tells of it"},
    {"scope", "'info locals' lists the variables of the frame, 'info args' its arguments"},
    {"sources", "Tab behind 'list ' offers them; 'info lines FILE' lists the lines of one"},
    {"stack", "'backtrace' shows the calls that led here"},
    {"target", "'info program' tells of the run, 'info modules' of its code"},
    {"vtbl", "'print *OBJECT' shows it with its bases, 'info symbol ADDRESS' names a function"},
    {"watchpoints", "'info breakpoints' lists them, too"},
    {NULL, NULL},
};

static int explain(const char *name, int code)
{
    const struct cli_other_word *other = other_subjects;
    while (other->word && (strlen(name) < 3 || strncmp(other->word, name, strlen(name)) != 0))
        other++;
    return other->word ? wetdbg_fail(-WETDBG_ERR_USAGE, "'info %s' is not there: %s", other->word,
                                     other->instead)
                       : code;
}

static int fail_ambiguous(const char *name)
{
    char *list = cli_strdup("");
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        if (strncmp(subjects[i].name, name, strlen(name)) != 0)
            continue;
        char *longer = cli_asprintf("%s%s%s", list, *list ? ", " : "", subjects[i].name);
        free(list);
        list = longer;
    }
    int err = wetdbg_fail(-WETDBG_ERR_USAGE, "ambiguous 'info %s': %s", name, list);
    free(list);
    return err;
}

static int find_subject(const char *name, const struct cli_info_subject **found)
{
    size_t count = 0;
    for (size_t i = 0; i < SUBJECT_COUNT; i++) {
        if (strncmp(subjects[i].name, name, strlen(name)) != 0)
            continue;
        *found = &subjects[i];
        if (strcmp(subjects[i].name, name) == 0)
            return 0;
        count++;
    }
    if (count)
        return count == 1 ? 0 : fail_ambiguous(name);
    struct cli_suggestion suggestion = {.wanted = name};
    for (size_t i = 0; i < SUBJECT_COUNT; i++)
        cli_suggestion_offer(&suggestion, subjects[i].name);
    int err = explain(name, 0);
    if (!err && suggestion.best)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "info: nothing is called '%s'; did you mean '%s'?",
                          name, suggestion.best);
    return err ? err
               : wetdbg_fail(-WETDBG_ERR_USAGE, "info: nothing is called '%s' (see 'help info')",
                             name);
}

int cli_cmd_info(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const struct cli_info_subject *subject = &subjects[0];
    (void)format;
    int err = args->operand_count ? find_subject(args->operands[0], &subject) : 0;
    if (err)
        return err;
    size_t most = subject->takes_many ? SIZE_MAX : subject->takes_operand ? 2 : 1;
    if (args->operand_count > most)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "info %s: unexpected argument '%s'", subject->name,
                           args->operands[most]);
    char *operand = args->operand_count > 1
                        ? cli_words_join(args->operands + 1, args->operand_count - 1)
                        : NULL;
    err = subject->run(repl->session, operand);
    free(operand);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg record`: records a program by rr, or says what this machine can do (--check). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/verbs/memory_arg.h"
#include "dbgcli/verbs/until_fail.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

static const struct cli_option options[] = {
    {"output", 'o', "DIR", "keep the recording in DIR, which must not exist yet"},
    {"wait", 0, NULL, "record until the last process has ended, not just the program itself"},
    {"chaos", 0, NULL, "draw lots about which thread runs when: finds failures that are rare"},
    {"until-fail", 0, "N", "up to N runs, until one fails; only its recording is kept"},
    {"ticks", 0, "KIND", "auto, hardware or software: how rr counts progress"},
    {"keep-input", 0, "SIZE", "of standard input keep what the program leaves: 64M, 0: nothing"},
    {"syscallbuf", 0, NULL, "let rr buffer system calls: faster where there are many"},
    {"no-syscallbuf", 0, NULL, "do not: the run has the program's instructions only (the default)"},
    {"check", 0, NULL, "record nothing; say what this machine can do"},
    {"json", 0, NULL, "with --check: one JSON object"},
    {0},
};

const struct cli_syntax cli_record_syntax = {
    .usage = "[-o DIR] [--wait] [--chaos] [--until-fail=N] [--ticks=KIND]\n"
             "                     [--keep-input=SIZE] [--syscallbuf|--no-syscallbuf]\n"
             "                     [--check [--json]] [--] PROGRAM [ARG]...",
    .options = options,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .details = "The exit status is that of the program; 125 if it could not be recorded.\n"
               "Without -o the recording goes to rr's place ($_RR_TRACE_DIR, else\n"
               "$XDG_DATA_HOME/rr); 'wetdbg replay' without a name opens the newest.\n"
               "With --until-fail a run fails if its exit status is not 0, or if a signal ends\n"
               "it; of a program with several threads or processes each second run draws lots\n"
               "(--chaos: each). Ctrl-C keeps a run that it ends: -- timeout 60 PROGRAM does so\n"
               "by itself where a program hangs.\n"
               "With --syscallbuf a library of rr's in the program makes most system calls;\n"
               "its instructions are part of the run, and 'origin' and forward slices cannot\n"
               "pass them by yet.\n"
               "Without --wait, processes that outlive the program (daemons) are killed when it\n"
               "ends.",
};

static int ticks_from(const struct cli_args *args, enum wetdbg_ticks *ticks)
{
    static const struct {
        const char *name;
        enum wetdbg_ticks ticks;
    } rows[] = {
        {"auto", WETDBG_TICKS_AUTO},
        {"hardware", WETDBG_TICKS_HARDWARE},
        {"software", WETDBG_TICKS_SOFTWARE},
    };
    const char *value = cli_args_value(args, "ticks");
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (strcmp(value ? value : "auto", rows[i].name) == 0) {
            *ticks = rows[i].ticks;
            return 0;
        }
    return wetdbg_fail(-WETDBG_ERR_USAGE, "record: --ticks is auto, hardware or software, not '%s'",
                       value);
}

static int buffering_from(const struct cli_args *args, bool *buffers_calls)
{
    *buffers_calls = cli_args_has(args, "syscallbuf");
    if (*buffers_calls && cli_args_has(args, "no-syscallbuf"))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "record: --syscallbuf and --no-syscallbuf exclude each other");
    return 0;
}

static int keep_input_from(const struct cli_args *args, uint64_t *bytes)
{
    int err = cli_size_parse(args, "keep-input", 0, bytes);
    if (!err && !cli_args_value(args, "keep-input"))
        *bytes = WETDBG_KEEP_INPUT;
    return err;
}

/* Prints the recorder's object, made one of ours: on one line and with a schema. */
static int check_machine_json(struct cli_out *out)
{
    char *text = NULL;
    size_t size;
    FILE *memory = open_memstream(&text, &size);
    if (!memory)
        return wetdbg_fail_errno("cannot check");
    int result = wetdbg_record_check(memory, true);
    fclose(memory);
    json_t *found = json_loadb(text, size, 0, NULL);
    free(text);
    if (!json_is_object(found)) {
        json_decref(found);
        return result ? result : wetdbg_fail(-WETDBG_ERR_MACHINE, "the check gave no answer");
    }
    json_t *object = cli_json_object("wetdbg.check/1");
    json_object_update(object, found);
    json_decref(found);
    cli_out_json(out, object);
    return cli_exit_status(result);
}

static int check_machine(struct cli_app *app, const struct cli_args *args)
{
    if (args->operand_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "record: --check takes no program ('%s')",
                           args->operands[0]);
    if (app->out->json)
        return check_machine_json(app->out);
    return cli_exit_status(wetdbg_record_check(app->out->stream, false));
}

static void say_runs(const struct cli_until_fail *found,
                     const struct wetdbg_record_outcome *outcome)
{
    const char *lots = found->drew_lots ? ", drawing lots (--chaos)" : "";

    if (!found->has_failed)
        fprintf(stderr, "wetdbg: none of %" PRIu64 " runs failed; no recording is kept\n",
                found->runs);
    else if (outcome->signal)
        fprintf(stderr, "wetdbg: run %" PRIu64 " was ended by %s%s\n", found->runs,
                cli_signal_name(outcome->signal), lots);
    else
        fprintf(stderr, "wetdbg: run %" PRIu64 " failed with exit status %d%s\n", found->runs,
                outcome->exit_status, lots);
}

/* Records once; or again and again, and says what came of that. */
static int record(const struct wetdbg_record_options *how, const struct cli_args *args,
                  struct wetdbg_record_outcome *outcome)
{
    struct cli_until_fail found;
    uint64_t most;
    int err = cli_args_number(args, "until-fail", 1, &most);

    if (err || !cli_args_has(args, "until-fail"))
        return err ? err : wetdbg_record(how, args->operands, outcome);
    if (!most)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "record: --until-fail needs at least one run");
    err = cli_record_until_fail(how, args->operands, most, outcome, &found);
    if (err)
        return err;
    if (!found.has_failed && found.was_told)
        return wetdbg_fail(-WETDBG_ERR_INTERRUPTED,
                           "record: interrupted after run %" PRIu64
                           ", which did not fail; no recording is kept",
                           found.runs);
    say_runs(&found, outcome);
    return 0;
}

int cli_record_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg_record_options how = {
        .out_dir = cli_args_value(args, "output"),
        .wait_all = cli_args_has(args, "wait"),
        .chaos = cli_args_has(args, "chaos"),
    };
    struct wetdbg_record_outcome outcome;
    int err = ticks_from(args, &how.ticks);
    if (!err)
        err = buffering_from(args, &how.buffers_calls);
    if (!err)
        err = keep_input_from(args, &how.keep_input);
    if (err)
        return err;
    if (cli_args_has(args, "check"))
        return check_machine(app, args);
    if (cli_args_has(args, "json"))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "record: --json goes with --check only");
    if (!args->operand_count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "record: which program? usage: wetdbg record %s",
                           cli_record_syntax.usage);
    err = record(&how, args, &outcome);
    if (err)
        return err;
    if (outcome.trace_dir && (isatty(STDERR_FILENO) || cli_args_has(args, "until-fail")))
        fprintf(stderr, "wetdbg: recorded in %s\n", outcome.trace_dir);
    int status = outcome.exit_status, signal = outcome.signal;
    wetdbg_record_outcome_fini(&outcome);
    if (signal)
        wetdbg_die_of(signal);
    return status;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg dump`: what a recording holds, one line per item. */
#include "dbgcli/trace_arg.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/recording.h>

static const struct cli_option options[] = {
    {"events", 0, NULL, "recorded events, one a line (the default)"},
    {"registers", 0, NULL, "with the events: the registers"},
    {"mmaps", 0, NULL, "memory mappings"},
    {"tasks", 0, NULL, "beginnings and ends of threads, and execs"},
    {"data", 0, NULL, "address and size of each piece of recorded memory"},
    {"json", 0, NULL, "one JSON object per line"},
    {0},
};

const struct cli_syntax cli_dump_syntax = {
    .usage = "[--events|--mmaps|--tasks|--data]... [--json] TRACE",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details = "Several of the options may be given: what they select is printed in the order\n"
               "in which it was recorded.",
};

static unsigned selection(const struct cli_args *args)
{
    static const struct {
        const char *option;
        unsigned what;
    } rows[] = {
        {"events", WETDBG_DUMP_EVENTS},
        {"mmaps", WETDBG_DUMP_MMAPS},
        {"tasks", WETDBG_DUMP_TASKS},
        {"data", WETDBG_DUMP_DATA},
        {"registers", WETDBG_DUMP_EVENTS | WETDBG_DUMP_REGISTERS},
    };
    unsigned what = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (cli_args_has(args, rows[i].option))
            what |= rows[i].what;
    return what ? what : WETDBG_DUMP_EVENTS;
}

int cli_dump_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg_recording *trace;
    int err = cli_trace_open(args->operands[0], &trace);
    if (err)
        return err;
    err = wetdbg_recording_dump(trace, selection(args), app->out->json, app->out->stream);
    wetdbg_recording_close(trace);
    return cli_out_is_gone(app->out) ? 0 : err;
}

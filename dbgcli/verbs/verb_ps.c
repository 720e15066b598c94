/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/err.h"
#include "dbgcli/alloc.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/trace_arg.h"
#include "dbgcli/verbs/verb.h"
#include "recorder/rr_trace/rr_trace.h"

static const struct cli_option options[] = {
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct cli_syntax cli_ps_syntax = {
    .usage = "[--json] TRACE",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details = "'wetdbg replay' takes the process that failed, else the last program that was\n"
               "executed, unless --process names another by its PID or its program's name.",
};

/* The last program that the process became, or what it was forked from. */
static const struct rrt_exec *program_of(const struct rrt_process *process)
{
    return process->exec_count ? &process->execs[process->exec_count - 1] : process->inherited;
}

static char *end_of(const struct rrt_process *process)
{
    int signal = process->fatal_signal;
    switch (process->end) {
    case RRT_END_EXITED:
        return cli_asprintf("exit %d", WEXITSTATUS(process->wait_status));
    case RRT_END_SIGNALED:
        if (!signal)
            signal = WTERMSIG(process->wait_status);
        return cli_asprintf("%s%s", cli_signal_name(signal),
                            WCOREDUMP(process->wait_status) ? " (core)" : "");
    case RRT_END_DETACHED:
        return cli_strdup("detached");
    case RRT_END_ALIVE:
        break;
    }
    return cli_strdup("not ended");
}

static void print_process(struct cli_out *out, const struct rrt_process *process)
{
    const struct rrt_exec *program = program_of(process);
    char *end = end_of(process);
    char *parent = process->parent_pid ? cli_asprintf("%d", process->parent_pid) : cli_strdup("-");
    fprintf(out->stream, "%8d %8s %8zu  %-16s ", process->pid, parent, process->tid_count, end);
    if (!process->exec_count)
        fputs("(forked) ", out->stream);
    for (size_t i = 0; program && i < program->argc; i++) {
        cli_out_text(out, i ? " " : "");
        cli_out_text(out, program->argv[i]);
    }
    if (program && !program->argc)
        cli_out_text(out, program->file);
    putc('\n', out->stream);
    free(end);
    free(parent);
}

static json_t *json_of_process(const struct rrt_process *process)
{
    const struct rrt_exec *program = program_of(process);
    json_t *object = json_object();
    json_t *argv = json_array();
    json_t *tids = json_array();
    bool exited = process->end == RRT_END_EXITED, killed = process->end == RRT_END_SIGNALED;
    int signal = process->fatal_signal ? process->fatal_signal : WTERMSIG(process->wait_status);
    for (size_t i = 0; program && i < program->argc; i++)
        cli_json_append(argv, cli_json_text(program->argv[i]));
    for (size_t i = 0; i < process->tid_count; i++)
        cli_json_append(tids, json_integer(process->tids[i]));
    cli_json_set(object, "pid", json_integer(process->pid));
    cli_json_set(object, "parent",
                 process->parent_pid ? json_integer(process->parent_pid) : json_null());
    cli_json_set(object, "program", cli_json_text(program ? program->file : NULL));
    cli_json_set(object, "argv", argv);
    cli_json_set(object, "forked", json_boolean(!process->exec_count));
    cli_json_set(object, "threads", cli_json_count(process->tid_count));
    cli_json_set(object, "tids", tids);
    cli_json_set(object, "exit",
                 exited ? json_integer(WEXITSTATUS(process->wait_status)) : json_null());
    cli_json_set(object, "signal", killed ? cli_json_text(cli_signal_name(signal)) : json_null());
    cli_json_set(object, "ended", json_boolean(process->end != RRT_END_ALIVE));
    cli_json_set(object, "frames", cli_json_count(process->frame_count));
    cli_json_set(object, "first_frame", cli_json_count(process->start_time));
    cli_json_set(object, "last_frame", cli_json_count(process->end_time));
    return object;
}

static void print_processes(struct cli_out *out, const struct rrt_process *list, size_t count)
{
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.ps/1");
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(array, json_of_process(&list[i]));
        cli_json_set(object, "processes", array);
        cli_out_json(out, object);
        return;
    }
    fprintf(out->stream, "%s%8s %8s %8s  %-16s %s%s\n", cli_out_style(out, CLI_STYLE_BOLD), "PID",
            "PARENT", "THREADS", "END", "PROGRAM", cli_out_style(out, CLI_STYLE_NONE));
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++)
        print_process(out, &list[i]);
}

int cli_ps_run(struct cli_app *app, const struct cli_args *args)
{
    struct rrt_trace *trace;
    const struct rrt_process *list;
    size_t count;
    int result = cli_trace_open(args->operands[0], &trace);
    if (result)
        return result;
    result = rrt_processes(trace, &list, &count);
    if (!result)
        print_processes(app->out, list, count);
    rrt_close(trace);
    return result;
}

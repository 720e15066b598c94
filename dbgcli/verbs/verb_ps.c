/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `wetdbg ps`. One line per program: those that a process replaced by exec come first, the one it
 * ended as last, all under the same branch of the tree. The first column is what --process takes.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "dbgcli/alloc.h"
#include "dbgcli/shell_word.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/trace_arg.h"
#include "dbgcli/verbs/process_tree.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>
#include <wetdbg/recording.h>

#define HANDLE_BYTES   300
#define NARROW_COLUMNS 60 /* below: no numbers of threads and frames */
#define TEXT_MIN       16 /* of a program, however narrow the terminal */

static const struct cli_option options[] = {
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct cli_syntax cli_ps_syntax = {
    .usage = "[--json] [TRACE]",
    .options = options,
    .operands_max = 1,
    .details =
        "Without TRACE the newest recording is taken.\n"
        "The first column is what --process takes. '*' marks what 'wetdbg replay' takes without\n"
        "it: the process that crashed; else, if the first process failed, the one whose failure\n"
        "it passed on; else one that outlived the first and failed; else the first process.\n"
        "'exec' marks a program that another one replaced in the same process, '(forked)' a\n"
        "process that ran none of its own.",
};

struct table {
    const struct wetdbg_recording *trace;
    struct cli_out *out;
    const struct wetdbg_process *list;
    size_t count;
    struct cli_tree tree;
    size_t chosen; /* index of the default */
    enum wetdbg_default_reason reason;
    int handle_columns, end_columns;
    unsigned terminal_columns; /* 0: no terminal, nothing is cut */
};

static bool is_replaced(const struct table *table, struct wetdbg_program program)
{
    return program.exec != WETDBG_FORKED &&
           program.exec + 1 < table->list[program.process].exec_count;
}

/* How the process ended, or that this program of it did not live to see that. To be freed. */
static char *end_of(const struct table *table, struct wetdbg_program program)
{
    const struct wetdbg_process *process = &table->list[program.process];
    int signal = process->fatal_signal;
    if (is_replaced(table, program))
        return cli_strdup("exec");
    switch (process->end) {
    case WETDBG_PROCESS_EXITED:
        return cli_asprintf("exit %d", WEXITSTATUS(process->wait_status));
    case WETDBG_PROCESS_SIGNALED:
        if (!signal)
            signal = WTERMSIG(process->wait_status);
        return cli_asprintf("%s%s", cli_signal_name(signal),
                            WCOREDUMP(process->wait_status) ? " (core)" : "");
    case WETDBG_PROCESS_DETACHED:
        return cli_strdup("detached");
    case WETDBG_PROCESS_ALIVE:
        break;
    }
    return cli_strdup("running");
}

static const char *made_by(const struct wetdbg_process *process)
{
    if (process->parent == WETDBG_NO_PROCESS)
        return NULL;
    if (process->clone_flags & CLONE_VFORK)
        return "vfork";
    return process->clone_flags & CLONE_VM ? "clone" : "fork";
}

/* ---- text ---- */

/* Writes an argument as a shell would want it, but on one line. */
static void write_argument(FILE *stream, const char *text)
{
    char *word = cli_shell_word(text, strlen(text));

    for (const char *at = word; *at; at++) {
        if (*at == '\n')
            fputs("\\n", stream);
        else
            putc(*at, stream);
    }
    free(word);
}

/* The text of a row: indentation, marks, program and arguments. To be freed. */
static char *text_of(const struct table *table, struct cli_tree_row row,
                     struct wetdbg_program program)
{
    static const char *const marks[] = {"(forked) ", "(vforked) "};
    const struct wetdbg_exec *exec = wetdbg_program_exec(table->list, program);
    bool is_forked = program.exec == WETDBG_FORKED;
    bool is_vforked = table->list[program.process].clone_flags & CLONE_VFORK;
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        cli_die();
    char *indent = cli_tree_indent(&table->tree, row, is_forked || !program.exec);
    fprintf(stream, "%s%s", indent,
            is_forked && made_by(&table->list[program.process]) ? marks[is_vforked] : "");
    for (size_t i = 0; exec && i < exec->argc; i++) {
        fputs(i ? " " : "", stream);
        write_argument(stream, exec->argv[i]);
    }
    if (exec && !exec->argc)
        write_argument(stream, exec->file);
    free(indent);
    if (fclose(stream) != 0)
        cli_die();
    return text;
}

/* Cuts a text to so many characters; "..." tells. */
static void cut(char *text, size_t columns)
{
    size_t seen = 0, keep = 0;
    for (size_t i = 0; text[i]; i++) {
        if ((text[i] & 0xc0) == 0x80)
            continue;
        if (seen == columns - 3)
            keep = i;
        if (++seen > columns) {
            memcpy(text + keep, "...", 4);
            return;
        }
    }
}

static bool shows_numbers(const struct table *table)
{
    return !table->terminal_columns || table->terminal_columns >= NARROW_COLUMNS;
}

static void print_numbers(const struct table *table, struct wetdbg_program program)
{
    const struct wetdbg_process *process = &table->list[program.process];
    FILE *stream = table->out->stream;
    if (is_replaced(table, program))
        fprintf(stream, " %7s %8s", "", "");
    else
        fprintf(stream, " %7zu %8lu", process->tid_count, (unsigned long)process->frame_count);
}

static void print_program(const struct table *table, struct cli_tree_row row,
                          struct wetdbg_program program)
{
    char handle[HANDLE_BYTES];
    struct cli_out *out = table->out;
    bool is_default = row.process == table->chosen && !is_replaced(table, program);
    char *end = end_of(table, program), *text = text_of(table, row, program);
    size_t used = 4 + (size_t)table->handle_columns + (size_t)table->end_columns +
                  (shows_numbers(table) ? 17 : 0);
    wetdbg_program_handle(table->list, table->count, program, handle, sizeof(handle));
    if (table->terminal_columns)
        cut(text,
            table->terminal_columns > used + TEXT_MIN ? table->terminal_columns - used : TEXT_MIN);
    fprintf(out->stream, "%s ", is_default ? "*" : " ");
    cli_out_text(out, handle);
    fprintf(out->stream, "%*s %-*s", table->handle_columns - (int)strlen(handle), "",
            table->end_columns, end);
    if (shows_numbers(table))
        print_numbers(table, program);
    putc(' ', out->stream);
    cli_out_text(out, text);
    putc('\n', out->stream);
    free(end);
    free(text);
}

static void widen(int *columns, const char *text)
{
    int length = (int)strlen(text);
    *columns = length > *columns ? length : *columns;
}

static struct wetdbg_program first_program(const struct table *table, size_t process)
{
    return (struct wetdbg_program){process, table->list[process].exec_count ? 0 : WETDBG_FORKED};
}

static void measure(struct table *table)
{
    widen(&table->handle_columns, "PROCESS");
    for (size_t i = 0; i < table->count; i++) {
        struct wetdbg_program program = first_program(table, i);
        do {
            char handle[HANDLE_BYTES];
            char *end = end_of(table, program);
            wetdbg_program_handle(table->list, table->count, program, handle, sizeof(handle));
            widen(&table->handle_columns, handle);
            widen(&table->end_columns, end);
            free(end);
        } while (is_replaced(table, program) && ++program.exec);
    }
    table->terminal_columns = cli_out_columns(table->out);
}

static const char *reason_text(enum wetdbg_default_reason reason)
{
    static const char *const texts[] = {
        [WETDBG_DEFAULT_FIRST] = "the first process",
        [WETDBG_DEFAULT_CRASH] = "it crashed",
        [WETDBG_DEFAULT_FAILURE] = "the failure of the whole command began there",
        [WETDBG_DEFAULT_UNSEEN] = "it failed when the first process had ended",
    };
    return texts[reason];
}

static void print_text(struct table *table)
{
    FILE *stream = table->out->stream;
    measure(table);
    fprintf(stream, "%s  %-*s %-*s", cli_out_style(table->out, CLI_STYLE_BOLD),
            table->handle_columns, "PROCESS", table->end_columns, "END");
    if (shows_numbers(table))
        fprintf(stream, " %7s %8s", "THREADS", "FRAMES");
    fprintf(stream, " PROGRAM%s\n", cli_out_style(table->out, CLI_STYLE_NONE));
    for (size_t i = 0; i < table->count && !cli_out_is_gone(table->out); i++) {
        struct wetdbg_program program = first_program(table, table->tree.rows[i].process);
        do
            print_program(table, table->tree.rows[i], program);
        while (is_replaced(table, program) && ++program.exec);
    }
    if (table->count > 1)
        fprintf(stream, "* default: %s\n", reason_text(table->reason));
}

/* ---- JSON ---- */

static json_t *json_of_argv(const struct wetdbg_exec *exec)
{
    json_t *argv = json_array();
    for (size_t i = 0; exec && i < exec->argc; i++)
        cli_json_append(argv, cli_json_text(exec->argv[i]));
    return argv;
}

static json_t *json_of_handle(const struct table *table, struct wetdbg_program program)
{
    char handle[HANDLE_BYTES];
    wetdbg_program_handle(table->list, table->count, program, handle, sizeof(handle));
    return cli_json_text(handle);
}

static json_t *json_of_replaced(const struct table *table, size_t index)
{
    const struct wetdbg_process *process = &table->list[index];
    json_t *array = json_array();
    for (size_t i = 0; i + 1 < process->exec_count; i++) {
        json_t *object = json_object();
        cli_json_set(object, "select", json_of_handle(table, (struct wetdbg_program){index, i}));
        cli_json_set(object, "program", cli_json_text(process->execs[i].file));
        cli_json_set(object, "argv", json_of_argv(&process->execs[i]));
        cli_json_set(object, "first_frame", cli_json_count(process->execs[i].time));
        cli_json_set(object, "last_frame", cli_json_count(process->execs[i + 1].time));
        cli_json_append(array, object);
    }
    return array;
}

static json_t *json_of_tids(const struct wetdbg_process *process)
{
    json_t *tids = json_array();
    for (size_t i = 0; i < process->tid_count; i++)
        cli_json_append(tids, json_integer(process->tids[i]));
    return tids;
}

static void set_end(json_t *object, const struct wetdbg_process *process)
{
    bool exited = process->end == WETDBG_PROCESS_EXITED,
         killed = process->end == WETDBG_PROCESS_SIGNALED;
    int signal = process->fatal_signal ? process->fatal_signal : WTERMSIG(process->wait_status);
    cli_json_set(object, "exit",
                 exited ? json_integer(WEXITSTATUS(process->wait_status)) : json_null());
    cli_json_set(object, "signal", killed ? cli_json_text(cli_signal_name(signal)) : json_null());
    cli_json_set(object, "core", json_boolean(killed && WCOREDUMP(process->wait_status)));
    cli_json_set(object, "ended", json_boolean(process->end != WETDBG_PROCESS_ALIVE));
    cli_json_set(object, "detached", json_boolean(process->end == WETDBG_PROCESS_DETACHED));
}

static json_t *json_of_process(const struct table *table, struct cli_tree_row row)
{
    const struct wetdbg_process *process = &table->list[row.process];
    struct wetdbg_program last = first_program(table, row.process);
    last.exec = process->exec_count ? process->exec_count - 1 : WETDBG_FORKED;
    const struct wetdbg_exec *exec = wetdbg_program_exec(table->list, last);
    bool has_parent = process->parent != WETDBG_NO_PROCESS;
    json_t *object = json_object();
    cli_json_set(object, "index", cli_json_count(row.process));
    cli_json_set(object, "parent_index",
                 has_parent ? cli_json_count(process->parent) : json_null());
    cli_json_set(object, "depth", cli_json_count(row.depth));
    cli_json_set(object, "select", json_of_handle(table, last));
    cli_json_set(object, "default", json_boolean(row.process == table->chosen));
    cli_json_set(object, "pid", json_integer(process->pid));
    cli_json_set(object, "parent",
                 process->parent_pid ? json_integer(process->parent_pid) : json_null());
    cli_json_set(object, "made_by", cli_json_text(made_by(process)));
    cli_json_set(object, "program", cli_json_text(exec ? exec->file : NULL));
    cli_json_set(object, "argv", json_of_argv(exec));
    cli_json_set(object, "forked", json_boolean(!process->exec_count));
    cli_json_set(object, "replaced", json_of_replaced(table, row.process));
    cli_json_set(object, "threads", cli_json_count(process->tid_count));
    cli_json_set(object, "tids", json_of_tids(process));
    set_end(object, process);
    cli_json_set(object, "frames", cli_json_count(process->frame_count));
    cli_json_set(object, "first_frame", cli_json_count(process->start_time));
    cli_json_set(object, "last_frame", cli_json_count(process->end_time));
    return object;
}

/* Prints the programs as JSON, in order of start whatever the tree. */
static void print_json(const struct table *table)
{
    static const char *const reasons[] = {
        [WETDBG_DEFAULT_FIRST] = "first",
        [WETDBG_DEFAULT_CRASH] = "crash",
        [WETDBG_DEFAULT_FAILURE] = "failure",
        [WETDBG_DEFAULT_UNSEEN] = "late-failure",
    };
    json_t *object = cli_json_object("wetdbg.ps/1");
    json_t *array = json_array();
    uint64_t last;
    bool is_unfinished = wetdbg_recording_unfinished(table->trace, &last);
    json_t **objects = cli_malloc(table->count * sizeof(*objects) + 1);
    for (size_t i = 0; i < table->count; i++)
        objects[table->tree.rows[i].process] = json_of_process(table, table->tree.rows[i]);
    for (size_t i = 0; i < table->count; i++)
        cli_json_append(array, objects[i]);
    free(objects);
    cli_json_set(object, "default_because", cli_json_text(reasons[table->reason]));
    cli_json_set(object, "unfinished", json_boolean(is_unfinished));
    cli_json_set(object, "last_event", is_unfinished ? cli_json_count(last) : json_null());
    cli_json_set(object, "processes", array);
    cli_out_json(table->out, object);
}

static void print_processes(struct cli_out *out, const struct wetdbg_recording *trace,
                            const struct wetdbg_process *list, size_t count)
{
    struct table table = {
        .trace = trace, .out = out, .list = list, .count = count, .chosen = WETDBG_NO_PROCESS};
    cli_tree_init(&table.tree, list, count);
    if (count)
        table.chosen = wetdbg_default_process(list, count, &table.reason);
    if (out->json)
        print_json(&table);
    else
        print_text(&table);
    cli_tree_fini(&table.tree);
}

int cli_ps_run(struct cli_app *app, const struct cli_args *args)
{
    struct wetdbg_recording *trace;
    const struct wetdbg_process *list;
    size_t count;
    int err = cli_trace_open(args->operands[0], &trace);
    if (err)
        return err;
    err = wetdbg_recording_processes(trace, &list, &count);
    if (!err)
        print_processes(app->out, trace, list, count);
    wetdbg_recording_close(trace);
    return err;
}

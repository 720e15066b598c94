/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/run_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "dbgcli/signal_name.h"
#include <wetdbg/files.h>

static json_t *json_of_argv(const struct wetdbg_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->argc; i++)
        cli_json_append(array, cli_json_text(info->argv[i]));
    return array;
}

/* ---- the end ---- */

struct exec_walk {
    bool is_begun; /* `task` is in an exec */
    bool is_done;  /* and left in it; nobody was seen since */
    uint32_t task;
};

/* Notes an exec. A successful one never returns here: its task ends. (That of a child by vfork does
 * too, but its parent goes on.) */
static int note_exec(void *context, const struct wetdbg_event *event)
{
    struct exec_walk *walk = context;
    bool is_exec = event->number == SYS_execve || event->number == SYS_execveat;
    switch (event->kind) {
    case WETDBG_EVENT_CALL:
        if (is_exec)
            *walk = (struct exec_walk){.is_begun = true, .task = event->task};
        else
            walk->is_done = false;
        break;
    case WETDBG_EVENT_CALL_END:
        if (walk->is_begun && event->task == walk->task)
            walk->is_begun = false;
        walk->is_done = false;
        break;
    case WETDBG_EVENT_THREAD_END:
        walk->is_done |= walk->is_begun && event->task == walk->task;
        break;
    default:
        break;
    }
    return 0;
}

static bool ended_in_exec(struct wetdbg *wet)
{
    struct exec_walk walk = {0};
    wetdbg_each_event(wet, note_exec, &walk);
    return walk.is_done;
}

enum cli_run_end cli_run_end(struct wetdbg *wet, int *number)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    /* Of a first thread that another one's exec ended there is a status, and it is 0. */
    bool may_be_exec = info->wait_status < 0 || (!info->wait_status && info->threads > 1);
    *number = info->signal;
    if (!info->has_end)
        return CLI_RUN_END_UNKNOWN;
    if (info->signal)
        return CLI_RUN_END_SIGNAL;
    if (may_be_exec && ended_in_exec(wet))
        return CLI_RUN_END_EXEC;
    if (info->wait_status < 0)
        return CLI_RUN_END_UNKNOWN;
    bool was_killed = WIFSIGNALED(info->wait_status);
    *number = was_killed ? WTERMSIG(info->wait_status) : WEXITSTATUS(info->wait_status);
    return was_killed ? CLI_RUN_END_KILLED : CLI_RUN_END_EXIT;
}

/* A signal as JSON; of one from outside only the number is known. */
static json_t *json_of_signal(const struct wetdbg_info *info, int number)
{
    bool has_arrived = info->signal != 0;
    json_t *object = json_object();
    cli_json_set(object, "name", cli_json_text(cli_signal_name(number)));
    cli_json_set(object, "number", json_integer(number));
    cli_json_set(object, "code", has_arrived ? json_integer(info->signal_code) : json_null());
    cli_json_set(object, "address",
                 has_arrived ? cli_json_address(info->signal_address) : json_null());
    cli_json_set(object, "time", has_arrived ? cli_json_count(info->signal_time) : json_null());
    return object;
}

static void set_json_of_end(json_t *object, struct wetdbg *wet)
{
    static const char *const names[] = {"unknown", "exit", "signal", "killed", "exec"};
    int number;
    enum cli_run_end end = cli_run_end(wet, &number);
    bool has_signal = end == CLI_RUN_END_SIGNAL || end == CLI_RUN_END_KILLED;
    cli_json_set(object, "end", cli_json_text(names[end]));
    cli_json_set(object, "exit", end == CLI_RUN_END_EXIT ? json_integer(number) : json_null());
    cli_json_set(object, "signal",
                 has_signal ? json_of_signal(wetdbg_get_info(wet), number) : json_null());
}

static void print_end(struct cli_out *out, struct wetdbg *wet)
{
    int number;
    enum cli_run_end end = cli_run_end(wet, &number);
    fprintf(out->stream, "%-24s", "end");
    switch (end) {
    case CLI_RUN_END_SIGNAL:
        fprintf(out->stream, "%s, time %" PRIu64 "\n", cli_signal_name(number),
                wetdbg_get_info(wet)->signal_time);
        return;
    case CLI_RUN_END_KILLED:
        fprintf(out->stream, "%s from outside\n", cli_signal_name(number));
        return;
    case CLI_RUN_END_EXIT:
        fprintf(out->stream, "exit status %d\n", number);
        return;
    case CLI_RUN_END_EXEC:
        fputs("another program was executed\n", out->stream);
        return;
    case CLI_RUN_END_UNKNOWN:
        break;
    }
    if (!wetdbg_get_info(wet)->has_end) {
        fputs("after the window\n", out->stream);
        return;
    }
    fputs("not recorded\n", out->stream);
}

/* ---- numbers ---- */

/* One row per number; text and JSON are made from the same ones. */
struct row {
    const char *key;
    const char *label;
    uint64_t value;
};

#define ROW_COUNT 14

static void fill_rows(struct row *rows, const struct wetdbg_info *info)
{
    const struct row list[ROW_COUNT] = {
        {"threads", "threads", info->threads},
        {"instructions", "instructions", info->instructions},
        {"nodes", "nodes", info->nodes},
        {"node_executions", "node executions", info->node_executions},
        {"loads", "loads", info->loads},
        {"stores", "stores", info->stores},
        {"syscalls", "system calls", info->syscalls},
        {"events", "events checked", info->events},
        {"async_events", "asynchronous events", info->places},
        {"ambiguous_events", "of these ambiguous", info->ambiguous},
        {"intervals", "intervals", info->intervals},
        {"wet_bytes", "bytes of the .wet file", info->wet_bytes},
        {"static_bytes", "of these static", info->static_bytes},
        {"pid", "process id", (uint64_t)info->pid},
    };
    for (size_t i = 0; i < ROW_COUNT; i++)
        rows[i] = list[i];
}

/* ---- threads: only where there are several ---- */

static void print_threads(struct cli_out *out, struct wetdbg *wet)
{
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(wet, &count);
    for (size_t i = 0; count > 1 && i < count && !cli_out_is_gone(out); i++) {
        fprintf(out->stream, "thread %-17" PRIu32 "%-8d ", threads[i].index + 1, threads[i].tid);
        cli_out_text(out, threads[i].name);
        fprintf(out->stream, ", time %" PRIu64 " to ", threads[i].start);
        if (threads[i].has_ended)
            fprintf(out->stream, "%" PRIu64, threads[i].end);
        else
            fputs("the end", out->stream);
        fprintf(out->stream, ", %" PRIu64 " instructions\n", threads[i].instructions);
    }
}

static json_t *json_of_threads(struct wetdbg *wet)
{
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(wet, &count);
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        cli_json_set(row, "thread", cli_json_count((uint64_t)threads[i].index + 1));
        cli_json_set(row, "tid", threads[i].tid ? json_integer(threads[i].tid) : json_null());
        cli_json_set(row, "name", cli_json_text(threads[i].name));
        cli_json_set(row, "start", cli_json_count(threads[i].start));
        cli_json_set(row, "end",
                     threads[i].has_ended ? cli_json_count(threads[i].end) : json_null());
        cli_json_set(row, "instructions", cli_json_count(threads[i].instructions));
        cli_json_append(array, row);
    }
    return array;
}

/* ---- calls of which the recording has no bytes ---- */

static void print_unseen(FILE *stream, const struct wetdbg_unseen *is)
{
    fprintf(stream, "time %" PRIu64 ": %s() changed ", is->time, is->call);
    cli_text_put(stream, *is->file ? is->file : "a file");
    fprintf(stream,
            " under a %s mapping at 0x%" PRIx64
            "; the recording has no bytes of it, and memory there "
            "may be otherwise than it was",
            is->is_shared ? "shared" : "private", is->address);
    if (is->calls > 1)
        fprintf(stream, " (%" PRIu64 " times, up to %" PRIu64 ")", is->calls, is->last_time);
    putc('\n', stream);
}

static json_t *json_of_unseen(struct wetdbg *wet)
{
    struct wetdbg_unseen *list;
    size_t count;
    if (wetdbg_unseen_find(wet, &list, &count))
        return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_object();
        cli_json_set(row, "call", cli_json_text(list[i].call));
        cli_json_set(row, "file", *list[i].file ? cli_json_text(list[i].file) : json_null());
        cli_json_set(row, "time", cli_json_count(list[i].time));
        cli_json_set(row, "last_time", cli_json_count(list[i].last_time));
        cli_json_set(row, "calls", cli_json_count(list[i].calls));
        cli_json_set(row, "address", cli_json_address(list[i].address));
        cli_json_set(row, "bytes", cli_json_count(list[i].size_bytes));
        cli_json_set(row, "is_shared", json_boolean(list[i].is_shared));
        cli_json_append(array, row);
    }
    free(list);
    return array;
}

void cli_facts_print_unseen(FILE *stream, const char *head, struct wetdbg *wet)
{
    struct wetdbg_unseen *list;
    size_t count;
    if (wetdbg_unseen_find(wet, &list, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        fputs(head, stream);
        print_unseen(stream, &list[i]);
    }
    free(list);
}

static void print_json(struct cli_out *out, struct wetdbg *wet, double build_seconds)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    json_t *object = cli_json_object("wetdbg.info/1");
    struct row rows[ROW_COUNT];
    fill_rows(rows, info);
    cli_json_set(object, "program", cli_json_text(info->program));
    cli_json_set(object, "argv", json_of_argv(info));
    set_json_of_end(object, wet);
    for (size_t i = 0; i < ROW_COUNT; i++)
        cli_json_set(object, rows[i].key, cli_json_count(rows[i].value));
    if (info->threads > 1)
        cli_json_set(object, "thread_list", json_of_threads(wet));
    if (info->is_window) {
        json_t *window = json_object();
        cli_json_set(window, "first_time", cli_json_count(info->first_time));
        cli_json_set(window, "last_time", cli_json_count(info->last_time));
        cli_json_set(window, "has_end", json_boolean(info->has_end));
        cli_json_set(object, "window", window);
    }
    if (info->change) {
        json_t *change = json_object();
        cli_json_set(change, "change", cli_json_text(info->change));
        cli_json_set(change, "time", cli_json_count(info->change_time));
        cli_json_set(object, "what_if", change);
    }
    cli_json_set(object, "unseen", json_of_unseen(wet));
    if (build_seconds > 0)
        cli_json_set(object, "build_seconds", json_real(build_seconds));
    cli_json_set(object, "bits_per_instruction", json_real(info->bits_per_instruction));
    cli_out_json(out, object);
}

void cli_facts_print(struct cli_out *out, struct wetdbg *wet, double build_seconds)
{
    const struct wetdbg_info *info = wetdbg_get_info(wet);
    struct row rows[ROW_COUNT];
    if (out->json) {
        print_json(out, wet, build_seconds);
        return;
    }
    fill_rows(rows, info);
    if (info->is_window)
        fprintf(out->stream, "%-24stimes %" PRIu64 " to %" PRIu64 " of the run\n", "window",
                info->first_time, info->last_time);
    fprintf(out->stream, "%-24s", "program");
    cli_out_text(out, info->program);
    fprintf(out->stream, "\n%-24s", "arguments");
    for (size_t i = 0; i < info->argc; i++) {
        cli_out_text(out, i ? " " : "");
        cli_out_text(out, info->argv[i]);
    }
    putc('\n', out->stream);
    if (info->change) {
        fprintf(out->stream, "%-24s", "what if");
        cli_out_text(out, info->change);
        fprintf(out->stream, ", changed at time %" PRIu64 "\n", info->change_time);
    }
    print_end(out, wet);
    for (size_t i = 0; i < ROW_COUNT; i++)
        fprintf(out->stream, "%-24s%" PRIu64 "\n", rows[i].label, rows[i].value);
    print_threads(out, wet);
    fprintf(out->stream, "%-24s%.2f\n", "bits per instruction", info->bits_per_instruction);
    cli_facts_print_unseen(out->stream, "not recorded            ", wet);
    if (build_seconds > 0)
        fprintf(out->stream, "%-24s%.2f\n", "seconds to build", build_seconds);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/go_on.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/meter.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/syscall_name.h"
#include <wetdbg/errors.h>

/* ---- looking ---- */

struct progress {
    struct cli_meter meter;
    wetdbg_time from, to;
};

static bool is_unwanted(void *arg, wetdbg_time now)
{
    struct progress *progress = arg;
    wetdbg_time done = now > progress->from ? now - progress->from : progress->from - now;
    wetdbg_time total = progress->to > progress->from ? progress->to - progress->from
                                                      : progress->from - progress->to;
    return cli_meter_update(&progress->meter, done, total);
}

static bool has_enabled(const struct cli_breakpoints *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i]->is.is_enabled)
            return true;
    return false;
}

int cli_stops_find(struct cli_session *session, struct cli_stop_search *search)
{
    struct cli_breakpoints *all = session->breakpoints;
    struct progress progress = {.from = session->time, .to = search->to};
    struct wetdbg_break here = {
        .kind = WETDBG_BREAK_CODE,
        .is_enabled = search->pc_count != 0,
        .pcs = search->pcs,
        .pc_count = search->pc_count,
        .thread = search->thread,
    };
    if (!here.is_enabled && !has_enabled(all))
        return 0;
    int result = all->finder ? 0 : wetdbg_breaks_open(session->wet, &all->finder);
    if (result)
        return result;
    struct wetdbg_break **list = cli_realloc(NULL, all->count + 1, sizeof(*list));
    for (size_t i = 0; i < all->count; i++)
        list[i] = &all->list[i]->is;
    list[all->count] = &here;
    cli_meter_begin(&progress.meter, session->out, "going on");
    wetdbg_breaks_watch(all->finder, is_unwanted, &progress);
    result = wetdbg_breaks_find(all->finder, list, all->count + 1, session->time, search->to,
                                search->is_back, &search->time);
    wetdbg_breaks_watch(all->finder, NULL, NULL);
    cli_meter_end(&progress.meter);
    free(list);
    search->is_at_pcs = here.is_hit;
    return result;
}

/* ---- saying what stopped ---- */

/* The watched value as text, at a time that is no further than one instruction away. */
static char *value_at(const struct cli_breakpoint *one, wetdbg_time time)
{
    struct cli_moment *moment;
    if (cli_moment_open(one->session->wet, time, &moment) != 0)
        return cli_strdup("<not known>");
    char *text = cli_value_text(moment, one->watched, "", false);
    cli_moment_close(moment);
    return text;
}

static void print_labelled(struct cli_out *out, const char *label, char *text)
{
    fputs(label, out->stream);
    cli_out_text(out, text);
    putc('\n', out->stream);
}

static void print_watched(struct cli_out *out, const struct cli_breakpoint *one, json_t *row)
{
    const struct wetdbg_stop *stop = &one->is.stop;
    bool is_back = stop->time == stop->at;
    char *before = value_at(one, is_back ? stop->at + 1 : stop->at);
    char *after = value_at(one, is_back ? stop->at : stop->at + 1);
    bool is_read = stop->is_read || strcmp(before, after) == 0;
    if (row) {
        cli_json_set(row, "old", is_read ? json_null() : cli_json_text(before));
        cli_json_set(row, "new", cli_json_text(after));
        cli_json_set(row, "by", json_string(stop->pc ? "program" : "kernel"));
        cli_json_set(row, "at", cli_json_count(stop->at));
    } else if (is_read) {
        print_labelled(out, "\nValue = ", after);
    } else {
        print_labelled(out, "\nOld value = ", before);
        print_labelled(out, "New value = ", after);
    }
    if (!row && !stop->pc)
        fprintf(out->stream, "(written by the kernel%s%s)\n", stop->syscall < 0 ? "" : ": ",
                stop->syscall < 0 ? "" : cli_syscall_name(stop->syscall));
    free(before);
    free(after);
}

static void print_caught(struct cli_out *out, const struct cli_breakpoint *one)
{
    const struct wetdbg_stop *stop = &one->is.stop;
    if (stop->event == WETDBG_EVENT_CALL || stop->event == WETDBG_EVENT_CALL_END)
        fprintf(out->stream, " (%s syscall %s)",
                stop->event == WETDBG_EVENT_CALL ? "call to" : "returned from",
                cli_syscall_name(stop->number));
    else
        fprintf(out->stream, " (signal %s)", cli_signal_name(stop->number));
}

static const char *event_name(const struct wetdbg_stop *stop)
{
    return stop->event == WETDBG_EVENT_CALL       ? "call"
           : stop->event == WETDBG_EVENT_CALL_END ? "return"
                                                  : "signal";
}

static json_t *json_of_stop(const struct cli_breakpoint *one)
{
    json_t *row = json_object();
    cli_json_set(row, "number", json_integer(one->number));
    cli_json_set(row, "type", cli_json_text(cli_breakpoint_type(one)));
    cli_json_set(row, "hits", cli_json_count(one->is.hits));
    cli_json_set(row, "left_scope", json_boolean(one->is.stop.is_scope_end));
    if (one->watched && !one->is.stop.is_scope_end)
        print_watched(one->session->out, one, row);
    if (one->is.kind == WETDBG_BREAK_CATCH)
        cli_json_set(row, "event", json_string(event_name(&one->is.stop)));
    return row;
}

static void print_stop(struct cli_out *out, const struct cli_breakpoint *one)
{
    fprintf(out->stream, "%s %u", cli_breakpoint_title(one), one->number);
    if (one->is.stop.is_scope_end) {
        fputs(" deleted: the call is over in which '", out->stream);
        cli_out_text(out, one->what);
        fputs("' is there\n", out->stream);
        return;
    }
    if (one->is.kind == WETDBG_BREAK_CATCH)
        print_caught(out, one);
    if (one->watched) {
        fputs(": ", out->stream);
        cli_out_text(out, one->what);
        putc('\n', out->stream);
        print_watched(out, one, NULL);
    } else {
        fputs(", ", out->stream); /* the position goes on in this line */
    }
    if (one->failure) {
        fputs(one->watched ? "" : "\n", out->stream);
        fputs("its condition could not be evaluated: ", out->stream);
        cli_out_text(out, one->failure);
        putc('\n', out->stream);
    }
}

static bool is_silent(const struct cli_breakpoint *one)
{
    return one->command_count && strcmp(one->commands[0], "silent") == 0;
}

/* Says what stopped, all of them; true if somebody wants it to be silent. */
static bool print_stops(struct cli_session *session, json_t *array)
{
    struct cli_breakpoints *all = session->breakpoints;
    struct cli_breakpoint *last = NULL;
    for (size_t i = 0; i < all->count; i++) {
        struct cli_breakpoint *one = all->list[i];
        if (one->is.is_hit && is_silent(one))
            return true;
    }
    for (size_t i = 0; i < all->count; i++) {
        struct cli_breakpoint *one = all->list[i];
        if (!one->is.is_hit)
            continue;
        if (array) {
            cli_json_append(array, json_of_stop(one));
        } else if (!one->watched && last && !last->watched) {
            continue; /* one line says it: as gdb, the first number */
        } else {
            print_stop(session->out, one);
            last = one;
        }
    }
    return false;
}

/* ---- afterwards ---- */

static void queue_commands(struct cli_repl *repl, const struct cli_breakpoint *one)
{
    for (size_t i = is_silent(one); i < one->command_count; i++)
        cli_repl_queue(repl, one->commands[i]);
}

/* Temporary ones go, counted ones may be disabled. */
static void settle(struct cli_repl *repl)
{
    struct cli_session *session = repl->session;
    struct cli_breakpoints *all = session->breakpoints;
    for (size_t i = 0; i < all->count;) {
        struct cli_breakpoint *one = all->list[i++];
        if (!one->is.is_hit)
            continue;
        one->is.is_hit = false;
        free(one->failure);
        one->failure = NULL;
        if (!one->is.stop.is_scope_end)
            queue_commands(repl, one);
        if (one->stops_left && --one->stops_left == 0)
            one->is.is_enabled = false;
        if (one->disposition == CLI_DISABLE)
            one->is.is_enabled = false;
        if (one->disposition == CLI_DELETE || one->is.stop.is_scope_end) {
            cli_breakpoint_remove(session, one);
            i--;
        }
    }
}

static const struct wetdbg_thread *stopped_thread(const struct cli_session *session)
{
    const struct cli_breakpoints *all = session->breakpoints;
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i]->is.is_hit && all->list[i]->is.stop.thread)
            return all->list[i]->is.stop.thread;
    return NULL;
}

/* Which breakpoint `continue N` is about: the first that stopped. */
static void note_stopped(struct cli_session *session)
{
    const struct cli_breakpoints *all = session->breakpoints;
    session->stopped_at = 0;
    for (size_t i = 0; i < all->count && !session->stopped_at; i++)
        if (all->list[i]->is.is_hit && !all->list[i]->is.stop.is_scope_end)
            session->stopped_at = all->list[i]->number;
}

int cli_stops_arrive(struct cli_repl *repl, const struct cli_stop_search *search)
{
    struct cli_session *session = repl->session;
    json_t *array = repl->out->json ? json_array() : NULL;
    int err = cli_session_go_to(session, search->time, stopped_thread(session));
    if (err) {
        json_decref(array);
        return err;
    }
    note_stopped(session);
    bool is_quiet = print_stops(session, array);
    settle(repl);
    if (array) {
        json_t *object = cli_session_position(session);
        if (json_array_size(array))
            cli_json_set(object, "stops", array);
        else
            json_decref(array);
        cli_out_json(repl->out, object);
        return 0;
    }
    return is_quiet ? 0 : cli_session_print_position(session);
}

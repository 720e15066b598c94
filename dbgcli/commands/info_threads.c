/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `info threads`, `thread`, and `info ambiguous`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/apply.h"
#include "dbgcli/commands/info_subject.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/signal_name.h"
#include "dbgcli/syscall_name.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_thread_syntax = {
    .example = "thread 2",
    .usage = "[N|apply all|N|N-M... COMMAND]",
    .operands_max = 1,
    .is_raw = true,
    .details = "Selects the thread whose frames and variables are shown, as numbered by 'info\n"
               "threads', until another time is gone to; or shows the selected one.\n"
               "'thread apply' runs a command in several threads, as far as they are there now;\n"
               "-q before it leaves their titles out, with -s what fails in one is passed over.",
};

/* ---- what each one does at a time ---- */

#define NO_CALL (-1)

struct activity {
    int64_t call;  /* the system call that it is in, or NO_CALL */
    bool has_left; /* its end was seen */
};

struct activity_walk {
    struct cli_session *session;
    struct activity *list; /* by thread */
};

/* Whether the session stands where a fatal signal struck, just after `time`. */
static bool is_struck_after(const struct cli_session *session, wetdbg_time time)
{
    return session->info->signal && session->time == session->info->signal_time &&
           time + 1 == session->time;
}

static int note_event(void *context, const struct wetdbg_event *event)
{
    struct activity_walk *walk = context;
    wetdbg_time now = walk->session->time;
    if (event->time >= now)
        return 1;
    /* a fatal signal ends all of them, right after the state that it struck */
    if (event->kind == WETDBG_EVENT_THREAD_END && is_struck_after(walk->session, event->time))
        return 0;
    const struct wetdbg_thread *thread =
        wetdbg_thread_of(walk->session->wet, event->task, event->time);
    if (!thread)
        return 0;
    struct activity *activity = &walk->list[thread->index];
    if (event->kind == WETDBG_EVENT_CALL)
        activity->call = event->number;
    else if (event->kind == WETDBG_EVENT_CALL_END)
        activity->call = NO_CALL;
    else if (event->kind == WETDBG_EVENT_THREAD_END)
        activity->has_left = true;
    return 0;
}

static int read_activities(struct cli_session *session, size_t count, struct activity **list)
{
    struct activity_walk walk = {session, cli_malloc(count * sizeof(*walk.list))};
    for (size_t i = 0; i < count; i++)
        walk.list[i] = (struct activity){.call = NO_CALL};
    int result = wetdbg_each_event(session->wet, note_event, &walk);
    *list = walk.list;
    if (result < 0)
        free(walk.list);
    return result < 0 ? result : 0;
}

enum state { STATE_UNBORN, STATE_RUNNING, STATE_IN_CALL, STATE_READY, STATE_ENDED };

static enum state state_of(const struct cli_session *session, const struct wetdbg_thread *thread,
                           const struct activity *activity)
{
    bool is_over =
        thread->has_ended && thread->end < session->time && !is_struck_after(session, thread->end);
    if (activity->has_left || is_over)
        return STATE_ENDED;
    if (thread == session->moment->running)
        return STATE_RUNNING;
    if (thread->start > session->time)
        return STATE_UNBORN;
    return activity->call != NO_CALL ? STATE_IN_CALL : STATE_READY;
}

/* ---- one row ---- */

struct row {
    const struct wetdbg_thread *thread;
    enum state state;
    int64_t call;
    bool has_frames;
    struct cli_frame top, seen; /* the innermost one; the first one whose source is here */
    bool has_seen, is_inner;    /* there is such a frame; it is the innermost one */
};

/* Fills the row of a thread from its frames; changes the moment's thread. */
static void look_at(struct cli_session *session, struct row *row)
{
    struct cli_moment *moment = session->moment;
    if (row->state == STATE_UNBORN || row->state == STATE_ENDED)
        return;
    if (cli_moment_select(moment, row->thread) != 0)
        return;
    row->has_frames = true;
    row->top = moment->frames[0];
    for (size_t i = 0; i < moment->frame_count && !row->has_seen; i++) {
        row->seen = moment->frames[i];
        row->has_seen = row->seen.file && cli_source_text(session, row->seen.file, row->seen.line,
                                                          row->seen.lookup_pc);
        row->is_inner = row->has_seen && i == 0;
    }
}

static void print_frame(struct cli_out *out, const struct cli_frame *frame)
{
    cli_out_text(out, frame->function ? frame->function : "??");
    if (frame->file) {
        fputs(" at ", out->stream);
        cli_out_text(out, cli_base_name(frame->file));
        fprintf(out->stream, ":%" PRIu32, frame->line);
    } else if (frame->module) {
        fputs(" from ", out->stream);
        cli_out_text(out, frame->module);
    }
}

static char *state_text(const struct row *row)
{
    static const char *const texts[] = {
        [STATE_UNBORN] = "not begun", [STATE_RUNNING] = "runs", [STATE_READY] = "ready",
        [STATE_ENDED] = "ended",      [STATE_IN_CALL] = "",
    };
    if (row->state == STATE_IN_CALL)
        return cli_asprintf("in %s", cli_syscall_name(row->call));
    return cli_strdup(texts[row->state]);
}

static void print_row(struct cli_out *out, const struct row *row, bool is_selected)
{
    const struct wetdbg_thread *thread = row->thread;
    char *state = state_text(row);
    char tid[16] = "?";
    if (thread->tid)
        snprintf(tid, sizeof(tid), "%d", thread->tid);
    fprintf(out->stream, "%s %-3" PRIu32 " %-8s ", is_selected ? "*" : " ", thread->index + 1, tid);
    cli_out_text(out, thread->name);
    fprintf(out->stream, "%*s %12" PRIu64 " ",
            thread->name && strlen(thread->name) < 15 ? 15 - (int)strlen(thread->name) : 0, "",
            thread->start);
    if (thread->has_ended)
        fprintf(out->stream, "%12" PRIu64, thread->end);
    else
        fprintf(out->stream, "%12s", "-");
    fprintf(out->stream, "  %s", state);
    if (row->has_frames) {
        fprintf(out->stream, "%*s", strlen(state) < 16 ? 17 - (int)strlen(state) : 1, "");
        print_frame(out, &row->top);
        if (row->has_seen && !row->is_inner) {
            fputs(", in ", out->stream);
            print_frame(out, &row->seen);
        }
    }
    putc('\n', out->stream);
    free(state);
}

static json_t *json_of_row(const struct row *row, bool is_selected)
{
    static const char *const names[] = {
        [STATE_UNBORN] = "not-begun", [STATE_RUNNING] = "running", [STATE_READY] = "ready",
        [STATE_ENDED] = "ended",      [STATE_IN_CALL] = "in-call",
    };
    const struct wetdbg_thread *thread = row->thread;
    json_t *object = json_object();
    cli_json_set(object, "thread", cli_json_count((uint64_t)thread->index + 1));
    cli_json_set(object, "tid", thread->tid ? json_integer(thread->tid) : json_null());
    cli_json_set(object, "name", cli_json_text(thread->name));
    cli_json_set(object, "parent",
                 thread->parent ? cli_json_count((uint64_t)thread->parent->index + 1)
                                : json_null());
    cli_json_set(object, "start", cli_json_count(thread->start));
    cli_json_set(object, "end", thread->has_ended ? cli_json_count(thread->end) : json_null());
    cli_json_set(object, "instructions", cli_json_count(thread->instructions));
    cli_json_set(object, "state", cli_json_text(names[row->state]));
    cli_json_set(object, "syscall",
                 row->state == STATE_IN_CALL ? cli_json_text(cli_syscall_name(row->call))
                                             : json_null());
    cli_json_set(object, "selected", json_boolean(is_selected));
    cli_json_set(object, "pc",
                 row->has_frames ? cli_json_address(row->top.regs.value[WETDBG_REG_RIP])
                                 : json_null());
    cli_json_set(object, "function", cli_json_text(row->has_frames ? row->top.function : NULL));
    cli_json_set(object, "module", cli_json_text(row->has_frames ? row->top.module : NULL));
    cli_json_set(object, "file", cli_json_text(row->has_seen ? row->seen.file : NULL));
    cli_json_set(object, "line", row->has_seen ? json_integer(row->seen.line) : json_null());
    cli_json_set(object, "line_function", cli_json_text(row->has_seen ? row->seen.function : NULL));
    return object;
}

static void print_rows(struct cli_session *session, const struct row *rows, size_t count)
{
    struct cli_out *out = session->out;
    const struct wetdbg_thread *selected = session->moment->thread;
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.threads/1");
        json_t *array = json_array();
        for (size_t i = 0; i < count; i++)
            cli_json_append(array, json_of_row(&rows[i], rows[i].thread == selected));
        cli_json_set(object, "time", cli_json_count(session->time));
        cli_json_set(object, "threads", array);
        cli_uncertain_to_json(object, session, session->time);
        cli_out_json(out, object);
        return;
    }
    fprintf(out->stream, "%s  %-3s %-8s %-15s %12s %12s  %-16s %s%s\n",
            cli_out_style(out, CLI_STYLE_BOLD), "N", "TID", "NAME", "START", "END", "STATE",
            "WHERE", cli_out_style(out, CLI_STYLE_NONE));
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++)
        print_row(out, &rows[i], rows[i].thread == selected);
    cli_uncertain_print(session, session->time);
}

int cli_info_threads(struct cli_session *session, const char *operand)
{
    struct cli_moment *moment;
    struct activity *activities;
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(session->wet, &count);
    (void)operand;
    int err = cli_session_moment(session, &moment);
    if (!err)
        err = read_activities(session, count, &activities);
    if (err)
        return err;
    const struct wetdbg_thread *selected = moment->thread;
    struct row *rows = cli_malloc(count * sizeof(*rows));
    for (size_t i = 0; i < count; i++) {
        rows[i] = (struct row){.thread = &threads[i], .call = activities[i].call};
        rows[i].state = state_of(session, &threads[i], &activities[i]);
        look_at(session, &rows[i]);
    }
    err = cli_moment_select(moment, selected);
    if (!err)
        print_rows(session, rows, count);
    free(activities);
    free(rows);
    return err;
}

/* ---- selecting one ---- */

int cli_cmd_thread(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    const struct wetdbg_thread *thread;
    struct cli_moment *moment;
    (void)format;
    const char *text = args->operand_count ? args->operands[0] : "";
    if (strncmp(text, "apply", 5) == 0 && (!text[5] || text[5] == ' '))
        return cli_thread_apply(repl, text + 5 + strspn(text + 5, " \t"));
    int result = cli_session_moment(session, &moment);
    if (result || !args->operand_count)
        return result ? result : cli_session_print_position(session);
    result = cli_thread_find(session, args->operands[0], &thread);
    if (result)
        return result;
    if (thread->start > session->time)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "thread %" PRIu32 " begins at time %" PRIu64,
                           thread->index + 1, thread->start);
    session->skipped = 0;
    result = cli_moment_select(moment, thread);
    if (result == -WETDBG_ERR_NOT_FOUND)
        return wetdbg_fail(result, "thread %" PRIu32 " has ended, at time %" PRIu64,
                           thread->index + 1, thread->end);
    if (result)
        return result;
    session->frame = cli_moment_first_frame(moment);
    session->list_file = NULL;
    return cli_session_print_position(session);
}

/* ---- events of uncertain place ---- */

int cli_info_ambiguous(struct cli_session *session, const char *operand)
{
    struct cli_out *out = session->out;
    size_t count;
    const struct wetdbg_ambiguous *events = wetdbg_ambiguous_events(session->wet, &count);
    json_t *array = out->json ? json_array() : NULL;
    (void)operand;
    for (size_t i = 0; i < count && !cli_out_is_gone(out); i++) {
        const char *what = events[i].signal ? cli_signal_name(events[i].signal) : "switch";
        if (array) {
            json_t *row = json_object();
            cli_json_set(row, "time", cli_json_count(events[i].time + 1));
            cli_json_set(row, "frame", cli_json_count(events[i].frame));
            cli_json_set(row, "signal", events[i].signal ? cli_json_text(what) : json_null());
            cli_thread_to_json(row, session, events[i].thread);
            cli_json_append(array, row);
            continue;
        }
        fprintf(out->stream, "time %-12" PRIu64 " frame %-9" PRIu64 " %s", events[i].time + 1,
                events[i].frame, what);
        if (cli_has_threads(session)) {
            fprintf(out->stream, "%*s", 10 - (int)strlen(what), "");
            cli_thread_print(out, events[i].thread);
        }
        putc('\n', out->stream);
    }
    if (array) {
        json_t *object = cli_json_object("wetdbg.ambiguous/1");
        cli_json_set(object, "asynchronous", cli_json_count(session->info->places));
        cli_json_set(object, "events", array);
        cli_out_json(out, object);
    } else if (!count) {
        fputs(session->info->places ? "every asynchronous event fits one place only\n"
                                    : "no asynchronous events\n",
              out->stream);
    }
    return 0;
}

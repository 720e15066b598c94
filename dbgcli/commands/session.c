/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/session.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/bookmark.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/commands/display.h"
#include "dbgcli/commands/named_slices.h"
#include "dbgcli/commands/pruning.h"
#include "dbgcli/commands/rest.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/commands/slice_implied.h"
#include "dbgcli/commands/slice_tree.h"
#include "dbgcli/eval/kept.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include "dbgcli/signal_name.h"
#include <wetdbg/errors.h>
#include <wetdbg/switch.h>

#define LIST_SIZE 10 /* lines, as in gdb */

static void interrupt_wet(void *context)
{
    wetdbg_interrupt(context);
}

void cli_session_catch(struct cli_session *session)
{
    cli_interrupt_catch(interrupt_wet, session->wet);
}

int cli_session_open(struct cli_session *session, struct cli_out *out, const char *wet_path)
{
    *session = (struct cli_session){.out = out};
    int err = wetdbg_open(wet_path, &session->wet);
    if (!err)
        err = wetdbg_slice_session_new(session->wet, &session->slices);
    if (err) {
        wetdbg_close(session->wet);
        session->wet = NULL;
        return err;
    }
    session->info = wetdbg_get_info(session->wet);
    session->model = wetdbg_get_model(session->wet);
    session->time = session->info->last_time + 1;
    if (session->info->signal && session->info->signal_time)
        session->time = session->info->signal_time;
    cli_session_catch(session);
    session->struck = cli_thread_struck(session->wet);
    session->wet_path = cli_strdup(wet_path);
    session->bookmarks = cli_bookmarks_new(wet_path);
    session->breakpoints = cli_breakpoints_new();
    session->displays = cli_displays_new();
    session->kept = cli_kept_new();
    session->manner = cli_manner_usual;
    session->list_size = LIST_SIZE;
    session->named = cli_named_slices_new(session->wet, wet_path);
    return 0;
}

void cli_session_close(struct cli_session *session)
{
    if (!session->wet)
        return;
    cli_interrupt_release();
    wetdbg_slice_free(session->slice);
    cli_pruning_free(session->pruning);
    wetdbg_criterion_free(session->criterion);
    cli_implied_free(session->implied);
    wetdbg_slice_session_free(session->slices);
    cli_moment_close(session->moment);
    free(session->newer_files);
    cli_bookmarks_free(session->bookmarks);
    cli_breakpoints_free(session->breakpoints);
    cli_displays_free(session->displays);
    cli_kept_free(session->kept);
    cli_named_slices_free(session->named);
    wetdbg_switcher_close(session->switcher);
    cli_rest_free(session);
    cli_slice_tree_free(session);
    wetdbg_close(session->wet);
    free(session->wet_path);
    *session = (struct cli_session){0};
}

void cli_session_prepare(struct cli_session *session)
{
    wetdbg_interrupt_clear(session->wet);
}

int cli_session_check(struct cli_session *session)
{
    return wetdbg_check_model(session->wet);
}

int cli_session_check_time(const struct cli_session *session, wetdbg_time time)
{
    const struct wetdbg_info *info = session->info;
    if (time >= info->first_time && time <= info->last_time + 1)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "time %" PRIu64 " is outside the %s (%" PRIu64 " to %" PRIu64 ")", time,
                       info->is_window ? "window" : "run", info->first_time, info->last_time + 1);
}

void cli_session_lend(const struct cli_session *session, struct cli_moment *moment)
{
    moment->kept = session->kept;
    moment->manner = &session->manner;
}

/* Behind its last instruction the program has exited: $_exitcode is known from then on. */
static void note_exit(struct cli_session *session)
{
    int status;
    if (session->time == session->info->last_time + 1 &&
        cli_run_end(session->wet, &status) == CLI_RUN_END_EXIT)
        cli_kept_set_integer(session->kept, "_exitcode", status);
}

int cli_session_go(struct cli_session *session, wetdbg_time time)
{
    struct cli_moment *moment;
    int err = cli_session_check_time(session, time);
    if (!err)
        err = cli_moment_open(session->wet, time, &moment);
    if (err)
        return err;
    cli_moment_close(session->moment);
    cli_session_lend(session, moment);
    session->moment = moment;
    session->time = time;
    session->frame = cli_moment_first_frame(moment);
    session->skipped = 0;
    session->stopped_at = 0;
    session->list_file = NULL;
    note_exit(session);
    return 0;
}

int cli_session_go_to(struct cli_session *session, wetdbg_time time,
                      const struct wetdbg_thread *thread)
{
    int err = cli_session_go(session, time);
    if (err)
        return err;
    if (thread && session->moment->thread != thread &&
        cli_moment_select(session->moment, thread) == 0)
        session->frame = cli_moment_first_frame(session->moment);
    return 0;
}

int cli_session_moment(struct cli_session *session, struct cli_moment **moment)
{
    int err = session->moment ? 0 : cli_session_go(session, session->time);
    if (!err)
        *moment = session->moment;
    return err;
}

int cli_session_crash_time(const struct cli_session *session, wetdbg_time *time)
{
    if (!session->info->signal)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "the run did not crash: it was not ended by a signal");
    *time = session->info->signal_time;
    return 0;
}

/* ---- where we are ---- */

static json_t *json_of_position(struct cli_session *session, const struct cli_place *place)
{
    json_t *object = cli_json_object("wetdbg.position/1");
    cli_json_set(object, "time", cli_json_count(session->time));
    cli_json_set(object, "task", cli_json_count(wetdbg_state_task(session->moment->state)));
    cli_thread_to_json(object, session, session->moment->thread);
    cli_place_to_json(object, place);
    cli_displays_to_json(object, session);
    cli_uncertain_to_json(object, session, session->time);
    return object;
}

/* The place of a frame as the backtrace has it: where several lines begin, the one that a
 * breakpoint was set on. */
static void place_of_frame(struct cli_session *session, const struct cli_frame *frame,
                           struct cli_place *place)
{
    cli_place_of_pc(session, frame->lookup_pc, place);
    place->function = frame->function;
    place->linkage_name = frame->linkage_name;
    place->file = frame->file;
    place->line = frame->line;
    place->text = cli_source_text(session, frame->file, frame->line, frame->lookup_pc);
}

/* The frame that is shown: the innermost one that was entered. */
static size_t shown_frame(const struct cli_session *session)
{
    return session->skipped < session->moment->frame_count ? session->skipped : 0;
}

json_t *cli_session_position(struct cli_session *session)
{
    struct cli_place place;
    place_of_frame(session, &session->moment->frames[shown_frame(session)], &place);
    return json_of_position(session, &place);
}

int cli_session_print_position(struct cli_session *session)
{
    struct cli_moment *moment;
    struct cli_place place;
    struct cli_out *out = session->out;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    place_of_frame(session, &moment->frames[shown_frame(session)], &place);
    if (out->json) {
        cli_out_json(out, json_of_position(session, &place));
        return 0;
    }
    fprintf(out->stream, "time %" PRIu64, session->time);
    if (cli_has_threads(session)) {
        fputs(", ", out->stream);
        cli_thread_print(out, moment->thread);
    }
    fputs(": ", out->stream);
    if (place.file)
        cli_out_text(out, place.function ? place.function : "?");
    else
        cli_place_print_exact(session, &place);
    fputs(place.file ? " at " : " in ", out->stream);
    cli_place_print(out, &place);
    putc('\n', out->stream);
    if (place.text) {
        fprintf(out->stream, "%" PRIu32 "\t", place.line);
        cli_out_text(out, place.text);
        putc('\n', out->stream);
    }
    cli_displays_print(session);
    cli_uncertain_print(session, session->time);
    return 0;
}

/* ---- on opening ---- */

static void print_how_it_ended(struct cli_session *session)
{
    struct cli_out *out = session->out;
    const struct wetdbg_info *info = session->info;
    const char *reason = cli_signal_reason(info->signal, info->signal_code);
    int number;
    switch (cli_run_end(session->wet, &number)) {
    case CLI_RUN_END_SIGNAL:
        fprintf(out->stream, ": %s%s%s", cli_out_style(out, CLI_STYLE_BOLD),
                cli_signal_name(number), cli_out_style(out, CLI_STYLE_NONE));
        if (reason)
            fprintf(out->stream, " (%s: 0x%" PRIx64 ")", reason, info->signal_address);
        return;
    case CLI_RUN_END_KILLED:
        fprintf(out->stream, ": killed from outside by %s", cli_signal_name(number));
        return;
    case CLI_RUN_END_EXIT:
        fprintf(out->stream, ": exited with status %d", number);
        return;
    case CLI_RUN_END_EXEC:
        fputs(": went on as another program", out->stream);
        return;
    case CLI_RUN_END_UNKNOWN:
        break;
    }
    fputs(info->has_end ? ": the recording does not tell how it ended" : ": ends after the window",
          out->stream);
}

static void print_end(struct cli_session *session)
{
    struct cli_out *out = session->out;
    const struct wetdbg_info *info = session->info;
    cli_out_text(out, info->program);
    print_how_it_ended(session);
    fprintf(out->stream, ", %" PRIu64 " instructions, %" PRIu64 " thread%s", info->instructions,
            info->threads, info->threads == 1 ? "" : "s");
    if (info->is_window)
        fprintf(out->stream, "; a window of the run: times %" PRIu64 " to %" PRIu64,
                info->first_time, info->last_time);
    putc('\n', out->stream);
}

/* Says that debug information is missing for the first call that has no line: people wonder why
 * there are no variables. */
static void print_missing_debug(struct cli_session *session)
{
    const struct cli_moment *moment = session->moment;
    size_t i = 0;
    while (i < moment->frame_count &&
           (moment->frames[i].file || moment->frames[i].is_signal || !moment->frames[i].module))
        i++;
    if (i == moment->frame_count)
        return;
    char *missing = cli_debug_missing(session->model, moment->frames[i].lookup_pc);
    if (missing) {
        fputc('(', session->out->stream);
        cli_out_text(session->out, missing);
        fputs("; 'info modules' lists all)\n", session->out->stream);
    }
    free(missing);
}

void cli_session_print_ways_on(struct cli_session *session)
{
    fputs(session->info->signal ? "(you stand where it struck: 'origin EXPRESSION' and 'slice "
                                  "backward crash' tell why, "
                                  "'reverse-step' goes back)\n"
                                : "(you stand at the end: 'start' goes to main, 'goto FILE:LINE#K' "
                                  "to a line, 'break' and "
                                  "'reverse-continue' back)\n",
          session->out->stream);
}

/* A recursion without end has thousands of frames, which nobody asked for yet. */
enum { OPENING_FRAMES = 20 };

int cli_session_print_opening(struct cli_session *session)
{
    struct cli_moment *moment;
    print_end(session);
    if (!session->info->signal)
        return 0;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    const struct cli_frame *frame = &moment->frames[session->frame];
    const char *text = cli_source_text(session, frame->file, frame->line, frame->lookup_pc);
    if (text) {
        cli_out_text(session->out, cli_base_name(frame->file));
        fprintf(session->out->stream, ":%" PRIu32 ": ", frame->line);
        cli_out_text(session->out, text);
        putc('\n', session->out->stream);
    }
    err = cli_backtrace_print(session, OPENING_FRAMES);
    if (!err)
        print_missing_debug(session);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step, next, stepi, nexti and their ways back; finish, reverse-finish; `until` without a place. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/disassembly.h"
#include "dbgcli/commands/go_on.h"
#include "dbgcli/eval/kept.h"
#include "dbgcli/eval/value.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/call_walk.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/stepping.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

#define STEP_SYNTAX(name, sample, text)                                                            \
    const struct cli_syntax cli_cmd_##name##_syntax = {                                            \
        .example = (sample),                                                                       \
        .usage = "[COUNT]",                                                                        \
        .operands_max = 1,                                                                         \
        .details = (text),                                                                         \
    }

STEP_SYNTAX(step, "step 5",
            "To the start of another line that the thread shown executes, COUNT times. Enters\n"
            "functions that have line information; others, and signal handlers, are passed over.");
STEP_SYNTAX(next, "next", "As step, but functions that are called are passed over.");
STEP_SYNTAX(reverse_step, "reverse-step",
            "As step, backward: to the start of the line that was executed before; enters\n"
            "functions at their end.");
STEP_SYNTAX(reverse_next, "reverse-next 3",
            "As reverse-step, but functions that were called are passed over.");
STEP_SYNTAX(stepi, "stepi 10",
            "To the next instruction that the thread shown executes, COUNT times.");
STEP_SYNTAX(nexti, "nexti", "As stepi, but a call counts as one instruction.");
STEP_SYNTAX(reverse_stepi, "reverse-stepi", "To the instruction before, COUNT times.");
STEP_SYNTAX(reverse_nexti, "reverse-nexti 2",
            "As reverse-stepi, but a call counts as one instruction.");

const struct cli_syntax cli_cmd_finish_syntax = {
    .example = "finish",
    .usage = "",
    .details = "To where the function of the selected frame returns, and the value that it "
               "returns. Of an\n"
               "inlined function to where the code goes on in the function that it is part of.",
};

const struct cli_syntax cli_cmd_reverse_finish_syntax = {
    .example = "reverse-finish",
    .usage = "",
    .details =
        "Back to the call of the selected frame's function; of a signal handler, to what the\n"
        "signal interrupted.",
};

/* ---- going there ---- */

/* The time at which what the walk's thread did ends. */
static wetdbg_time end_time(const struct cli_session *session, const struct wetdbg_thread *thread)
{
    const struct wetdbg_info *info = session->info;
    if (info->signal && info->signal_time && thread == session->struck)
        return info->signal_time;
    if (info->signal && info->signal_time && info->threads < 2)
        return info->signal_time;
    return thread->has_ended && thread->end < info->last_time ? thread->end + 1
                                                              : info->last_time + 1;
}

static void print_end(struct cli_session *session, const struct wetdbg_thread *thread,
                      bool is_start)
{
    struct cli_out *out = session->out;
    if (out->json)
        return;
    if (cli_has_threads(session)) {
        cli_thread_print(out, thread);
        fprintf(out->stream, " %s here\n", is_start ? "begins" : "ends");
    } else {
        fprintf(out->stream, "the run %s here\n", is_start ? "begins" : "ends");
    }
}

#define STOPPED 1 /* a breakpoint did, on the way: that has been said */

/* Makes the session stand where the walk does, or says to which end it came; or stands where
 * something stops it before that: STOPPED. */
static int arrive(struct cli_repl *repl, const struct cli_calls *calls, bool is_at_end,
                  bool is_back)
{
    struct cli_session *session = repl->session;
    const struct wetdbg_thread *thread = wetdbg_walk_thread(calls->walk);
    wetdbg_time time =
        wetdbg_walk_is_end(calls->walk) ? end_time(session, thread) : wetdbg_walk_time(calls->walk);
    if (time == session->time && is_at_end && calls->skipped == session->skipped)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "this is the %s of %s", is_back ? "start" : "end",
                           cli_has_threads(session) ? "the thread" : "the run");
    struct cli_stop_search search = {.to = time, .is_back = is_back};
    int err = cli_stops_find(session, &search);
    if (err > 0) {
        err = cli_stops_arrive(repl, &search);
        return err ? err : STOPPED;
    }
    if (!err)
        err = cli_session_go_to(session, time, thread);
    if (err)
        return err;
    if (calls->skipped < session->moment->frame_count && !wetdbg_walk_is_end(calls->walk)) {
        session->skipped = calls->skipped;
        if (calls->skipped)
            session->frame = calls->skipped;
    }
    if (is_at_end)
        print_end(session, thread, is_back);
    return 0;
}

/* ---- steps ---- */

typedef int (*step_fn)(struct cli_calls *calls, bool over);

static int read_count(const struct cli_args *args, uint64_t *count)
{
    *count = 1;
    if (args->operand_count && (!cli_number_parse(args->operands[0], count) || !*count))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: '%s' is no count", args->name,
                           args->operands[0]);
    return 0;
}

static int run_steps(struct cli_repl *repl, const struct cli_args *args, step_fn step, bool over,
                     bool is_back)
{
    struct cli_session *session = repl->session;
    struct cli_calls calls;
    uint64_t count;
    int result = read_count(args, &count);
    if (!result)
        result = cli_calls_init(&calls, session);
    if (result)
        return result;
    result = 1;
    for (uint64_t i = 0; i < count && result > 0; i++)
        result = cli_interrupt_is_pending() ? wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted")
                                            : step(&calls, over);
    if (result >= 0)
        result = arrive(repl, &calls, result == 0, is_back);
    cli_calls_fini(&calls);
    return result;
}

static int step_by_line(struct cli_repl *repl, const struct cli_args *args, step_fn step, bool over,
                        bool is_back)
{
    int result = run_steps(repl, args, step, over, is_back);
    if (result)
        return result == STOPPED ? 0 : result;
    return cli_session_print_position(repl->session);
}

static int step_by_instruction(struct cli_repl *repl, const struct cli_args *args, step_fn step,
                               bool over, bool is_back)
{
    int err = run_steps(repl, args, step, over, is_back);
    if (!err)
        err = cli_session_print_position(repl->session);
    else if (err == STOPPED)
        err = 0;
    if (!err && !repl->out->json)
        cli_disassembly_print_current(repl->session);
    return err;
}

/* As `next`, until it is behind the line that it began in, or in another frame. */
static int step_until(struct cli_calls *calls, bool over)
{
    struct wetdbg_model *model = calls->session->model;
    struct wetdbg_function function;
    struct wetdbg_line line;
    if (wetdbg_walk_is_end(calls->walk))
        return 0;
    uint64_t slot = cli_calls_slot(calls), pc = wetdbg_walk_pc(calls->walk);
    bool has_line = wetdbg_line_at(model, pc, &line) == 0 && line.line;
    bool is_back = has_line && wetdbg_function_at(model, pc, &function) == 0;
    int result = cli_step_line(calls, over);
    while (result > 0 && is_back && cli_calls_slot(calls) == slot &&
           !wetdbg_walk_is_end(calls->walk)) {
        pc = wetdbg_walk_pc(calls->walk);
        is_back = pc >= function.start && pc < line.run_end;
        if (is_back)
            result = cli_interrupt_is_pending()
                         ? wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted")
                         : cli_step_line(calls, over);
    }
    return result;
}

int cli_step_until(struct cli_repl *repl)
{
    const struct cli_args none = {.name = "until"};
    return step_by_line(repl, &none, step_until, true, false);
}

#define LINE_COMMAND(name, step, over, is_back)                                                    \
    int cli_cmd_##name(struct cli_repl *repl, const struct cli_args *args, const char *format)     \
    {                                                                                              \
        (void)format;                                                                              \
        return step_by_line(repl, args, step, over, is_back);                                      \
    }
#define INSTRUCTION_COMMAND(name, step, over, is_back)                                             \
    int cli_cmd_##name(struct cli_repl *repl, const struct cli_args *args, const char *format)     \
    {                                                                                              \
        (void)format;                                                                              \
        return step_by_instruction(repl, args, step, over, is_back);                               \
    }

LINE_COMMAND(step, cli_step_line, false, false)
LINE_COMMAND(next, cli_step_line, true, false)
LINE_COMMAND(reverse_step, cli_step_line_back, false, true)
LINE_COMMAND(reverse_next, cli_step_line_back, true, true)
INSTRUCTION_COMMAND(stepi, cli_step_instruction, false, false)
INSTRUCTION_COMMAND(nexti, cli_step_instruction, true, false)
INSTRUCTION_COMMAND(reverse_stepi, cli_step_instruction_back, false, true)
INSTRUCTION_COMMAND(reverse_nexti, cli_step_instruction_back, true, true)

/* ---- finish ---- */

/* The frame to go back out of: those of one machine's frame are called together. */
static int frame_to_leave(struct cli_session *session, uint64_t *slot, uint64_t *address)
{
    struct cli_moment *moment;
    int result = cli_session_moment(session, &moment);
    return result ? result : cli_calls_frame(moment, session->frame, slot, address);
}

/* Prints the position and, if it can be told, the value of that type that was returned. */
static int print_result(struct cli_session *session, const struct wetdbg_type *type)
{
    struct cli_value value;
    char *text = NULL;
    if (type && type->kind != WETDBG_TYPE_VOID &&
        cli_value_of_result(session->moment, type, &value) == 0)
        text = cli_value_text(session->moment, &value, "", false);
    if (text)
        cli_kept_add(session->kept, session->moment, &value, "finish", text);
    int err = 0;
    if (session->out->json) {
        json_t *object = cli_session_position(session);
        cli_json_set(object, "returned", cli_json_text(text));
        cli_json_set(object, "returned_type", cli_json_text(text ? type->name : NULL));
        cli_out_json(session->out, object);
    } else {
        err = cli_session_print_position(session);
        if (!err && text) {
            fputs("value returned: ", session->out->stream);
            cli_out_lines(session->out, text);
            putc('\n', session->out->stream);
        }
    }
    free(text);
    return err;
}

/* Leaves the function of a frame that a call made. enum cli_calls_end, or an error. */
static int leave_function(struct cli_calls *calls, const struct cli_moment *moment, size_t frame)
{
    uint64_t slot, address;
    int result = cli_calls_frame(moment, frame, &slot, &address);
    if (!result)
        result = cli_calls_forward(calls, slot, address);
    if (result == CLI_CALLS_DONE)
        cli_step_stay_outside(calls);
    return result;
}

/* Leaves an inlined function, after what it has called. enum cli_calls_end, or an error. */
static int leave_inlined(struct cli_calls *calls, const struct cli_moment *moment, size_t frame)
{
    uint64_t lookup_pc = moment->frames[frame].lookup_pc;
    size_t depth = moment->frames[frame].depth;
    int result = CLI_CALLS_DONE;
    if (frame > depth) {
        result = leave_function(calls, moment, frame - depth - 1);
        if (result == CLI_CALLS_DONE && cli_calls_unwind(calls) < 0)
            return -WETDBG_ERR_NOT_FOUND;
    }
    if (result != CLI_CALLS_DONE)
        return result;
    result = cli_step_out_inlined(calls, lookup_pc, depth);
    return result < 0 ? result : result ? CLI_CALLS_DONE : CLI_CALLS_ENDED;
}

int cli_cmd_finish(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_moment *moment;
    struct cli_calls calls;
    struct wetdbg_type type = {.kind = WETDBG_TYPE_VOID};
    (void)args;
    (void)format;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    const struct cli_frame *frame = &moment->frames[session->frame];
    bool is_inlined = frame->is_inlined;
    if (!is_inlined &&
        wetdbg_function_result(session->model, frame->lookup_pc, frame->depth, &type) != 0)
        type.kind = WETDBG_TYPE_VOID;
    err = cli_calls_init(&calls, session);
    if (err)
        return err;
    calls.skipped = 0;
    int end = is_inlined ? leave_inlined(&calls, moment, session->frame)
                         : leave_function(&calls, moment, session->frame);
    err = end < 0 ? end : arrive(repl, &calls, end == CLI_CALLS_ENDED, false);
    cli_calls_fini(&calls);
    if (!err && end == CLI_CALLS_LEFT && !session->out->json)
        fputs("the function was left without its return\n", session->out->stream);
    if (err)
        return err == STOPPED ? 0 : err;
    return print_result(session, end == CLI_CALLS_DONE ? &type : NULL);
}

/* A handler's frame, which no call made. */
struct delivery {
    uint64_t slot, address;
    uint32_t task;
    wetdbg_time until;
    wetdbg_time time; /* of the latest one, that is of the instruction before it; 0: none */
};

static int note_delivery(void *arg, const struct wetdbg_event *event)
{
    struct delivery *delivery = arg;
    if (event->time >= delivery->until)
        return 1;
    if (event->task == delivery->task && event->calls_handler &&
        event->registers->rsp == delivery->slot && event->handler_return == delivery->address)
        delivery->time = event->time;
    return 0;
}

/* Goes back to where the signal struck, if the frame is a handler's; else to its call. enum
 * cli_calls_end, or an error. */
static int leave_backward(struct cli_session *session, struct cli_calls *calls, uint64_t slot,
                          uint64_t address)
{
    struct delivery delivery = {
        .slot = slot,
        .address = address,
        .task = wetdbg_walk_thread(calls->walk)->task,
        .until = session->time,
    };
    int result = wetdbg_each_event(session->wet, note_delivery, &delivery);
    if (result < 0)
        return result;
    if (delivery.time) {
        result = wetdbg_walk_seek_back(calls->walk, delivery.time);
        return result > 0 ? CLI_CALLS_DONE : result < 0 ? result : CLI_CALLS_ENDED;
    }
    result = cli_calls_previous(calls);
    return result > 0   ? cli_calls_back(calls, slot, address)
           : result < 0 ? result
                        : CLI_CALLS_ENDED;
}

int cli_cmd_reverse_finish(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_calls calls;
    uint64_t slot, address;
    (void)args;
    (void)format;
    int result = frame_to_leave(session, &slot, &address);
    if (!result)
        result = cli_calls_init(&calls, session);
    if (result)
        return result;
    calls.skipped = 0;
    result = leave_backward(session, &calls, slot, address);
    if (result >= 0)
        result = arrive(repl, &calls, result == CLI_CALLS_ENDED, true);
    cli_calls_fini(&calls);
    if (result)
        return result == STOPPED ? 0 : result;
    return cli_session_print_position(session);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* continue, reverse-continue, advance, until, run, start: through the run to what stops it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/go_on.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/stepping.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_continue_syntax = {
    .example = "continue parse.c:120",
    .usage = "[COUNT|FILE:LINE|FUNCTION|*ADDRESS]",
    .operands_max = 1,
    .details = "To the next stop: a breakpoint, watchpoint or catchpoint, or the place that is\n"
               "named, reached by any thread. Without a place, and with nothing that stops it, to\n"
               "the end of the run. COUNT passes the breakpoint that stopped here COUNT - 1 times.",
};

const struct cli_syntax cli_cmd_reverse_continue_syntax = {
    .example = "reverse-continue parse_line",
    .usage = "[COUNT|FILE:LINE|FUNCTION|*ADDRESS]",
    .operands_max = 1,
    .details = "As continue, but back: to the stop before, or to the start of the run.",
};

const struct cli_syntax cli_cmd_advance_syntax = {
    .example = "advance parse.c:120",
    .usage = "FILE:LINE|LINE|FUNCTION|*ADDRESS",
    .operands_min = 1,
    .operands_max = 1,
    .details = "To the next time that the thread is there, or to where the selected frame's\n"
               "function returns, whichever comes first.",
};

const struct cli_syntax cli_cmd_until_syntax = {
    .example = "until",
    .usage = "[FILE:LINE|LINE|FUNCTION|*ADDRESS]",
    .operands_max = 1,
    .details =
        "Without a place as 'next', but not back to an earlier line: out of a loop, over all\n"
        "of its turns. With a place as 'advance'.",
};

const struct cli_syntax cli_cmd_run_syntax = {
    .example = "run",
    .usage = "",
    .details =
        "From the start of the run to the first stop. The run is recorded: its arguments and\n"
        "its input are what they were.",
};

const struct cli_syntax cli_cmd_start_syntax = {
    .example = "start",
    .usage = "",
    .details = "To the beginning of main.",
};

/* ---- ends ---- */

static wetdbg_time end_of_run(const struct cli_session *session, bool is_back)
{
    const struct wetdbg_info *info = session->info;
    if (is_back)
        return info->first_time;
    return info->signal && info->signal_time ? info->signal_time : info->last_time + 1;
}

/* Nothing stops: stands at the run's end, or its start. */
static int go_to_end(struct cli_repl *repl, bool is_back)
{
    struct cli_session *session = repl->session;
    wetdbg_time time = end_of_run(session, is_back);
    if (time == session->time)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "this is the %s of the run",
                           is_back ? "start" : "end");
    int err = cli_session_go(session, time);
    return err ? err : cli_session_print_position(session);
}

/* ---- continue ---- */

/* Reads COUNT, and has the breakpoint that stopped here ignored so often. */
static int take_count(struct cli_session *session, const char *text)
{
    struct cli_breakpoints *all = session->breakpoints;
    uint64_t count;
    if (!cli_number_parse(text, &count) || !count)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "continue: '%s' is no count", text);
    for (size_t i = 0; i < all->count; i++)
        if (all->list[i]->number == session->stopped_at) {
            all->list[i]->is.ignore = count - 1;
            if (count > 1 && !session->out->json)
                fprintf(session->out->stream,
                        "Will ignore next %" PRIu64 " crossings of breakpoint %u.  Continuing.\n",
                        count - 1, session->stopped_at);
            return 0;
        }
    return count == 1
               ? 0
               : wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                             "no breakpoint stopped here that could be passed %s times", text);
}

/* `thread`: only where that one is there. */
static int go_on(struct cli_repl *repl, bool is_back, const uint64_t *pcs, size_t pc_count,
                 const char *where)
{
    struct cli_session *session = repl->session;
    struct cli_stop_search search = {
        .to = end_of_run(session, is_back),
        .is_back = is_back,
        .pcs = pcs,
        .pc_count = pc_count,
    };
    int result = cli_stops_find(session, &search);
    if (result < 0)
        return result;
    if (result)
        return cli_stops_arrive(repl, &search);
    if (!where)
        return go_to_end(repl, is_back);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s is not reached %s time %" PRIu64, where,
                       is_back ? "before" : "after", session->time);
}

static int run_continue(struct cli_repl *repl, const struct cli_args *args, bool is_back)
{
    struct cli_session *session = repl->session;
    const char *where = args->operand_count ? args->operands[0] : NULL;
    uint64_t *pcs = NULL, number;
    size_t count = 0;
    int err = 0;
    if (where && cli_number_parse(where, &number)) {
        err = take_count(session, where);
        where = NULL;
    } else if (where) {
        err = cli_break_location(session, where, &pcs, &count);
    }
    if (!err)
        err = go_on(repl, is_back, pcs, count, where);
    free(pcs);
    return err;
}

int cli_cmd_continue(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return run_continue(repl, args, false);
}

int cli_cmd_reverse_continue(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return run_continue(repl, args, true);
}

/* ---- run, start ---- */

int cli_cmd_run(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)args;
    (void)format;
    int err = cli_session_go(repl->session, repl->session->info->first_time);
    return err ? err : go_on(repl, false, NULL, 0, NULL);
}

int cli_cmd_start(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    uint64_t *pcs;
    size_t count;
    (void)args;
    (void)format;
    int err = cli_break_location(session, "main", &pcs, &count);
    if (err)
        return err;
    wetdbg_time time;
    err = wetdbg_find_instance(session->wet, pcs, count, 1, &time);
    free(pcs);
    if (!err)
        err = cli_session_go(session, time);
    return err ? err : cli_session_print_position(session);
}

/* ---- advance, until ---- */

/* Where the selected frame's function returns, at the latest; the end of the run if it does not. */
static int time_of_return(struct cli_session *session, wetdbg_time *time)
{
    struct cli_calls calls;
    uint64_t slot, address;
    *time = end_of_run(session, false);
    if (cli_calls_frame(session->moment, session->frame, &slot, &address) != 0)
        return 0; /* the outermost one */
    int result = cli_calls_init(&calls, session);
    if (result)
        return result;
    result = cli_calls_forward(&calls, slot, address);
    if (result >= 0 && !wetdbg_walk_is_end(calls.walk))
        *time = wetdbg_walk_time(calls.walk);
    cli_calls_fini(&calls);
    return result < 0 ? result : 0;
}

static int advance(struct cli_repl *repl, const char *where)
{
    struct cli_session *session = repl->session;
    struct cli_stop_search search = {.is_back = false};
    struct cli_moment *moment;
    uint64_t *pcs;
    int err = cli_session_moment(session, &moment);
    if (!err)
        err = cli_break_location(session, where, &pcs, &search.pc_count);
    if (err)
        return err;
    search.pcs = pcs;
    search.thread = moment->thread;
    int result = time_of_return(session, &search.to);
    if (result >= 0)
        result = cli_stops_find(session, &search);
    free(pcs);
    if (result < 0)
        return result;
    if (!result)
        search.time = search.to;
    if (search.time == session->time)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "this is the end of the run");
    return cli_stops_arrive(repl, &search);
}

int cli_cmd_advance(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return advance(repl, args->operands[0]);
}

int cli_cmd_until(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return args->operand_count ? advance(repl, args->operands[0]) : cli_step_until(repl);
}

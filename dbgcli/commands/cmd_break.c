/* SPDX-License-Identifier: GPL-3.0-or-later */
/* break, tbreak, rbreak, watch, rwatch, awatch: what makes breakpoints and watchpoints. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/breakpoints.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

#define RBREAK_MAX 1000

#define BREAK_USAGE "[LINE|FILE:LINE|FUNCTION|*ADDRESS] [thread N] [if CONDITION]"

const struct cli_syntax cli_cmd_break_syntax = {
    .example = "break parse.c:120 if depth > 3",
    .usage = BREAK_USAGE,
    .operands_max = 1,
    .is_raw = true,
    .details =
        "From now on 'continue', 'step' and the others that go through the run, also backward,\n"
        "stop where that code is about to run: if the condition holds there, and for thread N\n"
        "only. How often the code runs in all is said at once. Without a place, where the\n"
        "selected frame stands; LINE, +N and -N are lines of its file; FILE:FUNCTION is one of\n"
        "several of the name; a function counts where it is inlined, too.\n"
        "'info breakpoints' lists them, with what they have counted.",
};

const struct cli_syntax cli_cmd_tbreak_syntax = {
    .example = "tbreak main",
    .usage = BREAK_USAGE,
    .operands_max = 1,
    .is_raw = true,
    .details = "As break, but it goes when it has stopped once.",
};

const struct cli_syntax cli_cmd_rbreak_syntax = {
    .example = "rbreak ^parse_",
    .usage = "REGEX",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "A breakpoint on each function that has lines and whose name matches.",
};

#define WATCH_USAGE "[-l] EXPRESSION [thread N] [if CONDITION]"

const struct cli_syntax cli_cmd_watch_syntax = {
    .example = "watch table[3].width",
    .usage = WATCH_USAGE,
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details =
        "From now on what goes through the run stops where the bytes that the expression now\n"
        "stands for are given other values, by the program or by the kernel: forward, behind the\n"
        "write, backward, before it. So 'reverse-continue' goes to the last write of a variable.\n"
        "What lies in a function's frame is watched until that call is over; -l (-location)\n"
        "watches the place itself, whoever uses it. 'history' lists all writes at once.",
};

const struct cli_syntax cli_cmd_rwatch_syntax = {
    .example = "rwatch total",
    .usage = WATCH_USAGE,
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "As watch, but stops where an instruction reads the bytes. What the kernel reads\n"
               "is not known.",
};

const struct cli_syntax cli_cmd_awatch_syntax = {
    .example = "awatch *0x7ffe1230",
    .usage = WATCH_USAGE,
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "As watch and rwatch in one; writes of what was there already count too.",
};

/* ---- breakpoints ---- */

/* Takes over `pcs`, `what` and `condition`. */
static struct cli_breakpoint *make(struct cli_session *session, uint64_t *pcs, size_t count,
                                   char *what, const struct wetdbg_thread *thread, char *condition)
{
    struct cli_breakpoint *one = cli_breakpoint_add(session, WETDBG_BREAK_CODE);
    one->what = what;
    one->pcs = pcs;
    one->is.pcs = pcs;
    one->is.pc_count = count;
    one->is.thread = thread;
    cli_breakpoint_set_condition(one, condition);
    free(condition);
    return one;
}

/* A condition is tried where the breakpoint is first reached: a name that nobody knows there is
 * told now. */
static int try_condition(struct cli_session *session, const uint64_t *pcs, size_t count,
                         const char *condition)
{
    wetdbg_time time;
    struct cli_moment *moment;
    struct wetdbg_type type;
    if (!condition || wetdbg_find_instance(session->wet, pcs, count, 1, &time) != 0)
        return 0;
    int err = cli_moment_open(session->wet, time, &moment);
    if (err)
        return err;
    cli_session_lend(session, moment);
    struct cli_frame_view view = {moment, 0};
    err = cli_value_type(&view, condition, &type);
    cli_moment_close(moment);
    return err;
}

static int add_breakpoint(struct cli_repl *repl, const struct cli_args *args,
                          enum cli_disposition disposition)
{
    struct cli_session *session = repl->session;
    const struct wetdbg_thread *thread;
    char *what, *condition;
    uint64_t *pcs;
    size_t count;
    const char *text = args->operand_count ? args->operands[0] : "";
    int err = cli_break_clauses(session, text, &what, &thread, &condition);
    if (err)
        return err;
    err = cli_break_location(session, what, &pcs, &count);
    if (!err) {
        err = try_condition(session, pcs, count, condition);
        if (err)
            free(pcs);
    }
    if (err) {
        free(what);
        free(condition);
        return err;
    }
    struct cli_breakpoint *one = make(session, pcs, count, what, thread, condition);
    one->disposition = disposition;
    cli_breakpoint_print_new(one);
    return 0;
}

int cli_cmd_break(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return add_breakpoint(repl, args, CLI_KEEP);
}

int cli_cmd_tbreak(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return add_breakpoint(repl, args, CLI_DELETE);
}

struct matching {
    struct cli_session *session;
    json_t *array;
    size_t count;
};

static int add_matching(void *context, const struct wetdbg_function *function)
{
    struct matching *matching = context;
    struct cli_session *session = matching->session;
    struct wetdbg_line line;
    uint64_t body;
    if (function->flags & (WETDBG_FUNCTION_PLT | WETDBG_FUNCTION_COLD) ||
        wetdbg_line_at(session->model, function->start, &line) != 0 || !line.line)
        return 0;
    if (++matching->count > RBREAK_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "more than %d functions match", RBREAK_MAX);
    if (wetdbg_function_body(session->model, function->start, &body) != 0)
        body = function->start;
    uint64_t *pcs = cli_realloc(NULL, 1, sizeof(*pcs));
    *pcs = body;
    struct cli_breakpoint *one = make(session, pcs, 1, cli_strdup(function->name), NULL, NULL);
    if (matching->array)
        cli_json_append(matching->array, cli_breakpoint_to_json(one));
    else
        cli_breakpoint_print_new(one);
    return 0;
}

int cli_cmd_rbreak(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct matching matching = {.session = repl->session};
    (void)format;
    matching.array = repl->out->json ? json_array() : NULL;
    int err =
        wetdbg_functions_each(repl->session->model, args->operands[0], add_matching, &matching);
    if (!err && !matching.count)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no function with lines matches '%s'",
                          args->operands[0]);
    if (matching.array && !err) {
        json_t *object = cli_json_object("wetdbg.breakpoints/1");
        cli_json_set(object, "breakpoints", matching.array);
        cli_out_json(repl->out, object);
    } else {
        json_decref(matching.array);
    }
    return err;
}

/* ---- watchpoints ---- */

/* Finds the frame in which an address lies, and has the breakpoint watch it there only. */
static void bind_to_frame(struct cli_session *session, struct cli_breakpoint *one)
{
    const struct cli_moment *moment = session->moment;
    struct wetdbg_function function;
    uint64_t slot;
    size_t index;
    if (!cli_frame_holding(session->moment, one->is.range.start, &slot, &index))
        return;
    one->is.frame_slot = slot;
    one->is.frame_time = session->time;
    if (wetdbg_function_at(session->model, moment->frames[index].lookup_pc, &function) == 0)
        one->is.frame_function = (struct wetdbg_range){function.start, function.end};
}

/* The bytes of an expression: a value that is in memory. */
static int find_watched(struct cli_session *session, const char *text, struct cli_value *value,
                        struct wetdbg_range *range)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct cli_frame_view view = {moment, session->frame};
    err = cli_value_evaluate_through(&view, text, value);
    if (err)
        return err;
    uint64_t size = value->type.size_bytes;
    if (!value->is_in_memory)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "'%s' is not in memory here but in a register, or was computed: only "
                           "memory is watched (try 'origin %s')",
                           text, text);
    if (!size || value->address > UINT64_MAX - size)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the size of '%s' is not known", text);
    *range = (struct wetdbg_range){value->address, value->address + size};
    if (value->bit_size) {
        range->start += value->bit_offset / 8;
        range->end = value->address + (value->bit_offset + value->bit_size + 7) / 8;
    }
    return 0;
}

/* Cuts -l, -loc or -location off the front. */
static bool take_location(const char **text)
{
    static const char *const forms[] = {"-location", "-loc", "-l"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
        size_t length = strlen(forms[i]);
        if (strncmp(*text, forms[i], length) == 0 && strchr(" \t", (*text)[length]) &&
            (*text)[length]) {
            *text += length + strspn(*text + length, " \t");
            return true;
        }
    }
    return false;
}

static int add_watchpoint(struct cli_repl *repl, const struct cli_args *args,
                          enum wetdbg_break_kind kind)
{
    struct cli_session *session = repl->session;
    const struct wetdbg_thread *thread;
    struct cli_value value;
    struct wetdbg_range range;
    const char *text = args->operands[0];
    char *what, *condition;
    bool is_place = take_location(&text);
    int err = cli_break_clauses(session, text, &what, &thread, &condition);
    if (err)
        return err;
    err = find_watched(session, what, &value, &range);
    if (err) {
        free(what);
        free(condition);
        return err;
    }
    struct cli_breakpoint *one = cli_breakpoint_add(session, kind);
    one->what = is_place ? cli_asprintf("-location %s", what) : cli_strdup(what);
    one->watched = cli_malloc(sizeof(value));
    *one->watched = value;
    one->function = session->moment->frames[session->frame].function;
    one->is.range = range;
    one->is.thread = thread;
    cli_breakpoint_set_condition(one, condition);
    if (!is_place)
        bind_to_frame(session, one);
    free(what);
    free(condition);
    cli_breakpoint_print_new(one);
    return 0;
}

int cli_cmd_watch(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return add_watchpoint(repl, args, WETDBG_BREAK_WATCH);
}

int cli_cmd_rwatch(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return add_watchpoint(repl, args, WETDBG_BREAK_READ_WATCH);
}

int cli_cmd_awatch(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return add_watchpoint(repl, args, WETDBG_BREAK_ACCESS_WATCH);
}

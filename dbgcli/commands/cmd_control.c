/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `if`, `while` and how a loop is left: branches among the lines that wait in repl/block.h. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/session.h"
#include "dbgcli/eval/arithmetic.h"
#include "dbgcli/repl/block.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_if_syntax = {
    .example = "if depth > 3",
    .usage = "CONDITION",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "The lines that follow, up to 'else' or 'end', are run if the expression is not\n"
               "zero where the session stands; those between 'else' and 'end' if it is. They may\n"
               "hold others of these, also in 'define' and 'commands'.",
};

const struct cli_syntax cli_cmd_while_syntax = {
    .example = "while node != 0",
    .usage = "CONDITION",
    .operands_min = 1,
    .operands_max = 1,
    .is_raw = true,
    .details = "The lines that follow, up to 'end', are run as long as the expression is not zero\n"
               "where the session then stands, up to the first line that fails. Ctrl-C ends it.",
};

const struct cli_syntax cli_cmd_loop_break_syntax = {
    .example = "loop_break",
    .usage = "",
    .details = "Leaves the innermost 'while' that it stands in.",
};

const struct cli_syntax cli_cmd_loop_continue_syntax = {
    .example = "loop_continue",
    .usage = "",
    .details = "Begins the next turn of the innermost 'while' that it stands in.",
};

/* Whether the expression is true in the selected frame. */
static int ask(struct cli_session *session, const char *condition, bool *is_true)
{
    struct cli_moment *moment;
    int err = cli_session_moment(session, &moment);
    if (err)
        return err;
    struct cli_frame_view view = {moment, session->frame};
    return cli_condition_ask(&view, condition, is_true);
}

/* The index of the block's own `else`; `count` if it has none. */
static size_t find_else(char *const *lines, size_t count)
{
    int depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (!depth && cli_line_is(lines[i], "else"))
            return i;
        depth += cli_line_nesting(lines[i]);
    }
    return count;
}

static int take_if(struct cli_repl *repl, char **lines, size_t count, void *arg)
{
    char *condition = arg;
    bool is_true = false;
    int err = lines ? ask(repl->session, condition, &is_true) : 0;
    size_t middle = find_else(lines, count);
    if (is_true)
        cli_queue_lines(repl, lines, middle);
    else if (!err && middle < count)
        cli_queue_lines(repl, lines + middle + 1, count - middle - 1);
    free(condition);
    return err;
}

int cli_cmd_if(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    cli_repl_collect(repl, take_if, cli_strdup(args->operands[0]));
    return 0;
}

/* Has the lines run, and then those that decide about the next turn: the loop itself. */
static void queue_turns(struct cli_repl *repl, const char *condition, char **lines, size_t count)
{
    char **turn = cli_realloc(NULL, count + 2, sizeof(*turn));
    turn[0] = cli_asprintf("while %s", condition);
    memcpy(turn + 1, lines, count * sizeof(*turn));
    turn[count + 1] = (char *)"end";
    cli_queue_lines(repl, lines, count);
    cli_queue_turn(repl, turn, count + 2);
    free(turn[0]);
    free(turn);
}

static int take_while(struct cli_repl *repl, char **lines, size_t count, void *arg)
{
    char *condition = arg;
    bool is_true = false;
    int err = lines ? ask(repl->session, condition, &is_true) : 0;
    if (is_true)
        queue_turns(repl, condition, lines, count);
    free(condition);
    return err;
}

int cli_cmd_while(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    cli_repl_collect(repl, take_while, cli_strdup(args->operands[0]));
    return 0;
}

static int leave_turn(struct cli_repl *repl, const struct cli_args *args, bool is_break)
{
    return cli_queue_leave_turn(repl, is_break)
               ? 0
               : wetdbg_fail(-WETDBG_ERR_USAGE, "%s: it stands in no 'while'", args->name);
}

int cli_cmd_loop_break(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return leave_turn(repl, args, true);
}

int cli_cmd_loop_continue(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    (void)format;
    return leave_turn(repl, args, false);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `goto`: stands at another time of the run. */
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/stepping.h"

const struct cli_syntax cli_cmd_goto_syntax = {
    .example = "goto parse.c:120#3",
    .usage =
        "TIME|FILE:LINE[#K]|FUNCTION[#K]|*ADDRESS[#K]|output[:FD|:PATH]:OFFSET|BOOKMARK|crash|\n"
        "     end|start",
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "Makes another time the current one. TIME is the number of an instruction of the\n"
        "run, from 1: what is shown is the state just before it. #K is the K-th time that\n"
        "a breakpoint on the line would be hit, from -1 backwards; without it, the last.\n"
        "Code without lines goes by an address, or by what is shown for it: bc+0x2f1b, main+20.\n"
        "output:OFFSET is when the program put that byte of its output into the buffer from\n"
        "which it was written: 'backtrace' there says who did.",
};

static bool is_line(const struct cli_frame *frame, const char *file, uint32_t line)
{
    return frame->file && frame->line == line &&
           strcmp(cli_base_name(frame->file), cli_base_name(file)) == 0;
}

/* A line may begin with a function that is inlined into it: then it is the line that was asked for,
 * and the function is not entered yet. */
static void show_line_of(struct cli_session *session, const char *place)
{
    const struct cli_moment *moment = session->moment;
    char *file, *text = cli_strndup(place, strcspn(place, "#"));
    uint32_t line;
    if (cli_line_parse(text, &file, &line) == 0) {
        uint64_t pc = moment->frames[0].regs.value[WETDBG_REG_RIP];
        size_t most = cli_inlined_beginning(session->model, pc), at = 0;
        while (at < moment->frame_count && at <= most && !is_line(&moment->frames[at], file, line))
            at++;
        if (at <= most && at < moment->frame_count && session->frame <= at)
            session->frame = session->skipped = at;
        free(file);
    }
    free(text);
}

int cli_cmd_goto(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    wetdbg_time time;
    (void)format;
    int result = cli_time_parse(repl->session, args->operands[0], &time);
    if (!result)
        result = cli_session_go(repl->session, time);
    if (!result && strchr(args->operands[0], ':'))
        show_line_of(repl->session, args->operands[0]);
    return result ? result : cli_session_print_position(repl->session);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `goto`: stands at another time of the run. */
#include "dbgcli/nav/place.h"

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

int cli_cmd_goto(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    wetdbg_time time;
    (void)format;
    int result = cli_time_parse(repl->session, args->operands[0], &time);
    if (!result)
        result = cli_session_go(repl->session, time);
    return result ? result : cli_session_print_position(repl->session);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The prompt's commands, in the order in which help shows them. */
#include "dbgcli/commands/session.h"

const struct cli_command cli_commands[] = {
    {"slice", cli_cmd_slice, "what a crash, an output or a variable was due to",
     &cli_cmd_slice_syntax, NULL, false},
    {"why", cli_cmd_why, "how a line came into the last slice", &cli_cmd_why_syntax, NULL, false},
    {"origin", cli_cmd_origin, "where one value came from", &cli_cmd_origin_syntax, NULL, false},
    {"instances", cli_cmd_instances, "when a line ran", &cli_cmd_instances_syntax, NULL, false},
    {"history", cli_cmd_history, "every write to a variable, with its values",
     &cli_cmd_history_syntax, NULL, false},
    {"goto", cli_cmd_goto, "go to another time of the run", &cli_cmd_goto_syntax, NULL, false},
    {"bookmark", cli_cmd_bookmark, "name a time of the run, or list those named",
     &cli_cmd_bookmark_syntax, "bookmarks", false},
    {"backtrace", cli_cmd_backtrace, "the calls that led to here", &cli_cmd_backtrace_syntax,
     "bt where", false},
    {"thread", cli_cmd_thread, "select a thread", &cli_cmd_thread_syntax, NULL, false},
    {"frame", cli_cmd_frame, "select a frame", &cli_cmd_frame_syntax, "f", false},
    {"up", cli_cmd_up, "select the caller's frame", &cli_cmd_up_syntax, NULL, false},
    {"down", cli_cmd_down, "select the callee's frame", &cli_cmd_down_syntax, NULL, false},
    {"print", cli_cmd_print, "the value of a variable", &cli_cmd_print_syntax, "p inspect", true},
    {"list", cli_cmd_list, "lines of source", &cli_cmd_list_syntax, "l", false},
    {"output", cli_cmd_output, "what the program wrote", &cli_cmd_output_syntax, NULL, false},
    {"info", cli_cmd_info, "facts about the run and its code", &cli_cmd_info_syntax, "i", false},
    {"help", cli_cmd_help, "list the commands, or explain one", &cli_cmd_help_syntax, "h", false},
    {"quit", cli_cmd_quit, "leave", &cli_cmd_quit_syntax, "q exit", false},
    {NULL, NULL, NULL, NULL, NULL, false},
};

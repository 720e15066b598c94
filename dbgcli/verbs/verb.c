/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/verb.h"

#include <stddef.h>

/* What rr, env(1) and timeout(1) exit with when the failure is theirs and not the program's. */
#define RECORD_FAILURE_STATUS 125

/* What `git bisect run` and others take for "cannot be told": 1 is that no decision is right. */
#define SWITCH_ABSENT_STATUS 125

const struct cli_verb cli_verbs[] = {
    {"record", cli_record_run, "run a program and keep a recording of it", &cli_record_syntax,
     RECORD_FAILURE_STATUS, 0},
    {"replay", cli_replay_run, "replay a recording and ask about it", &cli_replay_syntax, 0, 0},
    {"open", cli_open_run, "ask about a run from its .wet file", &cli_open_syntax, 0, 0},
    {"info", cli_info_run, "facts and sizes of a run", &cli_info_syntax, 0, 0},
    {"verify", cli_verify_run, "check that a .wet file is sound", &cli_verify_syntax, 0, 0},
    {"dd", cli_dd_run, "find what of an input makes a program fail", &cli_dd_syntax, 0, 0},
    {"locate", cli_locate_run, "rank the lines that may have made a run fail", &cli_locate_syntax,
     0, 0},
    {"ci", cli_ci_run, "run a test; if it fails, record it again and locate", &cli_ci_syntax, 0, 0},
    {"switch", cli_switch_run, "find the decision that makes a failing run right",
     &cli_switch_syntax, 0, SWITCH_ABSENT_STATUS},
    {"ls", cli_ls_run, "list the recordings", &cli_ls_syntax, 0, 0},
    {"rm", cli_rm_run, "remove recordings", &cli_rm_syntax, 0, 0},
    {"ps", cli_ps_run, "list the processes of a recording", &cli_ps_syntax, 0, 0},
    {"dump", cli_dump_run, "print what a recording holds", &cli_dump_syntax, 0, 0},
    {"help", cli_help_run, "explain a verb", &cli_help_syntax, 0, 0},
    {"version", cli_version_run, "print the version", &cli_version_syntax, 0, 0},
    {NULL, NULL, NULL, NULL, 0, 0},
};

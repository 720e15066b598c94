/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `switch`: which decision of the run, made the other way, makes it right. */
#include "dbgcli/commands/switching.h"

static const struct cli_option options[] = {
    CLI_SWITCHING_OPTIONS,
    {0},
};

const struct cli_syntax cli_cmd_switch_syntax = {
    .example = "switch --expect=right.txt --order=near",
    .usage = "(--expect=FILE|--oracle=CMD|--no-crash) [OPTION]...",
    .options = options,
    .details =
        "Has the run go on with one decision the other way, and the next one, until one of them\n"
        "makes it right: a critical predicate. A model answers the system calls of these runs,\n"
        "which touch no file, process or network of this machine.\n" CLI_SWITCHING_DETAILS
        "The same command goes on after an end. 'what-if' tells more of one decision.",
};

int cli_cmd_switch(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    (void)format;
    int status = cli_switching_run(session, session->wet_path, args, NULL, true);
    return status < 0 ? status : 0; /* that nothing was found is an answer, too */
}

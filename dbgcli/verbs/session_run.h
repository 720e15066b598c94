/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `replay` and `open` have in common: -e, -x, --batch and the prompt. */
#ifndef DBGCLI_VERBS_SESSION_RUN_H
#define DBGCLI_VERBS_SESSION_RUN_H

#include "dbgcli/app.h"

/* Rows of an option table. */
#define CLI_SESSION_OPTIONS                                                                        \
    {NULL, 'e', "COMMAND", "run a command of the prompt; may be repeated"},                        \
        {NULL, 'x', "SCRIPT", "run a file of commands; '-' is standard input"},                    \
        {"batch", 0, NULL, "no prompt: leave after -e and -x"},                                    \
        {"no-init", 'n', NULL, "at the prompt, run no init file first"},                           \
        {"color", 0, "WHEN", "auto, always or never: bold and dim on a terminal"},                 \
        {"no-pager", 0, NULL, "long answers scroll by; else $PAGER shows them at the prompt"},     \
    {                                                                                              \
        "json", 0, NULL, "one JSON object per command and line"                                    \
    }

struct cli_wet {
    const char *path;
    double build_seconds; /* 0: the file was there before */
    bool is_trusted;      /* as wetdbg_trust() */
};

/*
 * Opens FILE.wet, runs the -e and -x options in the order given and then the prompt, unless there
 * is --batch. Returns an exit status (that of the last command that failed, if no person was there
 * to see it); or a negative error if the file cannot be opened.
 */
int cli_session_run(struct cli_app *app, const struct cli_args *args, const struct cli_wet *wet);

#endif

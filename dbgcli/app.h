/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command line as a function, apart from main() and from readline.
 *
 * cli_app_main() finds the verb in one table (verbs/verb.c), parses its arguments, runs it and
 * turns what it returns into an exit status.
 */
#ifndef DBGCLI_APP_H
#define DBGCLI_APP_H

#include "dbgcli/args.h"
#include "dbgcli/out.h"

struct cli_line_hooks; /* repl/line.h */

struct cli_app {
    struct cli_out *out;
    const struct cli_line_hooks *terminal; /* how lines are read from a terminal */
};

/* A verb returns an exit status (0..255), or a negative error that the caller reports. */
typedef int (*cli_verb_fn)(struct cli_app *app, const struct cli_args *args);

struct cli_verb {
    const char *name;
    cli_verb_fn run;
    const char *summary; /* one line of help */
    const struct cli_syntax *syntax;
    int failure_status; /* exit status for its errors but usage; 0: dbgcli/exit_status.h */
    int absent_status;  /* for what is not there, where 1 is an answer; 0: no other */
};

/* The table; ends with a row without name. */
extern const struct cli_verb cli_verbs[];

/* NULL if there is none of that name (names are not abbreviated on the command line). */
const struct cli_verb *cli_verb_find(const char *name);

/* Runs `argv` and returns the process's exit status. Answers go to descriptor 1. */
int cli_app_main(int argc, char **argv, const struct cli_line_hooks *terminal);

#endif

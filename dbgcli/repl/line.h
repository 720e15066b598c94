/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the prompt's lines come from: three hooks, so that only one file knows readline and tests
 * drive the loop from a pipe. */
#ifndef DBGCLI_REPL_LINE_H
#define DBGCLI_REPL_LINE_H

#include <stdbool.h>
#include <stdio.h>

struct cli_completions; /* repl/complete.h */

/* Fills `completions` for the cursor's place in `line`. */
typedef void (*cli_line_complete_fn)(void *context, const char *line, size_t cursor,
                                     struct cli_completions *completions);

struct cli_line_hooks {
    bool is_interactive; /* there is a person: prompt, repeat on empty lines, go on after errors */

    /* Called once, before the first line. */
    void (*start)(void);

    /* Reads a line without its newline; *line is the caller's to free. 1; 0 at the end of input;
     * -EINTR if Ctrl-C came instead of a line; another negative errno. */
    int (*read)(FILE *from, const char *prompt, char **line);

    /* Remembers a line that was worth it. */
    void (*keep)(const char *line);

    /* Has `fn` asked for what a line could go on with; NULL where nobody presses Tab. */
    void (*set_completer)(cli_line_complete_fn fn, void *context);
};

/* Reads with getline and shows no prompt. */
extern const struct cli_line_hooks cli_line_plain;

/* Reads from the terminal; history in $XDG_STATE_HOME/wetdbg/history. Not in the library. */
extern const struct cli_line_hooks cli_line_readline;

#endif

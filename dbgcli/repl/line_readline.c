/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The only file that knows readline. */
#include "dbgcli/repl/line.h"

#include <errno.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dbgcli/interrupt.h"
#include "dbgcli/xalloc.h"

#define HISTORY_LINES 2000

static char *history_path;
static bool was_interrupted;

/* readline calls this after it has passed a signal on to our handler. Giving up the line is what
 * shells and gdb do; plain readline would go on editing it. */
static int give_up_line(void)
{
    if (cli_interrupt_is_pending()) {
        was_interrupted = true;
        rl_replace_line("", 0);
        rl_done = 1;
    }
    return 0;
}

static void make_parents(char *path)
{
    for (char *at = path + 1; *at; at++)
        if (*at == '/') {
            *at = 0;
            mkdir(path, 0700);
            *at = '/';
        }
}

/* A history that cannot be kept is no reason to complain: NULL. */
static char *find_history(void)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    if (state && *state == '/')
        return xasprintf("%s/wetdbg/history", state);
    if (home && *home == '/')
        return xasprintf("%s/.local/state/wetdbg/history", home);
    return NULL;
}

static void start(void)
{
    rl_readline_name = "wetdbg";
    rl_signal_event_hook = give_up_line;
    using_history();
    stifle_history(HISTORY_LINES);
    history_path = find_history();
    if (history_path) {
        make_parents(history_path);
        if (read_history(history_path) == ENOENT)
            write_history(history_path);
        history_truncate_file(history_path, HISTORY_LINES);
    }
}

static int read_line(FILE *from, const char *prompt, char **line)
{
    was_interrupted = false;
    rl_instream = from;
    char *text = readline(prompt);
    if (was_interrupted) {
        free(text);
        fputs("^C\n", rl_outstream ? rl_outstream : stdout);
        return -EINTR;
    }
    if (!text) {
        fputc('\n', rl_outstream ? rl_outstream : stdout);
        return 0;
    }
    *line = text;
    return 1;
}

/* Appended at once, line by line: whatever ends the session, the history is there. */
static void keep(const char *line)
{
    HIST_ENTRY *last = history_get(history_base + history_length - 1);
    if (last && strcmp(last->line, line) == 0)
        return;
    add_history(line);
    if (history_path)
        append_history(1, history_path);
}

const struct cli_line_hooks cli_line_readline = {
    .is_interactive = true,
    .start = start,
    .read = read_line,
    .keep = keep,
};

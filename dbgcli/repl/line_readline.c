/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The only file that knows readline. */
#include "dbgcli/repl/line.h"

#include <errno.h>
#include <poll.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/interrupt.h"
#include "dbgcli/repl/complete.h"
#include "dbgcli/xdg.h"

#define HISTORY_LINES 2000

static char *history_path;
static bool was_interrupted;
static volatile sig_atomic_t was_stopped;

static void on_continue(int number)
{
    (void)number;
    was_stopped = 1;
}

/*
 * Reads a key. Ctrl-C gives the line up, as in shells and gdb; plain readline would go on editing
 * it. Its own ways out (rl_done from a hook) swallow the first key of the next line, so that keys
 * are read here: a line that was given up ends like any other and is dropped by read_line().
 */
static int read_key(FILE *from)
{
    struct pollfd input = {.fd = fileno(from), .events = POLLIN};
    sigset_t interrupt, before;
    unsigned char key;

    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigaddset(&interrupt, SIGCONT);
    for (;;) {
        int ready = 0;
        rl_check_signals();
        if (was_stopped) { /* a shell has written since the prompt was */
            was_stopped = 0;
            rl_on_new_line();
            rl_forced_update_display();
        }
        if (cli_interrupt_is_pending()) {
            was_interrupted = true;
            return '\n';
        }
        /* one that comes between looking and waiting must end the wait */
        sigprocmask(SIG_BLOCK, &interrupt, &before);
        if (!rl_pending_signal() && !was_stopped && !cli_interrupt_is_pending())
            ready = ppoll(&input, 1, NULL, &before);
        sigprocmask(SIG_SETMASK, &before, NULL);
        if (ready < 0 && errno != EINTR)
            return EOF;
        if (ready <= 0)
            continue;
        ssize_t count = read(input.fd, &key, 1);
        if (count == 1)
            return key;
        if (count == 0 || errno != EINTR)
            return EOF;
    }
}

static void start(void)
{
    rl_readline_name = "wetdbg";
    rl_getc_function = read_key;
    sigaction(SIGCONT, &(struct sigaction){.sa_handler = on_continue, .sa_flags = SA_RESTART},
              NULL);
    using_history();
    stifle_history(HISTORY_LINES);
    /* One that cannot be kept is no reason to complain. */
    history_path = cli_xdg_path(CLI_XDG_STATE, "history");
    if (history_path && !cli_xdg_make_parents(CLI_XDG_STATE, history_path)) {
        free(history_path);
        history_path = NULL;
    }
    if (history_path) {
        if (read_history(history_path) == ENOENT)
            write_history(history_path);
        history_truncate_file(history_path, HISTORY_LINES);
    }
}

static cli_line_complete_fn complete_fn;
static void *complete_context;
static struct cli_completions found;

/* The next completion. readline asks for one after the other and frees them; its own word begins
 * after the last blank, ours may begin later. */
static char *next_match(const char *typed, int is_first)
{
    static size_t next;
    static int skipped;
    if (is_first == 0) {
        next = 0;
        skipped = (int)found.start - (rl_point - (int)strlen(typed));
    }
    if (next == found.count || skipped < 0)
        return NULL;
    const char *word = found.list[next++];
    char *match = malloc((size_t)skipped + strlen(word) + 1);
    if (match) {
        memcpy(match, typed, (size_t)skipped);
        strcpy(match + skipped, word);
    }
    return match;
}

static char **complete(const char *typed, int start, int end)
{
    (void)start;
    (void)end;
    rl_attempted_completion_over = 1; /* never names of files of the current directory */
    if (!complete_fn)
        return NULL;
    cli_completions_fini(&found);
    complete_fn(complete_context, rl_line_buffer, (size_t)rl_point, &found);
    rl_completion_append_character = found.is_open ? 0 : ' ';
    return rl_completion_matches(typed, next_match);
}

static void set_completer(cli_line_complete_fn fn, void *context)
{
    complete_fn = fn;
    complete_context = context;
    if (!fn)
        cli_completions_fini(&found);
    rl_attempted_completion_function = complete;
    rl_basic_word_break_characters = " \t\n";
    rl_completer_quote_characters = "";
}

static int read_line(FILE *from, const char *prompt, char **line)
{
    was_interrupted = false;
    was_stopped = 0; /* the prompt is still to be written */
    rl_instream = from;
    char *text = readline(prompt);
    if (was_interrupted) {
        free(text);
        return -EINTR;
    }
    if (!text) {
        fputc('\n', rl_outstream ? rl_outstream : stdout);
        return 0;
    }
    *line = text;
    return 1;
}

/* Appends a line to the history at once, line by line: whatever ends the session, the history is
 * there. */
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
    .set_completer = set_completer,
};

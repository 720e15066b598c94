/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/session_run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/commands/complete_words.h"
#include "dbgcli/commands/run_facts.h"
#include "dbgcli/commands/session.h"
#include "dbgcli/exit_status.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/screen.h"
#include "dbgcli/verbs/memory_arg.h"
#include "dbgcli/xdg.h"
#include <wetdbg/errors.h>

#define PROMPT "(wetdbg) "

static bool is_command_option(const struct cli_given *given)
{
    return given->option->letter == 'e' || given->option->letter == 'x';
}

static bool has_commands(const struct cli_args *args)
{
    for (size_t i = 0; i < args->given_count; i++)
        if (is_command_option(&args->given[i]))
            return true;
    return false;
}

/* Shows the opening, but not in JSON, where each command has its object and only that: what is
 * shown on opening would be one more. */
static void show_opening(struct cli_session *session, const struct cli_args *args)
{
    int err = 0;
    cli_out_begin(session->out);
    bool is_typed = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && !cli_args_has(args, "batch");
    if (!session->out->json)
        err = cli_session_print_opening(session);
    if (!session->out->json && !err && is_typed)
        cli_session_print_ways_on(session);
    else if (!has_commands(args))
        cli_facts_print(session->out, session->wet, session->build_seconds);
    if (err)
        cli_out_error(session->out, "wetdbg", err);
    cli_out_end(session->out);
}

/* Opens a screen, on a terminal only. A person who types sees long answers page by page. */
static int open_screen(struct cli_out *out, const struct cli_args *args)
{
    const char *terminal = getenv("TERM");
    int errors_fd = fileno(out->errors);
    bool is_screen = isatty(out->fd) && isatty(errors_fd) && terminal && *terminal &&
                     strcmp(terminal, "dumb") != 0;
    bool may_page = isatty(STDIN_FILENO) && !out->json && !cli_args_has(args, "batch");
    if (!is_screen)
        return 0;
    int err = cli_screen_new(out->fd, errors_fd, may_page, &out->screen);
    if (!err && cli_args_has(args, "no-pager"))
        cli_screen_set_pages(out->screen, false);
    return err;
}

static void close_screen(struct cli_out *out)
{
    fflush(out->stream);
    cli_screen_free(out->screen);
    out->screen = NULL;
}

/* Runs the commands of -e and -x; the status of the last one that failed. An interrupt ends all of
 * them: nobody wants the next. */
static int run_commands(struct cli_repl *repl, const struct cli_args *args)
{
    int status = 0;
    for (size_t i = 0; i < args->given_count && !repl->is_quitting; i++) {
        const struct cli_given *given = &args->given[i];
        if (!is_command_option(given))
            continue;
        int failed = given->option->letter == 'e' ? cli_repl_execute(repl, given->value)
                                                  : cli_repl_run_script(repl, given->value, stdin);
        status = failed ? failed : status;
        if (failed == CLI_EXIT_INTERRUPTED || cli_interrupt_is_pending())
            return CLI_EXIT_INTERRUPTED;
    }
    return status;
}

static void complete(void *context, const char *line, size_t cursor,
                     struct cli_completions *completions)
{
    struct cli_repl *repl = context;
    cli_session_prepare(repl->session);
    cli_complete(repl, line, cursor, cli_complete_operand, completions);
}

/* Runs the init file, for people only: what a script answers does not depend on who runs it. */
static void run_init_file(struct cli_repl *repl)
{
    char *path = cli_xdg_path(CLI_XDG_CONFIG, "init");
    bool is_there = path && access(path, F_OK) == 0;
    if (is_there && cli_xdg_is_foreign(CLI_XDG_CONFIG))
        cli_out_error(
            repl->out, repl->place,
            wetdbg_fail(-EPERM, "%s is not run: a directory above it is somebody else's", path));
    else if (is_there)
        cli_repl_run_script(repl, path, stdin);
    free(path);
}

static int run_loop(struct cli_repl *repl, const struct cli_line_hooks *terminal, bool has_init)
{
    bool is_interactive = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    if (is_interactive && has_init)
        run_init_file(repl);
    const struct cli_line_hooks *lines = is_interactive ? terminal : &cli_line_plain;
    repl->place = is_interactive ? NULL : "wetdbg";
    if (is_interactive && lines->set_completer)
        lines->set_completer(complete, repl);
    int status = cli_repl_loop(repl, lines, stdin, PROMPT);
    if (is_interactive && lines->set_completer)
        lines->set_completer(NULL, NULL);
    return status;
}

int cli_session_run(struct cli_app *app, const struct cli_args *args, const struct cli_wet *wet)
{
    struct cli_session session;
    struct cli_repl repl = {
        .out = app->out,
        .commands = cli_commands,
        .other_words = cli_other_words,
        .session = &session,
        .prepare = cli_session_prepare,
        .check = cli_session_check,
        .place = "wetdbg",
    };
    bool is_batch = cli_args_has(args, "batch");
    uint64_t memory;
    int err = cli_memory_parse(args, &memory);
    if (!err)
        err = cli_session_open(&session, app->out, wet->path);
    if (err)
        return err;
    err = open_screen(app->out, args);
    if (err) {
        cli_session_close(&session);
        return err;
    }
    if (memory)
        wetdbg_set_memory(session.wet, memory);
    if (wet->is_trusted)
        wetdbg_trust(session.wet);
    session.build_seconds = wet->build_seconds;
    if (wet->build_seconds > 0)
        cli_facts_print_unseen(app->out->errors, "wetdbg: ", session.wet);
    show_opening(&session, args);
    err = cli_session_check(&session);
    if (err) {
        close_screen(app->out);
        cli_session_close(&session);
        return err;
    }
    int status = run_commands(&repl, args);
    if (!is_batch && !repl.is_quitting) {
        int failed = run_loop(&repl, app->terminal, !cli_args_has(args, "no-init"));
        bool is_seen = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
        status = failed ? failed : is_seen ? 0 : status;
    }
    cli_repl_fini(&repl);
    close_screen(app->out);
    cli_session_close(&session);
    return status;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/app.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/exit_status.h"
#include "dbgcli/help.h"
#include "dbgcli/stack.h"
#include "dbgcli/suggest.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>

static void ignore_signal(int number)
{
    (void)number;
}

/* Lets a write to nobody fail instead of killing. By a handler rather than SIG_IGN: exec resets it,
 * so a recorded program gets the default. */
static void catch_output_signals(void)
{
    struct sigaction action = {.sa_handler = ignore_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL); /* a limit on file sizes is an error to tell of */
}

const struct cli_verb *cli_verb_find(const char *name)
{
    for (const struct cli_verb *verb = cli_verbs; verb->name; verb++)
        if (strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

static int fail_unknown_verb(const char *name)
{
    struct cli_suggestion suggestion = {.wanted = name};
    bool is_option = name[0] == '-';
    const char *kind = is_option ? "option" : "verb";
    if (is_option) {
        cli_suggestion_offer(&suggestion, "--help");
        cli_suggestion_offer(&suggestion, "--version");
    }
    for (const struct cli_verb *verb = cli_verbs; verb->name && !is_option; verb++)
        cli_suggestion_offer(&suggestion, verb->name);
    if (suggestion.best)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "unknown %s '%s'; did you mean '%s'?", kind, name,
                           suggestion.best);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "unknown %s '%s' (see 'wetdbg help')", kind, name);
}

/* Whether a word is an option whose value is the next word. */
static bool takes_next(const struct cli_syntax *syntax, const char *word)
{
    for (const struct cli_option *o = syntax->options; o && (o->name || o->letter); o++)
        if (o->value &&
            ((o->name && strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) ||
             (o->letter && word[0] == '-' && word[1] == o->letter && !word[2])))
            return true;
    return false;
}

/* Whether --json is given. It is asked before the arguments are parsed, so that complaints about
 * them are objects too. What belongs to a recorded program, after its name or after --, is not ours
 * to read. */
static bool wants_json(const struct cli_verb *verb, int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0)
            return true;
        if (verb->syntax->ends_at_operand && argv[i][0] != '-')
            return false;
        if (takes_next(verb->syntax, argv[i]))
            i++;
    }
    return false;
}

static int failure_status(const struct cli_verb *verb, int code)
{
    int status = cli_exit_status(code);
    if (verb->failure_status && status != CLI_EXIT_USAGE)
        return verb->failure_status;
    return verb->absent_status && status == CLI_EXIT_NOT_FOUND ? verb->absent_status : status;
}

static int run_verb(struct cli_app *app, const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_args args;
    app->out->json = wants_json(verb, argc, argv);
    int result = cli_args_parse(&args, verb->name, verb->syntax, argc, argv);
    if (result)
        return cli_out_error(app->out, "wetdbg", result);
    if (args.wants_help)
        result = cli_help_print(app->out, verb->name);
    else
        result = cli_out_color(app->out, cli_args_value(&args, "color"));
    bool is_work = !result && !args.wants_help;
    bool runs_program = verb->run == cli_record_run || verb->run == cli_dd_run;
    if (is_work && !runs_program) /* that program gets the user's own limit */
        result = cli_stack_prepare();
    if (is_work && !result)
        result = verb->run(app, &args);
    cli_args_fini(&args);
    if (result >= 0)
        return result;
    return cli_out_error_as(app->out, "wetdbg", result, failure_status(verb, result));
}

static int run(struct cli_app *app, int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        cli_help_print_synopsis(app->out->errors);
        return CLI_EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    else if (strcmp(name, "--version") == 0)
        name = "version";
    if (strcmp(name, "complete") == 0)
        return cli_complete_run(app->out, argc - 2, argv + 2);
    const struct cli_verb *verb = cli_verb_find(name);
    if (!verb)
        return cli_out_error(app->out, "wetdbg", fail_unknown_verb(name));
    return run_verb(app, verb, argc - 2, argv + 2);
}

int cli_app_main(int argc, char **argv, const struct cli_line_hooks *terminal)
{
    struct cli_out out;
    struct cli_app app = {.out = &out, .terminal = terminal};
    catch_output_signals();
    int err = cli_out_init(&out, STDOUT_FILENO, stderr);
    if (err)
        return cli_exit_status(err);
    int status = run(&app, argc, argv);
    err = cli_out_fini(&out);
    if (err) {
        fputs("wetdbg: ", stderr);
        cli_text_put(stderr, wetdbg_error(err));
        putc('\n', stderr);
        return status ? status : cli_exit_status(err);
    }
    return status;
}

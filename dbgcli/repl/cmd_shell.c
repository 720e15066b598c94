/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `source`, `shell` and `echo`: what a file of commands needs beside those of the run. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/repl/block.h"
#include "dbgcli/repl/repl.h"
#include "dbgcli/repl/unescape.h"
#include <wetdbg/errors.h>

const struct cli_syntax cli_cmd_source_syntax = {
    .example = "source hunt.wetdbg",
    .usage = "FILE",
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "Runs the commands of a file, one a line, up to the first that fails; -x FILE of the\n"
        "command line does so at the start, and ~/.config/wetdbg/init is run by itself.",
};

const struct cli_syntax cli_cmd_shell_syntax = {
    .example = "shell grep -n total *.c",
    .usage = "[COMMAND]",
    .operands_max = 1,
    .is_raw = true,
    .details = "Has a shell run a command; '!COMMAND' is the same. Without one a shell takes over\n"
               "until it is left.",
};

const struct cli_syntax cli_cmd_echo_syntax = {
    .example = "echo here it is wrong\\n",
    .usage = "[TEXT]",
    .operands_max = 1,
    .is_raw = true,
    .details = "Prints a text, in which \\n is the end of a line and a last \\ keeps blanks.",
};

/* ---- source ---- */

static int queue_lines(struct cli_repl *repl, FILE *file, const char *path)
{
    char *line = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    errno = 0;
    while ((length = getline(&line, &size, file)) >= 0) {
        char *place = cli_asprintf("%s:%zu", path, ++number);
        line[strcspn(line, "\n")] = 0;
        cli_repl_queue_from(repl, line, place);
        free(place);
    }
    int err = ferror(file) ? wetdbg_fail_errno("cannot read '%s'", path) : 0;
    free(line);
    return err;
}

int cli_cmd_source(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    const char *path = args->operands[0];
    (void)format;
    if (repl->depth >= CLI_DEPTH_MAX)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' calls itself without end", path);
    FILE *file = fopen(path, "re");
    if (!file)
        return wetdbg_fail_errno("cannot read '%s'", path);
    int err = queue_lines(repl, file, path);
    fclose(file);
    return err;
}

/* ---- shell ---- */

/* Runs it to its end; *status as of waitpid(). */
static int run(char *const *argv, int *status)
{
    pid_t pid;
    errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (errno)
        return wetdbg_fail_errno("cannot run '%s'", argv[0]);
    while (waitpid(pid, status, 0) < 0)
        if (errno != EINTR)
            return wetdbg_fail_errno("cannot wait for '%s'", argv[0]);
    return 0;
}

int cli_cmd_shell(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    char *command[] = {"sh", "-c", args->operand_count ? args->operands[0] : NULL, NULL};
    char *shell = getenv("SHELL");
    char *alone[] = {shell && *shell ? shell : "sh", NULL};
    int status = 0;
    (void)format;
    cli_out_end(repl->out); /* the terminal is the command's now */
    int err = run(args->operand_count ? command : alone, &status);
    cli_out_begin(repl->out);
    if (!err && repl->out->json) {
        json_t *object = cli_json_object("wetdbg.shell/1");
        cli_json_set(
            object, "status",
            json_integer(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
        cli_out_json(repl->out, object);
    }
    return err;
}

/* ---- echo ---- */

char *cli_unescaped(const char *text)
{
    static const char letters[] = "abefnrtv", codes[] = "\a\b\033\f\n\r\t\v";
    char *made = cli_malloc(strlen(text) + 1), *to = made;
    for (; *text; text++) {
        const char *letter = *text == '\\' && text[1] ? strchr(letters, text[1]) : NULL;
        if (*text != '\\')
            *to++ = *text;
        else if (text[1])
            *to++ = letter ? codes[letter - letters] : text[1];
        text += *text == '\\' && text[1];
    }
    *to = 0;
    return made;
}

void cli_echo(struct cli_repl *repl, const char *text)
{
    if (!repl->out->json) {
        cli_out_lines(repl->out, text);
        return;
    }
    json_t *object = cli_json_object("wetdbg.echo/1");
    cli_json_set(object, "text", cli_json_text(text));
    cli_out_json(repl->out, object);
}

int cli_cmd_echo(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    char *text = cli_unescaped(args->operand_count ? args->operands[0] : "");
    (void)format;
    cli_echo(repl, text);
    free(text);
    return 0;
}

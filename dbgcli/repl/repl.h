/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Read, evaluate, print, kept apart: lines come from repl/line.h, commands from a table, answers
 * go to a struct cli_out. The grammar is gdb's: a command's name may be cut to any prefix that
 * fits only one, an empty line repeats the last command if a person types, a line that begins with
 * '#' is a comment, `print/x` gives a format.
 *
 * This part knows nothing of runs and slices: `session` is passed through to the commands.
 */
#ifndef DBGCLI_REPL_REPL_H
#define DBGCLI_REPL_REPL_H

#include <stdbool.h>

#include "dbgcli/args.h"
#include "dbgcli/out.h"
#include "dbgcli/repl/line.h"

struct cli_repl;
struct cli_session;

/* 0, or a negative error that the caller reports. `format` is what followed a slash in the name,
 * "" if nothing did. */
typedef int (*cli_command_fn)(struct cli_repl *repl, const struct cli_args *args,
                              const char *format);

struct cli_command {
    const char *name;
    cli_command_fn run;
    const char *summary; /* one line of help */
    const struct cli_syntax *syntax;
    const char *aliases; /* further names, separated by blanks, or NULL: these win over prefixes */
    bool takes_format;
};

/* A word that is no command, and what to say to those who type it. */
struct cli_other_word {
    const char *word;
    const char *instead;
};

/* Filled in by its holder; all zero where not said. */
struct cli_repl {
    struct cli_out *out;
    const struct cli_command *commands;       /* ends with a row without name */
    const struct cli_other_word *other_words; /* ends with a row without word; or NULL */
    struct cli_session *session;
    void (*prepare)(struct cli_session *session); /* before each command; or NULL */
    int (*check)(struct cli_session *session);    /* after each; its error ends all; or NULL */
    const char *place;                            /* what errors begin with, or NULL */
    bool is_quitting;
    bool is_typed; /* a person types the lines, and sees them above the answers */
    /* private: */
    char *last_line;
    struct cli_waiting *queue; /* lines to be run when the one that runs is done */
    size_t queue_count, queue_at;
    unsigned depth;                         /* of the line that runs */
    struct cli_user_command *user_commands; /* repl/user_commands.h */
    size_t user_count;
    bool is_draining;
    struct cli_block *block; /* lines that are being collected up to `end`, or NULL */
};

void cli_repl_fini(struct cli_repl *repl);

/*
 * The command whose name, alias or unique prefix is `name`. 0; or -WETDBG_ERR_USAGE, and the
 * message lists the candidates or suggests the nearest.
 */
int cli_command_find(const struct cli_command *commands, const char *name,
                     const struct cli_command **command);

/* Has a line run when the present one is done. */
void cli_repl_queue(struct cli_repl *repl, const char *line);

/* Has a line run when the present one is done; its errors begin with `place`. */
void cli_repl_queue_from(struct cli_repl *repl, const char *line, const char *place);

/* Runs one line amid another command, whose answer its own becomes part of. 0 or its error. */
int cli_repl_run_inside(struct cli_repl *repl, const char *line);

/* -WETDBG_ERR_USAGE with what to use in place of a word that is known but no command; else `code`,
 * with the message as it is. */
int cli_repl_explain(const struct cli_repl *repl, const char *name, int code);

/*
 * The lines that follow are no commands but text, up to one that says `end` (blocks in them have
 * ends of their own): then `done` gets them, with `arg`, which it frees. Where lines end before
 * that, or Ctrl-C comes, `done` gets NULL.
 */
typedef int (*cli_block_fn)(struct cli_repl *repl, char **lines, size_t count, void *arg);
void cli_repl_collect(struct cli_repl *repl, cli_block_fn done, void *arg);

/* As cli_repl_collect(), of lines that are a text for people: none of them begins a block. */
void cli_repl_collect_text(struct cli_repl *repl, cli_block_fn done, void *arg);

/*
 * Runs one line and reports its failure. Returns its exit status: 0 for what worked, comments and
 * empty lines.
 */
int cli_repl_execute(struct cli_repl *repl, const char *line);

/* Runs a file of commands up to the first that fails (with "FILE:LINE: message"), whose status it
 * returns; 0. A file that cannot be read is reported too. "-" is `input`. */
int cli_repl_run_script(struct cli_repl *repl, const char *path, FILE *input);

/*
 * Runs lines until the end of input or `quit`. Returns the status of the last command that
 * failed if nobody was there to see it (a pipe), else 0.
 */
int cli_repl_loop(struct cli_repl *repl, const struct cli_line_hooks *lines, FILE *from,
                  const char *prompt);

/* The commands that concern the loop itself. */
extern const struct cli_syntax cli_cmd_help_syntax, cli_cmd_apropos_syntax, cli_cmd_quit_syntax,
    cli_cmd_source_syntax, cli_cmd_shell_syntax, cli_cmd_echo_syntax, cli_cmd_define_syntax,
    cli_cmd_document_syntax;
int cli_cmd_help(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_apropos(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_quit(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_source(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_shell(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_echo(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_define(struct cli_repl *repl, const struct cli_args *args, const char *format);
int cli_cmd_document(struct cli_repl *repl, const struct cli_args *args, const char *format);

#endif

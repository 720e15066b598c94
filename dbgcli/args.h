/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Options and operands, for verbs (`wetdbg record …`) and for the prompt's commands alike.
 *
 * A syntax is a constant table; help texts and the parser read the same one. Accepted are --name,
 * --name=VALUE, --name VALUE, -x, -xVALUE, -x VALUE, and -- which ends the options; -5 is an
 * operand. Names are not abbreviated: scripts should survive the next option.
 */
#ifndef DBGCLI_ARGS_H
#define DBGCLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_option {
    const char *name;  /* without dashes: "json", or NULL */
    char letter;       /* 'o', or 0 */
    const char *value; /* what help calls its value; NULL: it takes none */
    const char *help;  /* NULL: it is not listed, since it is taken for a better refusal only */
};

struct cli_syntax {
    const char *usage; /* what follows the name in help; "" where nothing does, never NULL */
    const struct cli_option *options; /* ends with an all-zero row; NULL: none */
    size_t operands_min, operands_max;
    bool ends_at_operand; /* what follows the first operand is none of ours: PROGRAM ARG... */
    bool is_raw;          /* prompt only: the whole rest of the line is one operand */
    /* prompt only: an empty line after it runs it without operands, for what follows */
    bool goes_on;
    /* prompt only: commands that may stand behind the first '=' of the line, for Tab; ends with
     * NULL. NULL: there is no such '=' */
    const char *const *made_by;
    /* prompt only: options of these that are refused there; ends with NULL */
    const char *const *made_without;
    const char *next; /* prompt only: an empty line after it runs this command instead, or NULL */
    const char *details; /* paragraphs for `help NAME`, or NULL */
    const char *example; /* a line for it; a verb may have none (NULL) */
};

#define CLI_OPERANDS_ANY SIZE_MAX

struct cli_given {
    const struct cli_option *option;
    const char *value; /* borrowed from argv; NULL if it takes none */
};

struct cli_args {
    const char *name;        /* of the verb or command, for messages */
    struct cli_given *given; /* in the order given */
    size_t given_count;
    char **operands; /* borrowed from argv; then NULL */
    size_t operand_count;
    bool wants_help; /* -h or --help; then nothing else was checked */
};

/*
 * Parses argv[0..argc-1] (without the name). 0, and cli_args_fini() is due; or -WETDBG_ERR_USAGE
 * with a sentence that begins with `name` and names the word at fault.
 */
int cli_args_parse(struct cli_args *args, const char *name, const struct cli_syntax *syntax,
                   int argc, char **argv);
void cli_args_fini(struct cli_args *args);

/* `option` as in the table: "json" for --json, "e" for a lone -e. */
bool cli_args_has(const struct cli_args *args, const char *option);

/* A command's usage in one line, to be freed: some are broken for the help. */
char *cli_usage_line(const char *usage);

/* The value of the option where it was given last, or NULL. */
const char *cli_args_value(const struct cli_args *args, const char *option);

/* The number given with `option`, or `otherwise`. Decimal or 0x..., all of the word; else
 * -WETDBG_ERR_USAGE. */
int cli_args_number(const struct cli_args *args, const char *option, uint64_t otherwise,
                    uint64_t *number);

/* Reads all of `text` as a number (decimal or 0x...). False if it is none or too large. */
bool cli_number_parse(const char *text, uint64_t *number);

#endif

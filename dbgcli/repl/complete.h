/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a line at the prompt could go on with. Apart from readline, so that tests drive it; words of
 * a run (functions, variables, files...) come from a callback, so that this part knows nothing of
 * runs.
 */
#ifndef DBGCLI_REPL_COMPLETE_H
#define DBGCLI_REPL_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dbgcli/repl/repl.h"

#define CLI_COMPLETIONS_MAX 5000

struct cli_completions {
    char **list; /* each replaces line[start..cursor); sorted, no two equal */
    size_t count;
    size_t start;
    bool is_open; /* more is to follow: no blank after the word */
};

/* Adds a word if it begins with what is typed; copied. Dies where memory is short. */
void cli_completions_add(struct cli_completions *completions, const char *typed, const char *word);

#define CLI_COMPLETE_VALUE SIZE_MAX

/* For an operand: `typed` is line[completions->start..cursor), which the callee may narrow by
 * moving `start` on; `index` counts operands from 0, `before` is the operand before it or NULL. Of
 * an option's value `index` is CLI_COMPLETE_VALUE and `before` the option's long name. */
typedef void (*cli_complete_operand_fn)(struct cli_repl *repl, const struct cli_command *command,
                                        size_t index, const char *before, const char *typed,
                                        struct cli_completions *completions);

/* Fills `completions` for the cursor's place in `line`: commands, their options, operands by
 * `operand` (may be NULL). cli_completions_fini() is due. */
void cli_complete(struct cli_repl *repl, const char *line, size_t cursor,
                  cli_complete_operand_fn operand, struct cli_completions *completions);
void cli_completions_fini(struct cli_completions *completions);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command line as words: blanks separate, '...' and "..." keep them together, inside "..." a
 * backslash takes the next character as it is. Elsewhere backslashes are ordinary (regular
 * expressions). The quotes of VARIABLE='c' stay: that is a value. No expansion of any kind. */
#ifndef DBGCLI_REPL_WORDS_H
#define DBGCLI_REPL_WORDS_H

#include <stddef.h>

struct cli_words {
    char **list; /* `count` words, then NULL; writable, owned */
    size_t count;
};

/* 0, and cli_words_fini() is due; or -WETDBG_ERR_USAGE for a quote that is not closed. */
int cli_words_split(struct cli_words *words, const char *line);
void cli_words_fini(struct cli_words *words);

/* The words with one blank between two; to be freed, never NULL. */
char *cli_words_join(char *const *words, size_t count);

#endif

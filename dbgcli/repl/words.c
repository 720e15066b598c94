/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/repl/words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>

static const char blanks[] = " \t\r\n\f\v";

/* What is behind the = of VARIABLE='c': a value as C writes it. Values of options, and bytes of an
 * input (input:0='c'), are written as they are. */
static bool is_character(const char *word, const char *at)
{
    return *at == '\'' && at > word && at[-1] == '=' && at[1] && at[1] != '\'' && at[2] == '\'' &&
           *word != '-' && !memchr(word, ':', (size_t)(at - word));
}

/* Copies one word to `to`, which has room for all of the line; returns where it ended. */
static const char *copy_word(const char *from, char *to, char *open_quote)
{
    const char *word = from;
    char quote = 0;
    for (; *from && (quote || !strchr(blanks, *from)); from++) {
        if (!quote && is_character(word, from)) {
            to = mempcpy(to, from, 3);
            from += 2;
        } else if (quote ? *from == quote : *from == '\'' || *from == '"')
            quote = quote ? 0 : *from;
        else if (quote == '"' && *from == '\\' && from[1])
            *to++ = *++from;
        else
            *to++ = *from;
    }
    *to = 0;
    *open_quote = quote;
    return from;
}

int cli_words_split(struct cli_words *words, const char *line)
{
    char *copy = cli_malloc(strlen(line) + 1);
    char quote = 0;
    *words = (struct cli_words){.list = cli_realloc(NULL, 1, sizeof(char *))};
    for (line += strspn(line, blanks); *line; line += strspn(line, blanks)) {
        line = copy_word(line, copy, &quote);
        words->list = cli_realloc(words->list, words->count + 2, sizeof(char *));
        words->list[words->count++] = cli_strdup(copy);
    }
    words->list[words->count] = NULL;
    free(copy);
    if (!quote)
        return 0;
    cli_words_fini(words);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "a quote (%c) is not closed", quote);
}

void cli_words_fini(struct cli_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free(words->list[i]);
    free(words->list);
    *words = (struct cli_words){0};
}

char *cli_words_join(char *const *words, size_t count)
{
    size_t size = 1, used = 0;
    for (size_t i = 0; i < count; i++)
        size += strlen(words[i]) + 1;
    char *joined = cli_malloc(size);
    for (size_t i = 0; i < count; i++) {
        if (i)
            joined[used++] = ' ';
        size_t length = strlen(words[i]);
        memcpy(joined + used, words[i], length);
        used += length;
    }
    joined[used] = 0;
    return joined;
}

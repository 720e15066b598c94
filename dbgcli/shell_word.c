/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/shell_word.h"

#include <stdbool.h>
#include <string.h>

#include "dbgcli/alloc.h"

static bool is_plain(const char *text, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";
    size_t at = 0;

    while (at < size && text[at] && strchr(plain, text[at]))
        at++;
    return size && at == size;
}

char *cli_shell_word(const char *text, size_t size)
{
    if (is_plain(text, size))
        return cli_strndup(text, size);
    char *word = cli_malloc(4 * size + 3), *end = word;

    *end++ = '\'';
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\'')
            end = stpcpy(end, "'\\''");
        else
            *end++ = text[i];
    }
    *end++ = '\'';
    *end = 0;
    return word;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines from a pipe or a file: no prompt, no history. */
#include <errno.h>
#include <stdlib.h>

#include "dbgcli/repl/line.h"

static void start_nothing(void)
{
}

static int read_line(FILE *from, const char *prompt, char **line)
{
    size_t capacity = 0;
    char *text = NULL;
    (void)prompt;
    errno = 0;
    ssize_t length = getline(&text, &capacity, from);
    if (length < 0) {
        int reason = errno;
        free(text);
        clearerr(from);
        return -reason; /* 0 at the end of input */
    }
    if (length > 0 && text[length - 1] == '\n')
        text[length - 1] = 0;
    *line = text;
    return 1;
}

static void keep_nothing(const char *line)
{
    (void)line;
}

const struct cli_line_hooks cli_line_plain = {
    .start = start_nothing,
    .read = read_line,
    .keep = keep_nothing,
};

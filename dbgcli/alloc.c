/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/alloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/exit_status.h"
#include <wetdbg/errors.h>

void cli_die(void)
{
    fputs("wetdbg: out of memory\n", stderr);
    exit(CLI_EXIT_MACHINE);
}

void *cli_malloc(size_t size_bytes)
{
    void *memory = malloc(size_bytes ? size_bytes : 1);
    if (!memory)
        cli_die();
    return memory;
}

void *cli_realloc(void *old, size_t count, size_t item_bytes)
{
    void *memory = NULL;
    if (count && item_bytes && count <= SIZE_MAX / item_bytes)
        memory = realloc(old, count * item_bytes);
    if (!memory)
        cli_die();
    return memory;
}

char *cli_strdup(const char *text)
{
    return cli_strndup(text, strlen(text));
}

char *cli_strndup(const char *text, size_t length)
{
    char *copy = cli_malloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *cli_vasprintf(const char *format, va_list args)
{
    char *text;
    if (vasprintf(&text, format, args) < 0)
        cli_die();
    return text;
}

char *cli_asprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = cli_vasprintf(format, args);
    va_end(args);
    return text;
}

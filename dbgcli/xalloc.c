/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/xalloc.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

void xdie(void)
{
    fputs("wetdbg: out of memory\n", stderr);
    exit(WD_EXIT_MACHINE);
}

void *xmalloc(size_t size_bytes)
{
    void *memory = malloc(size_bytes ? size_bytes : 1);
    if (!memory)
        xdie();
    return memory;
}

void *xrealloc(void *old, size_t count, size_t item_bytes)
{
    void *memory = NULL;
    if (count && item_bytes && count <= SIZE_MAX / item_bytes)
        memory = realloc(old, count * item_bytes);
    if (!memory)
        xdie();
    return memory;
}

char *xstrdup(const char *text)
{
    return xstrndup(text, strlen(text));
}

char *xstrndup(const char *text, size_t length)
{
    char *copy = xmalloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

char *xasprintf(const char *format, ...)
{
    char *text;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        xdie();
    va_end(args);
    return text;
}

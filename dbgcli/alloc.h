/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small allocations of the front end: where memory is short for them, the process says so and
 * ends with status 5. Sizes that come from a recording go through the engine, not through here.
 * (Not called xmalloc and so on: readline has functions of these names, which would be ours
 * then.) */
#ifndef DBGCLI_ALLOC_H
#define DBGCLI_ALLOC_H

#include <stdarg.h>
#include <stddef.h>

_Noreturn void cli_die(void);
void *cli_malloc(size_t size_bytes);
/* count and item_bytes are above 0. */
void *cli_realloc(void *old, size_t count, size_t item_bytes);
char *cli_strdup(const char *text);
char *cli_strndup(const char *text, size_t length);
char *cli_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *cli_vasprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small allocations of the front end: where memory is short for them, the process says so and
 * ends with status 5. Sizes that come from a recording go through the engine, not through here. */
#ifndef DBGCLI_XALLOC_H
#define DBGCLI_XALLOC_H

#include <stddef.h>

_Noreturn void xdie(void);
void *xmalloc(size_t size_bytes);
/* count and item_bytes are above 0. */
void *xrealloc(void *old, size_t count, size_t item_bytes);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t length);
char *xasprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

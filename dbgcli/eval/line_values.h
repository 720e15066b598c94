/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The values of what stands on a source line. */
#ifndef DBGCLI_EVAL_LINE_VALUES_H
#define DBGCLI_EVAL_LINE_VALUES_H

#include "dbgcli/nav/moment.h"

/* Both are untrusted, and last for the call. */
typedef void (*cli_line_value_fn)(void *arg, const char *name, const char *text);

/*
 * Calls back for each name on the line, members included ("a->b.c"), that has a value in the
 * moment's first frame with source, each once and at most `most`; functions, macros and what is
 * quoted have none. Values are written as `print` does.
 */
void cli_line_values_each(struct cli_moment *moment, const char *line, size_t most,
                          cli_line_value_fn fn, void *arg);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a user names as TRACE. */
#ifndef DBGCLI_TRACE_ARG_H
#define DBGCLI_TRACE_ARG_H

#include <stdbool.h>

struct wetdbg_recording;

/* Whether a name is that of a built trace's file, FILE.wet; nothing is looked at. */
bool cli_is_wet_name(const char *name);

/* Opens the recording that `name` (a directory, or a name in rr's place) stands for, and says on
 * stderr if it did not end; *out is the caller's to wetdbg_recording_close(). Errors of
 * wetdbg_recording_find() and wetdbg_recording_open(). */
int cli_trace_open(const char *name, struct wetdbg_recording **out);

#endif

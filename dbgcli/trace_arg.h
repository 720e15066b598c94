/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a user names as TRACE. */
#ifndef DBGCLI_TRACE_ARG_H
#define DBGCLI_TRACE_ARG_H

struct rrt_trace;

/* Opens the recording that `name` (a directory, or a name in rr's place) stands for; *out is the
 * caller's to rrt_close(). Errors of rec_trace_dir() and rrt_open(). */
int cli_trace_open(const char *name, struct rrt_trace **out);

#endif

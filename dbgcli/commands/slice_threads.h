/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which threads executed the instances of each line of a slice. */
#ifndef DBGCLI_COMMANDS_SLICE_THREADS_H
#define DBGCLI_COMMANDS_SLICE_THREADS_H

#include "dbgcli/commands/session.h"

struct cli_slice_threads;

/*
 * Finds the threads for wetdbg_slice_lines() of the slice. *out is to be freed; NULL if the run has
 * one thread. Goes through all instances once, which may run intervals again: errors of
 * wetdbg_slice_each_instance().
 */
int cli_slice_threads_make(struct cli_session *session, const struct wetdbg_slice *slice,
                           struct cli_slice_threads **out);
void cli_slice_threads_free(struct cli_slice_threads *threads); /* NULL is fine */

/* "  thread 1" or "  threads 1,3"; and the JSON member "threads". Nothing for NULL. */
void cli_slice_threads_print(struct cli_out *out, const struct cli_slice_threads *threads,
                             size_t line);
void cli_slice_threads_to_json(json_t *object, const struct cli_slice_threads *threads,
                               size_t line);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run's facts and sizes: `wetdbg info` and, at the prompt, `info program`. */
#ifndef DBGCLI_COMMANDS_RUN_FACTS_H
#define DBGCLI_COMMANDS_RUN_FACTS_H

#include "dbgcli/out.h"
#include <wetdbg/wet.h>

enum cli_run_end {
    CLI_RUN_END_UNKNOWN, /* the recording does not tell */
    CLI_RUN_END_EXIT,
    CLI_RUN_END_SIGNAL, /* that arrived in the run: info->signal */
    CLI_RUN_END_KILLED, /* by a signal from outside, of which the run has no trace */
    CLI_RUN_END_EXEC,   /* another program replaced this one */
};

/* How the run ended; `number` is the exit status or the signal, else 0. */
enum cli_run_end cli_run_end(struct wetdbg *wet, int *number);

/* A line, begun by `head`, for each file that calls changed under a mapping and of which the
 * recording has no bytes. */
void cli_facts_print_unseen(FILE *stream, const char *head, struct wetdbg *wet);

void cli_facts_print(struct cli_out *out, struct wetdbg *wet, double build_seconds);

#endif

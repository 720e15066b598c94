/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a program as a shell would: in our place, and as if we were not there. */
#ifndef DBGCLI_VERBS_NATIVE_RUN_H
#define DBGCLI_VERBS_NATIVE_RUN_H

#include <stdbool.h>

struct cli_native {
    int status; /* as wait(2) has it */
    /* SIGHUP, SIGINT, SIGQUIT or SIGTERM came for it, from a terminal or a process. */
    bool was_told;
};

/*
 * The program has our standard streams, terminal, folder and environment. Signals that processes
 * send to us go to it. 0 if it ran, whatever came of it; -WETDBG_ERR_NOT_FOUND, explained, if there
 * is no such program, or a negative errno. One at a time, and not for processes that run several
 * threads.
 */
int cli_native_run(char *const *argv, struct cli_native *run);

#endif

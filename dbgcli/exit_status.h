/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program's exit status says. */
#ifndef DBGCLI_EXIT_STATUS_H
#define DBGCLI_EXIT_STATUS_H

#include <wetdbg/errors.h>

/* Exit statuses of the command line (README, "Exit status"). */
enum cli_exit {
    CLI_EXIT_OK = 0,
    CLI_EXIT_NOT_FOUND = 1,
    CLI_EXIT_USAGE = 2,
    CLI_EXIT_TRACE = 3,
    CLI_EXIT_DIVERGED = 4,
    CLI_EXIT_MACHINE = 5,
    CLI_EXIT_INTERRUPTED = 130,
};

/* The exit status that belongs to a negative error code (0 gives 0). */
static inline int cli_exit_status(int code)
{
    switch (-code) {
    case 0:
        return CLI_EXIT_OK;
    case WETDBG_ERR_USAGE:
        return CLI_EXIT_USAGE;
    case WETDBG_ERR_NOT_FOUND:
        return CLI_EXIT_NOT_FOUND;
    case WETDBG_ERR_INTERRUPTED:
        return CLI_EXIT_INTERRUPTED;
    case WETDBG_ERR_CORRUPT:
    case WETDBG_ERR_UNSUPPORTED:
    case WETDBG_ERR_VERSION:
        return CLI_EXIT_TRACE;
    case WETDBG_ERR_DIVERGED:
        return CLI_EXIT_DIVERGED;
    default:
        return CLI_EXIT_MACHINE;
    }
}

#endif

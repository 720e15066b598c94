/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which process of a failing command is about the user's own program, where the failure came from a
 * script, a shell, or a tool that compares output. */
#ifndef DBGCLI_VERBS_OWN_PROCESS_H
#define DBGCLI_VERBS_OWN_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include <wetdbg/recording.h>

struct cli_own_process {
    size_t process;  /* index in the list */
    size_t comparer; /* whose tool found its output wrong; WETDBG_NO_PROCESS: it failed itself */
};

/*
 * `failed` is the process that wetdbg_default_process() says. False if that runs the user's own
 * program, one below the current directory with debug information, or if nothing else is found:
 * neither an own program that was run before cmp, diff or grep found a difference, nor one that
 * failed itself, the last of these. Reads programs' files, as they are now.
 */
bool cli_own_process_find(const struct wetdbg_process *list, size_t count, size_t failed,
                          struct cli_own_process *found);

/* What a process ran last; NULL: not known. Borrowed from the list. */
const struct wetdbg_exec *cli_last_exec(const struct wetdbg_process *list, size_t process);

#endif

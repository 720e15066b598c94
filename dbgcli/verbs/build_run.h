/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a recording to its .wet file, with a progress bar. */
#ifndef DBGCLI_VERBS_BUILD_RUN_H
#define DBGCLI_VERBS_BUILD_RUN_H

#include <stdbool.h>

#include "include/wetdbg.h"

/*
 * The .wet file of `process` (NULL: the library chooses) of the recording in `trace_dir`:
 * the one that is kept, or, if there is none that matches, a new one. `output` NULL: where the
 * library keeps it; else it is always built there. With `compact` it is built as a small one, also
 * where one is kept. *path is to be freed. Errors of the library.
 */
int cli_build_wet(const char *trace_dir, const char *process, const char *output, bool compact,
                  char **path);

/* Replays without keeping anything. */
int cli_build_verify(const char *trace_dir, const char *process,
                     struct wetdbg_replay_result *result);

#endif

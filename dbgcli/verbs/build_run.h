/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From a recording to its .wet file, with a progress bar. */
#ifndef DBGCLI_VERBS_BUILD_RUN_H
#define DBGCLI_VERBS_BUILD_RUN_H

#include "dbgcli/args.h"
#include <wetdbg/build.h>

/* What the options of `replay` say of building. Borrowed from `args`. -WETDBG_ERR_USAGE. */
int cli_build_options_parse(const struct cli_args *args, struct wetdbg_build_options *how);

/*
 * The .wet file of a recording, as `how` wants it: the one that is kept, or, if there is none that
 * matches, a new one; with `output` or `compact` always a new one. *path is to be freed; *seconds
 * is what building took, 0 if that was done before. Errors of the library.
 */
int cli_build_wet(const char *trace_dir, struct wetdbg_build_options *how, char **path,
                  double *seconds);

/* Replays without keeping anything. */
int cli_build_verify(const char *trace_dir, struct wetdbg_build_options *how,
                     struct wetdbg_replay_result *result);

#endif

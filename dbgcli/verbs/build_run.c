/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/build_run.h"

#include <stddef.h>
#include <stdlib.h>

#include "dbgcli/interrupt.h"
#include "dbgcli/progress.h"

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    cli_progress_update(arg, done, total, instructions);
}

static int replay(const char *trace_dir, struct wetdbg_build_options *how,
                  struct wetdbg_replay_result *result, char **path)
{
    struct cli_progress progress;
    cli_progress_begin(&progress, stderr);
    how->progress = on_progress;
    how->progress_arg = &progress;
    how->interrupted = cli_interrupt_flag();
    cli_interrupt_catch(NULL, NULL);
    int failed = wetdbg_replay(trace_dir, how, result, path);
    cli_interrupt_release();
    cli_progress_end(&progress);
    return failed;
}

int cli_build_wet(const char *trace_dir, const char *process, const char *output, bool compact,
                  char **path)
{
    struct wetdbg_build_options how = {.process = process, .output = output, .compact = compact};
    struct wetdbg_replay_result numbers;
    bool is_fresh = false;
    if (!output && !compact) {
        char *kept;
        int result = wetdbg_wet_path(trace_dir, process, &kept, &is_fresh);
        if (result)
            return result;
        if (is_fresh) {
            *path = kept;
            return 0;
        }
        free(kept);
    }
    return replay(trace_dir, &how, &numbers, path);
}

int cli_build_verify(const char *trace_dir, const char *process,
                     struct wetdbg_replay_result *result)
{
    struct wetdbg_build_options how = {.process = process, .no_trace = true};
    char *path = NULL;
    int failed = replay(trace_dir, &how, result, &path);
    if (!failed)
        free(path);
    return failed;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/build_run.h"

#include <stddef.h>
#include <stdlib.h>

#include "dbgcli/interrupt.h"
#include "dbgcli/out.h"
#include "dbgcli/progress.h"
#include "dbgcli/verbs/memory_arg.h"
#include <wetdbg/errors.h>

static void on_progress(void *arg, uint64_t done, uint64_t total, uint64_t instructions)
{
    cli_progress_update(arg, done, total, instructions);
}

static void on_notice(void *arg, const char *sentence)
{
    cli_progress_end(arg);
    fputs("wetdbg: ", stderr);
    cli_text_put(stderr, sentence); /* it may name a file of the recording */
    putc('\n', stderr);
}

static int replay(const char *trace_dir, struct wetdbg_build_options *how,
                  struct wetdbg_replay_result *result, char **path)
{
    struct cli_progress progress;
    cli_progress_begin(&progress, stderr);
    how->progress = on_progress;
    how->progress_arg = &progress;
    how->notice = on_notice;
    how->notice_arg = &progress;
    how->interrupted = cli_interrupt_flag();
    cli_interrupt_catch(NULL, NULL);
    int failed = wetdbg_replay(trace_dir, how, result, path);
    cli_interrupt_release();
    cli_progress_end(&progress);
    return failed;
}

/* ---- options ---- */

int cli_build_options_parse(const struct cli_args *args, struct wetdbg_build_options *how)
{
    uint64_t jobs;
    *how = (struct wetdbg_build_options){.process = cli_args_value(args, "process"),
                                         .output = cli_args_value(args, "output"),
                                         .from = cli_args_value(args, "from"),
                                         .to = cli_args_value(args, "to"),
                                         .compact = cli_args_has(args, "compact"),
                                         .is_trusted = cli_args_has(args, "trust")};
    int err = cli_memory_parse(args, &how->memory_bytes);
    if (!err)
        err = cli_args_number(args, "jobs", 0, &jobs);
    if (!err && cli_args_has(args, "jobs") && (!jobs || jobs > 1024))
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "%s: option '--jobs' needs a number from 1 to 1024",
                          args->name);
    if (!err)
        how->jobs = (unsigned)jobs;
    return err;
}

/* ---- building ---- */

int cli_build_wet(const char *trace_dir, struct wetdbg_build_options *how, char **path,
                  double *seconds)
{
    struct wetdbg_replay_result numbers;
    bool is_fresh = false;
    *seconds = 0;
    if (!how->output && !how->compact) {
        char *kept;
        int err = wetdbg_window_path(trace_dir, how, &kept, &is_fresh);
        if (err)
            return err;
        if (is_fresh) {
            *path = kept;
            return 0;
        }
        free(kept);
    }
    int failed = replay(trace_dir, how, &numbers, path);
    if (!failed)
        *seconds = numbers.seconds;
    return failed;
}

int cli_build_verify(const char *trace_dir, struct wetdbg_build_options *how,
                     struct wetdbg_replay_result *result)
{
    char *path = NULL;
    how->no_trace = true;
    int failed = replay(trace_dir, how, result, &path);
    if (!failed)
        free(path);
    return failed;
}

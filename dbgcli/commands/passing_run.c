/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/passing_run.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/trace_arg.h"
#include "dbgcli/verbs/build_run.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>
#include <wetdbg/spectrum.h>

/* The trace's file: itself, or what was (or is) built of a recording. */
static int find_wet(const char *name, char **path, bool *is_trusted)
{
    struct wetdbg_build_options how = {0};
    char *trace_dir;
    double seconds;
    *is_trusted = false;
    if (cli_is_wet_name(name)) {
        *path = cli_strdup(name);
        return 0;
    }
    int err = wetdbg_recording_find(name, &trace_dir);
    if (err)
        return err;
    *is_trusted = wetdbg_is_trusted(trace_dir);
    err = cli_build_wet(trace_dir, &how, path, &seconds);
    free(trace_dir);
    return err;
}

int cli_passing_run_open(struct cli_session *failing, struct cli_passing_run *run)
{
    struct cli_session *session = &run->session;
    bool is_trusted;
    char *path;
    int err = find_wet(run->name, &path, &is_trusted);
    cli_session_catch(failing); /* building takes Ctrl-C for itself */
    if (err)
        return err;
    session->out = failing->out;
    err = wetdbg_open(path, &session->wet);
    free(path);
    if (err)
        return err;
    if (is_trusted || run->is_trusted)
        wetdbg_trust(session->wet);
    session->info = wetdbg_get_info(session->wet);
    session->model = wetdbg_get_model(session->wet);
    session->time = session->info->last_time + 1;
    err = wetdbg_check_same_program(failing->wet, session->wet, run->name);
    if (!err && session->info->signal && session->info->signal == failing->info->signal)
        err = wetdbg_fail(-WETDBG_ERR_USAGE,
                          "%s is no passing run: the same signal ended it. If it was made of an "
                          "input, was that given to the program as the failing one is (--fail)?",
                          run->name);
    return err ? err : wetdbg_slice_session_new(session->wet, &session->slices);
}

void cli_passing_run_close(struct cli_passing_run *run)
{
    wetdbg_slice_free(run->slice);
    wetdbg_criterion_free(run->criterion);
    wetdbg_slice_session_free(run->session.slices);
    wetdbg_close(run->session.wet);
}

/* Where the failing run crashed the other one went on: what corresponds is the last time that it
 * executed the same instruction. All else is what it is called. 0 too if there is nothing. */
static int find_criterion(struct cli_session *failing, const struct wetdbg_criterion *criterion,
                          struct cli_passing_run *run)
{
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);
    struct wetdbg *wet = run->session.wet;
    wetdbg_time time;
    uint64_t pc;
    int err;
    if (run->counterpart) {
        err = cli_criterion_parse(&run->session, run->counterpart, false, &run->criterion);
    } else if (info->kind == WETDBG_CRITERION_CRASH) {
        err = wetdbg_pc_in_other(failing->wet, info->pc, wet, &pc);
        if (!err)
            err = wetdbg_find_instance(wet, &pc, 1, -1, &time);
        if (!err)
            err = wetdbg_criterion_of_instance(wet, time, &run->criterion);
    } else if (info->kind == WETDBG_CRITERION_VARIABLE || info->kind == WETDBG_CRITERION_MEMORY ||
               info->kind == WETDBG_CRITERION_REGISTER) {
        err = -WETDBG_ERR_NOT_FOUND; /* times and addresses of one run mean nothing in another */
    } else {
        err = cli_criterion_parse(&run->session, info->text, false, &run->criterion);
    }
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

static int slice_run(struct cli_passing_run *run, const struct wetdbg_slice_options *how,
                     bool is_forward)
{
    struct wetdbg_slice_options plain = *how;
    plain.record_parents = plain.copies_are_near = false;
    if (!run->criterion)
        return 0;
    int err = cli_slice_run(&run->session, run->criterion, &plain, is_forward, NULL, &run->slice);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

int cli_passing_run_slice(struct cli_session *failing, const struct wetdbg_criterion *criterion,
                          const struct wetdbg_slice_options *how, bool is_forward,
                          struct cli_passing_run *run)
{
    int err = find_criterion(failing, criterion, run);
    return err ? err : slice_run(run, how, is_forward);
}

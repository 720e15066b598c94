/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/locate_reduce.h"

#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/locate_oracle.h"
#include "dbgcli/verbs/locate_rerun.h"
#include "dbgcli/verbs/locate_steps.h"
#include <wetdbg/caller.h>
#include <wetdbg/delta_record.h>
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define SHARE         0.25 /* of the time that is left */
#define LEAST_SECONDS 0.5
#define FIRST_SECONDS 5.0 /* a run may take, before it is known how long one does */

/* ---- the search ---- */

static void on_tested(void *arg, const struct wetdbg_dd_bytes *candidate,
                      enum wetdbg_delta_outcome outcome, bool is_live)
{
    struct cli_reduced *reduced = arg;

    (void)is_live; /* what passes runs once more, before it counts */
    if (outcome == WETDBG_DELTA_PASS)
        cli_near_keep(&reduced->near, candidate);
}

/* How long a run takes; all of the input has to fail. */
static int try_whole(struct cli_locating *self, struct wetdbg_dd_options *how)
{
    struct wetdbg_dd_trial trial;

    how->timeout_s = FIRST_SECONDS;
    int err = wetdbg_dd_try(how, &self->input.bytes, &trial);
    if (err)
        return err;
    how->timeout_s = 10 * trial.seconds + 0.5;
    if (trial.outcome == WETDBG_DELTA_FAIL)
        return 0;
    return trial.is_ended ? wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "run once more, %s did not fail",
                                        self->input.what)
                          : wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "a run takes too long for that");
}

static int search(struct cli_locating *self, struct wetdbg_dd_options *how,
                  struct wetdbg_dd_result *found)
{
    int err = try_whole(self, how);

    if (err)
        return err;
    how->budget_s = SHARE * cli_locating_seconds_left(self);
    how->jobs = self->jobs;
    how->tested = on_tested;
    how->arg = &self->reduced;
    return wetdbg_dd(how, found);
}

/* ---- the smaller input ---- */

/* Keeps it beside the trace of the run that was given. */
static int keep(struct cli_locating *self, struct wetdbg_dd_result *found)
{
    struct cli_reduced *reduced = &self->reduced;
    int err = cli_locate_input_keep(&found->fail, self->wet_path, "reduced-input", &reduced->file);

    if (err)
        return err;
    reduced->input = found->fail;
    found->fail = (struct wetdbg_dd_bytes){0};
    reduced->of = found->original_bytes;
    reduced->is_minimal = !found->is_cut;
    reduced->tests = found->tests;
    return 0;
}

/* ---- a run on it ---- */

static int record(struct cli_locating *self, const struct wetdbg_dd_options *how)
{
    struct cli_reduced *reduced = &self->reduced;
    struct wetdbg_build_options building = {.interrupted = cli_interrupt_flag()};
    struct wetdbg_dd_recording *recording;
    double seconds;
    int err = wetdbg_dd_record(how, &reduced->input, &(struct wetdbg_dd_place){0}, &recording);

    if (err)
        return err;
    const struct wetdbg_dd_recorded *recorded = wetdbg_dd_recording_get(recording);
    building.is_trusted = wetdbg_is_trusted(recorded->trace_dir);
    if (!recorded->fails)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "recorded, it did not fail");
    if (!err)
        err = cli_build_wet(recorded->trace_dir, &building, &reduced->wet_path, &seconds);
    wetdbg_dd_recording_close(recording, !err);
    if (!err)
        err = cli_session_open(&reduced->session, self->session->out, reduced->wet_path);
    if (!err && building.is_trusted)
        wetdbg_trust(reduced->session.wet);
    return err;
}

/* Where the program's own code was when it failed. 0 with file NULL: that is not known. */
static int find_place(struct cli_session *session, const char *criterion,
                      struct wetdbg_caller *caller)
{
    struct wetdbg_criterion *parsed;
    int err = wetdbg_criterion_parse(session->wet, criterion, NULL, &parsed);

    *caller = (struct wetdbg_caller){0};
    if (err)
        return err;
    wetdbg_time time = wetdbg_criterion_get_info(parsed)->time;
    if (time > session->info->last_time)
        time = session->info->last_time;
    err = wetdbg_own_caller(session->wet, time, caller);
    wetdbg_criterion_free(parsed);
    return err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
}

/* Whether both runs fail alike: in the same kind, and but for --oracle at the same line. */
static int check_same(struct cli_locating *self)
{
    struct cli_session *session = &self->reduced.session;
    struct cli_failure failure;
    struct wetdbg_caller one, other;
    int err = cli_failure_find(session, &self->right, &failure);
    bool is_same = !err && failure.kind == self->failure.kind;

    if (is_same && !self->right.command) {
        err = find_place(self->session, self->failure.criterion, &one);
        if (!err)
            err = find_place(session, failure.criterion, &other);
        is_same = !err && one.line == other.line && one.file && other.file &&
                  !strcmp(one.file, other.file);
    }
    cli_failure_fini(&failure);
    return !err && !is_same ? wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "recorded, it fails elsewhere")
                            : err;
}

/* The run on the smaller input takes the place of the failing one if it is shorter. */
static int turn(struct cli_locating *self, const struct wetdbg_dd_options *how)
{
    struct cli_reduced *reduced = &self->reduced;
    int err = record(self, how);

    if (!err)
        err = check_same(self);
    if (!err && reduced->session.info->instructions >= self->session->info->instructions)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "a run on it is no shorter");
    if (!err)
        return cli_locating_turn(self, &reduced->session, reduced->wet_path);
    free(reduced->wet_path);
    reduced->wet_path = NULL;
    err = cli_locating_miss_step(self, "the smaller input", err);
    if (!err)
        cli_session_catch(self->session); /* building and the other session took Ctrl-C */
    return err;
}

/* ---- the step ---- */

static int reduce(struct cli_locating *self, struct wetdbg_dd_options *how)
{
    struct wetdbg_dd_result found = {0};
    int err = search(self, how, &found);

    how->budget_s = 0;
    if (!err && found.fail.size < found.original_bytes)
        err = keep(self, &found);
    wetdbg_dd_result_fini(&found);
    return err;
}

int cli_reduce(struct cli_locating *self)
{
    struct wetdbg_dd_options how;
    char *command = NULL;
    bool may_run;
    int err = cli_locate_may_rerun(self, &may_run);

    if (err || !may_run)
        return cli_locating_miss_step(self, "reducing the input", err);
    how = cli_locate_input_runs(&self->input);
    err = cli_locate_oracle(self, &how, &command);
    if (!err && SHARE * cli_locating_seconds_left(self) < LEAST_SECONDS)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "there was no time for it; --budget gives more");
    if (!err)
        err = reduce(self, &how);
    err = cli_locating_miss_step(self, "reducing the input", err);
    if (!err && self->reduced.file)
        err = turn(self, &how);
    free(command);
    return err;
}

void cli_reduced_fini(struct cli_reduced *reduced)
{
    if (reduced->session.wet)
        cli_session_close(&reduced->session);
    cli_near_fini(&reduced->near);
    free(reduced->input.data);
    free(reduced->file);
    free(reduced->wet_path);
    *reduced = (struct cli_reduced){0};
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "delta/offspring.h"
#include "delta/warden.h"
#include <wetdbg/delta.h>
#include <wetdbg/errors.h>

/* A warden keeps its limits by itself; one that was stopped or hangs is ended after so much
 * more. */
#define PATIENCE_SECONDS 30.0

int dlt_trial_start(struct dlt_trial *trial, const struct dlt_plan *plan,
                    const struct wetdbg_dd_bytes *candidate)
{
    int pipes[2];
    pid_t parent = getpid();
    int err = dlt_scratch_name(trial->scratch);
    if (err)
        return err;
    if (pipe2(pipes, O_CLOEXEC))
        return wetdbg_fail_errno("cannot make a pipe");
    trial->warden = dlt_fork();
    if (trial->warden == 0) {
        close(pipes[0]);
        dlt_warden(plan, candidate, trial->scratch, pipes[1], parent);
    }
    if (trial->warden < 0)
        err = wetdbg_fail_errno("cannot start a process");
    close(pipes[1]);
    if (err) {
        close(pipes[0]);
        return err;
    }
    trial->fd = pipes[0];
    trial->is_running = true;
    trial->deadline_s = wd_seconds() + 2 * plan->timeout_s + PATIENCE_SECONDS;
    return 0;
}

/* The warden ends by itself or was told to: takes in its end, and what it could not remove. */
static void trial_end(struct dlt_trial *trial)
{
    while (waitpid(trial->warden, NULL, 0) < 0 && errno == EINTR)
        ;
    close(trial->fd);
    dlt_scratch_remove(trial->scratch);
    trial->is_running = false;
}

void dlt_trial_cancel(struct dlt_trial *trial)
{
    struct pollfd ready = {.fd = trial->fd, .events = POLLIN};
    if (!trial->is_running)
        return;
    kill(trial->warden, SIGTERM);
    kill(trial->warden, SIGCONT);
    if (poll(&ready, 1, (int)(PATIENCE_SECONDS * 1000)) == 0)
        kill(trial->warden, SIGKILL);
    trial_end(trial);
}

int dlt_trial_take(struct dlt_trial *trial, struct dlt_report *report)
{
    ssize_t got = read(trial->fd, report, sizeof(*report));
    trial_end(trial);
    if (got !=
        (ssize_t)sizeof(*report)) /* somebody ended the warden: nothing is known of the run */
        *report = (struct dlt_report){.program = {DLT_SIGNALED, SIGKILL}};
    report->sentence[sizeof(report->sentence) - 1] = 0;
    if (report->program.ending != DLT_BROKEN)
        return 0;
    return wetdbg_fail(report->error < 0 ? report->error : -WETDBG_ERR_MACHINE, "%s",
                       report->sentence);
}

/* Ends the warden of a run that is long overdue; its pipe then has an end. */
void dlt_trials_look(const struct dlt_trial *trials, size_t count)
{
    double now = wd_seconds();
    for (size_t i = 0; i < count; i++)
        if (trials[i].is_running && now > trials[i].deadline_s)
            kill(trials[i].warden, SIGKILL);
}

int dlt_trial_finish(struct dlt_trial *trials, size_t count,
                     const volatile sig_atomic_t *interrupted, size_t *which,
                     struct dlt_report *report)
{
    struct pollfd ready[WETDBG_DELTA_JOBS_MAX];
    for (;;) {
        for (size_t i = 0; i < count; i++)
            ready[i] =
                (struct pollfd){.fd = trials[i].is_running ? trials[i].fd : -1, .events = POLLIN};
        if (interrupted && *interrupted)
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        int got = poll(ready, count, DLT_TRIAL_LOOK_MS);
        if (got == 0)
            dlt_trials_look(trials, count);
        for (size_t i = 0; got > 0 && i < count; i++) {
            if (!ready[i].revents)
                continue;
            *which = i;
            return dlt_trial_take(&trials[i], report);
        }
    }
}

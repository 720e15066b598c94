/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/until_fail.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbgcli/interrupt.h"
#include <wetdbg/errors.h>
#include <wetdbg/recording.h>

/* ---- standard input, again ---- */

static int copy_all(int from, int to)
{
    char bytes[1 << 16];
    ssize_t got;

    while ((got = read(from, bytes, sizeof(bytes))) > 0)
        for (ssize_t done = 0, put; done < got; done += put)
            if ((put = write(to, bytes + done, (size_t)(got - done))) < 0)
                return wetdbg_fail_errno("standard input cannot be kept for the next run");
    if (got < 0)
        return wetdbg_fail_errno("standard input cannot be read");
    return 0;
}

/* Puts a file that is gone with this process in the place of a pipe. */
static int keep_pipe(void)
{
    FILE *file = tmpfile();
    int err;

    if (!file)
        return wetdbg_fail_errno("standard input cannot be kept for the next run");
    err = copy_all(STDIN_FILENO, fileno(file));
    if (!err && (lseek(fileno(file), 0, SEEK_SET) < 0 || dup2(fileno(file), STDIN_FILENO) < 0))
        err = wetdbg_fail_errno("standard input cannot be kept for the next run");
    fclose(file);
    return err;
}

/* *start: where each run begins to read, or -1 where there is no such place (a terminal,
 * /dev/null). */
static int keep_input(off_t *start)
{
    struct stat st;
    int err = 0;

    if (fstat(STDIN_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
        err = keep_pipe();
    *start = lseek(STDIN_FILENO, 0, SEEK_CUR);
    return err;
}

/* ---- runs ---- */

/* Whether the order of events may be another one next time. */
static bool has_several_tasks(const char *trace_dir)
{
    struct wetdbg_recording *trace;
    const struct wetdbg_process *list;
    size_t count = 0, tasks = 0;

    if (wetdbg_recording_open(trace_dir, &trace) != 0)
        return false;
    if (wetdbg_recording_processes(trace, &list, &count) == 0)
        for (size_t i = 0; i < count; i++)
            tasks += list[i].tid_count;
    wetdbg_recording_close(trace);
    return tasks > 1;
}

static int forget(struct wetdbg_record_outcome *outcome)
{
    int err = wetdbg_recording_remove(outcome->trace_dir);

    free(outcome->trace_dir);
    outcome->trace_dir = NULL;
    return err;
}

static int repeat(struct wetdbg_record_options *how, char *const argv[], uint64_t most, off_t start,
                  struct wetdbg_record_outcome *outcome, struct cli_until_fail *found)
{
    bool always = how->chaos, is_parallel = false;
    int err = 0;

    while (!err && found->runs < most && !found->has_failed && !found->was_told) {
        how->chaos = always || (is_parallel && found->runs % 2);
        if (start >= 0)
            lseek(STDIN_FILENO, start, SEEK_SET);
        wetdbg_record_outcome_fini(outcome);
        found->output_begin = lseek(STDOUT_FILENO, 0, SEEK_CUR);
        err = wetdbg_record(how, argv, outcome);
        if (err)
            break;
        if (!found->runs++)
            is_parallel = has_several_tasks(outcome->trace_dir);
        found->has_failed = outcome->exit_status != 0;
        found->was_told = outcome->was_told_to_end || cli_interrupt_is_pending();
        found->drew_lots = how->chaos;
        if (!found->has_failed)
            err = forget(outcome);
        how->quiet = true; /* what it has to say of the machine it has said */
    }
    return err;
}

int cli_record_until_fail(const struct wetdbg_record_options *how, char *const argv[],
                          uint64_t most, struct wetdbg_record_outcome *outcome,
                          struct cli_until_fail *found)
{
    struct wetdbg_record_options each = *how;
    off_t start;
    int err = keep_input(&start);

    *found = (struct cli_until_fail){0};
    *outcome = (struct wetdbg_record_outcome){0};
    if (err)
        return err;
    cli_interrupt_catch_all();
    err = repeat(&each, argv, most, start, outcome, found);
    cli_interrupt_release();
    if (err)
        wetdbg_record_outcome_fini(outcome);
    return err;
}

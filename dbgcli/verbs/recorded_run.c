/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/recorded_run.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/trace_arg.h"
#include "dbgcli/verbs/build_run.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

/* Descriptor `fd` becomes `file` (taken over) until give_back(). *kept is what it was. */
static int replace(int fd, int file, int *kept)
{
    *kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    int err = *kept < 0 || dup2(file, fd) < 0
                  ? wetdbg_fail_errno(fd ? "standard output" : "standard input")
                  : 0;
    close(file);
    return err;
}

static void give_back(int fd, int kept)
{
    if (kept < 0)
        return;
    dup2(kept, fd);
    close(kept);
}

/* Records a program, whose standard output goes to a file without a name, since there are programs
 * that put out less to /dev/null. */
static int record(char **argv, const char *input, struct wetdbg_record_outcome *outcome)
{
    int output = memfd_create("output", MFD_CLOEXEC), kept_output = -1, kept_input = -1;
    int err = output < 0 ? wetdbg_fail_errno("standard output") : 0;
    if (!err && input) {
        int file = open(input, O_RDONLY | O_CLOEXEC);
        err = file < 0 ? wetdbg_fail_errno("%s", input) : replace(0, file, &kept_input);
    }
    if (!err)
        err = replace(1, output, &kept_output);
    else if (output >= 0)
        close(output);
    if (!err) {
        struct wetdbg_record_options how = {.quiet = true, .keep_input = WETDBG_KEEP_INPUT};
        err = wetdbg_record(&how, argv, outcome);
    }
    give_back(1, kept_output);
    give_back(0, kept_input);
    return err;
}

static int build(const char *directory, bool is_trusted, char **path)
{
    struct wetdbg_build_options how = {.interrupted = cli_interrupt_flag(),
                                       .is_trusted = is_trusted};
    double seconds;
    return cli_build_wet(directory, &how, path, &seconds);
}

int cli_recorded_run_make(char **argv, const char *input, char **path)
{
    struct wetdbg_record_outcome outcome;
    int err = record(argv, input, &outcome);
    if (err)
        return err;
    err = build(outcome.trace_dir, true, path);
    wetdbg_record_outcome_fini(&outcome);
    return err;
}

bool cli_recorded_run_is_there(char **operands)
{
    char *directory;
    if (!operands[0] || operands[1])
        return false;
    if (cli_is_wet_name(operands[0]))
        return true;
    if (wetdbg_recording_find(operands[0], &directory))
        return false;
    free(directory);
    return true;
}

/* A run that is there, and not a program with arguments. */
static bool is_run(const char *name)
{
    struct stat status;
    char *directory;

    if (cli_is_wet_name(name))
        return true;
    if (stat(name, &status) == 0 && S_ISREG(status.st_mode))
        return false;
    if (wetdbg_recording_find(name, &directory) != 0)
        return false;
    free(directory);
    return true;
}

static int fail_behind(const char *verb, const char *name, const char *word)
{
    return wetdbg_fail(-WETDBG_ERR_USAGE,
                       *word == '-' ? "%s: '%s' stands behind '%s': options come before TRACE"
                                    : "%s: unexpected argument '%s' behind the run '%s'",
                       verb, word, name);
}

int cli_recorded_run_find(const char *verb, char **operands, const char *input, char **path,
                          bool *is_trusted)
{
    char *directory;
    bool is_alone = operands[0] && !operands[1];

    *is_trusted = false;
    if (!is_alone && operands[0] && is_run(operands[0]))
        return fail_behind(verb, operands[0], operands[1]);
    if (is_alone && cli_is_wet_name(operands[0])) {
        *path = cli_strdup(operands[0]);
        return 0;
    }
    if (!is_alone || wetdbg_recording_find(operands[0], &directory)) {
        *is_trusted = true;
        return cli_recorded_run_make(operands, input, path);
    }
    *is_trusted = wetdbg_is_trusted(directory);
    int err = build(directory, *is_trusted, path);
    free(directory);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `wetdbg ci`: runs a test command as it is; one that fails is recorded again, and the fault is
 * looked for. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dbgcli/commands/switching.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/verbs/child_run.h"
#include "dbgcli/verbs/ci_locate.h"
#include "dbgcli/verbs/native_run.h"
#include "dbgcli/verbs/switch_wrap.h"
#include "dbgcli/verbs/verb.h"
#include <wetdbg/errors.h>

#define FOLDER           "wetdbg-report"
#define BUDGET_SECONDS   60
#define TRIES            10
#define ALL_SECONDS      900.0 /* of recording, building and locating */
#define SPARE_SECONDS    2.0   /* between being asked to end and being ended */
#define STATUS_NOT_FOUND 127
#define STATUS_NOT_RUN   126

static const struct cli_option options[] = {
    {"report", 0, "DIR", "where reports of a failure go; by default " FOLDER},
    {"budget", 0, "TIME", "seconds for locating: 90, 30s, 5m, 1h; by default 60s"},
    {"tries", 0, "N", "of a failure that does not come again, record N runs (10)"},
    {"process", 0, "PROC", "which process of it; by default the one that made it fail"},
    {0},
};

const struct cli_syntax cli_ci_syntax = {
    .usage = "[--report=DIR] [OPTION]... [--] COMMAND [ARG]...",
    .options = options,
    .operands_max = CLI_OPERANDS_ANY,
    .ends_at_operand = true,
    .details =
        "Runs a test command as it is, and ends as it did. Where it fails, it is run once more,\n"
        "recorded, and the fault looked for as by 'locate'. In DIR are then locate.txt,\n"
        "locate.html, locate.json, locate.sarif, junit.xml, summary.md, output.txt (of the\n"
        "recorded run) and run.wet, for 'wetdbg open'; standard error has the first suspects,\n"
        "and, if it is set, $GITHUB_STEP_SUMMARY the summary.\n"
        "Of a command that runs tests as its children (ctest, make check, meson test) the process\n"
        "whose failing made it fail is looked at. Standard input has to be a file, if the\n"
        "recorded run should have it, too. A failure that does not come again is recorded until\n"
        "it does. Whatever becomes of all that within 15 minutes, the exit status is the\n"
        "command's own: 127 if there is no such command, 126 if it cannot be run.",
    .example = "wetdbg ci --report=wetdbg-report -- ctest --test-dir build",
};

static int parse(const struct cli_args *args, struct cli_ci *ci)
{
    uint64_t number = 0;
    int err = cli_budget_parse(args, &number, &ci->budget);

    if (err)
        return wetdbg_fail(err, "ci: --budget is a time: 90, 30s, 5m, 1h, not '%s'",
                           cli_args_value(args, "budget"));
    if (number)
        ci->budget = (double)number;
    err = cli_args_number(args, "tries", TRIES, &ci->runs);
    if (!err && !ci->runs)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "ci: --tries needs at least one run");
    if (!err && !args->operand_count)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "ci: which COMMAND?");
    if (!err && cli_args_has(args, "report"))
        ci->folder = cli_args_value(args, "report");
    if (!err && !*ci->folder)
        err = wetdbg_fail(-WETDBG_ERR_USAGE, "ci: --report needs the name of a folder");
    return err;
}

/* ---- standard input ---- */

/* What a pipe or a terminal gave is gone with the first run. */
static void note_input(struct cli_ci *ci)
{
    struct stat st;
    bool is_open = fstat(STDIN_FILENO, &st) == 0;

    ci->has_input = is_open && S_ISREG(st.st_mode);
    ci->is_input_gone = is_open && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(0));
    ci->input_begin = ci->has_input ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
}

/* ---- what led there ---- */

static void end_group(void *context)
{
    kill(-*(pid_t *)context, SIGINT);
}

/* In a process of its own, so that nothing that happens there changes how the test ends; and in a
 * group, so that all of it can be ended. Ctrl-C leaves the best answer so far. */
static void find_out(const struct cli_ci *ci)
{
    static pid_t pid;
    int status = 0;

    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cli_switch_wrap_begin();
        cli_ci_locate(ci);
        fflush(NULL);
        _exit(0);
    }
    if (pid < 0)
        return;
    setpgid(pid, pid);
    cli_interrupt_catch(end_group, &pid);
    if (!cli_child_wait(pid, ALL_SECONDS, &status)) {
        fputs("wetdbg: ci: it takes too long, and is ended\n", stderr);
        kill(-pid, SIGTERM);
        if (!cli_child_wait(pid, SPARE_SECONDS, &status)) {
            kill(-pid, SIGKILL);
            cli_child_wait(pid, 0, &status);
        }
    } else if (WIFSIGNALED(status)) {
        fprintf(stderr, "wetdbg: ci: looking for the fault was ended by signal %d\n",
                WTERMSIG(status));
    }
    cli_interrupt_release();
}

/* ---- the verb ---- */

int cli_ci_run(struct cli_app *app, const struct cli_args *args)
{
    struct cli_ci ci = {.argv = args->operands,
                        .folder = FOLDER,
                        .budget = BUDGET_SECONDS,
                        .process = cli_args_value(args, "process")};
    struct cli_native run;
    int err = parse(args, &ci);

    if (err)
        return err;
    note_input(&ci);
    err = cli_native_run(args->operands, &run);
    if (err) {
        cli_out_error(app->out, "wetdbg: ci", err);
        return err == -WETDBG_ERR_NOT_FOUND ? STATUS_NOT_FOUND : STATUS_NOT_RUN;
    }
    ci.status = run.status;
    if (run.status && !run.was_told && !cli_switch_is_wrapped())
        find_out(&ci);
    return cli_child_end_as(run.status);
}

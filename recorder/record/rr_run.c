/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of rr. The preload goes into rr in both modes: with hardware ticks too it merges map
 * lines, keeps the user's LD_PRELOAD out of rr itself, and tells us over a pipe which directory
 * rr made and whether the program was ever started. The latter two are how a failure of rr is
 * told from a program that returns the same status.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/record/failure.h"
#include "recorder/record/find_rr.h"
#include "recorder/record/machine.h"
#include "recorder/record/relay.h"
#include "recorder/record/rr_report.h"
#include "recorder/record/sums.h"
#include "recorder/record/surroundings.h"
#include "recorder/record/trace_place.h"
#include "recorder/record/trust.h"
#include "recorder/record/which_processor.h"
#include "recorder/ticks/protocol.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

#define EXEC_FAILED  127
#define RR_FILES_MIN 1010
/* A name that rr matches to a CPU whose start-up checks our counters pass. */
#define SOFTWARE_MICROARCH "AMD Zen"

struct run {
    char *rr;
    char *program;
    char *preload;
    char *out_dir; /* absolute; NULL = rr's place */
    bool is_software;
    bool wait_all, chaos, buffers_calls;
    bool was_told_to_end;
    char *const *environment; /* NULL = ours */
    const char *microarch;    /* NULL = rr knows best */
    int report_write_fd;
    struct rec_report report;
};

/* ---- before ---- */

static int choose_ticks(struct run *run, const struct wetdbg_record_options *options)
{
    int pmu = options->ticks == WETDBG_TICKS_SOFTWARE ? -ENODEV : rec_probe_pmu();
    struct rec_cpu cpu;

    if (pmu != 0 && options->ticks == WETDBG_TICKS_HARDWARE)
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "hardware ticks are impossible: the PMU %s "
                           "(`wetdbg record --check` says more; --ticks=software does without)",
                           rec_pmu_reason(pmu));
    run->is_software = pmu != 0;
    if (run->is_software) {
        run->microarch = SOFTWARE_MICROARCH;
        if (options->ticks == WETDBG_TICKS_AUTO && !options->quiet)
            fprintf(stderr, "wetdbg: recording with software ticks: the PMU %s\n",
                    rec_pmu_reason(pmu));
        return 0;
    }
    rec_cpu_probe(&cpu);
    run->microarch = rec_cpu_microarch(&cpu);
    return 0;
}

/* Software ticks are nothing without the preload; hardware ticks mostly get along. */
static int find_preload(struct run *run)
{
    int err = rec_locate_preload(&run->preload);

    return err && !run->is_software ? 0 : err;
}

/* rr would end in a stack trace of its own. */
static int check_ptrace(void)
{
    int err = rec_probe_ptrace();

    if (!err)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_MACHINE,
                       "programs cannot be traced here: ptrace is refused (%s); "
                       "`wetdbg record --check` says more",
                       strerror(-err));
}

/* rr reads more of a program's first stack than there is below this limit, and aborts. */
#define STACK_MIN_KIB 160

static int check_stack(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_MIN_KIB << 10)
        return 0;
    return wetdbg_fail(-WETDBG_ERR_MACHINE,
                       "rr cannot record with a stack of %llu KiB; %d are needed (`ulimit -s`)",
                       (unsigned long long)limit.rlim_cur >> 10, STACK_MIN_KIB);
}

/* rr keeps descriptors of its own in the program, the highest of them 1001 and its copy. It raises
 * the soft limit itself. */
static int check_open_files(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max >= RR_FILES_MIN)
        return 0;
    return wetdbg_fail(
        -WETDBG_ERR_MACHINE,
        "rr needs %d open files, and no more than %llu are allowed here (ulimit -Hn)", RR_FILES_MIN,
        (unsigned long long)files.rlim_max);
}

static int prepare(struct run *run, const struct wetdbg_record_options *options, const char *name)
{
    int err = rec_locate_program(name, &run->program);

    run->wait_all = options->wait_all;
    run->chaos = options->chaos;
    run->buffers_calls = options->buffers_calls;
    run->environment = options->environment;
    if (!err)
        err = rec_locate_rr(&run->rr);
    if (!err && options->out_dir)
        err = rec_place_check_new(options->out_dir, &run->out_dir);
    if (!err && !options->out_dir)
        err = rec_place_make();
    if (!err)
        err = check_open_files();
    if (!err)
        err = check_ptrace();
    if (!err)
        err = check_stack();
    if (!err)
        err = choose_ticks(run, options);
    if (!err)
        err = find_preload(run);
    return err ? err : rec_report_open(&run->report, &run->report_write_fd);
}

/* ---- the child ---- */

static void set_preload_environment(const struct run *run)
{
    const char *users = getenv("LD_PRELOAD");
    char fd_text[16];

    if (!run->preload)
        return;
    if (users)
        setenv(TCK_ENV_PRELOAD, users, 1);
    else
        unsetenv(TCK_ENV_PRELOAD);
    snprintf(fd_text, sizeof(fd_text), "%d", run->report_write_fd);
    setenv(TCK_ENV_REPORT, fd_text, 1);
    if (run->chaos)
        setenv(TCK_ENV_CHAOS, "1", 1);
    else
        unsetenv(TCK_ENV_CHAOS);
    setenv(TCK_ENV_MODE, run->is_software ? TCK_MODE_SOFTWARE : TCK_MODE_HARDWARE, 1);
    setenv("LD_PRELOAD", run->preload, 1);
}

static size_t count_args(char *const argv[])
{
    size_t count = 0;

    while (argv[count])
        count++;
    return count;
}

static char **rr_arguments(const struct run *run, char *const argv[])
{
    char **args = calloc(count_args(argv) + 15, sizeof(*args));
    size_t n = 0;

    if (!args)
        return NULL;
    args[n++] = run->rr;
    if (run->microarch) {
        args[n++] = "-A";
        args[n++] = (char *)run->microarch;
    }
    args[n++] = "-S";                /* no advice about the machine: record --check gives ours */
    args[n++] = "--non-interactive"; /* on a terminal a failing rr would wait for a debugger */
    args[n++] = "record";
    if (!run->buffers_calls)
        args[n++] = "-n";
    if (run->wait_all)
        args[n++] = "-w";
    if (run->chaos)
        args[n++] = "--chaos";
    if (run->out_dir) {
        args[n++] = "-o";
        args[n++] = run->out_dir;
    }
    args[n++] = "--";
    memcpy(args + n, argv, count_args(argv) * sizeof(*args));
    return args;
}

static void run_rr(const struct run *run, char **args)
{
    if (run->environment)
        environ = (char **)run->environment;
    set_preload_environment(run);
    fcntl(run->report_write_fd, F_SETFD, 0);
    execv(run->rr, args);
    _exit(EXEC_FAILED);
}

/* ---- while it runs ---- */

static int spawn_and_wait(struct run *run, char *const argv[], int *status)
{
    char **args = rr_arguments(run, argv);
    struct rec_relay relay;
    pid_t child;
    int err;

    if (!args)
        return wetdbg_fail(-ENOMEM, "out of memory");
    err = rec_relay_open(&relay, run->preload != NULL);
    if (err) {
        free(args);
        return err;
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        rec_relay_restore(&relay);
        run_rr(run, args);
    }
    if (child < 0)
        err = wetdbg_fail_errno("fork");
    close(run->report_write_fd);
    run->report_write_fd = -1;
    if (child > 0)
        err = rec_relay_wait(&relay, child, &run->report, status);
    run->was_told_to_end = relay.was_told_to_end;
    rec_relay_close(&relay);
    free(args);
    return err;
}

/* ---- after ---- */

static int fill_trace_dir(const struct run *run, struct wetdbg_record_outcome *outcome)
{
    char real[PATH_MAX];

    if (run->report.dir) {
        if (realpath(run->report.dir, real))
            outcome->trace_dir = strdup(real);
    } else if (run->out_dir) {
        outcome->trace_dir = strdup(run->out_dir);
    } else {
        wetdbg_recording_newest(&outcome->trace_dir);
    }
    return outcome->trace_dir ? 0 : -WETDBG_ERR_MACHINE;
}

static bool has_file(const char *dir, const char *name)
{
    char path[PATH_MAX];
    struct stat st;

    return snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX && stat(path, &st) == 0;
}

static int judge(const struct run *run, int status, struct wetdbg_record_outcome *outcome)
{
    bool must_have_started = run->report.program || !run->preload;
    int err = fill_trace_dir(run, outcome);

    if (WIFEXITED(status) && WEXITSTATUS(status) == EXEC_FAILED && err)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "%s cannot be executed", run->rr);
    if (err || !must_have_started)
        return rec_failure_no_start(&run->report, run->program, outcome->trace_dir);
    if (run->report.is_aborted || run->report.write_error ||
        !has_file(outcome->trace_dir, "version"))
        return rec_failure_no_end(&run->report, status, outcome->trace_dir);
    outcome->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome->exit_status = outcome->signal ? 128 + outcome->signal : WEXITSTATUS(status);
    return 0;
}

static void run_fini(struct run *run)
{
    free(run->rr);
    free(run->program);
    free(run->preload);
    free(run->out_dir);
    rec_report_fini(&run->report);
    if (run->report_write_fd >= 0)
        close(run->report_write_fd);
}

int wetdbg_record(const struct wetdbg_record_options *options, char *const argv[],
                  struct wetdbg_record_outcome *outcome)
{
    struct wetdbg_record_outcome found = {0};
    struct run run = {.report_write_fd = -1, .report = {.fd = -1}};
    struct rec_surroundings surroundings;
    int status = 0, err;

    if (!argv[0])
        return wetdbg_fail(-WETDBG_ERR_USAGE, "no program to record was named");
    err = prepare(&run, options, argv[0]);
    rec_surroundings_begin(&surroundings);
    if (!err)
        err = spawn_and_wait(&run, argv, &status);
    rec_surroundings_end(&surroundings);
    if (!err) {
        found.is_software_ticks = run.is_software;
        found.was_told_to_end = run.was_told_to_end;
        err = judge(&run, status, &found);
    }
    /* Without the processor's answers a few instructions are refused; without its surroundings a
     * run that goes on differently has less to go by; without sums (no room for them) the recording
     * is as good as one that rr made alone; without a mark (no HOME) it counts as somebody
     * else's. */
    if (!err && run.report.began_ns > 0)
        surroundings.began.began_ns = run.report.began_ns;
    if (!err) {
        rec_processor_write(found.trace_dir);
        rec_surroundings_write(&surroundings, found.trace_dir);
        rec_input_write(&surroundings, found.trace_dir, options->keep_input, options->quiet);
    }
    if (!err && rec_sums_write(found.trace_dir) == 0)
        rec_mark_write(found.trace_dir);
    rec_surroundings_fini(&surroundings);
    run_fini(&run);
    if (err)
        wetdbg_record_outcome_fini(&found);
    else
        *outcome = found;
    return err;
}

void wetdbg_record_outcome_fini(struct wetdbg_record_outcome *outcome)
{
    if (!outcome)
        return;
    free(outcome->trace_dir);
    *outcome = (struct wetdbg_record_outcome){0};
}

void wetdbg_die_of(int signal_number)
{
    sigset_t one;

    fflush(NULL);
    prctl(PR_SET_DUMPABLE, 0);
    signal(signal_number, SIG_DFL);
    sigemptyset(&one);
    sigaddset(&one, signal_number);
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    raise(signal_number);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/predicate_switch/native_switch.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "recorder/insn/insn.h"

#define INT3        0xcc
#define POINTS_MAX  4
#define FLAGS_TRIED 6

/* A breakpoint, for all switches at its address. */
struct point {
    uint64_t pc;
    uint64_t word; /* what was there */
    struct ins_info info;
    uint64_t executions;
};

struct tracer {
    const struct native_program *program;
    const struct native_switch *switches;
    unsigned count;
    struct native_run *run;
    pid_t pid;
    uint64_t bias;
    struct point points[POINTS_MAX];
    unsigned point_count;
    uint64_t reached; /* bits, by switch */
};

static int complain(const char *what)
{
    perror(what);
    return -1;
}

/* ---- the child ---- */

static void limit(int resource, uint64_t value)
{
    struct rlimit limits = {value, value};

    setrlimit(resource, &limits);
}

static void exec_child(const struct native_program *program, const char *directory)
{
    int in = open(program->input ? program->input : "/dev/null", O_RDONLY);
    int null = open("/dev/null", O_WRONLY);

    if (in < 0 || null < 0 || chdir(directory))
        _exit(126);
    int out = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
        _exit(126);
    limit(RLIMIT_AS, program->memory_bytes);
    limit(RLIMIT_FSIZE, program->output_bytes);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, (uint64_t)program->seconds + 1);
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
        execv(program->path, (char *const *)program->argv);
    _exit(126);
}

/* ---- breakpoints ---- */

static int write_point(const struct tracer *tracer, const struct point *point, bool is_set)
{
    uint64_t word = is_set ? (point->word & ~UINT64_C(0xff)) | INT3 : point->word;

    return ptrace(PTRACE_POKETEXT, tracer->pid, (void *)point->pc, (void *)word)
               ? complain("PTRACE_POKETEXT")
               : 0;
}

static int read_code(const struct tracer *tracer, uint64_t pc, uint8_t code[16], uint64_t *word)
{
    for (unsigned i = 0; i < 2; i++) {
        errno = 0;
        long got = ptrace(PTRACE_PEEKTEXT, tracer->pid, (void *)(pc + 8 * i), NULL);
        if (errno)
            return complain("PTRACE_PEEKTEXT");
        memcpy(code + 8 * i, &got, 8);
    }
    memcpy(word, code, 8);
    return 0;
}

static int add_point(struct tracer *tracer, uint64_t pc)
{
    struct point *point = &tracer->points[tracer->point_count];
    uint8_t code[16];

    for (unsigned i = 0; i < tracer->point_count; i++)
        if (tracer->points[i].pc == pc)
            return 0;
    *point = (struct point){.pc = pc};
    if (read_code(tracer, pc, code, &point->word) || ins_decode(code, 16, pc, &point->info)) {
        fprintf(stderr, "native_switch: no instruction at %#llx\n", (unsigned long long)pc);
        return -1;
    }
    tracer->point_count++;
    return write_point(tracer, point, true);
}

/* Where the executable lies: its entry is in the auxiliary vector, and in its header. */
static int find_bias(struct tracer *tracer)
{
    char path[64];
    Elf64_auxv_t entry;
    Elf64_Ehdr header;
    int found = -1;

    snprintf(path, sizeof(path), "/proc/%d/auxv", (int)tracer->pid);
    int vector = open(path, O_RDONLY), file = open(tracer->program->path, O_RDONLY);
    if (vector >= 0 && file >= 0 && read(file, &header, sizeof(header)) == sizeof(header))
        while (found && read(vector, &entry, sizeof(entry)) == sizeof(entry))
            if (entry.a_type == AT_ENTRY) {
                tracer->bias = entry.a_un.a_val - header.e_entry;
                found = 0;
            }
    if (vector >= 0)
        close(vector);
    if (file >= 0)
        close(file);
    return found ? complain(tracer->program->path) : 0;
}

/* ---- stops ---- */

/* The switch that an execution of a point is to take, or NULL. */
static const struct native_switch *switch_of(struct tracer *tracer, const struct point *point)
{
    for (unsigned i = 0; i < tracer->count; i++) {
        const struct native_switch *each = &tracer->switches[i];
        if (each->pc + tracer->bias == point->pc &&
            (point->executions == each->instance || each->extent == WETDBG_EXTENT_ALL ||
             (each->extent == WETDBG_EXTENT_ONWARD && point->executions > each->instance))) {
            tracer->reached |= UINT64_C(1) << i;
            return each;
        }
    }
    return NULL;
}

/* Flags of which a condition holds, or does not: as few as possible are changed. */
static uint64_t flags_with(const struct ins_info *info, const struct user_regs_struct *regs,
                           bool holds)
{
    static const uint64_t bits[FLAGS_TRIED] = {0, 1, 4, 0x40, 0x80, 0x800};

    for (unsigned i = 0; i < FLAGS_TRIED; i++)
        for (unsigned j = 0; j <= i; j++) {
            uint64_t flags = regs->eflags ^ (bits[i] | bits[j]);
            if (ins_condition_holds(info->condition, flags, regs->rcx) == holds)
                return flags;
        }
    return regs->eflags;
}

/* One instruction, which a breakpoint hides. 0, 1 if the program ended by it, -1. */
static int step_over(struct tracer *tracer, const struct point *point)
{
    int status;

    if (write_point(tracer, point, false) || ptrace(PTRACE_SINGLESTEP, tracer->pid, NULL, NULL) ||
        waitpid(tracer->pid, &status, 0) < 0)
        return complain("a step");
    if (!WIFSTOPPED(status)) {
        tracer->run->status = status;
        return 1;
    }
    return write_point(tracer, point, true);
}

static int step_with_flags(struct tracer *tracer, const struct point *point,
                           struct user_regs_struct *regs, bool holds)
{
    uint64_t before = regs->eflags;

    regs->eflags = flags_with(&point->info, regs, holds);
    if (ptrace(PTRACE_SETREGS, tracer->pid, NULL, regs))
        return complain("PTRACE_SETREGS");
    int result = step_over(tracer, point);
    if (result)
        return result;
    if (ptrace(PTRACE_GETREGS, tracer->pid, NULL, regs))
        return complain("PTRACE_GETREGS");
    regs->eflags = before;
    return ptrace(PTRACE_SETREGS, tracer->pid, NULL, regs) ? complain("PTRACE_SETREGS") : 0;
}

/* The program stands behind a breakpoint's byte. 0, 1 if it ended, -1. */
static int pass_point(struct tracer *tracer, struct point *point, struct user_regs_struct *regs)
{
    const struct ins_info *info = &point->info;

    point->executions++;
    regs->rip = point->pc;
    const struct native_switch *taken = switch_of(tracer, point);
    bool is_jump = info->klass == INS_JCC || info->klass == INS_JMP_INDIRECT;
    if (taken && !is_jump)
        return step_with_flags(tracer, point, regs, taken->to);
    if (taken)
        regs->rip = taken->to + tracer->bias;
    else if (info->klass == INS_JCC && info->condition < INS_COND_LOOP)
        regs->rip = ins_condition_holds(info->condition, regs->eflags, regs->rcx)
                        ? info->target
                        : point->pc + info->length;
    if (ptrace(PTRACE_SETREGS, tracer->pid, NULL, regs))
        return complain("PTRACE_SETREGS");
    return regs->rip == point->pc ? step_over(tracer, point) : 0;
}

/* What to do about a stop: *signal goes to the program. 0, 1 if it ended, -1. */
static int on_stop(struct tracer *tracer, int status, int *signal)
{
    struct user_regs_struct regs;

    *signal = 0;
    if (status >> 16) {
        tracer->run->limit = "processes";
        return 0;
    }
    if (WSTOPSIG(status) != SIGTRAP) {
        *signal = WSTOPSIG(status);
        return 0;
    }
    if (ptrace(PTRACE_GETREGS, tracer->pid, NULL, &regs))
        return complain("PTRACE_GETREGS");
    for (unsigned i = 0; i < tracer->point_count; i++)
        if (regs.rip == tracer->points[i].pc + 1)
            return pass_point(tracer, &tracer->points[i], &regs);
    *signal = SIGTRAP;
    return 0;
}

/* ---- a run ---- */

static void on_alarm(int signal)
{
    (void)signal;
}

/* Until the program ends, or a limit is reached. */
static int follow(struct tracer *tracer)
{
    int status, signal = 0, result = 0;

    while (!result && !tracer->run->limit) {
        if (ptrace(PTRACE_CONT, tracer->pid, NULL, (void *)(long)signal))
            return complain("PTRACE_CONT");
        if (waitpid(tracer->pid, &status, 0) < 0) {
            if (errno != EINTR)
                return complain("waitpid");
            tracer->run->limit = "time";
            return 0;
        }
        if (!WIFSTOPPED(status)) {
            tracer->run->status = status;
            if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ)
                tracer->run->limit = "output";
            return 0;
        }
        result = on_stop(tracer, status, &signal);
    }
    return result < 0 ? -1 : 0;
}

static int trace(struct tracer *tracer)
{
    const long options =
        PTRACE_O_EXITKILL | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;
    int status;

    if (waitpid(tracer->pid, &status, 0) < 0 || !WIFSTOPPED(status)) {
        fprintf(stderr, "native_switch: %s was not started\n", tracer->program->path);
        return -1;
    }
    if (ptrace(PTRACE_SETOPTIONS, tracer->pid, NULL, (void *)options))
        return complain("PTRACE_SETOPTIONS");
    int err = find_bias(tracer);
    for (unsigned i = 0; i < tracer->count && !err; i++)
        err = add_point(tracer, tracer->switches[i].pc + tracer->bias);
    return err ? err : follow(tracer);
}

static int read_output(const char *directory, struct native_run *run)
{
    char path[4096];
    struct stat status;

    snprintf(path, sizeof(path), "%s/output", directory);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status))
        return complain(path);
    run->output = malloc((size_t)status.st_size + 1);
    ssize_t got = run->output ? read(fd, run->output, (size_t)status.st_size) : -1;
    close(fd);
    run->output_size = got > 0 ? (size_t)got : 0;
    return got < 0 ? complain(path) : 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
    (void)status;
    (void)kind;
    (void)where;
    return remove(path);
}

static void set_timer(double seconds)
{
    struct itimerval timer = {{0, 50000},
                              {(time_t)seconds, (suseconds_t)(seconds * 1e6) % 1000000}};

    if (seconds <= 0)
        timer = (struct itimerval){{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

int native_switch_run(const struct native_program *program, const struct native_switch *switches,
                      unsigned count, struct native_run *run)
{
    struct tracer tracer = {.program = program, .switches = switches, .count = count, .run = run};
    struct sigaction action = {.sa_handler = on_alarm};
    char directory[] = "/tmp/native-switch-XXXXXX";

    *run = (struct native_run){.status = -1};
    if (count > POINTS_MAX || !mkdtemp(directory))
        return complain("mkdtemp");
    sigaction(SIGALRM, &action, NULL);
    tracer.pid = fork();
    if (tracer.pid == 0)
        exec_child(program, directory);
    set_timer(program->seconds);
    int err = tracer.pid < 0 ? complain("fork") : trace(&tracer);
    set_timer(0);
    if (tracer.pid > 0 && run->status == -1) {
        kill(tracer.pid, SIGKILL);
        while (waitpid(tracer.pid, &run->status, 0) == tracer.pid && WIFSTOPPED(run->status))
            ;
    }
    if (!err)
        err = read_output(directory, run);
    nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    run->reached = (unsigned)__builtin_popcountll(tracer.reached);
    return err;
}

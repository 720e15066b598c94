/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/ticks/jobs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#include "recorder/ticks/protocol.h"
#include "recorder/ticks/real.h"
#include "recorder/ticks/report.h"

#define RESUMES_KEPT   1024 /* a power of two */
#define ERESTART_FIRST 512
#define ERESTART_LAST  516
#define BIT(signo)     (UINT64_C(1) << ((signo)-1))
#define STOP_SIGNALS   (BIT(SIGSTOP) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU))

static pid_t program;
/* The task that the program's last stop was reported for, until it is seen to run again. */
static pid_t stopped_task;
static struct sigaction rr_term;

/* By task number: the last request that let it run. Tasks that share a slot push each other out,
 * which costs no more than that rr sees a stop. */
static struct {
    pid_t tid;
    int request;
} resumes[RESUMES_KEPT];

/* ---- signals that rr itself is sent ---- */

/* A signal that the terminal sends goes to the whole group, so it is none that rr alone was
 * sent. */
static void note_signal(int signo, siginfo_t *info, void *context)
{
    int saved = errno;

    (void)context;
    if (info->si_code <= 0 && info->si_pid != getppid())
        tck_report_number(TCK_REPORT_GOT, signo);
    else if (info->si_code <= 0 && signo == SIGTERM && rr_term.sa_handler != SIG_DFL &&
             rr_term.sa_handler != SIG_IGN)
        rr_term.sa_handler(signo);
    errno = saved;
}

/* After SIGCONT, and when rr is told to end, it must look at its tasks at once: its wait is
 * interrupted. All others leave it alone. */
void tck_jobs_start(pid_t first)
{
    static const int passed[] = TCK_PASSED_SIGNALS;

    program = first;
    for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++) {
        struct sigaction action = {.sa_sigaction = note_signal, .sa_flags = SA_SIGINFO};

        if (passed[i] != SIGCONT && passed[i] != SIGTERM)
            action.sa_flags |= SA_RESTART;
        sigaction(passed[i], &action, passed[i] == SIGTERM ? &rr_term : NULL);
    }
    tck_report_number(TCK_REPORT_STARTED, first);
}

/* ---- what the kernel knows of a task ---- */

struct task_status {
    pid_t process;
    uint64_t ignored, caught, pending;
};

static bool read_status(pid_t tid, struct task_status *status)
{
    char path[64], line[256];
    unsigned long long mask;
    FILE *file;

    *status = (struct task_status){0};
    snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    file = tck_real()->fopen(path, "re");
    if (!file)
        return false;
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Tgid: %d", &status->process) == 1)
            continue;
        if (sscanf(line, "SigIgn: %llx", &mask) == 1)
            status->ignored = mask;
        if (sscanf(line, "SigCgt: %llx", &mask) == 1)
            status->caught = mask;
        if (sscanf(line, "SigPnd: %llx", &mask) == 1 || sscanf(line, "ShdPnd: %llx", &mask) == 1)
            status->pending |= mask;
    }
    fclose(file);
    return status->process != 0;
}

struct kinship {
    char state;
    int parent, group, session;
};

/* The fields behind the name, which may hold anything. */
static bool read_kinship(pid_t pid, struct kinship *kin)
{
    char path[64], text[512];
    const char *at;
    FILE *file;
    size_t got;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = tck_real()->fopen(path, "re");
    if (!file)
        return false;
    got = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[got] = 0;
    at = strrchr(text, ')');
    return at &&
           sscanf(at, ") %c %d %d %d", &kin->state, &kin->parent, &kin->group, &kin->session) == 4;
}

/* Whether `member` of a group has a parent who could continue it: in its session, but not in its
 * group. A parent outside of our process namespace has no number; nor has then a session that it
 * shares. */
static bool has_guardian(const struct kinship *member)
{
    struct kinship parent;

    if (member->state == 'Z' || member->state == 'X' || member->parent == 1)
        return false;
    if (member->parent == 0)
        return member->session == 0;
    return read_kinship(member->parent, &parent) && parent.group != member->group &&
           parent.session == member->session;
}

static bool is_orphaned(pid_t tid)
{
    struct kinship own, other;
    struct dirent *entry;
    bool found = false;
    DIR *proc;

    if (!read_kinship(tid, &own))
        return false;
    proc = opendir("/proc");
    if (!proc)
        return false;
    while (!found && (entry = readdir(proc)) != NULL) {
        if (isdigit((unsigned char)entry->d_name[0]) && read_kinship(atoi(entry->d_name), &other))
            found = other.group == own.group && has_guardian(&other);
    }
    closedir(proc);
    return !found;
}

/* ---- stops ---- */

void tck_jobs_note_resume(int request, pid_t tid)
{
    size_t slot = (size_t)tid & (RESUMES_KEPT - 1);

    resumes[slot].tid = tid;
    resumes[slot].request = request;
}

static bool resume(pid_t tid)
{
    size_t slot = (size_t)tid & (RESUMES_KEPT - 1);

    return resumes[slot].tid == tid &&
           tck_real()->ptrace(resumes[slot].request, tid, NULL, NULL) == 0;
}

/* The kernel's codes for a call that is to be made again; programs never see them. */
static bool is_call_interrupted(pid_t tid)
{
    struct user_regs_struct regs;

    if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0)
        return false;
    return (long)regs.rax <= -ERESTART_FIRST && (long)regs.rax >= -ERESTART_LAST;
}

static bool make_sigstop(pid_t tid)
{
    siginfo_t info;

    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) != 0)
        return false;
    info.si_signo = SIGSTOP;
    return ptrace(PTRACE_SETSIGINFO, tid, NULL, &info) == 0;
}

/* Whether the kernel would have thrown the stop away. A SIGCONT that is pending was sent after the
 * stop, whose sending would have taken it back; and in an orphaned group the terminal's stops are
 * none. */
static bool is_void(pid_t tid, const struct task_status *status, int stop)
{
    return status->pending & BIT(SIGCONT) || (stop != SIGSTOP && is_orphaned(tid));
}

int tck_jobs_take_stop(pid_t tid, int stop)
{
    struct task_status status;

    if (!program)
        return stop;
    if (stop <= 0 || stop >= NSIG || !(STOP_SIGNALS & BIT(stop))) {
        if (tid == stopped_task)
            stopped_task = 0;
        return stop;
    }
    if (!read_status(tid, &status) || ((status.ignored | status.caught) & BIT(stop)))
        return stop;
    if (is_void(tid, &status, stop) && resume(tid))
        return TCK_JOBS_GOES_ON;
    if (status.process == program && !stopped_task) {
        stopped_task = tid;
        tck_report_number(TCK_REPORT_STOPPED, stop);
    }
    return is_call_interrupted(tid) && make_sigstop(tid) ? SIGSTOP : stop;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/relay.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "recorder/ticks/protocol.h"
#include <wetdbg/errors.h>

/* How far apart the copies of one signal to a group may arrive here and in rr, on a busy
 * machine. */
#define COPIES_APART_MS 250

static const int passed[] = TCK_PASSED_SIGNALS;
#define PASSED_COUNT (sizeof(passed) / sizeof(passed[0]))

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int rec_relay_open(struct rec_relay *relay, bool has_preload)
{
    struct sigaction wait = {.sa_handler = SIG_DFL}; /* an inherited SIG_IGN would eat the status */
    sigset_t blocked;

    *relay = (struct rec_relay){.program_fd = -1, .has_preload = has_preload};
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    for (size_t i = 0; i < PASSED_COUNT; i++)
        sigaddset(&blocked, passed[i]);
    relay->signal_fd = signalfd(-1, &blocked, SFD_CLOEXEC | SFD_NONBLOCK);
    if (relay->signal_fd < 0)
        return wetdbg_fail_errno("signalfd");
    sigprocmask(SIG_BLOCK, &blocked, &relay->mask_before);
    sigaction(SIGCHLD, &wait, &relay->child_before);
    return 0;
}

void rec_relay_restore(const struct rec_relay *relay)
{
    sigaction(SIGCHLD, &relay->child_before, NULL);
    sigprocmask(SIG_SETMASK, &relay->mask_before, NULL);
}

/* ---- to the program ---- */

static void pass_on(struct rec_relay *relay, int signo)
{
    if (relay->program_fd >= 0 &&
        syscall(SYS_pidfd_send_signal, relay->program_fd, signo, NULL, 0) == 0)
        return;
    if (signo == SIGTERM) /* the program is gone, and rr waits for others */
        kill(relay->rr, SIGTERM);
}

static void note_program(struct rec_relay *relay, const struct rec_report *report)
{
    if (report->program && relay->program_fd < 0)
        relay->program_fd = (int)syscall(SYS_pidfd_open, report->program, 0);
}

/* One half of a signal to the group makes the other one void. */
static void note_half(int64_t *own_until, const int64_t *other_until, int64_t now)
{
    *own_until = *other_until > now ? 0 : now + COPIES_APART_MS;
}

static void note_signal(struct rec_relay *relay, int signo, int64_t now)
{
    note_half(&relay->own_until[signo], &relay->rr_until[signo], now);
    relay->rr_until[signo] = 0;
}

static void note_rr_signal(struct rec_relay *relay, int signo, int64_t now)
{
    note_half(&relay->rr_until[signo], &relay->own_until[signo], now);
    relay->own_until[signo] = 0;
}

/* Passes on what stayed alone. Returns the ms until there may be more to do; -1 = never. */
static int pass_due(struct rec_relay *relay, const struct rec_report *report)
{
    int64_t now = now_ms(), next = INT64_MAX;

    if (!report->program && report->fd >= 0)
        return -1; /* held until the program has started */
    for (int signo = 1; signo < REC_SIGNALS; signo++) {
        int64_t own = relay->own_until[signo], rr = relay->rr_until[signo];
        int64_t due = own ? own : rr;

        if (!due)
            continue;
        if (due <= now) {
            relay->own_until[signo] = relay->rr_until[signo] = 0;
            pass_on(relay, signo);
        } else if (due < next) {
            next = due;
        }
    }
    return next == INT64_MAX ? -1 : (int)(next - now);
}

/* ---- stops ---- */

/* Stops this process as the program was stopped. Returns when somebody continued it, or at once
 * if the kernel has no use for the signal. */
static void stop_like(int signo)
{
    struct sigaction stop = {.sa_handler = SIG_DFL}, before;
    sigset_t one, mask;

    sigemptyset(&one);
    sigaddset(&one, signo);
    sigaction(signo, &stop, &before);
    raise(signo);
    sigprocmask(SIG_UNBLOCK, &one, &mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaction(signo, &before, NULL);
}

/* 1 = rr has ended, 0 = it has not, negative = an error. */
static int reap(struct rec_relay *relay, int *status)
{
    pid_t got;

    while ((got = waitpid(relay->rr, status, WNOHANG | WUNTRACED)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wetdbg_fail_errno("waitpid");
        if (!WIFSTOPPED(*status))
            return 1;
        stop_like(WSTOPSIG(*status));
        kill(relay->rr, SIGCONT);
    }
    return 0;
}

/* ---- what happens ---- */

static void take_report(struct rec_relay *relay, struct rec_report *report)
{
    int64_t now = now_ms();
    int stop_signal;

    rec_report_read(report);
    note_program(relay, report);
    for (int signo = 1; signo < REC_SIGNALS; signo++) {
        if (report->rr_signals >> (signo - 1) & 1)
            note_rr_signal(relay, signo, now);
    }
    report->rr_signals = 0;
    stop_signal = report->stop_signal;
    report->stop_signal = 0;
    if (stop_signal)
        stop_like(stop_signal);
}

static bool is_end(int signo)
{
    return signo == SIGHUP || signo == SIGINT || signo == SIGQUIT || signo == SIGTERM;
}

static int take_signals(struct rec_relay *relay, int *status)
{
    struct signalfd_siginfo info;
    int ended = 0;

    while (!ended && read(relay->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        int signo = (int)info.ssi_signo;

        relay->was_told_to_end |= is_end(signo);
        if (signo == SIGCHLD)
            ended = reap(relay, status);
        else if (info.ssi_code <= 0 && relay->has_preload)
            note_signal(relay, signo, now_ms());
        else if (info.ssi_code <= 0 && signo == SIGTERM)
            kill(relay->rr, SIGTERM);
    }
    return ended;
}

int rec_relay_wait(struct rec_relay *relay, pid_t rr, struct rec_report *report, int *status)
{
    int ended = 0;

    relay->rr = rr;
    while (!ended) {
        struct pollfd ready[] = {{.fd = relay->signal_fd, .events = POLLIN},
                                 {.fd = report->fd, .events = POLLIN}};

        if (poll(ready, 2, pass_due(relay, report)) < 0 && errno != EINTR)
            return wetdbg_fail_errno("poll");
        take_report(relay, report);
        ended = take_signals(relay, status);
    }
    rec_report_read(report);
    return ended < 0 ? ended : 0;
}

void rec_relay_close(struct rec_relay *relay)
{
    struct signalfd_siginfo info;

    while (read(relay->signal_fd, &info, sizeof(info)) == sizeof(info))
        continue;
    close(relay->signal_fd);
    if (relay->program_fd >= 0)
        close(relay->program_fd);
    rec_relay_restore(relay);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The preload for rr itself. rr asks the kernel for a counter of retired conditional branches and
 * refuses to start without one; here its questions are answered so that it records anyway.
 * counters.h says what rr is told, stops.h what is left for readers.
 *
 * Which functions: rr reaches perf_event_open through syscall(), counters through read, ioctl,
 * poll and close, the trace directory through open and write, /proc/PID/maps through fopen, a
 * tracee's memory through pread, and its tracees through ptrace, waitpid and waitid. All pass
 * through unless the executable is rr, the mode variable was set, and, while recording, the process
 * is the one we were loaded into (rr's forked child passes here too on its way to exec).
 *
 * A tracee never sees us: environment and descriptors are cleaned before rr looks at them.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/ticks/counters.h"
#include "recorder/ticks/jobs.h"
#include "recorder/ticks/maps.h"
#include "recorder/ticks/protocol.h"
#include "recorder/ticks/real.h"
#include "recorder/ticks/report.h"
#include "recorder/ticks/stops.h"
#include "recorder/ticks/tsc_traps.h"

#define EXPORT           __attribute__((visibility("default")))
#define INCOMPLETE       "/incomplete"
#define CHATTER          "rr: Saving execution to trace directory"
#define STOP_EVENT(what) (SIGTRAP | (what) << 8)

static enum { MODE_OFF, MODE_HARDWARE, MODE_SOFTWARE } mode;
static pid_t own_pid;
static bool is_recording, has_started;

/* `rr replay` with gdb works in a forked child, so only a recording has one process of ours. */
static bool is_active(void)
{
    return mode != MODE_OFF && (!is_recording || getpid() == own_pid);
}

/* `rr`, or a version beside others: `rr-5.9`. */
static bool executable_is_rr(void)
{
    char path[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
    const char *name;

    if (length <= 0)
        return false;
    path[length] = 0;
    name = strrchr(path, '/');
    return name && strncmp(name, "/rr", 3) == 0 && (name[3] == 0 || name[3] == '-');
}

static void clean_environment(void)
{
    const char *users = getenv(TCK_ENV_PRELOAD);

    if (users)
        setenv("LD_PRELOAD", users, 1);
    else
        unsetenv("LD_PRELOAD");
    unsetenv(TCK_ENV_PRELOAD);
    unsetenv(TCK_ENV_REPORT);
    unsetenv(TCK_ENV_MODE);
    unsetenv(TCK_ENV_CHAOS);
}

/* A standard descriptor that the user closed must not become one of rr's files, into which rr
 * would then print. The stand-ins vanish at exec, so the program finds them closed. */
static void occupy_closed_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)!tck_real()->open("/dev/null", O_RDWR | O_CLOEXEC);
    }
}

__attribute__((constructor)) static void start(void)
{
    const char *asked = getenv(TCK_ENV_MODE);

    if (!asked || !executable_is_rr())
        return;
    mode = strcmp(asked, TCK_MODE_SOFTWARE) == 0 ? MODE_SOFTWARE : MODE_HARDWARE;
    own_pid = getpid();
    occupy_closed_descriptors();
    tck_report_take();
    if (getenv(TCK_ENV_CHAOS))
        tck_counters_draw_lots();
    clean_environment();
    tck_tsc_traps_begin();
}

/* ---- counters ---- */

EXPORT long syscall(long number, ...)
{
    long args[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        args[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open && mode == MODE_SOFTWARE && is_active()) {
        bool were_imitated = tck_counters_are_imitated();
        int fd = tck_counter_open((const struct perf_event_attr *)args[0], (pid_t)args[1]);

        if (fd < 0)
            tck_report(TCK_REPORT_NO_TICKS, strerror(errno));
        else if (!were_imitated && tck_counters_are_imitated())
            tck_report(TCK_REPORT_IMITATED, "");
        return fd;
    }
    return tck_real_syscall(number, args);
}

EXPORT ssize_t read(int fd, void *to, size_t bytes)
{
    uint64_t value;

    if (bytes != sizeof(value) || !tck_counter_is(fd) || !is_active())
        return tck_real()->read(fd, to, bytes);
    value = tck_counter_value(fd);
    memcpy(to, &value, sizeof(value));
    return sizeof(value);
}

EXPORT ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    ssize_t got = tck_real()->pread(fd, to, bytes, offset);

    if (got > 0 && is_active())
        tck_tsc_traps_hide(fd, offset, to, (size_t)got);
    return got;
}

EXPORT ssize_t pread64(int fd, void *to, size_t bytes, off_t offset)
    __attribute__((alias("pread")));

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list list;
    void *arg;

    va_start(list, request);
    arg = va_arg(list, void *);
    va_end(list);
    if (tck_counter_is(fd) && is_active())
        return tck_counter_ioctl(fd, request, arg);
    return tck_real()->ioctl(fd, request, arg);
}

/* glibc declares `fds` as write-only, which is not so. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Wunknown-warning-option"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

/* rr sets its own counter's period to 1 and asks whether it went off. One that did not would be
 * opened anew for each stretch of a task's run. */
EXPORT int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (count != 1 || !tck_counter_is_own(fds[0].fd) || !is_active())
        return tck_real()->poll(fds, count, timeout);
    fds[0].revents = POLLIN;
    return 1;
}

#pragma GCC diagnostic pop

EXPORT int close(int fd)
{
    if (tck_counter_is(fd) && is_active())
        tck_counter_forget(fd);
    tck_tsc_traps_forget(fd);
    return tck_real()->close(fd);
}

/* ---- the trace directory ---- */

static int note_trace_dir(const char *incomplete_path)
{
    char dir[PATH_MAX];
    size_t length = strlen(incomplete_path) - strlen(INCOMPLETE);

    if (length >= sizeof(dir))
        return -ENAMETOOLONG;
    memcpy(dir, incomplete_path, length);
    dir[length] = 0;
    is_recording = true;
    tck_report(TCK_REPORT_DIR, dir);
    return mode == MODE_SOFTWARE ? tck_stops_open(dir) : 0;
}

static bool is_incomplete(const char *path)
{
    size_t length = strlen(path), tail = strlen(INCOMPLETE);

    return length > tail && strcmp(path + length - tail, INCOMPLETE) == 0;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list list;
    mode_t bits;
    int fd, err;

    va_start(list, flags);
    bits = va_arg(list, mode_t);
    va_end(list);
    fd = tck_real()->open(path, flags, bits);
    if (fd < 0 || !(flags & O_CREAT) || !is_active() || !is_incomplete(path))
        return fd;
    err = note_trace_dir(path);
    if (!err)
        return fd;
    tck_real()->close(fd);
    errno = -err;
    return -1;
}

static bool is_no_room(int err)
{
    return err == ENOSPC || err == EDQUOT || err == EFBIG;
}

/* rr has no use for a recording that it cannot write: it would abort, with pages of its own state
 * on the program's standard error. The side files go this way too. */
EXPORT ssize_t write(int fd, const void *from, size_t bytes)
{
    ssize_t put = tck_real()->write(fd, from, bytes);

    if (put < 0 && fd > STDERR_FILENO && is_recording && is_no_room(errno) && is_active()) {
        tck_report_number(TCK_REPORT_NO_ROOM, errno);
        _exit(EXIT_FAILURE);
    }
    return put;
}

EXPORT int open64(const char *path, int flags, ...) __attribute__((alias("open")));

/* ---- what rr sees of its tracees ---- */

static FILE *open_stream(const char *path, const char *how)
{
    if (is_active() && tck_maps_is_path(path) && how[0] == 'r')
        return tck_maps_open(path);
    return tck_real()->fopen(path, how);
}

EXPORT FILE *fopen(const char *path, const char *how)
{
    return open_stream(path, how);
}

EXPORT FILE *fopen64(const char *path, const char *how)
{
    return open_stream(path, how);
}

/* rr has made its directory, and the program has executed nothing yet. */
static void note_begin(void)
{
    struct timespec now;
    char text[32];

    if (clock_gettime(CLOCK_REALTIME_COARSE, &now))
        return;
    snprintf(text, sizeof(text), "%lld", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    tck_report(TCK_REPORT_BEGAN, text);
}

/* `stop` is the stop signal with its event bits; 0 = the task is gone. */
static void note_stop(pid_t tid, int stop)
{
    if (stop && !is_recording)
        tck_tsc_traps_call(tid);
    switch (stop) {
    case STOP_EVENT(PTRACE_EVENT_FORK):
    case STOP_EVENT(PTRACE_EVENT_VFORK):
    case STOP_EVENT(PTRACE_EVENT_CLONE):
        tck_counters_note_new_task();
        break;
    case STOP_EVENT(PTRACE_EVENT_EXEC):
        if (!has_started && is_recording) {
            signal(SIGXFSZ, SIG_IGN); /* a file that grew too large is told by write() */
            note_begin();
            tck_jobs_start(tid);
        }
        has_started = true;
        tck_stops_forget_spaces();
        tck_tsc_traps_exec(tid);
        break;
    case STOP_EVENT(PTRACE_EVENT_EXIT):
    case 0:
        tck_stops_forget_spaces();
        break;
    default:
        break;
    }
}

EXPORT pid_t waitpid(pid_t pid, int *status, int options)
{
    int own_status, stop;
    pid_t got;

    do {
        own_status = 0;
        got = tck_real()->waitpid(pid, &own_status, options);
        if (got <= 0 || !is_active())
            break;
        note_stop(got, WIFSTOPPED(own_status) ? own_status >> 8 : 0);
        stop = WIFSTOPPED(own_status) ? tck_jobs_take_stop(got, own_status >> 8) : 0;
        if (stop > 0)
            own_status = (own_status & 0xff) | stop << 8;
    } while (stop == TCK_JOBS_GOES_ON);
    if (status)
        *status = own_status;
    return got;
}

/* WNOWAIT asks for the same stop once more. */
EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    bool is_stop;
    int err, stop;

    do {
        stop = 0;
        err = tck_real()->waitid(type, id, info, options);
        if (err != 0 || !info || !info->si_pid || !is_active())
            break;
        is_stop = info->si_code == CLD_TRAPPED || info->si_code == CLD_STOPPED;
        note_stop(info->si_pid, is_stop ? info->si_status : 0);
        if (is_stop && !(options & WNOWAIT))
            stop = tck_jobs_take_stop(info->si_pid, info->si_status);
        if (stop > 0)
            info->si_status = stop;
    } while (stop == TCK_JOBS_GOES_ON);
    return err;
}

static bool is_resuming(int request)
{
    return request == PTRACE_CONT || request == PTRACE_SYSCALL || request == PTRACE_SINGLESTEP ||
           request == PTRACE_SYSEMU || request == PTRACE_SYSEMU_SINGLESTEP;
}

EXPORT long ptrace(enum __ptrace_request request, ...)
{
    void *address, *data;
    va_list list;
    pid_t tid;

    va_start(list, request);
    tid = va_arg(list, pid_t);
    address = va_arg(list, void *);
    data = va_arg(list, void *);
    va_end(list);
    if (is_resuming((int)request)) {
        if (is_recording && is_active())
            tck_tsc_traps_call(tid);
        tck_jobs_note_resume((int)request, tid);
    }
    return tck_real()->ptrace(request, tid, address, data);
}

/* A program that aborts ends rr by the same signal as an error of rr's own. */
EXPORT void abort(void)
{
    if (is_active())
        tck_report(TCK_REPORT_ABORTED, "");
    tck_real()->abort();
    __builtin_unreachable();
}

/* Where rr calls this it gives up, mostly with 1; when all went well it returns from main
 * instead. */
EXPORT void exit(int status)
{
    if (is_active() && status)
        tck_report(TCK_REPORT_ABORTED, "");
    tck_real()->exit(status);
    __builtin_unreachable();
}

/* The one line that rr prints on the program's own output; our caller says the same on stderr. */
EXPORT int __printf_chk(int flag, const char *format, ...)
{
    va_list list;
    int err;

    if (is_active() && strncmp(format, CHATTER, strlen(CHATTER)) == 0)
        return 0;
    va_start(list, format);
    err = tck_real()->vprintf_chk(flag, format, list);
    va_end(list);
    return err;
}

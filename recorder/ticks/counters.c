/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/ticks/counters.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/syscall.h>

#include "recorder/ticks/digest_format.h"
#include "recorder/ticks/imitation.h"
#include "recorder/ticks/real.h"
#include "recorder/ticks/stops.h"

#define FD_COUNT         65536
#define NS_PER_TICK      20
#define OWN_VALUE        1000000           /* rr wants to have seen at least 500 branches */
#define PERIOD_UNLIMITED (1ULL << 58)      /* rr says 2^60 for "never" */
#define NS_UNLIMITED     (1ULL << 60)      /* the kernel wants less than 2^63 */
#define PERIOD_OVER      1                 /* rr says this when a slice should have ended */
#define PATIENCE_NS_MAX  (50ULL * 1000000) /* how long to wait for a system call ... */
#define PATIENCE_NS_MIN  (10ULL * 1000000) /* ... when the last slices saw none */
#define SAMPLE_NS_MIN    100000ULL
#define DRAWN_OF         2       /* one slice in so many is drawn, where lots are */
#define DRAWN_NS_MIN     4096ULL /* the shortest */
#define DRAWN_LENGTHS    8       /* powers of 2, from there on */
#define SI_CODE_SLICE    (-9999) /* of a slice signal that no counter sent, as rr itself has it */
#define EVENT_STOP       128     /* PTRACE_EVENT_STOP */

struct counter {
    bool is_open;
    bool is_imitated;
    pid_t tid;       /* 0 = rr's own thread */
    int write_fd;    /* of an imitation */
    uint64_t period; /* ticks left of the slice, as rr sees it */
};

/* Indexed by descriptor. rr drives its tracees from one thread, so there is no lock. */
static struct counter counters[FD_COUNT];

/* The current time slice. rr runs one task at a time: when another one runs, a new slice began. */
static struct {
    pid_t tid;
    uint64_t used_ns;
    uint64_t drawn_ns; /* it ends after so long and waits for no system call; 0: it is not drawn */
} slice;
static bool draws_lots;
static uint64_t patience_ns = PATIENCE_NS_MAX;
static bool is_imitating;
static bool has_several_tasks;

void tck_counters_draw_lots(void)
{
    draws_lots = true;
}

void tck_counters_note_new_task(void)
{
    has_several_tasks = true;
}

bool tck_counters_are_imitated(void)
{
    return is_imitating;
}

bool tck_counter_is(int fd)
{
    return fd >= 0 && fd < FD_COUNT && counters[fd].is_open;
}

bool tck_counter_is_own(int fd)
{
    return tck_counter_is(fd) && counters[fd].tid == 0;
}

/* How long the slice is to last. */
static uint64_t length_ns(const struct counter *counter)
{
    uint64_t ns = counter->period * NS_PER_TICK;

    return slice.drawn_ns && slice.drawn_ns < ns ? slice.drawn_ns : ns;
}

/* When the signal is wanted: as late as it may be, since a system call is preferred. */
static uint64_t sample_ns(const struct counter *counter)
{
    uint64_t want_ns = length_ns(counter);
    uint64_t least_ns = slice.drawn_ns ? DRAWN_NS_MIN : SAMPLE_NS_MIN;

    if (counter->period >= PERIOD_UNLIMITED || counter->period == 0 || !has_several_tasks)
        return NS_UNLIMITED;
    if (!slice.drawn_ns && want_ns < patience_ns)
        want_ns = patience_ns;
    return want_ns > slice.used_ns + least_ns ? want_ns - slice.used_ns : least_ns;
}

static void begin_slice(pid_t tid)
{
    uint32_t lot;

    slice.tid = tid;
    slice.used_ns = slice.drawn_ns = 0;
    if (!draws_lots || getrandom(&lot, sizeof(lot), GRND_NONBLOCK) != sizeof(lot))
        return;
    if (lot % DRAWN_OF == 0)
        slice.drawn_ns = DRAWN_NS_MIN << (lot / DRAWN_OF % DRAWN_LENGTHS);
}

static void enter_slice(pid_t tid)
{
    if (tid != slice.tid)
        begin_slice(tid);
}

static pid_t process_of(pid_t tid)
{
    char path[64], line[128];
    FILE *file;
    int tgid = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
    file = tck_real()->fopen(path, "re");
    if (!file)
        return 0;
    while (!tgid && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Tgid: %d", &tgid) != 1)
            tgid = 0;
    }
    fclose(file);
    return tgid;
}

/*
 * rr heard that the slice is over at a place where it could not switch, such as a trapped rdtsc,
 * and lets the task run one more tick. A timer would not go off if the next trap comes within
 * microseconds, and so never; the signal itself does, before the task's next instruction.
 */
static void signal_if_over(const struct counter *counter)
{
    siginfo_t info = {.si_signo = SIGSTKFLT, .si_code = SI_CODE_SLICE};
    long args[6] = {0, counter->tid, SIGSTKFLT, (long)&info};

    if (!has_several_tasks || counter->tid == 0 || counter->period > PERIOD_OVER)
        return;
    args[0] = process_of(counter->tid);
    if (args[0])
        tck_real_syscall(SYS_rt_tgsigqueueinfo, args);
}

static int open_event(const struct perf_event_attr *asked, pid_t tid, uint64_t ns)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr)};
    const long args[6] = {(long)&attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC, 0};

    attr.config = PERF_COUNT_SW_TASK_CLOCK;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    attr.disabled = asked->disabled;
    attr.sample_period = ns;
    return (int)tck_real_syscall(SYS_perf_event_open, args);
}

/* Whether an error means that events are refused by a filter or by perf_event_paranoid, or are not
 * in this kernel. */
static bool is_refusal(int err)
{
    return err == EACCES || err == EPERM || err == ENOSYS || err == ENOENT || err == EOPNOTSUPP;
}

int tck_counter_open(const struct perf_event_attr *attr, pid_t tid)
{
    struct counter counter = {.is_open = true, .tid = tid, .period = attr->sample_period};
    int fd = -1;

    if (tid)
        enter_slice(tid);
    if (!is_imitating) {
        fd = open_event(attr, tid, sample_ns(&counter));
        if (fd < 0 && is_refusal(errno))
            is_imitating = true;
    }
    if (is_imitating) {
        fd = tck_imitation_open(&counter.write_fd);
        if (fd < 0) {
            errno = -fd;
            return -1;
        }
        counter.is_imitated = true;
    }
    if (fd < 0)
        return -1;
    if (fd >= FD_COUNT) {
        tck_real()->close(fd);
        errno = EMFILE;
        return -1;
    }
    counters[fd] = counter;
    signal_if_over(&counter);
    if (counter.is_imitated && tid)
        tck_imitation_arm(fd, counter.write_fd, sample_ns(&counter));
    return fd;
}

void tck_counter_forget(int fd)
{
    if (!tck_counter_is(fd))
        return;
    if (counters[fd].is_imitated) {
        tck_imitation_disarm();
        tck_real()->close(counters[fd].write_fd);
    }
    counters[fd].is_open = false;
}

enum stop_kind {
    STOP_SYSCALL, /* or a ptrace event: placed by the program itself */
    STOP_TRAP,    /* rdtsc and cpuid */
    STOP_SIGNAL,
    STOP_SLICE, /* the slice's own signal, or PTRACE_INTERRUPT */
};

/* `info` is filled unless the result is STOP_SYSCALL; all zero for PTRACE_INTERRUPT. */
static enum stop_kind classify_stop(pid_t tid, siginfo_t *info)
{
    memset(info, 0, sizeof(*info));
    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, info) != 0) {
        memset(info, 0, sizeof(*info));
        return errno == EINVAL ? STOP_SLICE : STOP_SYSCALL; /* EINVAL: a group stop */
    }
    if (info->si_signo == SIGTRAP && (info->si_code & 0x7f) == SIGTRAP && info->si_code > 0) {
        if (info->si_code >> 8 != EVENT_STOP)
            return STOP_SYSCALL;
        memset(info, 0, sizeof(*info));
        return STOP_SLICE;
    }
    if (info->si_signo == SIGSEGV && info->si_code == SI_KERNEL)
        return STOP_TRAP;
    return info->si_signo == SIGSTKFLT ? STOP_SLICE : STOP_SIGNAL;
}

static uint64_t elapsed_ns(int fd)
{
    uint64_t ns = 0;

    if (counters[fd].is_imitated)
        return tck_imitation_elapsed_ns();
    return tck_real()->read(fd, &ns, sizeof(ns)) == sizeof(ns) ? ns : 0;
}

/* Whether the slice is over, now that its task stopped like this. */
static bool is_expired(const struct counter *counter, enum stop_kind kind)
{
    uint64_t period_ns = length_ns(counter);

    if (counter->period >= PERIOD_UNLIMITED || !has_several_tasks)
        return false;
    switch (kind) {
    case STOP_SYSCALL:
    case STOP_TRAP: /* replay meets these by itself too; a loop around rdtsc has no other stops */
        return slice.used_ns >= period_ns;
    default:
        if (counter->period <= PERIOD_OVER)
            return true;
        /* The timer and the counter are not exact: a tenth less will do. */
        if (slice.drawn_ns)
            return slice.used_ns >= period_ns - period_ns / 10;
        return slice.used_ns >= period_ns && slice.used_ns >= patience_ns - patience_ns / 10;
    }
}

/* Threads that wait for each other in a loop never call; do not let each turn take so long. */
static void adjust_patience(enum stop_kind kind, bool expired)
{
    if (kind == STOP_SYSCALL)
        patience_ns = PATIENCE_NS_MAX;
    else if (kind == STOP_SLICE && expired && patience_ns / 2 >= PATIENCE_NS_MIN)
        patience_ns /= 2;
    else if (kind == STOP_SLICE && expired)
        patience_ns = PATIENCE_NS_MIN;
}

uint64_t tck_counter_value(int fd)
{
    const struct counter *counter = &counters[fd];
    enum stop_kind kind;
    siginfo_t info;
    bool expired;

    if (counter->tid == 0)
        return OWN_VALUE;
    enter_slice(counter->tid);
    slice.used_ns += elapsed_ns(fd);
    if (!tck_stops_is_open())
        return 0; /* not a recording */
    kind = classify_stop(counter->tid, &info);
    expired = is_expired(counter, kind);
    if (!slice.drawn_ns)
        adjust_patience(kind, expired);
    if (expired)
        begin_slice(counter->tid);
    if (kind == STOP_SIGNAL || kind == STOP_SLICE) {
        unsigned flags =
            (kind == STOP_SLICE ? TCK_STOP_SLICE : 0u) | (expired ? TCK_STOP_EXPIRED : 0u);

        tck_stops_append(counter->tid, flags, info.si_signo ? &info : NULL);
    }
    return expired ? counter->period + 1 : 0;
}

static int set_period(int fd, const void *arg)
{
    struct counter *counter = &counters[fd];
    uint64_t ns;

    memcpy(&counter->period, arg, sizeof(counter->period));
    if (counter->tid)
        enter_slice(counter->tid);
    signal_if_over(counter);
    ns = sample_ns(counter);
    return counter->is_imitated ? 0 : tck_real()->ioctl(fd, PERF_EVENT_IOC_PERIOD, &ns);
}

int tck_counter_ioctl(int fd, unsigned long request, const void *arg)
{
    struct counter *counter = &counters[fd];

    if (request == PERF_EVENT_IOC_PERIOD)
        return set_period(fd, arg);
    if (!counter->is_imitated)
        return tck_real()->ioctl(fd, request, arg);
    if (request == PERF_EVENT_IOC_ENABLE && counter->tid)
        tck_imitation_arm(fd, counter->write_fd, sample_ns(counter));
    if (request == PERF_EVENT_IOC_DISABLE)
        tck_imitation_disarm();
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/side.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include "common/page.h"
#include "wet/build/part.h"
#include "wet/build/scan_memory.h"
#include <wetdbg/errors.h>

#define JOBS_MIN       4            /* with fewer one pass is as quick */
#define WINDOW         (1ull << 30) /* instructions, by number of jobs */
#define WINDOW_PER_MB  (32ull << 20)
#define WINDOW_MIN     (64ull << 20)
#define WINDOWS_MAX    64 /* that are built at once */
#define WAITING        2  /* for each of these so many may wait for those before them */
#define WINDOW_MEMORY  (48ull << 20)
#define DEFAULT_MEMORY (2ull << 30)

/* Where a window ends. */
struct end {
    uint64_t intervals, time, entries; /* those of the run before what follows */
    uint64_t state;                    /* hash of STATE there, unless it is over */
    uint64_t is_over;
};

/* What a window's process says last. */
struct report {
    int64_t err;
    struct end end;
    char message[512];
};

struct window {
    pid_t pid; /* 0: ended */
    int pipe, part;
    uint64_t first; /* interval */
    struct end end; /* as the leader found it */
    bool has_end;
    struct report report;
};

struct side {
    struct wet_builder *builder;
    const struct wet_unfinished *unfinished;
    struct window windows[WINDOWS_MAX * WAITING]; /* a ring */
    uint64_t begun, merged;                       /* counts of windows */
    uint64_t running;
    uint64_t intervals;    /* of the window that begins */
    uint64_t memory_bytes; /* what the program has written */
    uint32_t noted;        /* nodes that the journal has */
};

static struct window *window_at(struct side *side, uint64_t n)
{
    return &side->windows[n % (WINDOWS_MAX * WAITING)];
}

static const struct wet_index_record *index_of(const struct wet_builder *builder, uint64_t k)
{
    return (const struct wet_index_record *)builder->index.data + k;
}

static uint64_t interval_count(const struct wet_builder *builder)
{
    return builder->index.size_bytes / sizeof(struct wet_index_record);
}

static void end_note(const struct wet_builder *builder, uint64_t first, struct end *end)
{
    const struct wd_buf *state = &builder->parts.state;
    *end = (struct end){.intervals = interval_count(builder) - first,
                        .time = builder->first_time,
                        .entries = builder->first_entry,
                        .is_over = wet_builder_is_over(builder)};
    if (!end->is_over)
        end->state = XXH64(state->data, state->size_bytes, 0);
}

/* ---- in a window's process ---- */

/* A copy of the leader becomes a builder of its own. What is of no use to it goes with the
 * process. */
static int window_build(struct side *side, struct window *window, struct wet_leave *leave)
{
    struct wet_builder *builder = side->builder;
    struct wet_build_options options = *builder->options;
    options.interrupted = NULL; /* the leader ends this process */
    options.progress = NULL;
    options.notice = NULL;
    wet_store_keep(side->unfinished->store);
    wet_journal_keep(side->unfinished->journal);
    builder->options = &options;
    builder->engine = NULL; /* it is the leader's */
    builder->nodes = (struct wet_node_table){0};
    builder->mark.nodes = 0;
    builder->is_leader = false;
    builder->has_journal = true;
    int err = wet_part_new(window->part, wet_builder_level(&options), &builder->part);
    if (!err)
        err = wet_builder_arrive(builder, DBI_COUNT, leave);
    if (!err)
        err = wet_builder_replay(builder, side->intervals, wet_builder_interval);
    if (!err)
        end_note(builder, window->first, &window->report.end);
    rep_engine_free(builder->engine);
    wet_part_free(builder->part);
    return err;
}

__attribute__((noreturn)) static void window_process(struct side *side, struct window *window,
                                                     struct wet_leave *leave, int pipe)
{
    struct report *report = &window->report;
    signal(SIGINT, SIG_IGN);
    prctl(PR_SET_NAME, "wetdbg-window");
    *report = (struct report){0};
    report->err = window_build(side, window, leave);
    if (report->err)
        snprintf(report->message, sizeof(report->message), "%s", wetdbg_error((int)report->err));
    ssize_t done =
        write(pipe, report, sizeof(*report)); /* at most PIPE_BUF: at once, or not at all */
    _exit(done == sizeof(*report) ? 0 : 1);
}

_Static_assert(sizeof(struct report) <= 4096, "a report is written at once");

/* ---- windows begin and end ---- */

static int window_fork(struct side *side, struct window *window, struct wet_leave *leave)
{
    int pipe[2];
    if (pipe2(pipe, O_CLOEXEC))
        return wetdbg_fail_errno("a pipe");
    pid_t leader = getpid();
    window->pid = fork();
    if (window->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != leader)
            _exit(1);
        window_process(side, window, leave, pipe[1]);
    }
    int err = window->pid < 0 ? wetdbg_fail_errno("fork") : 0;
    close(pipe[1]);
    window->pipe = pipe[0];
    return err;
}

static void window_close(struct window *window)
{
    if (window->pid > 0) {
        kill(window->pid, SIGKILL);
        waitpid(window->pid, NULL, 0);
    }
    if (window->pipe >= 0)
        close(window->pipe);
    if (window->part >= 0)
        close(window->part);
    *window = (struct window){.pipe = -1, .part = -1};
}

static int window_begin(struct side *side)
{
    struct wet_builder *builder = side->builder;
    struct window *window = window_at(side, side->begun);
    struct wet_leave leave = {0};
    *window = (struct window){.pipe = -1, .part = -1, .first = interval_count(builder)};
    int err = wet_store_scratch(side->unfinished->store, &window->part);
    if (!err)
        err = wet_builder_leave(builder, &leave);
    if (!err)
        err = window_fork(side, window, &leave);
    wd_buf_fini(&leave.entries);
    if (err) {
        window_close(window);
        return err;
    }
    side->begun++;
    side->running++;
    return 0;
}

/* Takes the last word of a window's process, which has ended, with or without it. */
static void window_reap(struct side *side, struct window *window)
{
    struct report *report = &window->report;
    int status = 0;
    ssize_t bytes = read(window->pipe, report, sizeof(*report));
    waitpid(window->pid, &status, 0);
    window->pid = 0;
    side->running--;
    report->message[sizeof(report->message) - 1] = 0;
    if (bytes == sizeof(*report))
        return;
    *report = (struct report){.err = -WETDBG_ERR_MACHINE};
    if (WIFSIGNALED(status))
        snprintf(report->message, sizeof(report->message),
                 "a process that built a part of the file was killed by signal %d (%s)",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        snprintf(report->message, sizeof(report->message),
                 "a process that built a part of the file ended with status %d",
                 WEXITSTATUS(status));
}

/* Waits until a window has ended, if `wait`, and takes the reports of all that have. */
static int windows_look(struct side *side, bool wait)
{
    struct pollfd polls[WINDOWS_MAX];
    struct window *of[WINDOWS_MAX];
    const volatile sig_atomic_t *interrupted = side->builder->options->interrupted;
    nfds_t count = 0;
    for (uint64_t n = side->merged; n < side->begun; n++) {
        if (!window_at(side, n)->pid)
            continue;
        of[count] = window_at(side, n);
        polls[count] = (struct pollfd){.fd = of[count]->pipe, .events = POLLIN};
        count++;
    }
    int ready = 0;
    do {
        ready = poll(polls, count, wait ? 100 : 0);
        if (interrupted && *interrupted)
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        if (ready < 0 && errno != EINTR)
            return wetdbg_fail_errno("poll");
    } while (ready <= 0 && wait);
    for (nfds_t i = 0; ready > 0 && i < count; i++) {
        if (polls[i].revents)
            window_reap(side, of[i]);
    }
    return 0;
}

/* ---- merging ---- */

static int window_merge(struct side *side, struct window *window)
{
    struct wet_builder *builder = side->builder;
    const struct report *report = &window->report;
    const struct wet_merge merge = {.store = side->unfinished->store,
                                    .journal = side->unfinished->journal,
                                    .nodes = &builder->nodes,
                                    .noted = &side->noted,
                                    .level = wet_builder_level(builder->options)};
    if (report->err)
        return wetdbg_fail((int)report->err, "%s", report->message);
    if (memcmp(&report->end, &window->end, sizeof(window->end)))
        return wetdbg_fail(
            -WETDBG_ERR_MACHINE,
            "a part of the run that begins at time %llu ends otherwise than in plain "
            "replay; this is a defect (--jobs=1 does without)",
            (unsigned long long)index_of(builder, window->first)->first_time);
    return wet_part_merge(&merge, window->part, index_of(builder, window->first), window->first,
                          window->end.intervals);
}

/* Writes the windows that have ended and whose time has come. */
static int windows_merge(struct side *side)
{
    int err = 0;
    while (!err && side->merged < side->begun) {
        struct window *window = window_at(side, side->merged);
        if (window->pid || !window->has_end)
            break;
        err = window_merge(side, window);
        window_close(window);
        side->merged++;
    }
    return err;
}

/* Waits until no more than `running` windows are at work and `waiting` are not merged. */
static int windows_wait(struct side *side, uint64_t running, uint64_t waiting)
{
    int err = windows_look(side, false);
    if (!err)
        err = windows_merge(side);
    while (!err && (side->running > running || side->begun - side->merged > waiting)) {
        err = windows_look(side, true);
        if (!err)
            err = windows_merge(side);
    }
    return err;
}

/* ---- the leader ---- */

static int leader_interval(struct wet_builder *builder)
{
    struct wet_index_record record;
    return wet_builder_index(builder, &record);
}

static int pages_take(void *arg, uint64_t mirror_off, const uint8_t *now, uint64_t bytes)
{
    struct side *side = arg;
    uint8_t *here = side->builder->space.bytes + mirror_off;
    for (uint64_t at = 0; at < bytes; at += WD_PAGE) {
        if (memcmp(here + at, now + at, WD_PAGE))
            memcpy(here + at, now + at, WD_PAGE);
    }
    side->memory_bytes += bytes;
    return 0;
}

/* What a window's process begins with: memory, and tables that the journal has. */
static int start_make(struct side *side)
{
    struct wet_builder *builder = side->builder;
    struct wd_buf saved = {0};
    side->memory_bytes = 0;
    int err = wet_scan(builder, pages_take, side);
    if (!err)
        err = wet_snapshot_save(builder, &saved);
    wd_buf_fini(&saved);
    return err;
}

/* How many windows may be built at once: each has its own copy of the program's memory, twice. */
static uint64_t windows_most(const struct side *side)
{
    const struct wet_build_options *options = side->builder->options;
    uint64_t memory = options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
    uint64_t most = memory / (WINDOW_MEMORY + 2 * side->memory_bytes);
    uint64_t jobs = wet_builder_jobs(options);
    jobs = jobs > 2 ? jobs - 1 : 1;
    most = most < jobs ? most : jobs;
    return most < WINDOWS_MAX ? most : WINDOWS_MAX;
}

static int windows_all(struct side *side, bool *rest)
{
    struct wet_builder *builder = side->builder;
    bool is_forced = builder->options->side_by_side == WET_SIDE_ALWAYS;
    int err = 0;
    while (!err && !wet_builder_is_over(builder)) {
        err = start_make(side);
        uint64_t most = windows_most(side);
        side->intervals = wet_side_intervals(builder->options, side->memory_bytes);
        *rest = !err && most < 2 && !is_forced;
        if (err || *rest)
            break;
        most = most ? most : 1;
        err = windows_wait(side, most - 1, most * WAITING - 1);
        if (!err)
            err = window_begin(side);
        *rest = err == -EAGAIN || err == -ENOMEM; /* no more processes */
        if (*rest) {
            err = 0;
            break;
        }
        if (!err)
            err = wet_builder_replay(builder, side->intervals, leader_interval);
        if (err)
            break;
        struct window *window = window_at(side, side->begun - 1);
        if (!wet_builder_is_over(builder)) {
            builder->parts.state.size_bytes = 0;
            err = wet_builder_state(builder, &builder->parts.state);
        }
        end_note(builder, window->first, &window->end);
        window->has_end = true;
    }
    return err ? err : windows_wait(side, 0, 0);
}

int wet_side_build(struct wet_builder *builder, const struct wet_unfinished *unfinished, bool *rest)
{
    struct side *side = calloc(1, sizeof(*side));
    if (!side)
        return -ENOMEM;
    *side =
        (struct side){.builder = builder, .unfinished = unfinished, .noted = builder->nodes.count};
    *rest = false;
    int err = wet_builder_move(builder, DBI_PLAIN);
    builder->is_leader = true;
    if (!err)
        err = windows_all(side, rest);
    for (; side->merged < side->begun; side->merged++)
        window_close(window_at(side, side->merged));
    builder->is_leader = false;
    builder->mark.nodes = side->noted;
    if (!err && *rest)
        err = wet_builder_move(builder, DBI_COUNT);
    free(side);
    return err;
}

/* ---- whether ---- */

bool wet_side_is_wanted(const struct wet_build_options *options)
{
    return options->side_by_side == WET_SIDE_ALWAYS ||
           (options->side_by_side == WET_SIDE_AUTO && wet_builder_jobs(options) >= JOBS_MIN);
}

uint64_t wet_side_intervals(const struct wet_build_options *options, uint64_t memory_bytes)
{
    uint64_t length = (WINDOW + (memory_bytes >> 20) * WINDOW_PER_MB) / wet_builder_jobs(options);
    uint64_t intervals = (length > WINDOW_MIN ? length : WINDOW_MIN) / wet_builder_length(options);
    if (options->window_intervals)
        intervals = options->window_intervals;
    return intervals ? intervals : 1;
}

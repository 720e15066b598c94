/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/ticks/counted.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "recorder/event/ops.h"
#include "recorder/replay/start.h"
#include "tests/replay/replay_unit.h"
#include <wetdbg/errors.h>

#define UNCOUNTED UINT64_MAX

/* Before a call of a program that nobody replayed: that of a child before its first exec. */
#define UNSEEN_BRANCHES 1000

/* ---- runs ---- */

const struct counted_stop *counted_stops(const struct counted_run *run, size_t *count)
{
    *count = run->stops.size_bytes / sizeof(struct counted_stop);
    return (const struct counted_stop *)run->stops.data;
}

static int feed_next(void *arg, struct wd_buf *out)
{
    return rep_feed_next(((struct unit_replay *)arg)->feed, out);
}

static int stop_note(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct unit_replay *replay = arg;
    struct counted_stop stop = {entry->frame, time, entry->ticks, entry->kind, 0, 0};
    (void)ring_bytes;
    switch (entry->kind) {
    case EVQ_PLACE:
        stop.flags = evq_entry_place(entry)->flags;
        stop.signal = entry->number;
        break;
    case EVQ_SYSCALL_ENTER:
    case EVQ_TRAP:
    case EVQ_FAULT:
        break;
    default:
        return 0;
    }
    return wd_buf_append(&replay->events, &stop, sizeof(stop));
}

/* Starts an engine as rep_engine_from_feed() does, but for the ticks. */
static int engine_start(struct unit_replay *replay)
{
    struct rep_start start;
    int err = rep_start_init(&start, replay->feed, DBI_PLAIN);
    start.setup.ticks = true;
    if (!err)
        err = rep_engine_new(&start.setup, &replay->engine);
    rep_start_fini(&start);
    return err;
}

int counted_run_make(const char *dir, struct counted_run *run)
{
    struct unit_replay replay = {0};
    struct rep_selection which;
    replay.source = (struct rep_source){.next = feed_next, .taken = stop_note, .arg = &replay};
    int err = rep_selection_parse(run->program, &which);
    if (!err)
        err = wetdbg_recording_open(dir, &replay.trace);
    if (!err)
        err = rep_feed_open(replay.trace, &which, &replay.feed);
    if (!err)
        err = engine_start(&replay);
    if (!err) {
        run->has_ticks = rep_feed_info(replay.feed)->has_ticks;
        err = unit_run_to_end(&replay);
    }
    if (!err)
        run->instructions = rep_engine_time(replay.engine);
    run->stops = replay.events;
    replay.events = (struct wd_buf){0};
    unit_close(&replay);
    return err;
}

static void run_add(struct counted_runs *runs, const struct wetdbg_process *list, size_t count,
                    struct wetdbg_program program)
{
    assert_true(runs->count < COUNTED_PROGRAMS_MAX);
    struct counted_run *run = &runs->list[runs->count++];
    wetdbg_program_handle(list, count, program, run->program, sizeof(run->program));
}

int counted_runs_make(const char *dir, struct counted_runs *runs)
{
    const struct wetdbg_process *list;
    struct wetdbg_recording *trace = NULL;
    size_t count;
    int err = wetdbg_recording_open(dir, &trace);
    if (!err)
        err = wetdbg_recording_processes(trace, &list, &count);
    for (size_t i = 0; !err && i < count; i++) {
        if (!list[i].exec_count)
            run_add(runs, list, count, (struct wetdbg_program){i, WETDBG_FORKED});
        for (size_t k = 0; k < list[i].exec_count; k++)
            run_add(runs, list, count, (struct wetdbg_program){i, k});
    }
    wetdbg_recording_close(trace);
    for (size_t i = 0; !err && i < runs->count; i++)
        err = counted_run_make(dir, &runs->list[i]);
    return err;
}

void counted_runs_fini(struct counted_runs *runs)
{
    for (size_t i = 0; i < runs->count; i++)
        wd_buf_fini(&runs->list[i].stops);
    *runs = (struct counted_runs){0};
}

/* ---- ticks ---- */

struct task {
    int tid;
    int64_t known;  /* at its last frame */
    int64_t offset; /* what the engine counts + this = what rr does */
};

struct tasks {
    struct task *list;
    size_t count, room;
};

/* Begins at 0. Good until the next call. */
static struct task *task_of(struct tasks *tasks, int tid)
{
    for (size_t i = 0; i < tasks->count; i++)
        if (tasks->list[i].tid == tid)
            return &tasks->list[i];
    if (tasks->count == tasks->room) {
        tasks->room = tasks->room ? 2 * tasks->room : 64;
        tasks->list = realloc(tasks->list, tasks->room * sizeof(*tasks->list));
        assert_non_null(tasks->list);
    }
    tasks->list[tasks->count] = (struct task){.tid = tid};
    return &tasks->list[tasks->count++];
}

static bool is_exec(const struct rrt_frame *frame)
{
    return frame->event == RRT_EVENT_SYSCALL && frame->syscall.state == RRT_SYSCALL_EXITING &&
           (frame->syscall.number == SYS_execve || frame->syscall.number == SYS_execveat) &&
           (int64_t)frame->regs.rax >= 0;
}

/* The engine begins at 0 with each program; rr goes on, also where a thread becomes the first. */
static void exec_note(struct tasks *tasks, const struct rrt_frame *frame)
{
    int64_t known = task_of(tasks, frame->tid)->known;
    for (size_t i = 0; i < frame->task_count; i++)
        if (frame->tasks[i].kind == RRT_TASK_EXEC)
            known = task_of(tasks, frame->tasks[i].tid)->known;
    struct task *task = task_of(tasks, frame->tid);
    task->known = known;
    task->offset = known;
}

/* rr begins at 0 with each task; the engine does with a thread, and goes on where it follows a
 * fork. */
static void clone_note(struct tasks *tasks, const struct rrt_task_event *event, uint64_t counted)
{
    struct task *child = task_of(tasks, event->tid);
    bool is_followed = !(event->clone_flags & CLONE_VM) && counted != UNCOUNTED;
    child->known = 0;
    child->offset = is_followed ? -(int64_t)counted : 0;
}

static int64_t frame_ticks(struct tasks *tasks, const struct rrt_frame *frame, uint64_t counted)
{
    if (is_exec(frame))
        exec_note(tasks, frame);
    struct task *task = task_of(tasks, frame->tid);
    if (counted != UNCOUNTED)
        task->known = (int64_t)counted + task->offset;
    else if (frame->event == RRT_EVENT_SYSCALL && frame->syscall.state == RRT_SYSCALL_ENTERING)
        task->known += UNSEEN_BRANCHES;
    int64_t ticks = task->known;
    for (size_t i = 0; i < frame->task_count && !is_exec(frame); i++)
        if (frame->tasks[i].kind == RRT_TASK_CLONE && frame->tasks[i].tid != frame->tid)
            clone_note(tasks, &frame->tasks[i], counted);
    return ticks;
}

/* By frame, what the engine counted. */
static uint64_t *counts_make(const struct counted_runs *runs, size_t frames)
{
    uint64_t *counts = calloc(frames + 1, sizeof(*counts));
    assert_non_null(counts);
    memset(counts, 0xff, frames * sizeof(*counts));
    for (size_t i = 0; i < runs->count; i++) {
        size_t count;
        const struct counted_stop *stops = counted_stops(&runs->list[i], &count);
        for (size_t k = 0; k < count; k++) {
            assert_in_range(stops[k].frame, 1, frames);
            uint64_t *known = &counts[stops[k].frame - 1];
            if (*known != UNCOUNTED)
                assert_int_equal(*known, stops[k].ticks);
            *known = stops[k].ticks;
        }
    }
    return counts;
}

static size_t frames_count(struct wetdbg_recording *trace)
{
    struct rrt_frame frame;
    size_t count = 0;
    rrt_set_skip_data(trace, true);
    for (int err; (err = rrt_next(trace, &frame)) != 0; count++)
        unit_check(err < 0 ? err : 0, "frames");
    unit_check(rrt_rewind(trace), "frames");
    return count;
}

int64_t *counted_ticks(const char *dir, const struct counted_runs *runs, size_t *frame_count)
{
    struct tasks tasks = {0};
    struct wetdbg_recording *trace;
    struct rrt_frame frame;
    unit_check(wetdbg_recording_open(dir, &trace), dir);
    *frame_count = frames_count(trace);
    uint64_t *counts = counts_make(runs, *frame_count);
    int64_t *ticks = calloc(*frame_count + 1, sizeof(*ticks));
    assert_non_null(ticks);
    while (rrt_next(trace, &frame) == 1)
        ticks[frame.time - 1] = frame_ticks(&tasks, &frame, counts[frame.time - 1]);
    free(counts);
    free(tasks.list);
    wetdbg_recording_close(trace);
    return ticks;
}

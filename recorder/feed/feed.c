/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The feed: opens with a scan of everything, then converts frame by frame. See feed_priv.h for
 * the parts.
 */
#include "recorder/feed/feed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/regular.h"
#include "recorder/feed/feed_cpu.h"
#include "recorder/feed/feed_priv.h"
#include "recorder/rr_trace/input_format.h"
#include <wetdbg/errors.h>

static void reset_cursor(struct rep_feed *feed)
{
    feed_tasks_fini(feed);
    feed_digests_rewind(feed->digests);
    feed->held.tid = 0;
    feed->leader_has_ended = false;
    memset(&feed->written, 0, sizeof(feed->written));
    feed->has_ended = false;
    feed->shares_changed = false;
    feed->next_follow = 0;
    feed->last_frame = 0;
}

/* ---------------------------------------------------------------- the scan */

/* Notes what the program was started as. */
static int copy_program(struct rep_feed *feed, const struct rrt_task_event *event)
{
    feed->exe = strdup(event->exec_file);
    feed->argv = calloc(event->argc + 1, sizeof(*feed->argv));
    if (!feed->exe || !feed->argv)
        return -ENOMEM;
    for (size_t i = 0; i < event->argc; i++) {
        feed->argv[i] = strdup(event->argv[i]);
        if (!feed->argv[i])
            return -ENOMEM;
    }
    feed->info.exe = feed->exe;
    feed->info.argv = (const char *const *)feed->argv;
    feed->info.argc = event->argc;
    return 0;
}

static int note_program(struct rep_feed *feed, const struct rrt_frame *frame)
{
    for (size_t i = 0; i < frame->task_count; i++)
        if (frame->tasks[i].kind == RRT_TASK_EXEC && frame->time == feed->plan.start_time)
            return copy_program(feed, &frame->tasks[i]);
    return 0;
}

/* Adds the ranges where rr itself lives in each process, mapped at this moment or not. */
static int add_recorder_ranges(struct rep_feed *feed)
{
    int err = feed_tables_range(feed, FEED_SCRATCH_START, FEED_SCRATCH_START + FEED_SCRATCH_BYTES);
    return err ? err : feed_tables_range(feed, FEED_RECORDER_VDSO, FEED_RECORDER_END);
}

static int scan_frames(struct rep_feed *feed)
{
    struct rrt_frame frame;
    rrt_set_skip_data(feed->trace, true);
    int err = rrt_rewind(feed->trace);
    while (!err && (err = rrt_next(feed->trace, &frame)) == 1) {
        err = note_program(feed, &frame);
        if (!err)
            err = feed_frame_convert(feed, &frame, NULL);
    }
    return err ? err : feed_frame_finish(feed, NULL);
}

/* A signal may look fatal and yet be survived (rr record --continue-through-signal). */
static void settle_fatal_signal(struct rep_info *info)
{
    if (!info->has_wait_status || WIFSIGNALED(info->wait_status))
        return;
    info->fatal_signal = 0;
    info->fatal_frame = 0;
    memset(info->fatal_siginfo, 0, sizeof(info->fatal_siginfo));
}

static int scan(struct rep_feed *feed)
{
    feed->is_scanning = true;
    feed->info.pid = feed->plan.pid;
    feed->info.start_frame = feed->plan.start_time;
    feed->info.fork_count = (unsigned)feed->plan.follow_count;
    int err = add_recorder_ranges(feed);
    if (!err)
        err = scan_frames(feed);
    if (!err && !feed->info.frame_count)
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "frame %llu: an exec without its system call",
                          (unsigned long long)feed->plan.start_time);
    if (err)
        return err;
    feed_tables_finish(feed);
    settle_fatal_signal(&feed->info);
    feed->has_ticks = feed->has_ticks && feed->saw_ticks;
    feed->info.has_ticks = feed->has_ticks;
    feed->info.is_buffered = feed->is_buffered;
    feed->is_scanning = false;
    return 0;
}

/* Of the first program alone it is known where it began, what its descriptors were, and what its
 * standard input held; and that is only its own if there is no other process. */
static int surroundings_open(struct rep_feed *feed)
{
    const struct wetdbg_process *list;
    size_t count;
    struct stat st;
    int dir_fd = rrt_trace_dir_fd(feed->trace);
    int err = wetdbg_recording_processes(feed->trace, &list, &count);
    if (err)
        return err;
    rrt_surroundings_read(dir_fd, &feed->surroundings);
    bool is_first = list[0].exec_count && feed->plan.pid == list[0].pid &&
                    feed->plan.start_time == list[0].execs[0].time;
    if (!is_first) {
        free(feed->surroundings.cwd);
        feed->surroundings.cwd = NULL;
        memset(feed->surroundings.streams, 0, sizeof(feed->surroundings.streams));
    } else if (count == 1 &&
               wd_regular_try(dir_fd, RRT_INPUT_NAME, WD_LINKS_REFUSE, &feed->input_fd, &st)) {
        feed->input_fd = -1;
    }
    return 0;
}

/* ---------------------------------------------------------------- the interface */

static int prepare(struct rep_feed *feed, const struct rep_selection *which)
{
    const struct rrt_header *header = feed->header;
    feed->cpu.cpuid = header->cpuid;
    feed->cpu.cpuid_count = header->cpuid_count;
    feed->cpu.xcr0 = header->xcr0;
    rrt_processor_read(rrt_trace_dir_fd(feed->trace), header->bind_to_cpu, &feed->cpu.processor);
    feed->cpu.cpuid_is_recorded = header->has_cpuid_faulting;
    feed->cpu.x87 = feed_cpu_x87(header);
    feed->cpu.cpuid_is_here = feed_cpu_is_here(header);
    feed_cpu_lacking(header, feed->cpu.lacks, sizeof(feed->cpu.lacks));
    int err = feed_cpu_check(header);
    if (!err)
        err = feed_xsave_layout_here(&feed->local_layout);
    if (err)
        return err;
    feed_xsave_layout_of_trace(header, &feed->recorded_layout);
    feed->has_ticks = header->ticks_semantics == RRT_TICKS_RETIRED_CONDITIONAL_BRANCHES &&
                      !feed_digests_ticks_are_software(feed->trace);
    err = feed_digests_open(rrt_trace_dir_fd(feed->trace), &feed->digests);
    if (err)
        return err;
    err = feed_plan_make(feed->trace, which, &feed->plan);
    if (!err)
        err = surroundings_open(feed);
    if (!err)
        err = scan(feed);
    return err ? err : rep_feed_rewind(feed);
}

int rep_feed_open(struct wetdbg_recording *trace, const struct rep_selection *which,
                  struct rep_feed **out)
{
    struct rep_feed *feed = calloc(1, sizeof(*feed));
    if (!feed)
        return -ENOMEM;
    feed->trace = trace;
    feed->input_fd = -1;
    feed->header = rrt_trace_header(trace);
    int err = prepare(feed, which);
    if (err) {
        rep_feed_close(feed);
        return err;
    }
    *out = feed;
    return 0;
}

void rep_feed_close(struct rep_feed *feed)
{
    if (!feed)
        return;
    if (feed->run) { /* all else is borrowed */
        free(feed);
        return;
    }
    feed_tasks_fini(feed);
    feed_tables_fini(&feed->tables);
    feed_plan_fini(&feed->plan);
    feed_digests_close(feed->digests);
    free(feed->surroundings.cwd);
    if (feed->input_fd >= 0)
        close(feed->input_fd);
    wd_buf_fini(&feed->xstate);
    wd_buf_fini(&feed->buffered);
    for (size_t i = 0; feed->argv && feed->argv[i]; i++)
        free(feed->argv[i]);
    free(feed->argv);
    free(feed->exe);
    free(feed);
}

int rep_feed_rewind(struct rep_feed *feed)
{
    feed->run_at = 0;
    if (feed->run)
        return 0;
    reset_cursor(feed);
    rrt_set_skip_data(feed->trace, true);
    return rrt_rewind(feed->trace);
}

/* The next frame; contents are read only once the replay has begun. */
static int next_frame(struct rep_feed *feed, struct rrt_frame *frame)
{
    int err = rrt_next(feed->trace, frame);
    if (err == 1 && frame->time + 1 >= feed->plan.start_time)
        rrt_set_skip_data(feed->trace, false);
    return err;
}

int rep_feed_next(struct rep_feed *feed, struct wd_buf *out)
{
    struct rrt_frame frame;
    size_t before = out->size_bytes;
    if (feed->run)
        return feed_run_next(feed, out);
    while (out->size_bytes == before && !feed->has_ended) {
        int err = next_frame(feed, &frame);
        if (err > 0)
            err = feed_frame_convert(feed, &frame, out);
        else if (!err)
            err = feed_frame_finish(feed, out);
        if (err) {
            out->size_bytes = before;
            return err;
        }
    }
    return out->size_bytes > before;
}

const struct rep_file *rep_feed_files(const struct rep_feed *feed, size_t *count)
{
    *count = feed->tables.file_count;
    return feed->tables.files;
}

const char *const *rep_feed_names(const struct rep_feed *feed, size_t *count)
{
    *count = feed->tables.name_count;
    return feed->tables.names;
}

const struct rep_range *rep_feed_ranges(const struct rep_feed *feed, size_t *count)
{
    *count = feed->tables.range_count;
    return feed->tables.ranges;
}

const struct rep_info *rep_feed_info(const struct rep_feed *feed)
{
    return &feed->info;
}

const struct rep_cpu *rep_feed_cpu(const struct rep_feed *feed)
{
    return &feed->cpu;
}

const struct rrt_surroundings *rep_feed_surroundings(const struct rep_feed *feed)
{
    return &feed->surroundings;
}

int rep_feed_input(const struct rep_feed *feed)
{
    return feed->input_fd;
}

void rep_feed_trust(struct rep_feed *feed)
{
    feed->is_trusted = true;
}

bool rep_feed_is_trusted(const struct rep_feed *feed)
{
    return feed->is_trusted;
}

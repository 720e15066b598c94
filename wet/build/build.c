/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass over the run, interval by interval:
 *
 *   replay (DBI_COUNT) until some 4 million instructions have run
 *     - entries taken on the way go into the interval's part, and into the space's views
 *   then, while the replayee stands still
 *     - how often each fragment ran since the last time
 *     - the lines of memory that were written, against the space: changes
 *     - registers, vector state and views: the start of the next interval
 *   hand the parts to the writing thread, go on
 */
#include "wet/build/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/err.h"
#include "recorder/replay/start.h"
#include "wet/build/finish.h"
#include "wet/build/node_table.h"
#include "wet/build/outputs.h"
#include "wet/build/writer.h"
#include "wet/trace/entry.h"
#include "wet/trace/record.h"
#include "wet/trace/space.h"

#define DEFAULT_LEVEL  3
#define DEFAULT_MEMORY (2ull << 30)

struct line {
    uint64_t mirror_off;
    size_t at; /* in line_bytes */
};

struct builder {
    struct rep_feed *feed;
    struct rep_engine *engine;
    struct wet_space space;
    struct wet_writer *writer;
    struct wet_output_finder outputs;
    struct wet_thread_finder threads;
    struct wet_interval_parts parts;
    struct wet_changes changes;
    struct wd_buf index; /* struct wet_index_record */
    struct wet_node_table nodes;
    struct wd_buf lines; /* struct line */
    struct wd_buf line_bytes;
    uint64_t first_time, first_entry;
    uint64_t last_frame;
    uint64_t signal_time; /* state at this time is what the last signal interrupted */
    const struct wet_build_options *options;
};

/* ---- while it runs ---- */

static int next_entries(void *arg, struct wd_buf *out)
{
    return rep_feed_next(((struct builder *)arg)->feed, out);
}

static int entry_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct builder *builder = arg;
    (void)ring_bytes;
    struct wet_entry_record record = {.time = time};
    int err = wd_buf_append(&builder->parts.entries, &record, sizeof record);
    if (!err)
        err = wet_entry_for_store(&builder->space, entry, time, &builder->parts.entries);
    if (!err)
        err = wet_output_finder_entry(&builder->outputs, entry, time);
    if (!err)
        err = wet_thread_finder_entry(&builder->threads, entry, time);
    for (const struct evq_op *op = NULL; !err && (op = wet_entry_op(entry, op));)
        err = wet_space_op(&builder->space, op);
    if (entry->kind == EVQ_FAULT || (entry->kind == EVQ_PLACE && entry->number))
        builder->signal_time = time + 1;
    builder->last_frame = entry->frame;
    return err;
}

static int captured(void *arg, uint64_t tag, uint64_t address, const void *bytes, size_t count)
{
    struct builder *builder = arg;
    (void)address;
    wet_thread_finder_captured(&builder->threads, tag, bytes, count);
    return wet_output_finder_captured(&builder->outputs, tag, bytes, count);
}

static int file_read(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes)
{
    struct builder *builder = arg;
    size_t count;
    const struct rep_file *files = rep_feed_files(builder->feed, &count);
    if (file >= count)
        return wd_fail(-WD_ERR_CORRUPT, "a mapping names file %llu of %zu",
                       (unsigned long long)file, count);
    while (bytes) {
        ssize_t done = pread(files[file].fd, to, bytes, (off_t)off);
        if (done < 0)
            return wd_fail_errno("%s", files[file].backing);
        if (done == 0)
            break;
        to += done;
        off += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return 0;
}

/* ---- when it stands still ---- */

static int line_note(void *arg, uint64_t address, const uint8_t *bytes)
{
    struct builder *builder = arg;
    uint64_t left;
    const uint8_t *here = wet_space_at(&builder->space, address, &left);
    if (!here || left < WET_LINE_BYTES)
        return wd_fail(-WD_ERR_MACHINE, "a written line at %#llx is not mapped; this is a defect",
                       (unsigned long long)address);
    struct line line = {.mirror_off = (uint64_t)(here - builder->space.bytes),
                        .at = builder->line_bytes.size_bytes};
    int err = wd_buf_append(&builder->lines, &line, sizeof line);
    return err ? err : wd_buf_append(&builder->line_bytes, bytes, WET_LINE_BYTES);
}

static int line_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->mirror_off < y->mirror_off ? -1 : x->mirror_off > y->mirror_off;
}

static int lines_part(struct builder *builder)
{
    builder->lines.size_bytes = builder->line_bytes.size_bytes = 0;
    wet_changes_clear(&builder->changes);
    int err = rep_engine_lines(builder->engine, line_note, builder);
    struct line *lines = (struct line *)builder->lines.data;
    size_t count = builder->lines.size_bytes / sizeof *lines;
    if (count)
        qsort(lines, count, sizeof *lines, line_order);
    for (size_t i = 0; !err && i < count; i++) {
        if (i && lines[i].mirror_off == lines[i - 1].mirror_off)
            continue;
        err = wet_changes_add(&builder->changes, &builder->space, lines[i].mirror_off,
                              builder->line_bytes.data + lines[i].at);
    }
    return err ? err : wet_changes_encode(&builder->changes, &builder->parts.lines);
}

/* The start of the next interval. */
static int state_part(struct builder *builder)
{
    const struct agt_task *tasks;
    struct wd_buf *out = &builder->parts.state;
    const struct agt_views *views = &builder->space.views;
    struct wet_state_record state = {.view_count = views->count};
    int err = rep_engine_tasks(builder->engine, &tasks, &state.running);
    if (err)
        return err;
    for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++)
        state.task_count += tasks[i].live != 0;
    err = wd_buf_append(out, &state, sizeof state);
    if (!err)
        err = wd_buf_append(out, views->list, views->count * sizeof *views->list);
    uint32_t xsave_bytes = wet_xsave_bytes();
    for (uint32_t i = 0; !err && i < EVQ_TASKS_MAX; i++) {
        if (!tasks[i].live)
            continue;
        struct wet_task_record task = {.task = i, .xsave_bytes = xsave_bytes};
        memcpy(task.regs, tasks[i].regs.r, sizeof task.regs);
        err = wd_buf_append(out, &task, sizeof task);
        if (!err)
            err = wd_buf_append(out, tasks[i].xsave, xsave_bytes);
        if (!err)
            err = wd_buf_append_zeros(out, -xsave_bytes & 7);
    }
    return err;
}

static int interval_end(struct builder *builder)
{
    uint64_t executed = rep_engine_time(builder->engine);
    uint64_t entries = rep_engine_entries(builder->engine);
    struct wet_index_record record = {.first_time = builder->first_time,
                                      .instructions = executed + 1 - builder->first_time,
                                      .first_entry = builder->first_entry,
                                      .entries = entries - builder->first_entry};
    if (record.instructions > WET_INTERVAL_MAX)
        return wd_fail(-WD_ERR_UNSUPPORTED, "a loop of %llu instructions offers no place to stop",
                       (unsigned long long)record.instructions);
    builder->parts.index = builder->index.size_bytes / sizeof record;
    int err = wd_buf_append(&builder->index, &record, sizeof record);
    if (!err)
        err = wet_node_table_count(&builder->nodes, builder->engine, &builder->parts.counts);
    if (!err)
        err = lines_part(builder);
    /* the state at this point belongs to the next interval: the writer gets it with that one */
    struct wd_buf next_state = {0};
    if (!err) {
        struct wd_buf own = builder->parts.state;
        builder->parts.state = next_state;
        err = state_part(builder);
        next_state = builder->parts.state;
        builder->parts.state = own;
    }
    if (!err)
        err = wet_writer_put(builder->writer, &builder->parts);
    if (err)
        wd_buf_fini(&next_state);
    else
        builder->parts.state = next_state;
    builder->first_time = executed + 1;
    builder->first_entry = entries;
    return err;
}

/* The last instructions are of the task that runs at the end. */
static int threads_end(struct builder *builder)
{
    const struct agt_task *tasks;
    uint32_t running;
    int err = rep_engine_tasks(builder->engine, &tasks, &running);
    return err ? err
               : wet_thread_finder_end(&builder->threads, rep_engine_time(builder->engine),
                                       running);
}

static int replay_all(struct builder *builder)
{
    struct rep_source source = {
        .next = next_entries, .taken = entry_taken, .captured = captured, .arg = builder};
    const struct wet_build_options *options = builder->options;
    const struct rep_info *info = rep_feed_info(builder->feed);
    uint64_t length =
        options->interval_instructions ? options->interval_instructions : WET_INTERVAL_INSTRUCTIONS;
    enum rep_stop why = REP_STOP_TIME;
    rep_engine_watch(builder->engine, options->interrupted);
    while (why == REP_STOP_TIME) {
        int err = rep_engine_run(builder->engine, &source, length, false, &why);
        if (!err)
            err = interval_end(builder);
        if (!err && options->interrupted && *options->interrupted)
            err = wd_fail(-WD_ERR_INTERRUPTED, "interrupted");
        if (err)
            return err;
        if (options->progress)
            options->progress(options->progress_arg, builder->last_frame, info->end_frame,
                              rep_engine_time(builder->engine));
    }
    return threads_end(builder);
}

static void builder_fini(struct builder *builder)
{
    rep_engine_free(builder->engine);
    wet_space_fini(&builder->space);
    wet_output_finder_fini(&builder->outputs);
    wet_thread_finder_fini(&builder->threads);
    wet_changes_fini(&builder->changes);
    wd_buf_fini(&builder->parts.state);
    wd_buf_fini(&builder->parts.entries);
    wd_buf_fini(&builder->parts.counts);
    wd_buf_fini(&builder->parts.lines);
    wd_buf_fini(&builder->index);
    wet_node_table_fini(&builder->nodes);
    wd_buf_fini(&builder->lines);
    wd_buf_fini(&builder->line_bytes);
}

/* One thread packs while the replay goes on; more help where it waits for them. */
static int writer_start(struct builder *builder, struct wet_store_writer *store, int level)
{
    const struct wet_build_options *options = builder->options;
    uint64_t memory = options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
    long cores = options->jobs ? (long)options->jobs : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cores < 1                        ? 1
                       : cores > WET_WRITER_THREADS_MAX ? WET_WRITER_THREADS_MAX
                                                        : (unsigned)cores;
    const struct wet_writer_options how = {
        .level = level, .threads = threads, .queue_bytes = memory / 4};
    return wet_writer_new(store, &how, &builder->writer);
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int wet_build(struct rep_feed *feed, const char *path, const struct wet_build_options *options,
              struct wet_build_result *result)
{
    struct builder builder = {.feed = feed, .options = options, .first_time = 1};
    struct wet_store_writer *store = NULL;
    double start = seconds_now();
    int level = options->level ? options->level : DEFAULT_LEVEL;
    int err = wet_space_init(&builder.space);
    builder.space.file_read = file_read;
    builder.space.arg = &builder;
    builder.space.forgetful = true;
    wet_thread_finder_init(&builder.threads, rep_feed_info(feed));
    if (!err)
        err = wet_store_create(path, &store);
    if (!err)
        err = rep_engine_from_feed(feed, DBI_COUNT, &builder.engine);
    if (!err)
        err = writer_start(&builder, store, level);
    if (!err)
        err = replay_all(&builder);
    int finish_err = wet_writer_finish(builder.writer);
    err = err ? err : finish_err;
    if (!err) {
        struct wet_finish finish = {.feed = feed,
                                    .engine = builder.engine,
                                    .space = &builder.space,
                                    .outputs = &builder.outputs,
                                    .index = &builder.index,
                                    .nodes = &builder.nodes,
                                    .signal_time = builder.signal_time,
                                    .threads = &builder.threads,
                                    .fingerprint = options->fingerprint,
                                    .level = level,
                                    .seconds = seconds_now() - start};
        err = wet_finish_sections(&finish, store, result);
    }
    if (!err)
        err = wet_store_commit(store);
    else
        wet_store_abort(store);
    if (!err)
        result->seconds = seconds_now() - start;
    builder_fini(&builder);
    return err;
}

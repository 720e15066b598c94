/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass over the run, interval by interval:
 *
 *   replay (DBI_COUNT) until some 4 million instructions have run
 *     - entries taken on the way go into the interval's part, and into the space's views
 *   then, while the replayee stands still
 *     - how often each fragment ran since the last time, and where indirect jumps went
 *     - the lines of memory that were written, against the space: changes
 *     - registers, vector state and views: the start of the next interval
 *   hand the parts to the writing thread, go on
 */
#include "wet/build/build_wet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "recorder/replay/start.h"
#include "wet/build/builder.h"
#include "wet/build/finish.h"
#include "wet/build/side.h"
#include "wet/trace/records.h"
#include <wetdbg/errors.h>

#define DEFAULT_LEVEL  3
#define DEFAULT_MEMORY (2ull << 30)

/* Ends the threads: the last instructions are of the task that runs at the end. */
static int threads_end(struct wet_builder *builder)
{
    const struct agt_task *tasks;
    uint32_t running;
    int err = rep_engine_tasks(builder->engine, &tasks, &running);
    return err ? err : wet_thread_finder_end(&builder->threads, wet_builder_time(builder), running);
}

/* How far the next interval goes at most; 0: no further. */
static uint64_t length_of(const struct wet_builder *builder)
{
    uint64_t length = wet_builder_length(builder->options);
    uint64_t last = builder->stop_time - 1, now = wet_builder_time(builder);
    uint64_t left = last > now ? last - now : 0;
    /* a run stops before the fragment that would go too far: no such fragment goes further back */
    return left > length ? length : left ? left + DBI_INSN_MAX : 0;
}

bool wet_builder_is_over(const struct wet_builder *builder)
{
    return builder->has_end || builder->has_all || !length_of(builder);
}

int wet_builder_replay(struct wet_builder *builder, uint64_t most, wet_interval_fn interval)
{
    struct rep_source source = wet_builder_source(builder);
    const struct wet_build_options *options = builder->options;
    const struct rep_info *info = rep_feed_info(builder->feed);
    for (; most && !wet_builder_is_over(builder); most--) {
        enum rep_stop why;
        int err = rep_engine_run(builder->engine, &source, length_of(builder), false, &why);
        builder->has_all = err == -ECANCELED && builder->is_cut;
        if (builder->has_all)
            err = 0; /* before the window's end there are no more */
        if (builder->has_all && wet_builder_time(builder) < builder->first_time &&
            (!builder->index.size_bytes || wet_builder_entries(builder) == builder->first_entry))
            break; /* nothing since the last interval, or at all */
        builder->has_end = !err && !builder->has_all && why == REP_STOP_END;
        if (!err)
            err = interval(builder);
        if (!err && options->interrupted && *options->interrupted)
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        if (err)
            return err;
        if (options->progress)
            options->progress(options->progress_arg, builder->last_frame, info->end_frame,
                              wet_builder_time(builder));
    }
    return 0;
}

static int writer_start(struct wet_builder *builder, const struct wet_unfinished *unfinished);

/* Replays all in one pass; side by side, if that is wanted, what comes after a first window's
 * length. So a run that is shorter is built in one pass. */
static int replay_all(struct wet_builder *builder, const struct wet_unfinished *unfinished)
{
    bool is_side = wet_side_is_wanted(builder->options) && builder->space.fd < 0, rest = true;
    uint64_t first = is_side ? wet_side_intervals(builder->options, 0) : UINT64_MAX;
    rep_engine_watch(builder->engine, builder->options->interrupted);
    int err = wet_builder_replay(builder, first, wet_builder_interval);
    if (!err && is_side && !wet_builder_is_over(builder)) {
        err = wet_writer_finish(builder->writer);
        builder->writer = NULL;
        if (!err)
            err = wet_side_build(builder, unfinished, &rest);
        if (!err && rest)
            err = writer_start(builder, unfinished);
        if (!err && rest)
            err = wet_builder_replay(builder, UINT64_MAX, wet_builder_interval);
    }
    if (err)
        return err;
    if (!builder->index.size_bytes)
        return wetdbg_fail(
            -WETDBG_ERR_USAGE, "the window is empty: it begins at time %llu, event %llu",
            (unsigned long long)builder->first_time, (unsigned long long)builder->last_frame);
    if (builder->has_end)
        wet_window_end_tell(builder);
    return threads_end(builder);
}

/* ---- life ---- */

static void builder_fini(struct wet_builder *builder)
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
    wd_buf_fini(&builder->parts.note);
    wet_node_table_fini(&builder->nodes);
    wet_jump_table_fini(&builder->jumps);
    wd_buf_fini(&builder->mark.threads);
    wd_buf_fini(&builder->index);
    wd_buf_fini(&builder->lines);
    wd_buf_fini(&builder->line_bytes);
    wd_buf_fini(&builder->ahead);
}

static int builder_init(struct wet_builder *builder, struct rep_feed *feed,
                        const struct wet_build_options *options)
{
    *builder = (struct wet_builder){
        .feed = feed, .options = options, .first_time = 1, .stop_frame = UINT64_MAX};
    int err = wet_side_is_wanted(options) ? wet_space_init_private(&builder->space) : -ENOTSUP;
    if (err) { /* where it is not wanted, or that much private memory not allowed */
        wet_space_fini(&builder->space);
        err = wet_space_init(&builder->space);
    }
    builder->space.file_read = wet_builder_file_read;
    builder->space.arg = builder;
    builder->space.forgetful = true;
    wet_thread_finder_init(&builder->threads, rep_feed_info(feed));
    return err;
}

/* Begins a replayee at the run's or window's beginning. */
static int begin(struct wet_builder *builder, struct wet_unfinished *unfinished)
{
    int err = wet_window_is_later(builder)
                  ? wet_window_begin(builder, unfinished->store)
                  : rep_engine_from_feed(builder->feed, DBI_COUNT, &builder->engine);
    return err || !unfinished->journal ? err : wet_unfinished_begin(builder, unfinished);
}

/* Goes on with an unfinished file if there is a good one. */
static int begin_or_go_on(struct wet_builder *builder, struct wet_unfinished *unfinished)
{
    bool resumed = false;
    int err = unfinished->journal ? wet_resume(builder, unfinished, &resumed) : 0;
    if (resumed || (err && err != -WETDBG_ERR_CORRUPT))
        return err;
    if (unfinished->journal) {
        struct rep_feed *feed = builder->feed;
        const struct wet_build_options *options = builder->options;
        builder_fini(builder);
        err = builder_init(builder, feed, options);
        builder->has_journal = true;
        if (!err)
            err = rep_feed_rewind(feed);
        if (!err)
            err = wet_unfinished_clear(unfinished);
    }
    return err ? err : begin(builder, unfinished);
}

int wet_builder_level(const struct wet_build_options *options)
{
    return options->level ? options->level : DEFAULT_LEVEL;
}

unsigned wet_builder_jobs(const struct wet_build_options *options)
{
    long jobs = options->jobs ? (long)options->jobs : sysconf(_SC_NPROCESSORS_ONLN);
    return jobs < 1 ? 1 : (unsigned)jobs;
}

uint64_t wet_builder_length(const struct wet_build_options *options)
{
    return options->interval_instructions ? options->interval_instructions
                                          : WET_INTERVAL_INSTRUCTIONS;
}

/* Starts the writer: one thread packs while the replay goes on; more help where it waits for
 * them. */
static int writer_start(struct wet_builder *builder, const struct wet_unfinished *unfinished)
{
    const struct wet_build_options *options = builder->options;
    uint64_t memory = options->memory_bytes ? options->memory_bytes : DEFAULT_MEMORY;
    unsigned jobs = wet_builder_jobs(options);
    const struct wet_writer_options how = {
        .level = wet_builder_level(options),
        .threads = jobs < WET_WRITER_THREADS_MAX ? jobs : WET_WRITER_THREADS_MAX,
        .queue_bytes = memory / 4,
        .journal = unfinished->journal};
    return wet_writer_new(unfinished->store, &how, &builder->writer);
}

static const struct wet_index_record *index_of(const struct wet_builder *builder, size_t k)
{
    return (const struct wet_index_record *)builder->index.data + k;
}

/* Does everything between the first instruction and the last section. */
static int run_and_write(struct wet_builder *builder, struct wet_unfinished *unfinished,
                         struct wet_build_result *result)
{
    double start = wd_seconds();
    int err = begin_or_go_on(builder, unfinished);
    wet_window_end_set(builder);
    if (!err)
        err = writer_start(builder, unfinished);
    if (!err)
        err = replay_all(builder, unfinished);
    int finish_err = wet_writer_finish(builder->writer);
    err = err ? err : finish_err;
    if (!err)
        err = wet_jump_table_sort(&builder->jumps);
    if (err)
        return err;
    result->seconds = wd_seconds() - start;
    struct wet_finish finish = {.feed = builder->feed,
                                .space = &builder->space,
                                .outputs = &builder->outputs,
                                .index = &builder->index,
                                .nodes = &builder->nodes,
                                .jumps = &builder->jumps.sorted,
                                .first_time = index_of(builder, 0)->first_time,
                                .last_time = wet_builder_time(builder),
                                .entries = wet_builder_entries(builder) -
                                           index_of(builder, 0)->first_entry,
                                .has_end = builder->has_end,
                                .signal_time = builder->signal_time,
                                .threads = &builder->threads,
                                .fingerprint = builder->options->fingerprint,
                                .branch = builder->options->branch,
                                .level = wet_builder_level(builder->options)};
    return wet_finish_sections(&finish, unfinished->store, result);
}

/* Whether the same again may go better, later or with more room. */
static bool is_worth_keeping(const struct wet_build_options *options,
                             const struct wet_unfinished *unfinished, int err)
{
    bool is_passing =
        err == -WETDBG_ERR_INTERRUPTED || err == -WETDBG_ERR_MACHINE || err > -WETDBG_ERR_USAGE;
    return is_passing && !options->is_once && unfinished->journal &&
           wet_journal_count(unfinished->journal) > 2;
}

int wet_build(struct rep_feed *feed, const char *path, const struct wet_build_options *options,
              struct wet_build_result *result)
{
    struct wet_builder builder;
    struct wet_unfinished unfinished = {0};
    int err = builder_init(&builder, feed, options);
    if (!err)
        err = wet_unfinished_open(&builder, path, &unfinished);
    if (!err && !unfinished.store)
        err = wet_store_create(path, &unfinished.store);
    builder.has_journal = unfinished.journal != NULL;
    if (!err)
        err = run_and_write(&builder, &unfinished, result);
    if (err && is_worth_keeping(options, &unfinished, err)) {
        wet_builder_notice(
            &builder, "what is built so far is kept in %s.part; the same again goes on with it",
            path);
        wet_store_keep(unfinished.store);
        wet_journal_keep(unfinished.journal);
    } else {
        if (!err)
            err = wet_store_commit(unfinished.store);
        else
            wet_store_abort(unfinished.store);
        wet_journal_remove(unfinished.journal);
    }
    builder_fini(&builder);
    return err;
}

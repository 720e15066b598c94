/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A window that begins in the middle of the run: plain replay up to there, then the memory that is
 * found becomes the objects of the file.
 *
 *   each mapping   one object, whose first contents are those of its file, as always
 *   what differs   WET_SEC_MEMORY, as the changes of an interval are kept
 *
 * The plain replayee then gives way to one that counts, made as for an unfinished file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/page.h"
#include "recorder/replay/start.h"
#include "wet/build/builder.h"
#include "wet/build/scan_memory.h"
#include "wet/trace/records.h"
#include "wet/trace/rules.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define STEP        (64ull << 20) /* instructions between two looks at the user's wishes */
#define PIECE_BYTES (32ull << 20) /* of a section */

/* ---- which moment ---- */

/* The event before which a window begins or ends; UINT64_MAX: it is said otherwise. */
static uint64_t frame_of(const struct wet_builder *builder, const struct wet_moment *moment)
{
    const struct rep_info *info = rep_feed_info(builder->feed);
    uint64_t frames = info->end_frame - info->start_frame;
    if (moment->kind == WET_MOMENT_EVENT)
        return moment->value;
    if (moment->kind == WET_MOMENT_PERCENT && moment->value < 100)
        return info->start_frame + frames / 100 * moment->value +
               frames % 100 * moment->value / 100;
    return UINT64_MAX;
}

static bool is_start(const struct wet_moment *moment)
{
    return moment->kind == WET_MOMENT_NONE ||
           (moment->kind == WET_MOMENT_TIME && moment->value <= 1) ||
           (moment->kind == WET_MOMENT_PERCENT && !moment->value);
}

bool wet_window_is_later(const struct wet_builder *builder)
{
    return !is_start(&builder->options->from);
}

void wet_window_end_set(struct wet_builder *builder)
{
    const struct wet_moment *to = &builder->options->to;
    builder->stop_frame = frame_of(builder, to);
    builder->stop_time = to->kind == WET_MOMENT_TIME ? to->value : UINT64_MAX;
}

void wet_window_end_tell(const struct wet_builder *builder)
{
    uint64_t last = wet_builder_time(builder);
    uint64_t end_frame = rep_feed_info(builder->feed)->end_frame;
    bool is_beyond = (builder->stop_time < UINT64_MAX && builder->stop_time > last + 1) ||
                     (builder->stop_frame < UINT64_MAX && builder->stop_frame > end_frame);
    if (is_beyond)
        wet_builder_notice(builder, "the run ends before the window does: at time %llu, event %llu",
                           (unsigned long long)last, (unsigned long long)end_frame);
}

/* ---- up to its start ---- */

static int plain_taken(void *arg, const struct evq_entry *entry, uint64_t time, uint64_t ring_bytes)
{
    struct wet_builder *builder = arg;
    (void)ring_bytes;
    int err = wet_output_finder_entry(&builder->outputs, entry, time);
    if (!err)
        err = wet_thread_finder_entry(&builder->threads, entry, time);
    wet_builder_signal_note(builder, entry, time);
    return err;
}

static int too_late(const struct wet_builder *builder)
{
    return wetdbg_fail(
        -WETDBG_ERR_USAGE,
        "the run ends before the window begins: it has times 1 to %llu, and events up "
        "to %llu",
        (unsigned long long)rep_engine_time(builder->engine),
        (unsigned long long)rep_feed_info(builder->feed)->end_frame);
}

/* One attempt to come to the window's start; -EAGAIN asks for another one. */
static int plain_run(struct wet_builder *builder)
{
    const struct wet_build_options *options = builder->options;
    const struct rep_info *info = rep_feed_info(builder->feed);
    struct rep_source source = wet_builder_source(builder);
    source.taken = plain_taken;
    uint64_t goal = options->from.kind == WET_MOMENT_TIME ? options->from.value - 1 : UINT64_MAX;
    builder->stop_frame = frame_of(builder, &options->from);
    builder->is_cut = false;
    for (;;) {
        uint64_t left = goal - rep_engine_time(builder->engine);
        enum rep_stop why;
        bool last = left <= STEP;
        int err =
            rep_engine_run(builder->engine, &source, last ? left : STEP - STEP / 4, last, &why);
        if (err == -ECANCELED && builder->is_cut)
            return 0;
        if (!err && why == REP_STOP_END)
            err = too_late(builder);
        if (!err && options->interrupted && *options->interrupted)
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        if (err || last)
            return err;
        if (options->progress)
            options->progress(options->progress_arg, builder->last_frame, info->end_frame,
                              rep_engine_time(builder->engine));
    }
}

static int plain_replay(struct wet_builder *builder)
{
    int err = rep_engine_from_feed(builder->feed, DBI_PLAIN, &builder->engine);
    if (err)
        return err;
    rep_engine_watch(builder->engine, builder->options->interrupted);
    while ((err = plain_run(builder)) == -EAGAIN) {
        wet_output_finder_fini(&builder->outputs);
        builder->outputs = (struct wet_output_finder){0};
        wet_thread_finder_fini(&builder->threads);
        wet_thread_finder_init(&builder->threads, rep_feed_info(builder->feed));
        builder->signal_time = 0;
        err = rep_engine_reset(builder->engine);
        if (!err)
            err = rep_feed_rewind(builder->feed);
        if (err)
            break;
    }
    return err;
}

/* Begins the finders anew: what was found before is not of the window, but for what goes on. */
static void finders_begin(struct wet_builder *builder, uint64_t time)
{
    builder->outputs.outputs.size_bytes = 0;
    builder->outputs.syscalls = 0;
    builder->threads.turns.size_bytes = 0;
    builder->threads.ambiguous.size_bytes = 0;
    builder->threads.places = 0;
    builder->threads.assigned = time;
}

/* ---- memory ---- */

struct memory {
    struct wet_builder *builder;
    struct wet_store_writer *store;
    uint64_t pieces;
    struct wd_buf section;
};

static int piece_end(struct memory *memory)
{
    struct wet_builder *builder = memory->builder;
    memory->section.size_bytes = 0;
    int err = builder->changes.count ? wet_changes_encode(&builder->changes, &memory->section) : 0;
    if (!err && builder->changes.count)
        err = wet_store_add(memory->store, WET_SEC_MEMORY, memory->pieces++, memory->section.data,
                            memory->section.size_bytes, wet_builder_level(builder->options));
    wet_changes_clear(&builder->changes);
    return err;
}

static int lines_add(void *arg, uint64_t mirror_off, const uint8_t *now, uint64_t bytes)
{
    struct memory *memory = arg;
    struct wet_builder *builder = memory->builder;
    struct wet_space *space = &builder->space;
    int err = 0;
    for (uint64_t at = 0; !err && at < bytes; at += WET_LINE_BYTES) {
        if (memcmp(space->bytes + mirror_off + at, now + at, WET_LINE_BYTES))
            err = wet_changes_add(&builder->changes, space, mirror_off + at, now + at);
    }
    if (!err && builder->changes.words.size_bytes > PIECE_BYTES)
        err = piece_end(memory);
    return err;
}

/* Whether what the replayee says of its mappings is as the recording allows: in order, and nowhere
 * else. */
static bool is_sound(const struct wet_builder *builder, const struct agt_view *view,
                     const struct wet_object *object, uint64_t previous_end)
{
    size_t file_count;
    rep_feed_files(builder->feed, &file_count);
    return view->start >= previous_end && view->start < view->end &&
           wd_page_is_start(object->bytes) && wet_rule_object(object, file_count) &&
           wet_builder_has_room(builder, view);
}

/* Makes an object and its view of each mapping. */
static int objects_make(struct wet_builder *builder)
{
    struct wet_space *space = &builder->space;
    const struct agt_view *views;
    size_t count;
    int err = rep_engine_views(builder->engine, &views, &count);
    if (!err && count >= AGT_VIEWS_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the program has too many mappings");
    for (size_t i = 0; !err && i < count; i++) {
        const struct agt_view *view = &views[i];
        struct wet_object object = {.start = view->start,
                                    .bytes = view->end - view->start,
                                    .file = view->file,
                                    .file_off = view->file_off,
                                    .file_bytes = view->file_bytes,
                                    .prot = view->prot,
                                    .name = view->name};
        if (object.file_bytes > object.bytes)
            object.file_bytes = object.bytes;
        if (object.file == EVQ_FILE_NONE)
            object.file_off = object.file_bytes = 0;
        if (!is_sound(builder, view, &object, i ? views[i - 1].end : 0))
            return wetdbg_fail(-WETDBG_ERR_MACHINE,
                               "the replay process sent a damaged list of mappings");
        err = wet_space_add_object(space, &object);
        if (!err)
            err = wet_space_fill_object(space, space->object_count - 1);
        if (err)
            break;
        space->views.list[i] = (struct agt_view){.start = view->start,
                                                 .end = view->end,
                                                 .prot = view->prot,
                                                 .file = space->object_count - 1,
                                                 .name = view->name};
        space->views.count = i + 1;
    }
    return err;
}

static int memory_take(struct wet_builder *builder, struct wet_store_writer *store)
{
    struct memory memory = {.builder = builder, .store = store};
    int err = objects_make(builder);
    if (!err)
        err = wet_scan(builder, lines_add, &memory);
    if (!err)
        err = piece_end(&memory);
    wd_buf_fini(&memory.section);
    return err;
}

/* ---- the whole ---- */

int wet_window_begin(struct wet_builder *builder, struct wet_store_writer *store)
{
    struct wd_buf state = {0};
    int err = plain_replay(builder);
    if (!err)
        err = memory_take(builder, store);
    if (!err)
        err = wet_builder_state(builder, &state);
    if (!err) {
        finders_begin(builder, rep_engine_time(builder->engine));
        builder->first_time = rep_engine_time(builder->engine) + 1;
        builder->first_entry = rep_engine_entries(builder->engine);
        for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++)
            builder->ticks_before[i] = rep_engine_ticks(builder->engine, i);
        rep_engine_free(builder->engine);
        builder->engine = NULL;
        builder->stop_frame = UINT64_MAX;
        builder->is_cut = false;
        err = rep_feed_rewind(builder->feed);
    }
    if (!err)
        err = wet_builder_stand(builder, &state);
    wd_buf_fini(&state);
    return err;
}

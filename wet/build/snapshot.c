/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tables that only grow are saved from where the last snapshot ended, threads where they differ
 * from it, the rest whole: it is small, and compresses to next to nothing.
 *
 * The journal is read by the program that wrote it and by no other (resume.c), so structures go in
 * as they are. It lies where others may write, though: what is used as an index is checked.
 */
#include <errno.h>
#include <string.h>

#include "wet/build/builder.h"
#include "wet/trace/records.h"
#include "wet/trace/rules.h"
#include <wetdbg/errors.h>

static int corrupt(void)
{
    return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
}

/* ---- tables that grow ---- */

static int rows_save(const void *rows, size_t from, size_t to, size_t row_bytes, struct wd_buf *out)
{
    int err = wd_buf_append_u64(out, to - from);
    return err || to == from ? err
                             : wd_buf_append(out, (const uint8_t *)rows + from * row_bytes,
                                             (to - from) * row_bytes);
}

static int buf_save(const struct wd_buf *buf, size_t *mark, size_t row_bytes, struct wd_buf *out)
{
    size_t from = *mark;
    *mark = buf->size_bytes / row_bytes;
    return rows_save(buf->data, from, *mark, row_bytes, out);
}

static int buf_load(struct wd_buf *buf, size_t *mark, size_t row_bytes, struct wd_view *view)
{
    uint64_t count = wd_view_u64(view);
    const uint8_t *rows =
        count <= view->size_bytes / row_bytes ? wd_view_bytes(view, count * row_bytes) : NULL;
    if (view->failed || !rows)
        return corrupt();
    int err = wd_buf_append(buf, rows, count * row_bytes);
    *mark = buf->size_bytes / row_bytes;
    return err;
}

/* ---- threads: old ones change ---- */

static int threads_save(struct wet_builder *builder, struct wd_buf *out)
{
    const struct wd_buf *now = &builder->threads.threads;
    struct wd_buf *saved = &builder->mark.threads;
    const struct wet_thread_record *rows = (const void *)now->data,
                                   *old = (const void *)saved->data;
    size_t count = now->size_bytes / sizeof(*rows), had = saved->size_bytes / sizeof(*old);
    int err = wd_buf_append_u64(out, count);
    for (size_t i = 0; !err && i < count; i++) {
        if (i < had && !memcmp(&rows[i], &old[i], sizeof(*rows)))
            continue;
        err = wd_buf_append_u64(out, i);
        if (!err)
            err = wd_buf_append(out, &rows[i], sizeof(*rows));
    }
    if (!err)
        err = wd_buf_append_u64(out, UINT64_MAX);
    saved->size_bytes = 0;
    return err ? err : wd_buf_append(saved, now->data, now->size_bytes);
}

static int threads_load(struct wet_builder *builder, struct wd_view *view)
{
    struct wd_buf *now = &builder->threads.threads;
    uint64_t count = wd_view_u64(view);
    size_t had = now->size_bytes / sizeof(struct wet_thread_record);
    if (view->failed || count < had || count > view->size_bytes)
        return corrupt();
    int err = wd_buf_append_zeros(now, (count - had) * sizeof(struct wet_thread_record));
    for (uint64_t i; !err && (i = wd_view_u64(view)) != UINT64_MAX;) {
        const void *row = wd_view_bytes(view, sizeof(struct wet_thread_record));
        if (!row || i >= count)
            return corrupt();
        memcpy(now->data + i * sizeof(struct wet_thread_record), row,
               sizeof(struct wet_thread_record));
    }
    builder->mark.threads.size_bytes = 0;
    return err ? err : wd_buf_append(&builder->mark.threads, now->data, now->size_bytes);
}

/* ---- what is saved whole ---- */

struct piece {
    void *at;
    size_t bytes;
};

#define PIECES 14

static void pieces_of(struct wet_builder *builder, struct piece *pieces)
{
    struct wet_output_finder *outputs = &builder->outputs;
    struct wet_thread_finder *threads = &builder->threads;
    const struct piece list[PIECES] = {
        {outputs->pending, sizeof(outputs->pending)},
        {&outputs->syscalls, sizeof(outputs->syscalls)},
        {&threads->places, sizeof(threads->places)},
        {&threads->assigned, sizeof(threads->assigned)},
        {threads->by_slot, sizeof(threads->by_slot)},
        {threads->in_clone, sizeof(threads->in_clone)},
        {threads->comm, sizeof(threads->comm)},
        {&threads->has_comm, sizeof(threads->has_comm)},
        {&threads->forks_left, sizeof(threads->forks_left)},
        {&builder->first_time, sizeof(builder->first_time)},
        {&builder->first_entry, sizeof(builder->first_entry)},
        {&builder->last_frame, sizeof(builder->last_frame)},
        {&builder->signal_time, sizeof(builder->signal_time)},
        {builder->ticks_before, sizeof(builder->ticks_before)},
    };
    memcpy(pieces, list, sizeof(list));
}

/* ---- all of it ---- */

/* In the journal ticks are what each task has retired by now, of the whole run. */
void wet_builder_ticks(const struct wet_builder *builder, uint64_t *ticks)
{
    bool has_ticks = rep_feed_info(builder->feed)->has_ticks;
    for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++)
        ticks[i] = has_ticks && builder->engine
                       ? builder->ticks_before[i] + rep_engine_ticks(builder->engine, i)
                       : builder->ticks_before[i];
}

int wet_snapshot_save(struct wet_builder *builder, struct wd_buf *out)
{
    struct wet_snapshot_mark *mark = &builder->mark;
    struct piece pieces[PIECES];
    uint64_t ticks[EVQ_TASKS_MAX];
    size_t objects = mark->objects;
    mark->objects = builder->space.object_count;
    int err = wet_node_table_save(&builder->nodes, mark->nodes, out);
    mark->nodes = builder->nodes.count;
    if (!err)
        err = rows_save(builder->space.objects, objects, mark->objects, sizeof(struct wet_object),
                        out);
    if (!err)
        err = buf_save(&builder->outputs.outputs, &mark->outputs, sizeof(struct wet_output_record),
                       out);
    if (!err)
        err = buf_save(&builder->threads.turns, &mark->turns, sizeof(struct wet_turn_record), out);
    if (!err)
        err = buf_save(&builder->threads.ambiguous, &mark->ambiguous,
                       sizeof(struct wet_ambiguous_record), out);
    if (!err)
        err = buf_save(&builder->jumps.rows, &mark->jumps, sizeof(struct wet_jump_record), out);
    if (!err)
        err = threads_save(builder, out);
    if (!err)
        err = rows_save(builder->outputs.captured.data, 0, builder->outputs.captured.size_bytes, 1,
                        out);
    if (!err)
        err = rows_save(builder->outputs.offsets.data, 0, builder->outputs.offsets.size_bytes, 1,
                        out);
    wet_builder_ticks(builder, ticks);
    pieces_of(builder, pieces);
    pieces[PIECES - 1].at = ticks;
    for (unsigned i = 0; !err && i < PIECES; i++)
        err = wd_buf_append(out, pieces[i].at, pieces[i].bytes);
    return err;
}

static int objects_load(struct wet_builder *builder, struct wd_view *view)
{
    uint64_t count = wd_view_u64(view);
    size_t file_count;
    rep_feed_files(builder->feed, &file_count);
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *row = wd_view_bytes(view, sizeof(struct wet_object));
        struct wet_object object;
        if (!row)
            return corrupt();
        memcpy(&object, row, sizeof(object));
        int err = wet_rule_object(&object, file_count)
                      ? wet_space_add_object(&builder->space, &object)
                      : corrupt();
        if (err == -WETDBG_ERR_UNSUPPORTED) /* as large as no program's */
            err = corrupt();
        if (!err)
            err = wet_space_fill_object(&builder->space, builder->space.object_count - 1);
        if (err)
            return err;
    }
    builder->mark.objects = builder->space.object_count;
    return view->failed ? corrupt() : 0;
}

/* Slots name threads that there are. */
static int slots_check(const struct wet_builder *builder)
{
    const struct wet_thread_finder *threads = &builder->threads;
    size_t count = threads->threads.size_bytes / sizeof(struct wet_thread_record);
    for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++) {
        if (threads->by_slot[i] > count)
            return corrupt();
    }
    return 0;
}

int wet_snapshot_load(struct wet_builder *builder, struct wd_view *view)
{
    struct wet_snapshot_mark *mark = &builder->mark;
    struct piece pieces[PIECES];
    size_t captured, offsets;
    int err = wet_node_table_load(&builder->nodes, view);
    mark->nodes = builder->nodes.count;
    if (!err)
        err = objects_load(builder, view);
    if (!err)
        err = buf_load(&builder->outputs.outputs, &mark->outputs, sizeof(struct wet_output_record),
                       view);
    if (!err)
        err = buf_load(&builder->threads.turns, &mark->turns, sizeof(struct wet_turn_record), view);
    if (!err)
        err = buf_load(&builder->threads.ambiguous, &mark->ambiguous,
                       sizeof(struct wet_ambiguous_record), view);
    if (!err)
        err = buf_load(&builder->jumps.rows, &mark->jumps, sizeof(struct wet_jump_record), view);
    if (!err)
        err = threads_load(builder, view);
    builder->outputs.captured.size_bytes = builder->outputs.offsets.size_bytes = 0;
    if (!err)
        err = buf_load(&builder->outputs.captured, &captured, 1, view);
    if (!err)
        err = buf_load(&builder->outputs.offsets, &offsets, 1, view);
    pieces_of(builder, pieces);
    for (unsigned i = 0; !err && i < PIECES; i++) {
        const uint8_t *bytes = wd_view_bytes(view, pieces[i].bytes);
        if (!bytes)
            return corrupt();
        memcpy(pieces[i].at, bytes, pieces[i].bytes);
    }
    return err ? err : slots_check(builder);
}

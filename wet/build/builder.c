/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/build/builder.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recorder/agent/in_use.h"
#include "recorder/replay/xsave_here.h"
#include "wet/build/part.h"
#include "wet/trace/records.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

struct line {
    uint64_t mirror_off;
    size_t at; /* in line_bytes */
};

uint64_t wet_builder_time(const struct wet_builder *builder)
{
    return builder->time_before + rep_engine_time(builder->engine);
}

uint64_t wet_builder_entries(const struct wet_builder *builder)
{
    return builder->entries_before + rep_engine_entries(builder->engine) - builder->start_entries;
}

void wet_builder_notice(const struct wet_builder *builder, const char *format, ...)
{
    char sentence[1024];
    va_list args;
    if (!builder->options->notice)
        return;
    va_start(args, format);
    vsnprintf(sentence, sizeof(sentence), format, args);
    va_end(args);
    builder->options->notice(builder->options->notice_arg, sentence);
}

bool wet_builder_has_room(const struct wet_builder *builder, const struct agt_view *view)
{
    size_t count;
    const struct rep_range *ranges = rep_feed_ranges(builder->feed, &count);
    for (size_t i = 0; i < count && ranges[i].start <= view->start; i++) {
        if (view->end <= ranges[i].end)
            return true;
    }
    return false;
}

/* ---- while it runs ---- */

/* Makes entries' ticks count from where the engine began, if that was later than where a task did,
 * from which the feed counts. */
static void ticks_adjust(struct wet_builder *builder, struct wd_buf *entries, size_t from)
{
    for (size_t at = from; at < entries->size_bytes;) {
        struct evq_entry *entry = (struct evq_entry *)(entries->data + at);
        if (entry->flags & EVQ_FLAG_TICKS)
            entry->ticks -= builder->ticks_given[entry->task];
        for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
            if (op->op == EVQ_OP_TASK_NEW && op->task_new.task < EVQ_TASKS_MAX)
                builder->ticks_given[op->task_new.task] = 0;
        }
        at += entry->bytes;
    }
}

void wet_builder_ticks_undo(const struct wet_builder *builder, struct wd_buf *entries)
{
    uint64_t given[EVQ_TASKS_MAX];
    memcpy(given, builder->ticks_before, sizeof(given));
    for (size_t at = 0; at < entries->size_bytes;) {
        struct evq_entry *entry = (struct evq_entry *)(entries->data + at);
        if (entry->flags & EVQ_FLAG_TICKS)
            entry->ticks += given[entry->task];
        for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
            if (op->op == EVQ_OP_TASK_NEW && op->task_new.task < EVQ_TASKS_MAX)
                given[op->task_new.task] = 0;
        }
        at += entry->bytes;
    }
}

/* Takes off the entries of stop_frame and later events. */
static int cut(struct wet_builder *builder, struct wd_buf *entries, size_t from)
{
    for (size_t at = from; at < entries->size_bytes;) {
        const struct evq_entry *entry = (const struct evq_entry *)(entries->data + at);
        if (entry->frame >= builder->stop_frame && entry->kind != EVQ_END) {
            entries->size_bytes = at;
            builder->is_cut = true;
            return at > from ? 1 : at ? 0 : -ECANCELED;
        }
        at += entry->bytes;
    }
    return 1;
}

static int next_entries(void *arg, struct wd_buf *out)
{
    struct wet_builder *builder = arg;
    size_t from = out->size_bytes;
    int more = 1;
    if (builder->is_cut && !builder->ahead.size_bytes)
        return from ? 0 : -ECANCELED;
    if (builder->ahead.size_bytes) {
        int err = wd_buf_append(out, builder->ahead.data, builder->ahead.size_bytes);
        builder->ahead.size_bytes = 0;
        if (err)
            return err;
    } else {
        more = rep_feed_next(builder->feed, out);
    }
    if (more > 0 && rep_feed_info(builder->feed)->has_ticks)
        ticks_adjust(builder, out, from);
    if (more > 0 && builder->stop_frame < UINT64_MAX)
        more = cut(builder, out, from);
    return more;
}

static void tasks_note(struct wet_builder *builder, const struct evq_entry *entry)
{
    for (const struct evq_op *op = NULL; (op = evq_op_next(entry, op));) {
        if (op->op == EVQ_OP_TASK_NEW && op->task_new.task < EVQ_TASKS_MAX)
            builder->ticks_before[op->task_new.task] = 0;
    }
}

void wet_builder_signal_note(struct wet_builder *builder, const struct evq_entry *entry,
                             uint64_t time)
{
    if (entry->kind == EVQ_FAULT || (entry->kind == EVQ_PLACE && entry->number))
        builder->signal_time = time + 1;
    builder->last_frame = entry->frame;
}

static int entry_keep(struct wet_builder *builder, const struct evq_entry *entry, uint64_t time)
{
    struct wet_entry_record record = {.time = time};
    int err = wd_buf_append(&builder->parts.entries, &record, sizeof(record));
    return err ? err : wet_entry_for_store(&builder->space, entry, time, &builder->parts.entries);
}

/* Does an op to the space. Discarded pages are among the written lines, but a leader has none. */
static int space_op(struct wet_builder *builder, const struct evq_op *op)
{
    if (builder->is_leader && op->op == EVQ_OP_DISCARD)
        return wet_space_discard(&builder->space, op->range.start,
                                 op->range.start + op->range.size);
    return wet_space_op(&builder->space, op);
}

static int entry_taken(void *arg, const struct evq_entry *entry, uint64_t clock,
                       uint64_t ring_bytes)
{
    struct wet_builder *builder = arg;
    uint64_t time = builder->time_before + clock;
    (void)ring_bytes;
    int err = builder->is_leader ? 0 : entry_keep(builder, entry, time);
    if (!err)
        err = wet_output_finder_entry(&builder->outputs, entry, time);
    if (!err)
        err = wet_thread_finder_entry(&builder->threads, entry, time);
    for (const struct evq_op *op = NULL; !err && (op = evq_op_next(entry, op));)
        err = space_op(builder, op);
    tasks_note(builder, entry);
    wet_builder_signal_note(builder, entry, time);
    return err;
}

static int captured(void *arg, uint64_t tag, uint64_t address, const void *bytes, size_t count)
{
    struct wet_builder *builder = arg;
    (void)address;
    wet_thread_finder_captured(&builder->threads, tag, bytes, count);
    return wet_output_finder_captured(&builder->outputs, tag, bytes, count);
}

int wet_builder_file_read(void *arg, uint64_t file, uint64_t off, uint8_t *to, uint64_t bytes)
{
    struct wet_builder *builder = arg;
    size_t count;
    const struct rep_file *files = rep_feed_files(builder->feed, &count);
    if (file >= count)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "a mapping names file %llu of %zu",
                           (unsigned long long)file, count);
    while (bytes) {
        ssize_t done = pread(files[file].fd, to, bytes, (off_t)off);
        if (done < 0)
            return wetdbg_fail_errno("%s", files[file].backing);
        if (done == 0)
            break;
        to += done;
        off += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return 0;
}

/* ---- when it stands still ---- */

/* Notes a line that was written. Lines come in order of their addresses, the same one perhaps twice
 * in a row: so there are no more of them than the program has mapped. */
static int line_note(void *arg, uint64_t address, const uint8_t *bytes)
{
    struct wet_builder *builder = arg;
    uint64_t left;
    const uint8_t *here = wet_space_at(&builder->space, address, &left);
    if (!here || left < WET_LINE_BYTES)
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "a written line at %#llx is not mapped; this is a defect",
                           (unsigned long long)address);
    bool is_first = !builder->lines.size_bytes;
    if (!is_first && address == builder->line_address)
        return 0;
    if (address % WET_LINE_BYTES || (!is_first && address < builder->line_address))
        return wetdbg_fail(-WETDBG_ERR_MACHINE,
                           "the replay process sent a damaged list of memory lines");
    builder->line_address = address;
    struct line line = {.mirror_off = (uint64_t)(here - builder->space.bytes),
                        .at = builder->line_bytes.size_bytes};
    int err = wd_buf_append(&builder->lines, &line, sizeof(line));
    return err ? err : wd_buf_append(&builder->line_bytes, bytes, WET_LINE_BYTES);
}

static int line_order(const void *a, const void *b)
{
    const struct line *x = a, *y = b;
    return x->mirror_off < y->mirror_off ? -1 : x->mirror_off > y->mirror_off;
}

static int lines_part(struct wet_builder *builder)
{
    builder->lines.size_bytes = builder->line_bytes.size_bytes = 0;
    wet_changes_clear(&builder->changes);
    int err = rep_engine_lines(builder->engine, line_note, builder);
    struct line *lines = (struct line *)builder->lines.data;
    size_t count = builder->lines.size_bytes / sizeof(*lines);
    if (count)
        qsort(lines, count, sizeof(*lines), line_order);
    for (size_t i = 0; !err && i < count; i++) {
        if (i && lines[i].mirror_off == lines[i - 1].mirror_off)
            continue;
        err = wet_changes_add(&builder->changes, &builder->space, lines[i].mirror_off,
                              builder->line_bytes.data + lines[i].at);
    }
    return err ? err : wet_changes_encode(&builder->changes, &builder->parts.lines);
}

/* Settles which components an XSAVE image in the standard form calls in use: that depends on the
 * machine, too. */
static void in_use_settle(uint8_t *image, uint32_t bytes)
{
    struct agt_xs_layout layout;
    uint16_t avx512_off[3];
    uint64_t settled, in_use;
    rep_xsave_here(avx512_off);
    agt_xs_layout_standard(&layout, avx512_off);
    settled = agt_xs_within(&layout, AGT_XS_SETTLED, bytes);
    memcpy(&in_use, image + AGT_XS_HEADER_OFF, sizeof(in_use));
    in_use &= ~settled | agt_xs_in_use(&layout, image, in_use & settled);
    memcpy(image + AGT_XS_HEADER_OFF, &in_use, sizeof(in_use));
}

int wet_builder_state(struct wet_builder *builder, struct wd_buf *out)
{
    const struct agt_task *tasks;
    const struct agt_views *views = &builder->space.views;
    struct wet_state_record state = {.view_count = views->count};
    int err = rep_engine_tasks(builder->engine, &tasks, &state.running);
    if (err)
        return err;
    for (uint32_t i = 0; i < EVQ_TASKS_MAX; i++)
        state.task_count += tasks[i].live != 0;
    err = wd_buf_append(out, &state, sizeof(state));
    if (!err)
        err = wd_buf_append(out, views->list, views->count * sizeof(*views->list));
    uint32_t xsave_bytes = wet_xsave_bytes();
    for (uint32_t i = 0; !err && i < EVQ_TASKS_MAX; i++) {
        if (!tasks[i].live)
            continue;
        struct wet_task_record task = {.task = i, .xsave_bytes = xsave_bytes};
        memcpy(task.regs, tasks[i].regs.r, sizeof(task.regs));
        err = wd_buf_append(out, &task, sizeof(task));
        if (!err)
            err = wd_buf_append(out, tasks[i].xsave, xsave_bytes);
        if (!err)
            in_use_settle(out->data + out->size_bytes - xsave_bytes, xsave_bytes);
        if (!err)
            err = wd_buf_append_zeros(out, -xsave_bytes & 7);
    }
    return err;
}

int wet_builder_index(struct wet_builder *builder, struct wet_index_record *record)
{
    uint64_t executed = wet_builder_time(builder), entries = wet_builder_entries(builder);
    *record = (struct wet_index_record){.first_time = builder->first_time,
                                        .instructions = executed + 1 - builder->first_time,
                                        .first_entry = builder->first_entry,
                                        .entries = entries - builder->first_entry};
    if (record->instructions > WET_INTERVAL_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "a loop of %llu instructions offers no place to stop",
                           (unsigned long long)record->instructions);
    builder->first_time = executed + 1;
    builder->first_entry = entries;
    int err = wet_jump_table_take(&builder->jumps, builder->engine);
    return err ? err : wd_buf_append(&builder->index, record, sizeof(*record));
}

int wet_builder_interval(struct wet_builder *builder)
{
    struct wet_interval_parts *parts = &builder->parts;
    struct wet_index_record record;
    parts->index = builder->index.size_bytes / sizeof(record);
    int err = wet_builder_index(builder, &record);
    if (!err)
        err = wet_node_table_count(&builder->nodes, builder->engine, &parts->counts);
    if (!err)
        err = lines_part(builder);
    if (!err && builder->has_journal)
        err = wd_buf_append(&parts->note, &record, sizeof(record));
    if (!err && builder->has_journal)
        err = wet_snapshot_save(builder, &parts->note);
    /* the state at this point belongs to the next interval: the writer gets it with that one */
    struct wd_buf next_state = {0};
    if (!err)
        err = wet_builder_state(builder, &next_state);
    if (!err)
        err = builder->part ? wet_part_put(builder->part, parts)
                            : wet_writer_put(builder->writer, parts);
    if (err)
        wd_buf_fini(&next_state);
    else
        parts->state = next_state;
    return err;
}

struct rep_source wet_builder_source(struct wet_builder *builder)
{
    return (struct rep_source){
        .next = next_entries, .taken = entry_taken, .captured = captured, .arg = builder};
}

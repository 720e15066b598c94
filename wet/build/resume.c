/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Goes on with an unfinished file.
 *
 *   part file:  | START of a window | STATE 0 | ENTRIES 0 | COUNTS 0 | LINES 0 | STATE 1 | ...
 *   journal:    | what, from where  | interval 0                               | interval 1 ...
 *
 * An interval is taken as done if it is whole and the STATE after it is: so the last one in the
 * file is always built again, and gives the replayee's registers. Memory there is what the objects'
 * first contents become by the LINES before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recorder/replay/start.h"
#include "wet/build/builder.h"
#include "wet/trace/records.h"
#include "wet/trace/rules.h"
#include "wet/trace/stored_entry.h"
#include <wetdbg/errors.h>

#define FORGET_EVERY 64 /* intervals: memory that was unmapped meanwhile */

struct interval {
    struct wd_buf record; /* of the journal */
    struct wet_section rows[WET_WRITER_SECTIONS];
    struct wet_index_record index;
    struct wd_view rest; /* the snapshot */
};

struct resume {
    struct wet_builder *builder;
    struct wet_store_writer *store;
    struct wet_journal *journal;
    struct wd_buf rows; /* struct wet_section: of what is done */
    struct wd_buf state, section;
    uint64_t next; /* interval */
};

/* Tells the user that something lies there that is not ours: the file gets another name until it is
 * done. */
static void foreign_tell(const struct wet_builder *builder)
{
    wet_builder_notice(builder, "%s: should this build be interrupted, the next one begins anew",
                       wetdbg_error(-EPERM));
}

int wet_unfinished_open(const struct wet_builder *builder, const char *path,
                        struct wet_unfinished *out)
{
    *out = (struct wet_unfinished){0};
    int err = wet_store_create_part(path, &out->store);
    if (!err) {
        err = wet_journal_open(path, &out->journal);
        if (err) /* no journal: as a file that nobody goes on with */
            wet_store_abort(out->store);
        if (err && err != -ENOMEM && err != -EPERM)
            err = -EWOULDBLOCK;
    }
    if (!err)
        return 0;
    *out = (struct wet_unfinished){0};
    if (err == -EPERM)
        foreign_tell(builder);
    if (err != -EPERM && err != -EWOULDBLOCK)
        return err;
    return 0;
}

/* ---- what it is ---- */

/* Makes what identifies a build. The same program has to go on that began: another one may cut the
 * run otherwise. And the same user: what the journal holds is taken into the builder nearly as it
 * is. */
static int identity_make(const struct wet_builder *builder, struct wd_buf *out)
{
    const struct wet_build_options *options = builder->options;
    struct stat self = {0};
    char text[1024];
    stat("/proc/self/exe", &self);
    int bytes = snprintf(text, sizeof(text),
                         "store %d program %lld.%lld.%ld.%lld cpu %u interval %llu "
                         "level %d from %d.%llu to %d.%llu fingerprint %s maker %s",
                         WET_STORE_VERSION, (long long)self.st_size, (long long)self.st_mtim.tv_sec,
                         self.st_mtim.tv_nsec, (long long)self.st_ino, wet_xsave_bytes(),
                         (unsigned long long)options->interval_instructions, options->level,
                         (int)options->from.kind, (unsigned long long)options->from.value,
                         (int)options->to.kind, (unsigned long long)options->to.value,
                         options->fingerprint ? options->fingerprint : "",
                         options->maker ? options->maker : "");
    return wd_buf_append(out, text,
                         (size_t)bytes < sizeof(text) ? (size_t)bytes : sizeof(text) - 1);
}

int wet_unfinished_begin(struct wet_builder *builder, struct wet_unfinished *unfinished)
{
    struct wd_buf identity = {0}, record = {0};
    size_t count;
    const struct wet_section *rows = wet_store_table(unfinished->store, &count);
    int err = identity_make(builder, &identity);
    if (!err)
        err = wd_buf_append_u64(&record, identity.size_bytes);
    if (!err)
        err = wd_buf_append(&record, identity.data, identity.size_bytes);
    if (!err)
        err = wd_buf_append_u64(&record, count);
    if (!err && count)
        err = wd_buf_append(&record, rows, count * sizeof(*rows));
    if (!err)
        err = wet_snapshot_save(builder, &record);
    if (!err)
        err = wet_journal_append(unfinished->journal, record.data, record.size_bytes);
    wd_buf_fini(&identity);
    wd_buf_fini(&record);
    return err;
}

/* Loads the memory where a window begins. */
static int memory_load(struct resume *resume)
{
    const struct wet_section *rows = (const struct wet_section *)resume->rows.data;
    int err = 0;
    for (size_t i = 0; !err && i < resume->rows.size_bytes / sizeof(*rows); i++) {
        err = wet_store_reread(resume->store, &rows[i], &resume->section);
        if (!err)
            err = wet_changes_apply(&resume->builder->space, resume->section.data,
                                    resume->section.size_bytes);
    }
    return err;
}

/* *same: false if it is another one. Then nothing has been loaded. */
static int begin_load(struct resume *resume, bool *same)
{
    struct wd_buf identity = {0}, record = {0};
    int err = identity_make(resume->builder, &identity);
    if (!err)
        err = wet_journal_read(resume->journal, 0, &record);
    struct wd_view view = wd_view_of(record.data, record.size_bytes);
    uint64_t bytes = wd_view_u64(&view);
    const uint8_t *text = wd_view_bytes(&view, bytes);
    *same = !err && text && bytes == identity.size_bytes && !memcmp(text, identity.data, bytes);
    uint64_t count = wd_view_u64(&view);
    if (!err && *same) {
        const uint8_t *rows = count < view.size_bytes / sizeof(struct wet_section)
                                  ? wd_view_bytes(&view, count * sizeof(struct wet_section))
                                  : NULL;
        err = rows ? wd_buf_append(&resume->rows, rows, count * sizeof(struct wet_section))
                   : -WETDBG_ERR_CORRUPT;
    }
    if (!err && *same)
        err = wet_snapshot_load(resume->builder, &view);
    if (!err && *same)
        err = memory_load(resume);
    wd_buf_fini(&identity);
    wd_buf_fini(&record);
    return err;
}

/* ---- intervals ---- */

static bool interval_read(const struct resume *resume, uint64_t k, struct interval *out)
{
    static const uint32_t kinds[WET_WRITER_SECTIONS] = {WET_SEC_STATE, WET_SEC_ENTRIES,
                                                        WET_SEC_COUNTS, WET_SEC_LINES};
    if (k + 1 >= wet_journal_count(resume->journal) ||
        wet_journal_read(resume->journal, k + 1, &out->record))
        return false;
    out->rest = wd_view_of(out->record.data, out->record.size_bytes);
    const uint8_t *rows = wd_view_bytes(&out->rest, sizeof(out->rows));
    const uint8_t *index = wd_view_bytes(&out->rest, sizeof(out->index));
    if (!rows || !index)
        return false;
    memcpy(out->rows, rows, sizeof(out->rows));
    memcpy(&out->index, index, sizeof(out->index));
    for (unsigned i = 0; i < WET_WRITER_SECTIONS; i++) {
        if (out->rows[i].kind != kinds[i] || out->rows[i].key != k)
            return false;
    }
    return true;
}

static bool section_is_sound(struct resume *resume, const struct wet_section *row)
{
    return wet_store_reread(resume->store, row, &resume->section) == 0;
}

/* Reads interval k's record, and its STATE into resume->state. */
static bool state_read(struct resume *resume, uint64_t k, struct interval *interval)
{
    return interval_read(resume, k, interval) &&
           wet_store_reread(resume->store, &interval->rows[0], &resume->state) == 0;
}

static int interval_load(struct resume *resume, struct interval *interval)
{
    struct wet_builder *builder = resume->builder;
    int err = wd_buf_append(&resume->rows, interval->rows, sizeof(interval->rows));
    if (!err)
        err = wd_buf_append(&builder->index, &interval->index, sizeof(interval->index));
    if (!err)
        err = wet_snapshot_load(builder, &interval->rest);
    if (!err)
        err = wet_store_reread(resume->store, &interval->rows[2], &resume->section);
    if (!err)
        err = wet_node_table_add_counts(&builder->nodes, &resume->section);
    if (!err)
        err = wet_store_reread(resume->store, &interval->rows[3], &resume->section);
    if (!err)
        err = wet_changes_apply(&builder->space, resume->section.data, resume->section.size_bytes);
    return err;
}

/* ---- memory ---- */

static int span_order(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return x[0] < y[0] ? -1 : x[0] > y[0];
}

/* Makes the views those of resume->state, and gives back what none of them shows. */
static int views_set(struct resume *resume)
{
    struct wet_space *space = &resume->builder->space;
    struct wd_view view = wd_view_of(resume->state.data, resume->state.size_bytes);
    const struct wet_state_record *head = (const void *)wd_view_bytes(&view, sizeof(*head));
    uint64_t count = head && head->view_count < AGT_VIEWS_MAX ? head->view_count : 0;
    const struct agt_view *views = (const void *)wd_view_bytes(&view, count * sizeof(*views));
    uint64_t(*spans)[2] = malloc((count + 1) * sizeof(*spans)), at = 0;
    if (!spans || !views) {
        free(spans);
        return spans ? -WETDBG_ERR_CORRUPT : -ENOMEM;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!wet_rule_view(&views[i], space->objects, space->object_count)) {
            free(spans);
            return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
        }
        spans[i][0] = space->objects[views[i].file].mirror_off + views[i].file_off;
        spans[i][1] = spans[i][0] + (views[i].end - views[i].start);
    }
    memcpy(space->views.list, views, count * sizeof(*views));
    space->views.count = count;
    qsort(spans, count, sizeof(*spans), span_order);
    for (uint64_t i = 0; i < count; i++) {
        wet_space_punch(space, at, spans[i][0]);
        at = spans[i][1];
    }
    wet_space_punch(space, at, space->used_bytes);
    free(spans);
    return 0;
}

/* ---- the whole ---- */

static bool is_interrupted(const struct wet_builder *builder)
{
    return builder->options->interrupted && *builder->options->interrupted;
}

/* Takes in every interval that is whole and followed by a sound STATE. */
static int intervals_load(struct resume *resume)
{
    struct interval interval = {0}, following = {0};
    int err = 0;
    bool sound = state_read(resume, 0, &interval);
    while (!err && sound) {
        sound = section_is_sound(resume, &interval.rows[1]) &&
                section_is_sound(resume, &interval.rows[2]) &&
                section_is_sound(resume, &interval.rows[3]) &&
                state_read(resume, resume->next + 1, &following);
        if (!sound)
            break;
        err = interval_load(resume, &interval);
        if (!err && ++resume->next % FORGET_EVERY == 0)
            err = views_set(resume);
        if (!err && is_interrupted(resume->builder))
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        struct interval spare = interval;
        interval = following;
        following = spare;
    }
    /* a look ahead may have replaced it by one that is not sound */
    if (!err && !state_read(resume, resume->next, &interval))
        resume->state.size_bytes = 0;
    wd_buf_fini(&interval.record);
    wd_buf_fini(&following.record);
    return err;
}

/* Has the feed convert what has been taken already. */
static int feed_skip(struct wet_builder *builder, uint64_t count)
{
    struct wd_buf *ahead = &builder->ahead;
    while (count) {
        size_t at = 0;
        ahead->size_bytes = 0;
        int more = rep_feed_next(builder->feed, ahead);
        if (more < 0)
            return more;
        if (!more)
            return wetdbg_fail_plain(-WETDBG_ERR_CORRUPT);
        for (; count && at < ahead->size_bytes; count--)
            at += ((const struct evq_entry *)(ahead->data + at))->bytes;
        memmove(ahead->data, ahead->data + at, ahead->size_bytes - at);
        ahead->size_bytes -= at;
        if (is_interrupted(builder))
            return wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
    }
    return 0;
}

/* Makes a replayee as `state` has it, in an engine of `mode`. */
static int stand(struct wet_builder *builder, enum dbi_mode mode, const struct wd_buf *state)
{
    struct wd_buf now = {0};
    int err = rep_engine_from_feed(builder->feed, mode, &builder->engine);
    if (!err)
        err = wet_restart(builder, state);
    builder->time_before = builder->first_time - 1;
    builder->entries_before = builder->first_entry;
    memcpy(builder->ticks_given, builder->ticks_before, sizeof(builder->ticks_given));
    if (!err)
        err = wet_builder_state(builder, &now);
    if (!err &&
        (now.size_bytes != state->size_bytes || memcmp(now.data, state->data, now.size_bytes)))
        err = wetdbg_fail(-WETDBG_ERR_CORRUPT, "the program's state cannot be made again");
    wd_buf_fini(&now);
    return err;
}

int wet_builder_leave(const struct wet_builder *builder, struct wet_leave *leave)
{
    int err = rep_engine_pending(builder->engine, &leave->entries);
    if (!err)
        wet_builder_ticks_undo(builder, &leave->entries);
    if (!err && builder->ahead.size_bytes)
        err = wd_buf_append(&leave->entries, builder->ahead.data, builder->ahead.size_bytes);
    wet_builder_ticks(builder, leave->ticks);
    return err;
}

int wet_builder_arrive(struct wet_builder *builder, enum dbi_mode mode, struct wet_leave *leave)
{
    wd_buf_fini(&builder->ahead);
    builder->ahead = leave->entries;
    leave->entries = (struct wd_buf){0};
    memcpy(builder->ticks_before, leave->ticks, sizeof(builder->ticks_before));
    wet_node_table_detach(&builder->nodes);
    int err = stand(builder, mode, &builder->parts.state);
    if (!err)
        rep_engine_watch(builder->engine, builder->options->interrupted);
    return err;
}

int wet_builder_move(struct wet_builder *builder, enum dbi_mode mode)
{
    struct wet_leave leave = {0};
    int err = wet_builder_leave(builder, &leave);
    rep_engine_free(builder->engine);
    builder->engine = NULL;
    if (!err)
        err = wet_builder_arrive(builder, mode, &leave);
    wd_buf_fini(&leave.entries);
    return err;
}

int wet_builder_stand(struct wet_builder *builder, struct wd_buf *state)
{
    int err = stand(builder, DBI_COUNT, state);
    if (!err)
        err = feed_skip(builder, builder->first_entry);
    if (!err) {
        wd_buf_fini(&builder->parts.state);
        builder->parts.state = *state;
        *state = (struct wd_buf){0};
    }
    return err;
}

static int stand_again(struct resume *resume)
{
    int err = views_set(resume);
    return err ? err : wet_builder_stand(resume->builder, &resume->state);
}

/* Cuts off what follows in file and journal: it is made again. */
static int cut_off(struct resume *resume)
{
    int err = wet_store_continue(resume->store, (const struct wet_section *)resume->rows.data,
                                 resume->rows.size_bytes / sizeof(struct wet_section));
    return err ? err : wet_journal_cut(resume->journal, resume->next + 1);
}

/* Tells the user how the build goes on; `records` were in the journal. */
static void tell(const struct resume *resume, size_t records, int err, bool same, bool resumed)
{
    const struct wet_builder *builder = resume->builder;
    if (resumed && resume->next + 2 < records)
        wet_builder_notice(builder,
                           "the unfinished file is damaged from interval %llu on; going on from "
                           "there, time %llu",
                           (unsigned long long)resume->next,
                           (unsigned long long)builder->first_time);
    else if (resumed)
        wet_builder_notice(builder, "going on with an unfinished file, from time %llu",
                           (unsigned long long)builder->first_time);
    else if (err == -WETDBG_ERR_CORRUPT || !records || (!err && same && records > 2))
        wet_builder_notice(builder, "the unfinished file is damaged: building it anew");
    else if (!err && !same)
        wet_builder_notice(builder,
                           "the unfinished file is of another recording, version or user, or was "
                           "begun with other options: building it anew");
}

int wet_resume(struct wet_builder *builder, struct wet_unfinished *unfinished, bool *resumed)
{
    struct resume resume = {
        .builder = builder, .store = unfinished->store, .journal = unfinished->journal};
    size_t records = wet_journal_count(resume.journal);
    bool same = false;
    int err = 0;
    *resumed = false;
    if (records)
        err = begin_load(&resume, &same);
    if (!err && same)
        err = intervals_load(&resume);
    bool is_there = !err && same && resume.state.size_bytes;
    if (is_there)
        err = stand_again(&resume);
    if (is_there && !err)
        err = cut_off(&resume);
    *resumed = is_there && !err;
    if (records || wet_journal_is_damaged(resume.journal))
        tell(&resume, records, err, same, *resumed);
    wd_buf_fini(&resume.rows);
    wd_buf_fini(&resume.state);
    wd_buf_fini(&resume.section);
    return err;
}

int wet_unfinished_clear(struct wet_unfinished *unfinished)
{
    int err = wet_store_continue(unfinished->store, NULL, 0);
    return err ? err : wet_journal_cut(unfinished->journal, 0);
}

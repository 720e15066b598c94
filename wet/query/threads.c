/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads, whose instructions are whose, and events whose place is uncertain: tables of the
 * file. */
#include <errno.h>
#include <stdlib.h>

#include "common/bisect.h"
#include "wet/query/wet_priv.h"
#include "wet/trace/rules.h"
#include <wetdbg/errors.h>

static int damaged(const struct wetdbg *wet, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_CORRUPT, "%s: damaged %s", wet_store_path(wet->store), what);
}

static int table(struct wetdbg *wet, uint32_t kind, size_t record_bytes, const char *what,
                 struct wd_buf *bytes, size_t *count)
{
    int err = wet_store_read(wet->store, kind, 0, bytes);
    *count = bytes->size_bytes / record_bytes;
    return err == -WETDBG_ERR_NOT_FOUND || (!err && bytes->size_bytes % record_bytes)
               ? damaged(wet, what)
               : err;
}

/* ---- opening ---- */

static int threads_read(struct wetdbg *wet)
{
    size_t count;
    int err = table(wet, WET_SEC_THREADS, sizeof(struct wet_thread_record), "table of threads",
                    &wet->threads_bytes, &count);
    const struct wet_thread_record *records = (const void *)wet->threads_bytes.data;
    if (!err && (!count || count >= UINT32_MAX))
        err = damaged(wet, "table of threads");
    wet->threads = err ? NULL : calloc(count, sizeof(*wet->threads));
    if (!err && !wet->threads)
        err = -ENOMEM;
    for (size_t i = 0; !err && i < count; i++) {
        if (!wet_rule_thread(&records[i], i, wet->info.last_time))
            return damaged(wet, "table of threads");
        const struct wetdbg_thread *parent =
            records[i].parent == WET_THREAD_NONE ? NULL : &wet->threads[records[i].parent];
        wet->threads[i] = (struct wetdbg_thread){.index = (uint32_t)i,
                                                 .tid = records[i].tid,
                                                 .task = records[i].slot,
                                                 .parent = parent,
                                                 .start = records[i].start,
                                                 .end = records[i].end,
                                                 .has_ended = records[i].flags & WET_THREAD_ENDED,
                                                 .name = records[i].name};
    }
    wet->thread_count = err ? 0 : count;
    return err;
}

/* Reads whose turn it is and how long, so that each thread's instructions can be added up. */
static int turns_read(struct wetdbg *wet)
{
    size_t count;
    int err =
        table(wet, WET_SEC_TURNS, sizeof(*wet->turns), "table of turns", &wet->turns_bytes, &count);
    wet->turns = (const struct wet_turn_record *)wet->turns_bytes.data;
    for (size_t i = 0; !err && i < count; i++) {
        uint64_t end = i + 1 < count ? wet->turns[i + 1].first_time : wet->info.last_time + 1;
        if (wet->turns[i].thread >= wet->thread_count || wet->turns[i].first_time >= end ||
            (i == 0 && wet->turns[i].first_time != wet->info.first_time))
            return damaged(wet, "table of turns");
        wet->threads[wet->turns[i].thread].instructions += end - wet->turns[i].first_time;
    }
    if (!err && !count && wet->info.instructions)
        err = damaged(wet, "table of turns");
    wet->turn_count = count;
    return err;
}

static int ambiguous_read(struct wetdbg *wet)
{
    struct wd_buf bytes = {0};
    size_t count;
    uint64_t earliest = 0;
    int err = table(wet, WET_SEC_AMBIGUOUS, sizeof(struct wet_ambiguous_record),
                    "table of uncertain events", &bytes, &count);
    const struct wet_ambiguous_record *records = (const void *)bytes.data;
    wet->ambiguous = err ? NULL : calloc(count + 1, sizeof(*wet->ambiguous));
    if (!err && !wet->ambiguous)
        err = -ENOMEM;
    for (size_t i = 0; !err && i < count; i++) {
        if (records[i].thread >= wet->thread_count || records[i].time < earliest ||
            records[i].time > wet->info.last_time)
            err = damaged(wet, "table of uncertain events");
        earliest = records[i].time;
        if (!err)
            wet->ambiguous[i] =
                (struct wetdbg_ambiguous){.time = records[i].time,
                                          .frame = records[i].frame,
                                          .signal = records[i].signal,
                                          .thread = &wet->threads[records[i].thread]};
    }
    wd_buf_fini(&bytes);
    wet->info.ambiguous = err ? 0 : count;
    return err;
}

static int by_slot(const void *a, const void *b)
{
    const struct wetdbg_thread *x = *(struct wetdbg_thread *const *)a,
                               *y = *(struct wetdbg_thread *const *)b;
    if (x->task != y->task)
        return x->task < y->task ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

int wet_threads_open(struct wetdbg *wet)
{
    int err = threads_read(wet);
    if (!err)
        err = turns_read(wet);
    if (!err)
        err = ambiguous_read(wet);
    if (err)
        return err;
    wet->info.threads = wet->thread_count;
    wet->threads_by_slot = calloc(wet->thread_count, sizeof(const struct wetdbg_thread *));
    if (!wet->threads_by_slot)
        return -ENOMEM;
    for (size_t i = 0; i < wet->thread_count; i++)
        wet->threads_by_slot[i] = &wet->threads[i];
    qsort(wet->threads_by_slot, wet->thread_count, sizeof(*wet->threads_by_slot), by_slot);
    return 0;
}

void wet_threads_close(struct wetdbg *wet)
{
    free(wet->threads);
    free(wet->threads_by_slot);
    free(wet->ambiguous);
    wd_buf_fini(&wet->threads_bytes);
    wd_buf_fini(&wet->turns_bytes);
}

/* ---- questions ---- */

const struct wetdbg_thread *wetdbg_threads(const struct wetdbg *wet, size_t *count)
{
    *count = wet->thread_count;
    return wet->threads;
}

/* The last turn that begins by t. */
static size_t turn_at(const struct wetdbg *wet, wetdbg_time t)
{
    return wd_bisect(1, wet->turn_count, i, wet->turns[i].first_time <= t) - 1;
}

const struct wetdbg_thread *wetdbg_thread_at(const struct wetdbg *wet, wetdbg_time t)
{
    if (t < wet->info.first_time || t > wet->info.last_time)
        return NULL;
    return &wet->threads[wet->turns[turn_at(wet, t)].thread];
}

bool wet_turns_are_of(const struct wetdbg *wet, uint32_t task, wetdbg_time from, wetdbg_time to)
{
    for (size_t i = turn_at(wet, from); i < wet->turn_count && wet->turns[i].first_time <= to;
         i++) {
        if (wet->threads[wet->turns[i].thread].task != task)
            return false;
    }
    return true;
}

const struct wetdbg_thread *wetdbg_thread_of(const struct wetdbg *wet, uint32_t task, wetdbg_time t)
{
    const struct wetdbg_thread *const *threads = wet->threads_by_slot;
    /* behind the last one that began by t, or right after it */
    size_t at = wd_bisect(0, wet->thread_count, i,
                          threads[i]->task < task ||
                              (threads[i]->task == task && threads[i]->start - 1 <= t));
    const struct wetdbg_thread *last = at ? threads[at - 1] : NULL;
    if (!last || last->task != task)
        return NULL;
    const struct wetdbg_thread *earlier = at > 1 ? threads[at - 2] : NULL;
    if (last->start > t && earlier && earlier->task == task && earlier->end >= t)
        return earlier;
    return last;
}

const struct wetdbg_ambiguous *wetdbg_ambiguous_events(const struct wetdbg *wet, size_t *count)
{
    *count = wet->info.ambiguous;
    return wet->ambiguous;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs are a ring of intervals in order of time:
 *
 *      written ────────▶ taken ────────▶ put
 *      [ packed | packing | packed | packing | waiting | waiting ]
 *
 * Any thread takes the next waiting job. Whoever finishes one writes what is packed at the ring's
 * start, unless another thread is writing just then: that one looks again before it stops.
 */
#include "wet/build/writer.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <wetdbg/errors.h>

#define JOBS_MAX    (4 * WET_WRITER_THREADS_MAX)
#define SECTIONS    WET_WRITER_SECTIONS
#define FLUSH_EVERY 512 /* intervals: what a power cut may cost */

struct job {
    struct wet_interval_parts parts;
    struct wet_packed packed[SECTIONS];
    uint64_t bytes; /* in memory */
    bool is_packed;
};

struct wet_writer {
    struct wet_store_writer *store;
    struct wet_writer_options options;
    pthread_t threads[WET_WRITER_THREADS_MAX];
    unsigned thread_count;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job jobs[JOBS_MAX];    /* job n is at n % JOBS_MAX */
    uint64_t written, taken, put; /* counts of jobs */
    uint64_t queued_bytes;
    bool is_writing, is_finishing;
    int err;
    char message[512]; /* errors are kept per thread: carried over by hand */
};

/* ---- one job ---- */

static void parts_fini(struct wet_interval_parts *parts)
{
    wd_buf_fini(&parts->state);
    wd_buf_fini(&parts->entries);
    wd_buf_fini(&parts->counts);
    wd_buf_fini(&parts->lines);
    wd_buf_fini(&parts->note);
}

static uint64_t parts_bytes(const struct wet_interval_parts *parts)
{
    return parts->state.capacity_bytes + parts->entries.capacity_bytes +
           parts->counts.capacity_bytes + parts->lines.capacity_bytes + parts->note.capacity_bytes;
}

static void job_fini(struct job *job)
{
    parts_fini(&job->parts);
    for (unsigned i = 0; i < SECTIONS; i++)
        wet_packed_fini(&job->packed[i]);
    *job = (struct job){0};
}

static int job_pack(const struct wet_writer *writer, struct wet_packer *packer, struct job *job)
{
    const struct {
        uint32_t kind;
        const struct wd_buf *buf;
    } sections[SECTIONS] = {{WET_SEC_STATE, &job->parts.state},
                            {WET_SEC_ENTRIES, &job->parts.entries},
                            {WET_SEC_COUNTS, &job->parts.counts},
                            {WET_SEC_LINES, &job->parts.lines}};
    int err = 0;
    for (unsigned i = 0; !err && i < SECTIONS; i++)
        err = wet_packer_pack(packer, sections[i].kind, job->parts.index, sections[i].buf->data,
                              sections[i].buf->size_bytes, writer->options.level, &job->packed[i]);
    return err;
}

static int note_write(struct wet_store_writer *store, struct wet_journal *journal,
                      const struct wd_buf *note)
{
    struct wd_buf record = {0};
    size_t count;
    const struct wet_section *table = wet_store_table(store, &count);
    assert(count >= SECTIONS);
    int err = wd_buf_append(&record, table + count - SECTIONS, SECTIONS * sizeof(*table));
    if (!err)
        err = wd_buf_append(&record, note->data, note->size_bytes);
    if (!err)
        err = wet_journal_append(journal, record.data, record.size_bytes);
    wd_buf_fini(&record);
    if (!err && wet_journal_count(journal) % FLUSH_EVERY == 0) {
        wet_store_flush(store);
        wet_journal_flush(journal);
    }
    return err;
}

int wet_interval_write(struct wet_store_writer *store, struct wet_journal *journal,
                       const struct wet_packed packed[SECTIONS], const struct wd_buf *note)
{
    int err = 0;
    for (unsigned i = 0; !err && i < SECTIONS; i++)
        err = wet_store_put(store, &packed[i]);
    return err || !journal ? err : note_write(store, journal, note);
}

/* ---- threads: all with the lock held, which they give away for the work ---- */

static void error_keep(struct wet_writer *writer, int err)
{
    if (!err || writer->err)
        return;
    writer->err = err;
    snprintf(writer->message, sizeof(writer->message), "%s", wetdbg_error(err));
}

static void write_packed(struct wet_writer *writer)
{
    if (writer->is_writing)
        return;
    writer->is_writing = true;
    while (writer->written < writer->taken && writer->jobs[writer->written % JOBS_MAX].is_packed) {
        struct job *job = &writer->jobs[writer->written % JOBS_MAX];
        uint64_t bytes = job->bytes;
        bool failed = writer->err != 0;
        pthread_mutex_unlock(&writer->lock);
        int err = failed ? 0
                         : wet_interval_write(writer->store, writer->options.journal, job->packed,
                                              &job->parts.note);
        job_fini(job);
        pthread_mutex_lock(&writer->lock);
        error_keep(writer, err);
        writer->written++;
        assert(writer->queued_bytes >= bytes);
        writer->queued_bytes -= bytes;
        pthread_cond_broadcast(&writer->changed);
    }
    writer->is_writing = false;
}

static void pack_next(struct wet_writer *writer, struct wet_packer *packer)
{
    assert(writer->taken < writer->put);
    struct job *job = &writer->jobs[writer->taken++ % JOBS_MAX];
    bool failed = writer->err != 0;
    pthread_mutex_unlock(&writer->lock);
    int err = failed ? 0 : job_pack(writer, packer, job);
    pthread_mutex_lock(&writer->lock);
    error_keep(writer, err);
    job->is_packed = true;
    write_packed(writer);
}

static void *work(void *arg)
{
    struct wet_writer *writer = arg;
    struct wet_packer *packer = wet_packer_new();
    pthread_mutex_lock(&writer->lock);
    if (!packer)
        error_keep(writer, -ENOMEM);
    for (;;) {
        while (writer->taken == writer->put && !writer->is_finishing)
            pthread_cond_wait(&writer->changed, &writer->lock);
        if (writer->taken == writer->put)
            break;
        pack_next(writer, packer);
    }
    pthread_mutex_unlock(&writer->lock);
    wet_packer_free(packer);
    return NULL;
}

/* ---- the interface ---- */

int wet_writer_new(struct wet_store_writer *store, const struct wet_writer_options *options,
                   struct wet_writer **out)
{
    struct wet_writer *writer = calloc(1, sizeof(*writer));
    if (!writer)
        return -ENOMEM;
    writer->store = store;
    writer->options = *options;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    int err = 0;
    while (!err && writer->thread_count < options->threads) {
        err = pthread_create(&writer->threads[writer->thread_count], NULL, work, writer);
        writer->thread_count += !err;
    }
    if (!writer->thread_count) {
        free(writer);
        return -err;
    }
    *out = writer; /* with fewer threads than wanted, if there are no more */
    return 0;
}

static int error_of(struct wet_writer *writer)
{
    return writer->err ? wetdbg_fail(writer->err, "%s", writer->message) : 0;
}

int wet_writer_put(struct wet_writer *writer, struct wet_interval_parts *parts)
{
    uint64_t bytes = parts_bytes(parts);
    pthread_mutex_lock(&writer->lock);
    while (writer->put > writer->written &&
           (writer->put - writer->written == JOBS_MAX ||
            writer->queued_bytes + bytes > writer->options.queue_bytes))
        pthread_cond_wait(&writer->changed, &writer->lock);
    assert(writer->put - writer->written < JOBS_MAX && !writer->is_finishing);
    struct job *job = &writer->jobs[writer->put++ % JOBS_MAX];
    job->parts = *parts;
    job->bytes = bytes;
    writer->queued_bytes += bytes;
    int err = error_of(writer);
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    *parts = (struct wet_interval_parts){0};
    return err;
}

int wet_writer_finish(struct wet_writer *writer)
{
    if (!writer)
        return 0;
    pthread_mutex_lock(&writer->lock);
    writer->is_finishing = true;
    pthread_cond_broadcast(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
    for (unsigned i = 0; i < writer->thread_count; i++)
        pthread_join(writer->threads[i], NULL);
    int err = error_of(writer);
    free(writer);
    return err;
}

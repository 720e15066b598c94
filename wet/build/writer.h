/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compresses and writes intervals on threads of its own, so that replay goes on meanwhile.
 *
 * Intervals are compressed side by side and written in the order in which they were put: the file
 * is the same for any number of threads.
 */
#ifndef WET_BUILD_WRITER_H
#define WET_BUILD_WRITER_H

#include "wet/build/journal.h"
#include "wet/store/store.h"

#define WET_WRITER_THREADS_MAX 64
#define WET_WRITER_SECTIONS    4

struct wet_interval_parts {
    uint64_t index;
    struct wd_buf state, entries, counts, lines;
    struct wd_buf note; /* for the journal */
};

struct wet_writer;

struct wet_writer_options {
    int level;                   /* zstd's */
    unsigned threads;            /* 1 to WET_WRITER_THREADS_MAX */
    uint64_t queue_bytes;        /* how much may wait, compressed or not; one interval always may */
    struct wet_journal *journal; /* gets a record per interval once its sections are written: their
                                  * WET_WRITER_SECTIONS rows of the table, then the note; or NULL */
};

/* Writes an interval that is packed, and its note if there is a journal: what a writer's threads do
 * with each. */
int wet_interval_write(struct wet_store_writer *store, struct wet_journal *journal,
                       const struct wet_packed packed[WET_WRITER_SECTIONS],
                       const struct wd_buf *note);

/* `store` and journal are the writer's until wet_writer_finish. */
int wet_writer_new(struct wet_store_writer *store, const struct wet_writer_options *options,
                   struct wet_writer **out);

/* Takes the parts' buffers (the caller's become empty); waits if too much is queued. Returns an
 * error of an earlier interval, if any. */
int wet_writer_put(struct wet_writer *writer, struct wet_interval_parts *parts);

/* Writes what is queued, ends the threads, frees the writer; the first error. NULL is fine. */
int wet_writer_finish(struct wet_writer *writer);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compresses and writes intervals on a thread of its own, so that replay goes on meanwhile. */
#ifndef WET_BUILD_WRITER_H
#define WET_BUILD_WRITER_H

#include "wet/store/store.h"

struct wet_interval_parts {
    uint64_t index;
    struct wd_buf state, entries, counts, lines;
};

struct wet_writer;

/* `store` is the writer's until wet_writer_finish. */
int wet_writer_new(struct wet_store_writer *store, int level, struct wet_writer **out);

/* Takes the parts' buffers (the caller's become empty); waits if too many are queued. Returns an
 * error of an earlier interval, if any. */
int wet_writer_put(struct wet_writer *writer, struct wet_interval_parts *parts);

/* Writes what is queued, ends the thread, frees the writer; the first error. NULL is fine. */
int wet_writer_finish(struct wet_writer *writer);

#endif

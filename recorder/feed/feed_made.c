/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A feed whose entries are there already: of a run that no recording tells. */
#include <errno.h>
#include <stdlib.h>

#include "recorder/feed/feed_priv.h"

#define BATCH_BYTES (1u << 20)

int rep_feed_of_run(const struct rep_run *run, struct rep_feed **out)
{
    struct rep_feed *feed = calloc(1, sizeof(*feed));
    if (!feed)
        return -ENOMEM;
    feed->input_fd = -1;
    feed->run = run;
    feed->info = run->info;
    feed->cpu = run->cpu;
    feed->is_trusted = run->is_trusted;
    feed->surroundings = run->surroundings;
    feed->tables.files = (struct rep_file *)run->files;
    feed->tables.file_count = run->file_count;
    feed->tables.names = (const char **)run->names;
    feed->tables.name_count = run->name_count;
    feed->tables.ranges = (struct rep_range *)run->ranges;
    feed->tables.range_count = run->range_count;
    *out = feed;
    return 0;
}

int feed_run_next(struct rep_feed *feed, struct wd_buf *out)
{
    const struct wd_buf *entries = feed->run->entries;
    size_t from = feed->run_at, at = from;
    while (at < entries->size_bytes && at - from < BATCH_BYTES)
        at += ((const struct evq_entry *)(entries->data + at))->bytes;
    feed->run_at = at;
    if (at == from)
        return 0;
    int err = wd_buf_append(out, entries->data + from, at - from);
    return err ? err : 1;
}

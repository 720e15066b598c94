/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files and names are few (some dozens), so they are looked up one by one; ranges can be many
 * (one for each mmap of a long run), so they are sorted and merged whenever they have doubled. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/range_join.h"
#include "recorder/feed/feed_priv.h"
#include <wetdbg/errors.h>

static int open_file(struct rep_feed *feed, const struct rrt_mmap *map, struct rep_file *file)
{
    struct rrt_backing backing;
    int err = rrt_backing_open(feed->trace, map, &backing);
    if (err)
        return err;
    *file = (struct rep_file){.fd = backing.fd,
                              .name = strdup(map->name),
                              .backing = strdup(map->backing),
                              .size_bytes = backing.size_bytes,
                              .proof = backing.proof};
    if (file->name && file->backing)
        return 0;
    free((char *)file->name);
    free((char *)file->backing);
    close(file->fd);
    return -ENOMEM;
}

int feed_tables_file(struct rep_feed *feed, const struct rrt_mmap *map, uint64_t *number)
{
    struct feed_tables *tables = &feed->tables;
    for (size_t i = 0; i < tables->file_count; i++) {
        if (!strcmp(tables->files[i].backing, map->backing)) {
            *number = i;
            return 0;
        }
    }
    int err = wd_grow(tables->files, tables->file_capacity, tables->file_count + 1);
    if (!err)
        err = open_file(feed, map, &tables->files[tables->file_count]);
    if (!err)
        *number = tables->file_count++;
    return err;
}

int feed_tables_name(struct rep_feed *feed, const char *name, uint64_t *number)
{
    struct feed_tables *tables = &feed->tables;
    *number = EVQ_NAME_NONE;
    if (!name[0])
        return 0;
    for (size_t i = 0; i < tables->name_count; i++) {
        if (!strcmp(tables->names[i], name)) {
            *number = i;
            return 0;
        }
    }
    int err = wd_grow(tables->names, tables->name_capacity, tables->name_count + 1);
    if (err)
        return err;
    tables->names[tables->name_count] = strdup(name);
    if (!tables->names[tables->name_count])
        return -ENOMEM;
    *number = tables->name_count++;
    return 0;
}

void feed_tables_finish(struct rep_feed *feed)
{
    struct feed_tables *tables = &feed->tables;
    tables->range_count = wd_ranges_join(tables->ranges, tables->range_count);
}

int feed_tables_range(struct rep_feed *feed, uint64_t start, uint64_t end)
{
    struct feed_tables *tables = &feed->tables;
    if (!feed->is_scanning)
        return 0;
    start = wd_page_down(start);
    end = end > FEED_ADDRESS_END ? FEED_ADDRESS_END : wd_page_up(end);
    if (start >= end)
        return 0;
    if (tables->range_count >= tables->range_compact_at) {
        feed_tables_finish(feed);
        tables->range_compact_at = tables->range_count * 2 + 1024;
    }
    int err = wd_grow(tables->ranges, tables->range_capacity, tables->range_count + 1);
    if (!err)
        tables->ranges[tables->range_count++] = (struct rep_range){start, end};
    return err;
}

void feed_tables_fini(struct feed_tables *tables)
{
    for (size_t i = 0; i < tables->file_count; i++) {
        close(tables->files[i].fd);
        free((char *)tables->files[i].name);
        free((char *)tables->files[i].backing);
    }
    for (size_t i = 0; i < tables->name_count; i++)
        free((char *)tables->names[i]);
    free(tables->files);
    free(tables->names);
    free(tables->ranges);
    memset(tables, 0, sizeof(*tables));
}

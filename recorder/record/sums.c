/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/sums.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/regular.h"
#include "recorder/record/side_file.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_sums.h"
#include <wetdbg/errors.h>

struct listing {
    int dir_fd;
    struct wd_buf text;
    char **names; /* of backing files, sorted, each once */
    size_t count, room;
};

/* ---- which backing files ---- */

static size_t place_of(const struct listing *listing, const char *name)
{
    return wd_bisect(0, listing->count, i, strcmp(listing->names[i], name) < 0);
}

static int note_backing(void *arg, const struct rrt_mmap *map)
{
    struct listing *listing = arg;
    if (map->source != RRT_SOURCE_FILE)
        return 0;
    size_t at = place_of(listing, map->backing);
    if (at < listing->count && strcmp(listing->names[at], map->backing) == 0)
        return 0;
    int err = wd_grow(listing->names, listing->room, listing->count + 1);
    char *name = err ? NULL : strdup(map->backing);
    if (!name)
        return -ENOMEM;
    memmove(listing->names + at + 1, listing->names + at,
            (listing->count - at) * sizeof(*listing->names));
    listing->names[at] = name;
    listing->count++;
    return 0;
}

static int find_backing_files(struct listing *listing, const char *trace_dir)
{
    struct wetdbg_recording *trace;
    int err = wetdbg_recording_open(trace_dir, &trace);
    if (err)
        return err;
    err = rrt_each_mmap(trace, note_backing, listing);
    wetdbg_recording_close(trace);
    return err;
}

/* ---- the list ---- */

static int put_file(struct listing *listing, const char *name)
{
    int fd = -1;
    int err = wd_regular_open(listing->dir_fd, name, WD_LINKS_REFUSE, &fd, NULL);
    if (!err)
        err = rrt_sums_put(&listing->text, name, fd);
    if (fd >= 0)
        close(fd);
    return err;
}

static int put_streams(struct listing *listing)
{
    int err = 0;
    for (size_t i = 0; !err && i < rrt_sums_stream_count; i++) {
        err = put_file(listing, rrt_sums_streams[i]);
        if (err == -ENOENT && i >= rrt_sums_streams_always)
            err = 0;
    }
    return err;
}

static int put_backing_files(struct listing *listing)
{
    int err = 0;
    for (size_t i = 0; !err && i < listing->count; i++) {
        err = put_file(listing, listing->names[i]);
        if (err == -ENOENT || err == -EACCES || err == -WETDBG_ERR_CORRUPT)
            err = 0;
    }
    return err;
}

static int make_list(struct listing *listing, const char *trace_dir)
{
    int err = find_backing_files(listing, trace_dir);
    if (!err)
        err = rrt_sums_put_head(&listing->text);
    if (!err)
        err = put_streams(listing);
    if (!err)
        err = put_backing_files(listing);
    return err;
}

int rec_sums_write(const char *trace_dir)
{
    struct listing listing = {.dir_fd = open(trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    int err =
        listing.dir_fd < 0 ? wetdbg_fail_errno("%s", trace_dir) : make_list(&listing, trace_dir);
    if (!err)
        err = rec_side_file_write(listing.dir_fd, RRT_SUMS_NAME, listing.text.data,
                                  listing.text.size_bytes);
    for (size_t i = 0; i < listing.count; i++)
        free(listing.names[i]);
    free(listing.names);
    wd_buf_fini(&listing.text);
    if (listing.dir_fd >= 0)
        close(listing.dir_fd);
    return err;
}

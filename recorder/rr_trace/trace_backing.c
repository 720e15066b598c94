/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files behind mappings. The recorder keeps copies, reflinks or hard links in the
 * trace directory under plain names, or names the original by its absolute path. A hard link
 * shares the original's bytes, so an in-place rewrite of the original reaches it: like an
 * original, it has to have the recorded size and modification time. Copies only keep the size.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/err.h"
#include "recorder/rr_trace/rr_trace.h"

#define HARD_LINK_PREFIX "mmap_hardlink_"

/* A plain file name: it cannot lead out of the directory that it is opened in. */
static bool is_plain_name(const char *name)
{
    return strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* An absolute name is opened as it is; but one with `..` was never the kernel's. */
static bool has_parent_step(const char *path)
{
    for (const char *at = path; (at = strstr(at, "/..")) != NULL; at += 3)
        if (at[3] == '/' || at[3] == 0)
            return true;
    return false;
}

static int check_same(const char *shown, const struct stat *st, const struct rrt_mmap *map,
                      bool is_original)
{
    if (!S_ISREG(st->st_mode))
        return wd_fail(-WD_ERR_CORRUPT, "backing file %s is not a regular file", shown);
    if (st->st_size != map->stat_size_bytes)
        return wd_fail(-WD_ERR_UNSUPPORTED,
                       "backing file %s has changed since it was recorded (%ld bytes, were %ld)",
                       shown, (long)st->st_size, (long)map->stat_size_bytes);
    if (is_original && map->stat_mtime_seconds != 0 &&
        st->st_mtim.tv_sec != map->stat_mtime_seconds)
        return wd_fail(-WD_ERR_UNSUPPORTED,
                       "backing file %s has changed since it was recorded (modified at %ld, "
                       "was %ld)",
                       shown, (long)st->st_mtim.tv_sec, (long)map->stat_mtime_seconds);
    return 0;
}

int rrt_backing_open(const struct rrt_trace *trace, const struct rrt_mmap *map, int *fd)
{
    const char *name = map->backing;
    struct stat st;
    if (map->source != RRT_SOURCE_FILE || !name || name[0] == 0 || rrt_trace_dir_fd(trace) < 0)
        return -EINVAL;
    bool is_absolute = name[0] == '/';
    if (is_absolute ? has_parent_step(name) : !is_plain_name(name))
        return wd_fail(-WD_ERR_CORRUPT, "%s/mmaps: frame %lu: backing file name leads outside: %s",
                       rrt_trace_dir(trace), (unsigned long)map->time, name);
    /* O_NONBLOCK: nothing that is no regular file may hang us before it is refused. */
    int opened = openat(rrt_trace_dir_fd(trace), name,
                        O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (opened < 0 && errno == ELOOP)
        return wd_fail(-WD_ERR_CORRUPT, "backing file %s is a symbolic link", name);
    if (opened < 0)
        return wd_fail_errno("%s: backing file %s", rrt_trace_dir(trace), name);
    bool is_original =
        is_absolute || strncmp(name, HARD_LINK_PREFIX, strlen(HARD_LINK_PREFIX)) == 0;
    int r = fstat(opened, &st) == 0 ? check_same(name, &st, map, is_original)
                                    : wd_fail_errno("backing file %s", name);
    if (r != 0) {
        close(opened);
        return r;
    }
    *fd = opened;
    return 0;
}

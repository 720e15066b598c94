/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files behind mappings. The recorder keeps copies, reflinks or hard links in the
 * trace directory under plain names, or names the original by its absolute path. A hard link
 * shares the original's bytes, so an in-place rewrite of the original reaches it: like an
 * original, it has to have the recorded size and modification time. Copies only keep the size.
 *
 * Size and time are what anybody can see of a file whose contents he may not read. Were they
 * enough, a recording could name somebody's private file by its path and have it put into the .wet
 * file that its reader builds and passes on. So without a digest, which only those know who know
 * the contents, a file outside is taken if it is the system's and open to all, or if it is a
 * program or library.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include "recorder/rr_trace/rr_trace.h"
#include "recorder/rr_trace/trace_internal.h"
#include "recorder/rr_trace/trace_sums.h"
#include <wetdbg/errors.h>

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
    if (st->st_size != map->stat_size_bytes)
        return wetdbg_fail(
            -WETDBG_ERR_UNSUPPORTED,
            "backing file %s has changed since it was recorded (%ld bytes, were %ld)", shown,
            (long)st->st_size, (long)map->stat_size_bytes);
    if (is_original && st->st_mtim.tv_sec != map->stat_mtime_seconds)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "backing file %s has changed since it was recorded (modified at %ld, "
                           "was %ld)",
                           shown, (long)st->st_mtim.tv_sec, (long)map->stat_mtime_seconds);
    return 0;
}

static bool is_elf(int fd)
{
    char magic[SELFMAG];
    return pread(fd, magic, SELFMAG, 0) == SELFMAG && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

static int check_public(const char *name, const struct stat *st, int fd)
{
    bool is_systems = st->st_uid == 0 && (st->st_mode & S_IROTH);
    if (is_systems || is_elf(fd))
        return 0;
    return wetdbg_fail(
        -WETDBG_ERR_UNSUPPORTED,
        "backing file %s is not the system's and no program, and nothing tells that it "
        "holds what was recorded; `wetdbg record` notes that, rr alone does not",
        name);
}

/* Holds the contents against the recording's list of digests, as far as it has one. */
static int check_contents(struct wetdbg_recording *trace, const char *name, const struct stat *st,
                          bool is_original, struct rrt_backing *backing)
{
    const struct rrt_sums *sums;
    int r = rrt_trace_sums(trace, &sums);
    const struct rrt_sum *row =
        r == 0 && sums && sums->version > 1 ? rrt_sums_find(sums, name) : NULL;
    if (r != 0)
        return rrt_note_failure(trace, r);
    if (row) {
        backing->proof = RRT_PROOF_DIGEST;
        r = rrt_sum_check(sums, row, backing->fd);
        return r && name[0] != '/' ? rrt_note_failure(trace, r) : r;
    }
    if (sums && sums->version > 1)
        return rrt_note_failure(
            trace,
            wetdbg_fail(-WETDBG_ERR_CORRUPT,
                        "%s/" RRT_SUMS_NAME " does not name the backing file %s: the recording was "
                        "changed after it was made (`rr pack` does so; without " RRT_SUMS_NAME
                        " it counts as rr's own)",
                        rrt_trace_dir(trace), name));
    backing->proof = is_original ? RRT_PROOF_SIZE_TIME : RRT_PROOF_SIZE;
    return name[0] == '/' ? check_public(name, st, backing->fd) : 0;
}

static int open_named(struct wetdbg_recording *trace, const struct rrt_mmap *map, int *fd,
                      struct stat *st)
{
    const char *name = map->backing;
    if (name[0] == '/' ? has_parent_step(name) : !is_plain_name(name))
        return rrt_note_failure(
            trace, wetdbg_fail(-WETDBG_ERR_CORRUPT,
                               "%s/mmaps: frame %lu: backing file name leads outside: %s",
                               rrt_trace_dir(trace), (unsigned long)map->time, name));
    int r = wd_regular_open(rrt_trace_dir_fd(trace), name, WD_LINKS_REFUSE, fd, st);
    if (r == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(r, "backing file %s is no regular file", name);
    if (r != 0)
        return rrt_note_failure(trace, wetdbg_fail(r, "%s: backing file %s: %s",
                                                   rrt_trace_dir(trace), name, strerror(-r)));
    return 0;
}

int rrt_backing_open(struct wetdbg_recording *trace, const struct rrt_mmap *map,
                     struct rrt_backing *backing)
{
    const char *name = map->backing;
    struct rrt_backing found = {.fd = -1};
    struct stat st;
    if (map->source != RRT_SOURCE_FILE || !name || name[0] == 0 || rrt_trace_dir_fd(trace) < 0)
        return -EINVAL;
    bool is_original =
        name[0] == '/' || strncmp(name, HARD_LINK_PREFIX, strlen(HARD_LINK_PREFIX)) == 0;
    int r = open_named(trace, map, &found.fd, &st);
    if (r == 0)
        r = check_same(name, &st, map, is_original);
    if (r == 0)
        r = check_contents(trace, name, &st, is_original, &found);
    if (r != 0) {
        if (found.fd >= 0)
            close(found.fd);
        return r;
    }
    found.size_bytes = (uint64_t)st.st_size;
    *backing = found;
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opens the files behind mappings. The recorder keeps copies, reflinks or hard links in the
 * trace directory under plain names, or names the original by its absolute path. A hard link
 * shares the original's bytes, so an in-place rewrite of the original reaches it: like an
 * original, it has to have the recorded size and modification time, unless a digest tells more.
 * Copies only keep the size; and where the whole recording was copied without its times, what were
 * hard links are copies, too.
 *
 * `rr pack` turns all of them into copies of names of its own, equal ones into one. Each has to
 * hold what one of the listed files held.
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

static bool has_prefix(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

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

/* ---- size and time ---- */

/* What is outside of the recording's directory went its own ways; who moves it should know. */
static const char *advice(const char *name)
{
    return name[0] == '/'
               ? "; it is no part of the recording: `rr pack`, right after recording and "
                 "before moving it, takes such files into it"
               : "";
}

static int fail_changed(const char *name, const char *what, long now, long then)
{
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "backing file %s has changed since it was recorded (%s %ld, was %ld)%s",
                       name, what, now, then, advice(name));
}

static int check_size(const char *name, const struct stat *st, const struct rrt_mmap *map)
{
    return st->st_size == map->stat_size_bytes
               ? 0
               : fail_changed(name, "size", (long)st->st_size, (long)map->stat_size_bytes);
}

struct times {
    int dir_fd;
    size_t kept, lost;
};

static int note_time(void *arg, const struct rrt_mmap *map)
{
    struct times *times = arg;
    struct stat st;
    if (map->source != RRT_SOURCE_FILE || !has_prefix(map->backing, HARD_LINK_PREFIX) ||
        fstatat(times->dir_fd, map->backing, &st, AT_SYMLINK_NOFOLLOW))
        return 0;
    if (st.st_mtim.tv_sec == map->stat_mtime_seconds)
        times->kept++;
    else
        times->lost++;
    return 0;
}

/* Whether none of what were hard links has its time any more: somebody copied the recording. A
 * program that was compiled again has its time changed alone. */
static int find_times(struct wetdbg_recording *trace, bool *are_lost)
{
    struct rrt_file_facts *facts = rrt_trace_file_facts(trace);
    struct times times = {.dir_fd = rrt_trace_dir_fd(trace)};
    int r = facts->knows_times ? 0 : rrt_visit_mmaps(trace, note_time, &times);
    if (!facts->knows_times)
        facts->have_lost_times = times.lost > 0 && times.kept == 0;
    facts->knows_times = r == 0;
    *are_lost = facts->have_lost_times;
    return r;
}

/* *proof becomes what size and time, which are all there is, tell. */
static int check_time(struct wetdbg_recording *trace, const struct stat *st,
                      const struct rrt_mmap *map, enum rrt_proof *proof)
{
    const char *name = map->backing;
    bool is_link = has_prefix(name, HARD_LINK_PREFIX), are_lost = false;
    *proof = RRT_PROOF_SIZE;
    if (name[0] != '/' && !is_link)
        return 0;
    if (st->st_mtim.tv_sec == map->stat_mtime_seconds) {
        *proof = RRT_PROOF_SIZE_TIME;
        return 0;
    }
    int r = is_link ? find_times(trace, &are_lost) : 0;
    if (r != 0 || are_lost)
        return r;
    return fail_changed(name, "modified at", (long)st->st_mtim.tv_sec,
                        (long)map->stat_mtime_seconds);
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

/* ---- digests ---- */

static int fail_unlisted(struct wetdbg_recording *trace, const char *name)
{
    return rrt_note_failure(trace, wetdbg_fail(-WETDBG_ERR_CORRUPT,
                                               "%s/" RRT_SUMS_NAME
                                               " does not name the backing file %s: the recording "
                                               "was changed after it was made",
                                               rrt_trace_dir(trace), name));
}

/* A packed file has to be one of those that were recorded, under another name. */
static int check_packed(struct wetdbg_recording *trace, const struct rrt_sums *sums,
                        const char *name, const struct stat *st, int fd)
{
    struct wd_digest digest;
    int r = wd_digest_file(fd, (uint64_t)st->st_size, &digest);
    if (r != 0)
        return wetdbg_fail(r, "backing file %s: %s", name, strerror(-r));
    for (size_t i = 0; i < sums->count; i++)
        if (sums->rows[i].size_bytes == (uint64_t)st->st_size &&
            wd_digest_equal(&sums->rows[i].digest, &digest))
            return 0;
    return rrt_note_failure(
        trace,
        wetdbg_fail(-WETDBG_ERR_CORRUPT,
                    "%s/%s is not as it was recorded: no file of the recording was like that",
                    rrt_trace_dir(trace), name));
}

static int check_listed(struct wetdbg_recording *trace, const struct rrt_sums *sums,
                        const char *name, const struct stat *st, int fd)
{
    const struct rrt_sum *row = rrt_sums_find(sums, name);
    if (!row)
        return has_prefix(name, RRT_PACKED_PREFIX) ? check_packed(trace, sums, name, st, fd)
                                                   : fail_unlisted(trace, name);
    int r = rrt_sum_check(sums, row, fd);
    if (r != -WETDBG_ERR_CORRUPT || name[0] != '/')
        return r != 0 && name[0] != '/' ? rrt_note_failure(trace, r) : r;
    return wetdbg_fail(r, "%s is not as it was recorded: its checksum differs%s", name,
                       advice(name));
}

/* Holds the file against the recording's list of digests, or what else there is. */
static int check_contents(struct wetdbg_recording *trace, const struct rrt_mmap *map,
                          const struct stat *st, struct rrt_backing *backing)
{
    const struct rrt_sums *sums;
    const char *name = map->backing;
    int r = rrt_trace_sums(trace, &sums);
    if (r != 0)
        return rrt_note_failure(trace, r);
    if (sums && sums->version > 1) {
        backing->proof = RRT_PROOF_DIGEST;
        return check_listed(trace, sums, name, st, backing->fd);
    }
    r = check_time(trace, st, map, &backing->proof);
    return r == 0 && name[0] == '/' ? check_public(name, st, backing->fd) : r;
}

/* ---- opening ---- */

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
        return rrt_note_failure(trace,
                                wetdbg_fail(r, "%s: backing file %s: %s%s", rrt_trace_dir(trace),
                                            name, strerror(-r), advice(name)));
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
    int r = open_named(trace, map, &found.fd, &st);
    if (r == 0)
        r = check_size(name, &st, map);
    if (r == 0)
        r = check_contents(trace, map, &st, &found);
    if (r != 0) {
        if (found.fd >= 0)
            close(found.fd);
        return r;
    }
    found.size_bytes = (uint64_t)st.st_size;
    *backing = found;
    return 0;
}

/* ---- packed recordings ---- */

static int is_packed(void *arg, const struct rrt_mmap *map)
{
    (void)arg;
    return map->source == RRT_SOURCE_FILE && has_prefix(map->backing, RRT_PACKED_PREFIX);
}

int rrt_is_packed(struct wetdbg_recording *trace)
{
    struct rrt_file_facts *facts = rrt_trace_file_facts(trace);
    int r = facts->knows_packing ? facts->is_packed : rrt_visit_mmaps(trace, is_packed, NULL);
    facts->knows_packing = r >= 0;
    facts->is_packed = r == 1;
    return r;
}

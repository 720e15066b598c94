/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/delta_scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <wetdbg/errors.h>

int dlt_scratch_name(char path[DLT_SCRATCH_PATH_BYTES])
{
    const char *place = getenv("TMPDIR");
    uint64_t number;
    if (!place || place[0] != '/')
        place = "/tmp";
    if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
        return wetdbg_fail_errno("no random number for a directory's name");
    int length = snprintf(path, DLT_SCRATCH_PATH_BYTES, "%s/wetdbg-dd-%016" PRIx64, place, number);
    if (length < 0 || length >= DLT_SCRATCH_PATH_BYTES - 512)
        return wetdbg_fail(-ENAMETOOLONG, "the name in TMPDIR is too long");
    return 0;
}

int dlt_scratch_make(const char *path)
{
    return mkdir(path, 0700)
               ? wetdbg_fail_errno("%s: no directory can be made there for a run", path)
               : 0;
}

/* ---- removing ---- */

/* Moves what is in a folder of the top one up there, so that nothing lies deep: a program may nest
 * folders further than a path can be long. *count makes names. Whether the folder is empty now. */
static bool empty_up(int top, const char *name, uint64_t *count)
{
    bool is_empty = true;
    fchmodat(top, name, 0700, 0);
    int fd = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        char up[32];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(up, sizeof(up), "wetdbg-up-%" PRIu64, ++*count);
        if (unlinkat(fd, entry->d_name, 0) && unlinkat(fd, entry->d_name, AT_REMOVEDIR) &&
            renameat(fd, entry->d_name, top, up))
            is_empty = false;
    }
    if (folder)
        closedir(folder);
    else if (fd >= 0)
        close(fd);
    return folder && is_empty;
}

/* One round over the top folder: whether it removed something. */
static bool round_remove(int top, uint64_t *count)
{
    int again = openat(top, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    bool has_removed = false;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        has_removed |= unlinkat(top, entry->d_name, 0) == 0 ||
                       unlinkat(top, entry->d_name, AT_REMOVEDIR) == 0 ||
                       (empty_up(top, entry->d_name, count) &&
                        unlinkat(top, entry->d_name, AT_REMOVEDIR) == 0);
    }
    if (folder)
        closedir(folder);
    return has_removed;
}

void dlt_scratch_remove(const char *path)
{
    uint64_t count = 0;
    chmod(path, 0700);
    int top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    while (top >= 0 && round_remove(top, &count))
        continue;
    if (top >= 0)
        close(top);
    rmdir(path);
}

/* ---- size ---- */

/* The walk goes from folder to folder, since a path cannot lead as deep as a program may go, and
 * comes back. */
uint64_t dlt_scratch_bytes(const char *path)
{
    char *const paths[] = {(char *)path, NULL};
    FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_XDEV, NULL);
    FTSENT *entry;
    uint64_t bytes = 0;
    while (fts && (entry = fts_read(fts)))
        if (entry->fts_info == FTS_F)
            bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
    if (fts)
        fts_close(fts);
    return bytes;
}

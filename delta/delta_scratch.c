/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "delta/delta_scratch.h"

#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

static FTS *walk(const char *path)
{
    char *const paths[] = {(char *)path, NULL};
    return fts_open(paths, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
}

void dlt_scratch_remove(const char *path)
{
    FTS *fts = walk(path);
    FTSENT *entry;
    while (fts && (entry = fts_read(fts))) {
        if (entry->fts_info == FTS_D)
            chmod(entry->fts_accpath, 0700);
        else if (entry->fts_info == FTS_DP || entry->fts_info == FTS_DNR)
            rmdir(entry->fts_accpath);
        else
            unlink(entry->fts_accpath);
    }
    if (fts)
        fts_close(fts);
}

uint64_t dlt_scratch_bytes(const char *path)
{
    FTS *fts = walk(path);
    FTSENT *entry;
    uint64_t bytes = 0;
    while (fts && (entry = fts_read(fts)))
        if (entry->fts_info == FTS_F)
            bytes += (uint64_t)entry->fts_statp->st_blocks * 512;
    if (fts)
        fts_close(fts);
    return bytes;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/whole_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dbgcli/alloc.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

int cli_whole_file_check(const char *path)
{
    const char *slash = strrchr(path, '/');
    int err = wetdbg_own_file_check_goal(path);
    if (err)
        return err;
    if (!*path || (slash && !slash[1]))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "'%s' is no name of a file", path);
    char *folder = !slash         ? cli_strdup(".")
                   : slash > path ? cli_strndup(path, (size_t)(slash - path))
                                  : cli_strdup("/");
    if (access(folder, W_OK | X_OK))
        err = wetdbg_fail_errno("%s cannot be written: %s", path, folder);
    free(folder);
    return err;
}

int cli_whole_file_open(struct cli_whole_file *file, const char *path)
{
    int err = wetdbg_own_file_check_goal(path);
    *file = (struct cli_whole_file){.path = path, .fd = -1};
    if (err)
        return err;
    file->part = cli_asprintf("%s.part", path);
    err = wetdbg_own_file_open(file->part, &file->fd);
    if (!err && ftruncate(file->fd, 0))
        err = wetdbg_fail_errno("%s", file->part);
    return err;
}

int cli_whole_file_close(struct cli_whole_file *file, int err)
{
    bool is_open = file->fd >= 0;
    if (is_open && close(file->fd) && !err)
        err = wetdbg_fail_errno("%s", file->part);
    if (!err && rename(file->part, file->path))
        err = wetdbg_fail_errno("%s", file->path);
    if (err && is_open)
        unlink(file->part);
    free(file->part);
    return err;
}

int cli_whole_file_write(const char *path, const void *bytes, size_t size)
{
    const char *at = bytes;
    struct cli_whole_file file;
    int err = cli_whole_file_open(&file, path);
    while (!err && size) {
        ssize_t done = write(file.fd, at, size);
        if (done < 0 && errno != EINTR)
            err = wetdbg_fail_errno("%s", path);
        if (done > 0) {
            at += done;
            size -= (size_t)done;
        }
    }
    return cli_whole_file_close(&file, err);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that we write (<wetdbg/own_file.h>): what a name leads to is looked at before and after it
 * is opened, so that nobody who can rename files in that directory has another one written.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/regular.h"
#include <wetdbg/errors.h>
#include <wetdbg/own_file.h>

static const char *reason_against(const struct stat *st)
{
    if (!S_ISREG(st->st_mode))
        return wd_regular_kind(st->st_mode);
    if (st->st_uid != geteuid())
        return "somebody else's";
    if (st->st_nlink != 1)
        return "a file with another name, too";
    return st->st_mode & (S_IWGRP | S_IWOTH) ? "a file that others may write to" : NULL;
}

/* Opens a file that is there already. -ENOENT if it went away meanwhile. All errors but that are
 * named. */
static int open_found(const char *path, int *fd)
{
    struct stat st;
    int path_fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
    if (path_fd < 0)
        return errno == ENOENT ? -ENOENT : wetdbg_fail_errno("%s", path);
    const char *reason = fstat(path_fd, &st) ? "not to be looked at" : reason_against(&st);
    int opened = reason ? -EPERM : wd_regular_reopen(path_fd, AT_FDCWD, path, &st, O_RDWR);
    close(path_fd);
    if (reason)
        return wetdbg_fail(-EPERM, "%s is %s, and is not written to", path, reason);
    if (opened < 0) {
        errno = -opened;
        return wetdbg_fail_errno("%s", path);
    }
    if (st.st_mode & (S_IRWXG | S_IRWXO))
        fchmod(opened, S_IRUSR | S_IWUSR);
    *fd = opened;
    return 0;
}

int wetdbg_own_file_open(const char *path, int *fd)
{
    for (;;) {
        *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (*fd >= 0)
            return 0;
        if (errno != EEXIST)
            return wetdbg_fail_errno("%s", path);
        int err = open_found(path, fd);
        if (err != -ENOENT)
            return err;
    }
}

/* Whether the file of that name is somebody else's in a directory like /tmp, where only its owner
 * may replace it. */
static bool is_held(const char *path, const struct stat *named)
{
    struct stat st;
    if (geteuid() == 0 || named->st_uid == geteuid())
        return false;
    const char *slash = strrchr(path, '/');
    char *dir = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    bool is_sticky = dir && !stat(dir, &st) && st.st_mode & S_ISVTX && st.st_uid != geteuid();
    free(dir);
    return is_sticky;
}

int wetdbg_own_file_check_goal(const char *path)
{
    struct stat st, named;
    if (!lstat(path, &named) && is_held(path, &named))
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "%s is somebody else's, and only he can replace it there", path);
    if (stat(path, &st) || S_ISREG(st.st_mode))
        return 0;
    bool is_link = lstat(path, &named) == 0 && S_ISLNK(named.st_mode);
    return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is %s%s: only a regular file is replaced", path,
                       is_link ? "a link to " : "", wd_regular_kind(st.st_mode));
}

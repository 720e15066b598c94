/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A descriptor opened with O_PATH names a file and does nothing to it. What it says about the file
 * is then true of what is opened through /proc/self/fd, whoever renames what meanwhile.
 */
#include "common/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <wetdbg/errors.h>

const char *wd_regular_kind(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return "a regular file";
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFLNK:
        return "a symbolic link";
    case S_IFBLK:
        return "a block device";
    case S_IFCHR:
        return "a character device";
    default:
        return "of no known kind";
    }
}

/* Where /proc is not mounted the name is all there is: whoever may rename files in that directory
 * at this very moment can have another one opened, but never taken. */
static int open_by_name(int dir_fd, const char *name, const struct stat *looked_at, int flags)
{
    struct stat st;
    int fd = openat(dir_fd, name, flags);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && st.st_dev == looked_at->st_dev && st.st_ino == looked_at->st_ino)
        return fd;
    close(fd);
    return -ESTALE;
}

int wd_regular_reopen(int path_fd, int dir_fd, const char *name, const struct stat *st, int access)
{
    char self[64];
    int flags = access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    snprintf(self, sizeof(self), "/proc/self/fd/%d", path_fd);
    int fd = open(self, flags);
    if (fd >= 0)
        return fd;
    return errno == ENOENT ? open_by_name(dir_fd, name, st, flags) : -errno;
}

int wd_regular_try(int dir_fd, const char *name, enum wd_links links, int *fd, struct stat *st)
{
    int path_fd =
        openat(dir_fd, name, O_PATH | O_CLOEXEC | (links == WD_LINKS_REFUSE ? O_NOFOLLOW : 0));
    if (path_fd < 0)
        return -errno;
    int opened = fstat(path_fd, st)     ? -errno
                 : S_ISREG(st->st_mode) ? wd_regular_reopen(path_fd, dir_fd, name, st, O_RDONLY)
                                        : -WETDBG_ERR_CORRUPT;
    close(path_fd);
    if (opened < 0)
        return opened;
    *fd = opened;
    return 0;
}

int wd_regular_open(int dir_fd, const char *name, enum wd_links links, int *fd, struct stat *st)
{
    struct stat found;
    int err = wd_regular_try(dir_fd, name, links, fd, &found);
    if (err == -WETDBG_ERR_CORRUPT)
        return wetdbg_fail(err, "%s is %s, not a regular file", name,
                           wd_regular_kind(found.st_mode));
    if (err)
        return wetdbg_fail(err, "%s: %s", name, strerror(-err));
    if (st)
        *st = found;
    return 0;
}

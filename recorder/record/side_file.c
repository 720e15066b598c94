/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/record/side_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/regular.h"
#include <wetdbg/errors.h>

static int write_all(int fd, const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count) {
        ssize_t written = write(fd, at, count);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return -errno;
        at += written;
        count -= (size_t)written;
    }
    return 0;
}

int rec_side_file_write(int dir_fd, const char *name, const void *bytes, size_t count)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return wetdbg_fail_errno("cannot make %s", name);
    int err = write_all(fd, bytes, count);
    if (close(fd) && !err)
        err = -errno;
    if (!err)
        return 0;
    unlinkat(dir_fd, name, 0);
    errno = -err;
    return wetdbg_fail_errno("cannot write %s", name);
}

int rec_is_owned(const struct stat *st)
{
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int read_all(int fd, size_t size, char **bytes)
{
    *bytes = malloc(size + 1);
    if (!*bytes)
        return -ENOMEM;
    ssize_t got = pread(fd, *bytes, size, 0);
    if (got == (ssize_t)size) {
        (*bytes)[size] = 0;
        return 0;
    }
    free(*bytes);
    return got < 0 ? -errno : -EPERM;
}

int rec_side_file_read(int dir_fd, const char *name, int secret, size_t max_bytes, char **bytes,
                       size_t *count)
{
    struct stat st;
    int fd;
    int err = wd_regular_open(dir_fd, name, WD_LINKS_REFUSE, &fd, &st);
    if (err)
        return err == -WETDBG_ERR_CORRUPT ? -EPERM : err;
    if (!rec_is_owned(&st) || (secret && (st.st_mode & (S_IRWXG | S_IRWXO))) ||
        st.st_size > (off_t)max_bytes)
        err = -EPERM;
    if (!err)
        err = read_all(fd, (size_t)st.st_size, bytes);
    if (!err)
        *count = (size_t)st.st_size;
    close(fd);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Opening files whose names somebody else chose. To open a device can start a watchdog or rewind a
 * tape, to open a FIFO wakes whoever waits at its other end: so what a name leads to is looked at
 * first.
 */
#ifndef COMMON_REGULAR_H
#define COMMON_REGULAR_H

#include <stdbool.h>
#include <sys/stat.h>

/* How a symbolic link in the last part of the name is taken. Links in the directories before it are
 * always followed: /lib is one. */
enum wd_links {
    WD_LINKS_REFUSE,
    WD_LINKS_FOLLOW,
};

/*
 * Opens a regular file to be read (O_CLOEXEC); `name` is below dir_fd, or AT_FDCWD, or absolute.
 * Nothing else is ever opened: -WETDBG_ERR_CORRUPT, with a sentence that says what it is instead.
 * An errno, with a sentence, if it is not there or not to be read. *st, unless NULL, is of the very
 * file that was opened.
 */
int wd_regular_open(int dir_fd, const char *name, enum wd_links links, int *fd, struct stat *st);

/* The same for files that need not be there: without a sentence. `st` is needed; with
 * -WETDBG_ERR_CORRUPT it is of what is there instead. */
int wd_regular_try(int dir_fd, const char *name, enum wd_links links, int *fd, struct stat *st);

/* Opens, with the access that is asked for (O_RDONLY, O_RDWR), the regular file that path_fd
 * (O_PATH) names; the name and `st` of it serve where /proc is missing. A descriptor, or -errno
 * without a sentence. */
int wd_regular_reopen(int path_fd, int dir_fd, const char *name, const struct stat *st, int access);

/* "a directory", "a FIFO", "a block device" and so on. */
const char *wd_regular_kind(mode_t mode);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small files that we add to directories of ours, and believe when we meet them again. */
#ifndef RECORDER_RECORD_SIDE_FILE_H
#define RECORDER_RECORD_SIDE_FILE_H

#include <stddef.h>
#include <sys/stat.h>

/* Makes the file `name` below dir_fd, mode 0600, which must not be there yet (-EEXIST); all of it
 * is written or nothing stays. Errors are named. */
int rec_side_file_write(int dir_fd, const char *name, const void *bytes, size_t count);

/*
 * Reads a file that only this user can have written: regular, owned by our effective user, and
 * nobody else may write to it; with `secret` nobody else may read it either. *bytes, to be freed,
 * has *count bytes and a NUL after them. -EPERM if it is anything else, or longer than max_bytes;
 * an errno if it cannot be read. Says nothing (wetdbg_fail): that a file is not ours is no failure.
 */
int rec_side_file_read(int dir_fd, const char *name, int secret, size_t max_bytes, char **bytes,
                       size_t *count);

/* Whether only this user (and root) may have put there, or may change, what has this stat. */
int rec_is_owned(const struct stat *st);

#endif

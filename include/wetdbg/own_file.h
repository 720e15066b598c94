/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that we write. They hold memory of the user's programs, so nobody else reads them (0600);
 * and in directories where others may write too, a name may lead to something of theirs.
 */
#ifndef WETDBG_OWN_FILE_H
#define WETDBG_OWN_FILE_H

#include <wetdbg/api.h>

WETDBG_BEGIN

/*
 * Opens a file of this user's to read and write, or makes it: O_CLOEXEC, mode 0600 (an older file
 * gets that mode). -EPERM, with a sentence, if the name leads to anything but a regular file that
 * our effective user owns, that nobody else may write to, and that has no other name; other errnos,
 * with a sentence.
 */
int wetdbg_own_file_open(const char *path, int *fd);

/*
 * Whether a finished file may get this name by rename(2): 0 if there is nothing, a regular file, or
 * a link to one; else -WETDBG_ERR_USAGE and a sentence that says what is there. /dev/full would be
 * replaced as readily as a file; and that somebody else's file in /tmp cannot be is better said
 * before hours of work than after.
 */
int wetdbg_own_file_check_goal(const char *path);

WETDBG_END

#endif

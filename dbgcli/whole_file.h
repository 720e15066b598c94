/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that appear whole or not at all, at names that the user gave: the user's alone
 * (<wetdbg/own_file.h>). */
#ifndef DBGCLI_WHOLE_FILE_H
#define DBGCLI_WHOLE_FILE_H

#include <stddef.h>

/* Whether such a file could be made, for asking before long work: -WETDBG_ERR_USAGE or -errno, in a
 * sentence, if something else has that name, or the folder is not there or not writable. */
int cli_whole_file_check(const char *path);

/* One that is being written, as PATH.part. Embedded by its holder. */
struct cli_whole_file {
    const char *path; /* borrowed */
    char *part;
    int fd;
};

/* Opens it, empty. cli_whole_file_close() is due also after an error. Errors as above. */
int cli_whole_file_open(struct cli_whole_file *file, const char *path);

/* Gives it its name; or, with an error, which is returned, takes it away. -errno. */
int cli_whole_file_close(struct cli_whole_file *file, int err);

/* All three. */
int cli_whole_file_write(const char *path, const void *bytes, size_t size);

#endif

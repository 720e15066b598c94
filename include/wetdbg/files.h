/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The files, pipes and sockets that a run read and wrote, as far as its system calls tell: reads,
 * writes and mappings by descriptors, with positions by lseek, O_APPEND and truncation.
 *
 * Paths are as the program gave them. Two are the same file if they are the same once "." and ".."
 * are taken out; links and the current directory are not known.
 */
#ifndef WETDBG_FILES_H
#define WETDBG_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

struct wetdbg_files;

/* Passes over the run's events once, and finds the paths of what was read or written: that runs an
 * interval for each time that one was opened. *out is for wetdbg_files_close(), before the wet is
 * closed. */
int wetdbg_files_open(struct wetdbg *wet, struct wetdbg_files **out);
void wetdbg_files_close(struct wetdbg_files *files); /* NULL is fine */

struct wetdbg_file {
    const char
        *name; /* a path, or "standard input", "a pipe"...; NULL: a path that cannot be read */
    bool is_path;
    bool is_mapped;
    uint64_t reads, writes; /* calls */
    uint64_t read_bytes, written_bytes;
    wetdbg_time first_time, last_time; /* of these calls */
};

/* In order of first_time. Strings live as long as `files`. */
size_t wetdbg_files_count(const struct wetdbg_files *files);
struct wetdbg_file wetdbg_files_get(const struct wetdbg_files *files, size_t n);

/*
 * The file that was written to under a path, or the end of one in whole parts.
 * -WETDBG_ERR_NOT_FOUND if there is none, -WETDBG_ERR_USAGE if several are meant; both explained.
 */
int wetdbg_files_find_written(const struct wetdbg_files *files, const char *path, size_t *n);

/* The address of a piece of output that was in no memory of the program: splice, sendfile or
 * copy_file_range passed it on. */
#define WETDBG_OUTPUT_PASSED UINT64_MAX

/*
 * What was put out to file n, in order of time, with `offset` in the file: UINT64_MAX where that is
 * not known. *list is to be freed. 0, -ENOMEM or errors of the wet. Runs an interval for each call
 * that had a list of buffers.
 */
int wetdbg_files_outputs(const struct wetdbg_files *files, size_t n, struct wetdbg_output **list,
                         size_t *count);

/*
 * What was put out by a descriptor, as wetdbg_files_outputs() has it of a file: by write and kin,
 * sendmsg and kin, splice, sendfile and copy_file_range; with `offset` in all of it, in the order
 * in which the calls ended, as the criterion output:FD:OFFSET counts. Passes over the run's events
 * once. wetdbg_outputs() is faster, but has only write(2) and kin.
 */
int wetdbg_descriptor_outputs(struct wetdbg *wet, int fd, struct wetdbg_output **list,
                              size_t *count);

/*
 * Calls that changed a file while a mapping of the run showed those bytes, and of which a recording
 * has nothing: in that memory the replay has what was there before, so that values read there, what
 * came of them and slices that end there may be wrong. They are sendfile() into a file that is
 * mapped shared; any call that writes a file which is mapped privately, where the program had not
 * written the page itself; truncation to less; holes that fallocate() punches.
 */
struct wetdbg_unseen {
    wetdbg_time time, last_time; /* of the first such call, and of the last */
    uint64_t calls;
    const char *call; /* "sendfile"; static */
    char file[256];   /* as the program named what it mapped, perhaps cut; "": not known */
    uint64_t address; /* what of a mapping the first one changed: */
    uint64_t size_bytes;
    bool is_shared;
};

/*
 * One entry for each file and kind of call, in order of time; *list is to be freed. Passes over the
 * run's events once; runs intervals only where paths have to tell whether two descriptors are one
 * file (as written, so that what reached it by a link is not noticed unless fstat told). Bytes that
 * a file surely did not have before are no change; where that is not known, they may be.
 * 0, -ENOMEM or errors of the wet.
 */
int wetdbg_unseen_find(struct wetdbg *wet, struct wetdbg_unseen **list, size_t *count);

WETDBG_END

#endif

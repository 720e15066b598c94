/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file each call read or wrote, and where in it: descriptors followed through the run's system
 * calls. open and kin, dup and kin, fcntl, close, pipes; positions by lseek, ftruncate, O_APPEND and
 * O_TRUNC; tables of descriptors of children by vfork are their own.
 *
 * Not seen: what other processes do to a file, writes through shared mappings. How long a file was
 * before the run is known only if something told the program (fstat, lseek); where that is not so,
 * positions after O_APPEND are not known.
 */
#ifndef SLICER_DESCRIPTORS_H
#define SLICER_DESCRIPTORS_H

#include "wet/intervals.h"

#define SLC_OFFSET_UNKNOWN UINT64_MAX

struct slc_files;

enum slc_transfer_kind {
    SLC_TRANSFER_READ,
    SLC_TRANSFER_WRITE,
    SLC_TRANSFER_MAP,
    SLC_TRANSFER_TRUNCATE, /* the file ends at `offset` from now on */
};

struct slc_transfer {
    wetdbg_time time; /* of the call */
    enum slc_transfer_kind kind;
    int fd;
    uint32_t file; /* for slc_files_name() */
    uint64_t
        offset; /* in the file; SLC_OFFSET_UNKNOWN where there are no positions, or not known */
    uint64_t size;
};

/* Passes over the run's events once; runs nothing. *out is for slc_files_free(), before the wet is
 * closed. 0, -ENOMEM or errors of the wet. */
int slc_files_make(struct wetdbg *wet, struct slc_files **out);
void slc_files_free(struct slc_files *files);

/* What the call at a time did to a file; NULL if nothing. Lives as long as `files`. */
const struct slc_transfer *slc_files_at(const struct slc_files *files, wetdbg_time time);

/*
 * The path as the program gave it, or "standard input", "a pipe", "a socket"...; NULL if it cannot
 * be read. Runs an interval the first time. Lives as long as `files`.
 */
const char *slc_files_name(struct slc_files *files, uint32_t index);

/*
 * The call that had written a byte of a file last when the run came to `before`, and which byte of what it
 * wrote that was; 0 if the run had not, or that is not known, as of a run that writes very many files. May
 * run an interval for each file that is written, as above.
 */
wetdbg_time slc_files_writer(struct slc_files *files, uint32_t file, uint64_t offset,
                             wetdbg_time before, uint64_t *skipped);

/* A piece of a file as the run left it. */
struct slc_file_piece {
    wetdbg_time time; /* of the call that wrote it */
    uint64_t skipped; /* of what the call wrote, before this piece */
    uint64_t size;
};

/*
 * Who wrote bytes [offset, offset + size) of the file `path` last: a path as the program gave it, or
 * the end of one. Pieces in the order of the file, for the caller to free.
 * -WETDBG_ERR_NOT_FOUND, explained, if nothing in the run wrote some of them or no such file; -WETDBG_ERR_USAGE
 * if the path means several files.
 */
int slc_files_trace(struct slc_files *files, const char *path, uint64_t offset, uint64_t size,
                    struct slc_file_piece **pieces, size_t *count);

/* How many bytes of a file, from its start, what the run wrote to it reaches, as it left it. Errors of
 * slc_files_trace(), -WETDBG_ERR_NOT_FOUND if it wrote to no such file. */
int slc_files_size(struct slc_files *files, const char *path, uint64_t *size);

#endif

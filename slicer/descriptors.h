/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file each call read or wrote, and where in it: descriptors followed through the run's
 * system calls. open and kin, dup and kin, fcntl, close, pipes and pairs of sockets; positions by
 * lseek, ftruncate, O_APPEND and O_TRUNC; tables of descriptors of children by vfork are their own.
 *
 * Not seen: what other processes do to a file, stores to shared mappings, descriptors that come or
 * go in messages. How long a file was before the run is known only if something told the
 * program (fstat, lseek); where that is not so, positions after O_APPEND are not known.
 */
#ifndef SLICER_DESCRIPTORS_H
#define SLICER_DESCRIPTORS_H

#include "wet/intervals.h"

#define SLC_OFFSET_UNKNOWN UINT64_MAX
#define SLC_NO_FILE        UINT32_MAX
#define SLC_NO_FIFO        UINT32_MAX

struct slc_files;

enum slc_transfer_kind {
    SLC_TRANSFER_READ,
    SLC_TRANSFER_WRITE,
    SLC_TRANSFER_MAP,
    /* the file ends at `offset` from now on, and was `count` bytes long (SLC_OFFSET_UNKNOWN) */
    SLC_TRANSFER_TRUNCATE,
    SLC_TRANSFER_PASS, /* from `from_file` to `file`, through no memory */
    /* fallocate made `size` bytes zeros; of a size of UINT64_MAX all from `offset` on moved */
    SLC_TRANSFER_HOLE,
    SLC_TRANSFER_UNMAP,  /* `size` bytes from `address` on are no mapping any more */
    SLC_TRANSFER_NAME,   /* the file was opened by its path */
    SLC_TRANSFER_RENAME, /* the path at `address` is the one at `to_address` now */
    SLC_TRANSFER_LINK,
    SLC_TRANSFER_UNLINK,
    SLC_TRANSFER_SYMLINK, /* the path at `to_address` leads to the text at `address` */
    SLC_TRANSFER_CUT,     /* the file of the path at `address` ends at `offset` from now on */
    /* relative paths mean something else from now on: they begin at the path at `address`, or at
     * `file`; unknown if it has neither */
    SLC_TRANSFER_CHDIR,
    /* shared mappings show `size` bytes of the file at `address`, which the call of the WRITE or
     * PASS before it put there */
    SLC_TRANSFER_SHOW,
    /* the mapping of `size` bytes at `address` is at `to_address` now, `count` bytes */
    SLC_TRANSFER_MOVE,
    /* process_vm_readv and writev on the process itself: buffers that were read; and those, which
     * come next, that were written out of them */
    SLC_TRANSFER_LEND,
    SLC_TRANSFER_BORROW,
};

/* How the bytes lie in memory. */
enum slc_transfer_layout {
    SLC_LAYOUT_BUFFER,  /* at `address` */
    SLC_LAYOUT_VECTOR,  /* at `address` is a list of `count` struct iovec */
    SLC_LAYOUT_MESSAGE, /* ... a struct msghdr */
};

struct slc_transfer {
    wetdbg_time time;      /* of the call */
    uint64_t began, ended; /* the recording's events of its begin and its end */
    uint32_t sequence;     /* calls in the order in which they ended */
    enum slc_transfer_kind kind;
    int32_t number; /* of the call */
    int fd;
    uint32_t file; /* for slc_files_name(); SLC_NO_FILE: none */
    uint64_t
        offset; /* in the file; SLC_OFFSET_UNKNOWN where there are no positions, or not known */
    uint64_t size;
    enum slc_transfer_layout layout;
    bool is_append; /* at the file's end, wherever that is */
    bool is_peek;   /* what it read is still there */
    bool is_shared; /* MAP: stores go to the file */
    uint64_t address, count;
    uint32_t from_file, to_directory; /* PASS; of paths, where they are relative to one */
    uint64_t from_offset, to_address;
};

/* Whether a call put something out, whether it wrote that or passed it on. */
static inline bool slc_transfer_is_output(const struct slc_transfer *transfer)
{
    return (transfer->kind == SLC_TRANSFER_WRITE || transfer->kind == SLC_TRANSFER_PASS) &&
           transfer->size;
}

/* Passes over the run's events once; runs nothing. *out is for slc_files_free(), before the wet is
 * closed. 0, -ENOMEM or errors of the wet. */
int slc_files_make(struct wetdbg *wet, struct slc_files **out);
void slc_files_free(struct slc_files *files);

/* What the call at a time did to a file; NULL if nothing. Lives as long as `files`. */
const struct slc_transfer *slc_files_at(const struct slc_files *files, wetdbg_time time);

/* All that calls did, in the order of their times, and of their sequence. */
const struct slc_transfer *slc_files_transfers(const struct slc_files *files, size_t *count);

/* What a descriptor stands for, as long as it and its copies are open. */
enum slc_file_kind {
    SLC_FILE_OTHER, /* nothing that hands on bytes, or it was open already when the run began */
    SLC_FILE_PATH,
    SLC_FILE_MEMORY, /* memfd_create */
    SLC_FILE_FIFO,   /* an end of a pipe, or of a pair of sockets */
};

struct slc_file {
    enum slc_file_kind kind;
    wetdbg_time time;      /* of the call that opened it; 0: inherited */
    uint64_t path_address; /* 0: has none */
    uint32_t directory;    /* that the path is relative to; SLC_NO_FILE: the current one */
    bool is_new;           /* there was no file of that name */
    bool is_written;       /* a call put something there */
    bool has_inode;        /* it is a regular file, and fstat or statx said which: */
    uint64_t device, inode;
    uint32_t reads_fifo, writes_fifo; /* SLC_NO_FIFO */
};
uint32_t slc_files_count(const struct slc_files *files);
const struct slc_file *slc_files_get(const struct slc_files *files, uint32_t index);
/* Whether something told how long it is at the end of the run. */
bool slc_files_knows_end(const struct slc_files *files, uint32_t index);

/* Bytes that come out in the order in which they went in. */
struct slc_fifo {
    bool has_messages; /* a read takes one message, and loses what it has no room for */
    uint64_t foreign; /* from this event of the recording on others may use it; UINT64_MAX: never */
};
uint32_t slc_files_fifo_count(const struct slc_files *files);
const struct slc_fifo *slc_files_fifo(const struct slc_files *files, uint32_t index);

/*
 * The path as the program gave it, or "standard input", "a pipe", "a socket"...; NULL if it cannot
 * be read. Runs an interval the first time. Lives as long as `files`.
 */
const char *slc_files_name(struct slc_files *files, uint32_t index);

/* The file's path with its parts "." and ".." taken out; NULL if it has no path. Lives as long as
 * `files`. */
const char *slc_files_plain(struct slc_files *files, uint32_t index);

/* Whether a path, plain as above, is what somebody means by another one: the end of one is the
 * other, in whole parts. "." and ".." in that are taken out, those at its begin are left out. */
bool slc_path_is(const char *plain, const char *meant);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files as the run left them: which call wrote each byte. */
#ifndef SLICER_FILE_TRACE_H
#define SLICER_FILE_TRACE_H

#include "slicer/descriptors.h"

/* A piece of a file as the run left it. */
struct slc_file_piece {
    uint32_t call;    /* that wrote it: its index in slc_files_transfers() */
    uint64_t skipped; /* of what the call wrote, before this piece */
    uint64_t size;
};

/*
 * Who wrote bytes [offset, offset + size) of the file `path` last: a path as the program gave it,
 * or the end of one. Pieces in the order of the file, for the caller to free.
 * -WETDBG_ERR_NOT_FOUND, explained, if nothing in the run wrote some of them or no such file;
 * -WETDBG_ERR_USAGE if the path means several files.
 */
int slc_files_trace(struct slc_files *files, const char *path, uint64_t offset, uint64_t size,
                    struct slc_file_piece **pieces, size_t *count);

/* How many bytes of a file, from its start, what the run wrote to it reaches, as it left it. Errors
 * of slc_files_trace(), -WETDBG_ERR_NOT_FOUND if it wrote to no such file. */
int slc_files_size(struct slc_files *files, const char *path, uint64_t *size);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What channels.c, link.c and layouts.c share. */
#ifndef SLICER_CHANNELS_CHANNELS_PRIV_H
#define SLICER_CHANNELS_CHANNELS_PRIV_H

#include "slicer/channels/channels.h"

#define SLC_SENT_MAX  (UINT64_C(1) << 31) /* bytes of one call: Linux moves less */
#define SLC_LINKS_MAX (UINT32_C(1) << 24) /* what is delivered beyond them comes from outside */

/* Bytes [offset, offset + size) of what a call got are bytes [from, ...) of what `sender` sent; of
 * memory at address `from` if that is SLC_NO_CALL. */
struct slc_link {
    uint64_t offset, size, from;
    uint32_t sender;
};

struct slc_layout; /* slicer/channels/layouts.c */

struct slc_channels {
    struct wetdbg *wet;
    struct slc_files *files;
    const struct slc_transfer *list; /* of `files` */
    size_t count;
    uint32_t *order;      /* by sequence */
    uint64_t *places;     /* by number: of its first byte; and one more */
    uint64_t *put_out;    /* by number: by its descriptor, before it */
    bool *is_written;     /* by file */
    bool *is_read;        /* by file */
    bool *is_sent;        /* by fifo: something was put into it */
    bool *is_taken;       /* ... was taken from it */
    bool is_shared;       /* by a mapping; or the process copied its own memory by a call */
    uint64_t first_named; /* event: when something was put into a file of a path */
    uint64_t last_named;  /* ... when something was last read from one */
    /* Once slc_channels_link() has been called: */
    struct slc_link *links;
    size_t link_count, link_capacity;
    uint32_t *first_links; /* by number, and one more; NULL: not yet */
    struct slc_receipt *receipts;
    size_t *first_receipts;
    struct slc_layout **layouts; /* by number; NULL: not asked for */
    uint64_t kept_bytes;
    struct slc_span one; /* the buffer of the call that was asked for last */
};

/* Whether a transfer has places. */
bool slc_transfer_sends(const struct slc_transfer *transfer);

/* Finds out who delivered what who had sent. 0, -ENOMEM or an error of the wet. */
int slc_channels_link(struct slc_channels *channels);

void slc_layouts_fini(struct slc_channels *channels);

#endif

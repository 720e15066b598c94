/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A section's bytes on their way into the file: compressed and checksummed, not placed yet.
 *
 * Packing depends on nothing but its arguments, so that several threads, each with a packer of its
 * own, make the same file as one.
 */
#ifndef WET_STORE_PACK_H
#define WET_STORE_PACK_H

#include "common/buf.h"
#include "wet/store/codec.h"

struct wet_packer;

struct wet_packed {
    uint32_t kind;
    uint64_t key;
    uint64_t raw_bytes;
    uint64_t hash; /* of the frames */
    enum wet_form form;
    struct wd_buf frame; /* or several, codec.h */
};

/* NULL if memory is short. For one thread at a time. */
struct wet_packer *wet_packer_new(void);
void wet_packer_free(struct wet_packer *packer); /* NULL is fine */

/* Packs a section with an effort of `level` into `out`, whose buffer is used again. -ENOMEM,
 * -WETDBG_ERR_MACHINE. */
int wet_packer_pack(struct wet_packer *packer, uint32_t kind, uint64_t key, const void *bytes,
                    size_t size_bytes, int level, struct wet_packed *out);
void wet_packed_fini(struct wet_packed *packed);

#endif

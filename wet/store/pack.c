/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/store/pack.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#include <wetdbg/errors.h>

struct wet_packer {
    ZSTD_CCtx *zstd;
};

struct wet_packer *wet_packer_new(void)
{
    struct wet_packer *packer = calloc(1, sizeof(*packer));
    if (packer && !(packer->zstd = ZSTD_createCCtx())) {
        free(packer);
        return NULL;
    }
    return packer;
}

void wet_packer_free(struct wet_packer *packer)
{
    if (packer)
        ZSTD_freeCCtx(packer->zstd);
    free(packer);
}

int wet_packer_pack(struct wet_packer *packer, uint32_t kind, uint64_t key, const void *bytes,
                    size_t size_bytes, int level, struct wet_packed *out)
{
    int err = wet_encode(packer->zstd, kind, bytes, size_bytes, level, &out->frame, &out->form);
    if (err)
        return err;
    out->kind = kind;
    out->key = key;
    out->raw_bytes = size_bytes;
    out->hash = XXH64(out->frame.data, out->frame.size_bytes, 0);
    return 0;
}

void wet_packed_fini(struct wet_packed *packed)
{
    wd_buf_fini(&packed->frame);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a section's bytes to those that are stored, and back.
 *
 * A section is stored in one of two *forms*: whole, as one zstd frame; or in parts, each with a
 * *width* w: byte i of the part belongs to plane i % w, and each plane is a frame of its own. Bytes
 * of numbers that differ little are alike in their upper planes, which a compressor of strings does
 * not see while they lie in a row. docs/format.md has the bytes.
 */
#ifndef WET_STORE_CODEC_H
#define WET_STORE_CODEC_H

#include "common/buf.h"

struct ZSTD_CCtx_s;

enum wet_form {
    WET_FORM_WHOLE = 0,
    WET_FORM_PARTS = 1,
};

#define WET_PARTS_MAX 8
#define WET_WIDTH_MAX 8

/*
 * Replaces what is in `out`. `level` is an effort on zstd's scale: kinds that gain more by a higher
 * one get it. Depends on nothing but the arguments. -ENOMEM, -WETDBG_ERR_MACHINE.
 */
int wet_encode(struct ZSTD_CCtx_s *zstd, uint32_t kind, const void *bytes, size_t size_bytes,
               int level, struct wd_buf *out, enum wet_form *form);

/* Writes exactly `raw_bytes` to `to`. -WETDBG_ERR_CORRUPT without a message, -ENOMEM. */
int wet_decode(uint32_t form, const uint8_t *stored, size_t stored_bytes, uint8_t *to,
               size_t raw_bytes);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vector and mask registers out of a standard (not compacted) XSAVE image. A register's parts lie
 * in several components; those that the image does not have in use are zero.
 */
#ifndef RECORDER_FEED_FEED_REGISTERS_H
#define RECORDER_FEED_FEED_REGISTERS_H

#include "recorder/feed/feed_xsave.h"

#define FEED_VECTOR_BYTES_MAX 64

/* How wide vector registers are in this layout: 16, 32, or 64 bytes; with 64 there are 32 of them
 * and 8 mask registers, else 16 of them and none. */
unsigned feed_vector_bytes(const struct feed_xsave_layout *layout);

/*
 * Vector register `number` (0 to 31), and zeros up to 64 bytes. -WETDBG_ERR_UNSUPPORTED if the
 * layout has no such register; -WETDBG_ERR_NOT_FOUND if the image is too short to hold it.
 */
int feed_vector_read(const struct feed_xsave_layout *layout, const uint8_t *image,
                     size_t size_bytes, unsigned number, uint8_t bytes[FEED_VECTOR_BYTES_MAX]);

/* Mask register `number` (0 to 7). Errors as above. */
int feed_mask_read(const struct feed_xsave_layout *layout, const uint8_t *image, size_t size_bytes,
                   unsigned number, uint64_t *mask);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *     register      bytes 0..15       16..31           32..63
 *     0 to 15       SSE (legacy)      2: YMM_Hi128     6: ZMM_Hi256
 *     16 to 31      7: Hi16_ZMM, all 64 bytes
 *     k0 to k7      5: opmask, 8 bytes each
 */
#include "recorder/feed/feed_registers.h"

#include <stdbool.h>
#include <string.h>

#include <wetdbg/errors.h>

enum {
    XMM_OFFSET = 160,
    COMPONENT_SSE = 1,
    COMPONENT_YMM_HIGH = 2,
    COMPONENT_MASKS = 5,
    COMPONENT_ZMM_HIGH = 6,
    COMPONENT_ZMM_16_TO_31 = 7,
    LEGACY_VECTORS = 16,
    VECTORS = 32,
    MASKS = 8,
};

static bool has(const struct feed_xsave_layout *layout, unsigned component)
{
    return layout->component[component].size_bytes != 0;
}

unsigned feed_vector_bytes(const struct feed_xsave_layout *layout)
{
    bool is_512 = has(layout, COMPONENT_MASKS) && has(layout, COMPONENT_ZMM_HIGH) &&
                  has(layout, COMPONENT_ZMM_16_TO_31);
    if (!has(layout, COMPONENT_YMM_HIGH))
        return 16;
    return is_512 ? FEED_VECTOR_BYTES_MAX : 32;
}

/* `count` bytes of a component from `offset` of the image on. */
static int part_read(const uint8_t *image, size_t size_bytes, unsigned component, uint64_t offset,
                     void *bytes, size_t count)
{
    uint64_t in_use;
    if (size_bytes < FEED_XSAVE_MIN_BYTES || offset + count > size_bytes)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "vector registers are not known here");
    memcpy(&in_use, image + FEED_XSAVE_LEGACY_BYTES, sizeof(in_use));
    if (in_use >> component & 1)
        memcpy(bytes, image + offset, count);
    else
        memset(bytes, 0, count);
    return 0;
}

/* Element `index` of a component that is an array of them. */
static int element_read(const struct feed_xsave_layout *layout, const uint8_t *image,
                        size_t size_bytes, unsigned component, unsigned index, void *bytes,
                        size_t count)
{
    return part_read(image, size_bytes, component,
                     layout->component[component].offset + index * (uint64_t)count, bytes, count);
}

int feed_vector_read(const struct feed_xsave_layout *layout, const uint8_t *image,
                     size_t size_bytes, unsigned number, uint8_t bytes[FEED_VECTOR_BYTES_MAX])
{
    unsigned width = feed_vector_bytes(layout);
    memset(bytes, 0, FEED_VECTOR_BYTES_MAX);
    if (number >= VECTORS || (number >= LEGACY_VECTORS && width < FEED_VECTOR_BYTES_MAX))
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "this processor has no AVX-512, and so no vector register %u", number);
    if (number >= LEGACY_VECTORS)
        return element_read(layout, image, size_bytes, COMPONENT_ZMM_16_TO_31,
                            number - LEGACY_VECTORS, bytes, FEED_VECTOR_BYTES_MAX);
    int err =
        part_read(image, size_bytes, COMPONENT_SSE, XMM_OFFSET + 16 * (uint64_t)number, bytes, 16);
    if (!err && width >= 32)
        err = element_read(layout, image, size_bytes, COMPONENT_YMM_HIGH, number, bytes + 16, 16);
    if (!err && width == FEED_VECTOR_BYTES_MAX)
        err = element_read(layout, image, size_bytes, COMPONENT_ZMM_HIGH, number, bytes + 32, 32);
    return err;
}

int feed_mask_read(const struct feed_xsave_layout *layout, const uint8_t *image, size_t size_bytes,
                   unsigned number, uint64_t *mask)
{
    if (number >= MASKS || feed_vector_bytes(layout) < FEED_VECTOR_BYTES_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "this processor has no AVX-512, and so no mask register %u", number);
    return element_read(layout, image, size_bytes, COMPONENT_MASKS, number, mask, sizeof(*mask));
}

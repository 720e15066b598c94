/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which state components an XSAVE image calls in use depends on the machine, too: on Zen 3 and Zen
 * 5 a zeroing idiom, a load of zeros, and being switched away from in between leave different bits
 * for the same registers. Here a component is in use if its registers are not as they begin: x87,
 * SSE, AVX and the three of AVX-512. Of the others the processor's word is taken.
 */
#ifndef RECORDER_AGENT_IN_USE_H
#define RECORDER_AGENT_IN_USE_H

#include <stdbool.h>
#include <stdint.h>

#define AGT_XS_X87      1u
#define AGT_XS_SSE      2u
#define AGT_XS_AVX      4u
#define AGT_XS_MASKS    0x20u /* k0 to k7 */
#define AGT_XS_ZMM_HIGH 0x40u /* bytes 32 to 63 of zmm0 to zmm15 */
#define AGT_XS_ZMM_16   0x80u /* zmm16 to zmm31 */
#define AGT_XS_AVX512   (AGT_XS_MASKS | AGT_XS_ZMM_HIGH | AGT_XS_ZMM_16)
#define AGT_XS_SETTLED  (AGT_XS_X87 | AGT_XS_SSE | AGT_XS_AVX | AGT_XS_AVX512)

#define AGT_XS_MXCSR_OFF     24u
#define AGT_XS_HEADER_OFF    512u
#define AGT_XS_COMPACT_OFF   520u  /* which components a compacted image has room for */
#define AGT_XS_AVX_OFF       576u  /* compacted, too: it is the first one there */
#define AGT_XS_SETTLED_BYTES 2688u /* up to the end of AVX-512 with Intel; AMD's ends before */

/* Where the registers of a component are; x87 has two places, MXCSR between them. 0 bytes: not in
 * the image. */
struct agt_xs_part {
    uint16_t component, off, bytes;
};

#define AGT_XS_PARTS 7

struct agt_xs_layout {
    struct agt_xs_part parts[AGT_XS_PARTS];
};

/* Of the standard form; the components of AVX-512 lie where this processor has them, 0 being
 * nowhere. */
static inline void agt_xs_layout_standard(struct agt_xs_layout *layout, const uint16_t off[3])
{
    static const uint16_t parts[AGT_XS_PARTS][3] = {
        {AGT_XS_X87, 0, 24},      {AGT_XS_X87, 32, 128},
        {AGT_XS_SSE, 160, 256},   {AGT_XS_AVX, AGT_XS_AVX_OFF, 256},
        {AGT_XS_MASKS, 0, 64},    {AGT_XS_ZMM_HIGH, 0, 512},
        {AGT_XS_ZMM_16, 0, 1024},
    };
    for (unsigned i = 0; i < AGT_XS_PARTS; i++) {
        struct agt_xs_part *part = &layout->parts[i];
        part->component = parts[i][0];
        part->off = i < 4 ? parts[i][1] : off[i - 4];
        part->bytes = i < 4 || part->off ? parts[i][2] : 0;
    }
}

/* Of the compacted form with room for `components`: each follows the one before, MPX's two with 64
 * bytes each. */
static inline void agt_xs_layout_compact(struct agt_xs_layout *layout, uint64_t components)
{
    static const uint16_t sizes[] = {
        [2] = 256, [3] = 64, [4] = 64, [5] = 64, [6] = 512, [7] = 1024};
    uint16_t off[8] = {0}, end = AGT_XS_AVX_OFF;
    for (unsigned i = 2; i < 8; i++) {
        off[i] = components >> i & 1 ? end : 0;
        end = (uint16_t)(end + (off[i] ? sizes[i] : 0));
    }
    agt_xs_layout_standard(layout, off + 5);
    if (!off[2])
        layout->parts[3].bytes = 0;
}

static inline bool agt_xs_part_begins(const uint8_t *image, const struct agt_xs_part *part)
{
    uint32_t differ = 0, from = 0;
    if (part->off == 0) { /* the x87 control word */
        differ = image[0] ^ 0x7fu;
        differ |= image[1] ^ 0x03u;
        from = 2;
    }
    for (uint32_t i = from; i < part->bytes; i++)
        differ |= image[part->off + i];
    return !differ;
}

/* Those of `components` whose registers lie within `bytes` of an image: AGT_XS_* bits. */
static inline uint64_t agt_xs_within(const struct agt_xs_layout *layout, uint64_t components,
                                     uint64_t bytes)
{
    uint64_t within = 0;
    for (uint32_t i = 0; i < AGT_XS_PARTS; i++) {
        const struct agt_xs_part *part = &layout->parts[i];
        if (part->bytes && (uint64_t)part->off + part->bytes <= bytes)
            within |= part->component;
    }
    return within & components;
}

/* Those of `components`, all of which are in the image, that are not as they begin: AGT_XS_*
 * bits. */
static inline uint64_t agt_xs_in_use(const struct agt_xs_layout *layout, const uint8_t *image,
                                     uint64_t components)
{
    uint64_t in_use = 0;
    for (uint32_t i = 0; i < AGT_XS_PARTS; i++) {
        const struct agt_xs_part *part = &layout->parts[i];
        if (components & part->component && !agt_xs_part_begins(image, part))
            in_use |= part->component;
    }
    return in_use;
}

#endif

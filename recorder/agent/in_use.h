/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which state components an XSAVE image calls in use depends on the machine, too: on Zen 3 a zeroing
 * idiom, a load of zeros, and being switched away from in between leave different bits for the same
 * registers. Here a component is in use if its registers are not as they begin. x87, SSE and AVX only;
 * of the others the processor's word is taken.
 */
#ifndef RECORDER_AGENT_IN_USE_H
#define RECORDER_AGENT_IN_USE_H

#include <stdbool.h>
#include <stdint.h>

#define AGT_XS_X87 1u
#define AGT_XS_SSE 2u
#define AGT_XS_AVX 4u

#define AGT_XS_MXCSR_OFF     24u
#define AGT_XS_HEADER_OFF    512u
#define AGT_XS_AVX_OFF       576u /* compacted, too: it is the first one there */
#define AGT_XS_SETTLED_BYTES 832u

/* Where the registers of a component are; x87 has two places, MXCSR between them. */
struct agt_xs_part {
    uint16_t component, off, bytes;
};

static const struct agt_xs_part agt_xs_parts[] = {{AGT_XS_X87, 0, 24},
                                                  {AGT_XS_X87, 32, 128},
                                                  {AGT_XS_SSE, 160, 256},
                                                  {AGT_XS_AVX, AGT_XS_AVX_OFF, 256}};
#define AGT_XS_PARTS (sizeof(agt_xs_parts) / sizeof(agt_xs_parts[0]))

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

/*
 * Which of `components`, all of them in the image, have registers that are not as they begin:
 * AGT_XS_* bits. With AGT_XS_AVX the image has AGT_XS_SETTLED_BYTES, else AGT_XS_AVX_OFF.
 */
static inline uint64_t agt_xs_in_use(const uint8_t *image, uint64_t components)
{
    uint64_t in_use = 0;
    for (uint32_t i = 0; i < AGT_XS_PARTS; i++) {
        const struct agt_xs_part *part = &agt_xs_parts[i];
        if (components & part->component && !agt_xs_part_begins(image, part))
            in_use |= part->component;
    }
    return in_use;
}

#endif

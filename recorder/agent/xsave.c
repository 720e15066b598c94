/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/agent/xsave.h"

static void copy(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    for (uint64_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

static bool mxcsr_begins(const uint8_t *image)
{
    const uint8_t *at = image + AGT_XS_MXCSR_OFF;
    return at[0] == 0x80 && at[1] == 0x1f && at[2] == 0 && at[3] == 0;
}

void agt_xsave_settle(uint8_t *image, const struct agt_xs_layout *layout, const uint8_t *before,
                      uint64_t bytes, uint64_t components, enum agt_xsave_kind kind)
{
    uint8_t *header = image + AGT_XS_HEADER_OFF; /* the low byte of XSTATE_BV */
    uint64_t stored = agt_xs_within(layout, *header & components, bytes);
    uint64_t unused = stored & ~agt_xs_in_use(layout, image, stored);
    if (kind == AGT_XSAVE_COMPACT && !mxcsr_begins(image))
        unused &= ~(uint64_t)AGT_XS_SSE;
    *header &= (uint8_t)~unused;
    if (kind == AGT_XSAVE_WHOLE)
        return;
    for (uint32_t i = 0; i < AGT_XS_PARTS; i++) {
        const struct agt_xs_part *part = &layout->parts[i];
        if (unused & part->component)
            copy(image + part->off, before + part->off, part->bytes);
    }
    if (kind == AGT_XSAVE_COMPACT && unused & AGT_XS_SSE)
        copy(image + AGT_XS_MXCSR_OFF, before + AGT_XS_MXCSR_OFF, 8);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where this processor puts AVX-512 into an XSAVE image of the standard form: Intel's and AMD's
 * differ. */
#ifndef RECORDER_REPLAY_XSAVE_HERE_H
#define RECORDER_REPLAY_XSAVE_HERE_H

#include "common/cpuid.h"
#include "recorder/agent/in_use.h"

/* Into `off` what agt_xs_layout_standard() takes: zeros where the system has no AVX-512. Up to
 * where the settled components go is returned. */
static inline uint32_t rep_xsave_here(uint16_t off[3])
{
    const uint32_t image_bytes = wd_cpuid_ask(0xd, 0).ebx;
    uint32_t end = AGT_XS_AVX_OFF + 256;
    off[0] = off[1] = off[2] = 0;
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t sizes[] = {64, 512, 1024};
        struct wd_cpuid is = wd_cpuid_ask(0xd, 5 + i); /* size, offset */
        uint32_t component_end = is.ebx + is.eax;
        if (is.eax != sizes[i] || is.ebx < AGT_XS_AVX_OFF + 256 || component_end > image_bytes ||
            component_end > AGT_XS_SETTLED_BYTES)
            continue;
        off[i] = (uint16_t)is.ebx;
        end = component_end > end ? component_end : end;
    }
    return end;
}

#endif

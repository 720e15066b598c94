/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Vector state from the recording processor's XSAVE layout to this one's.
 *
 * Both are the standard (not compacted) form, but the offsets of components above SSE are each
 * processor's own (CPUID leaf 0xd).
 */
#ifndef RECORDER_FEED_FEED_XSAVE_H
#define RECORDER_FEED_FEED_XSAVE_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "recorder/rr_trace/rr_trace.h"

#define FEED_XSAVE_LEGACY_BYTES 512u
#define FEED_XSAVE_HEADER_BYTES 64u
#define FEED_XSAVE_MIN_BYTES    (FEED_XSAVE_LEGACY_BYTES + FEED_XSAVE_HEADER_BYTES)
#define FEED_XSAVE_MAX_BYTES    65536u /* Intel's AMX needs 11 KiB */

struct feed_xsave_layout {
    uint64_t xcr0;
    uint32_t size_bytes; /* of a whole image */
    uint32_t mxcsr_mask; /* bits that MXCSR may have */
    struct {
        uint32_t offset, size_bytes; /* size 0: no such component */
    } component[64];
};

/* -WETDBG_ERR_UNSUPPORTED if this processor has no XSAVE (or its system does not use it). */
int feed_xsave_layout_here(struct feed_xsave_layout *layout);

/* What the component is called; "unknown" for those that have no name. */
const char *feed_xsave_component(unsigned i);

/* From the trace's CPUID records; components without a record have size 0. */
void feed_xsave_layout_of_trace(const struct rrt_header *header, struct feed_xsave_layout *layout);

/*
 * Replaces `out` with an image of to->size_bytes. `image` is 512 bytes (FXSAVE) or a whole XSAVE
 * area; it is untrusted. A component in its initial state stays marked so. -WETDBG_ERR_UNSUPPORTED
 * if a component in use does not exist here; -WETDBG_ERR_CORRUPT if `image` is too short for what
 * it claims to hold; -ENOMEM.
 */
int feed_xsave_convert(const struct feed_xsave_layout *from, const struct feed_xsave_layout *to,
                       const uint8_t *image, size_t size_bytes, struct wd_buf *out);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What xsave and its kin store depends on which components are in use (in_use.h), and so would the
 * bytes that they leave. So the agent is asked before and behind each of them, and makes what was
 * stored that of the registers alone. Done afterwards: however the processor is made to see it
 * before, an interrupt may undo that.
 */
#ifndef RECORDER_AGENT_XSAVE_H
#define RECORDER_AGENT_XSAVE_H

#include "recorder/agent/in_use.h"

/* How an instruction stores components that are not in use. */
enum agt_xsave_kind {
    AGT_XSAVE_NONE,  /* it is none of them */
    AGT_XSAVE_WHOLE, /* xsave: as they begin */
    AGT_XSAVE_OPT,   /* xsaveopt: not at all */
    /* xsavec: not at all, and MXCSR only with SSE, which it calls in use by MXCSR, too */
    AGT_XSAVE_COMPACT,
};

/*
 * `image`, which `layout` is of, was stored by an instruction of `kind`, asked for `components`
 * (edx:eax); `before` has the `bytes` that were there, not more than AGT_XS_SETTLED_BYTES: as far
 * as there was room. Afterwards the image is as if those components that are as they begin had not
 * been in use.
 */
void agt_xsave_settle(uint8_t *image, const struct agt_xs_layout *layout, const uint8_t *before,
                      uint64_t bytes, uint64_t components, enum agt_xsave_kind kind);

#endif

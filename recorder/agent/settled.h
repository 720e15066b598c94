/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where xsaveopt and xsavec left components as they were (xsave.h) because their registers are as
 * they begin. The recording's processor may have called some of them in use, and then what they
 * begin as was stored; the program does not look at that, but a place is found by its stack. The
 * last few areas are remembered, so that a line of the stack can be compared with either.
 */
#ifndef RECORDER_AGENT_SETTLED_H
#define RECORDER_AGENT_SETTLED_H

#include "recorder/agent/xsave.h"

#define AGT_SETTLED_MAX 16

struct agt_settled {
    uint64_t address, bytes; /* of the area, at most AGT_XS_SETTLED_BYTES */
    uint64_t unused;         /* components that were not stored: AGT_XS_* */
    bool is_compact;
    struct agt_xs_layout layout;
    uint8_t before[AGT_XS_SETTLED_BYTES]; /* what was there instead */
};

/* Remembers an area, in place of the one at the same address or of the oldest. */
void agt_settled_note(const struct agt_settled *area);

/*
 * The n-th variant of the line of `bytes` (a multiple of 8) at `address`, which holds `line`, into
 * `variant`: as if some of the components had been stored. Words that have changed since stay.
 * False: there are no more.
 */
bool agt_settled_variant(unsigned n, uint64_t address, const uint64_t *line, uint32_t bytes,
                         uint64_t *variant);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The difference between two inputs as deltas, and inputs made of some of them. Each delta replaces
 * some bytes of the passing input by some of the failing one (at most one of each, as a rule; one
 * of the two may be nothing). Without a passing input, each byte of the failing one is a delta.
 */
#ifndef DELTA_DELTA_INPUT_H
#define DELTA_DELTA_INPUT_H

#include "common/buf.h"
#include "delta/edit_script.h"
#include <wetdbg/delta.h>
#include <wetdbg/delta_program.h>

/* Inputs up to here: a delta has 16 bytes. */
#define DLT_INPUT_BYTES_MAX (64u << 20)

#define DLT_UNITS_MAX 40

/* Embedded by its holder. The two inputs are borrowed. */
struct dlt_input {
    const uint8_t *pass, *fail;
    size_t pass_bytes, fail_bytes;
    struct dlt_hunk *deltas; /* in order */
    size_t count;
    struct wetdbg_delta_unit units[DLT_UNITS_MAX]; /* from coarse to fine, of owned starts */
    size_t unit_count;
    struct wetdbg_delta_node *nodes; /* of WETDBG_DD_TREE without a passing input, else NULL */
    size_t node_count;
};

/* Finds deltas and units. All zero before; dlt_input_fini() is due after any result. */
int dlt_input_init(struct dlt_input *input, const struct wetdbg_dd_bytes *pass,
                   const struct wetdbg_dd_bytes *fail, enum wetdbg_dd_unit unit);
void dlt_input_fini(struct dlt_input *input);

/* Appends the candidate of a set; `origins`, unless NULL, has room for the failing input's size,
 * and gets for each byte its offset in the failing input, or UINT64_MAX if it is of the passing one
 * alone. */
int dlt_input_render(const struct dlt_input *input, const struct wetdbg_delta_set *set,
                     struct wd_buf *to, uint64_t *origins);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a report says of a run's output: size, hash, and where it is not what was expected. */
#ifndef DELTA_OUTPUT_LOOK_H
#define DELTA_OUTPUT_LOOK_H

#include "delta/delta_report.h"
#include <wetdbg/delta_program.h>

struct dlt_output_look {
    const struct wetdbg_dd_bytes *expected;
    struct dlt_report *report;
    void *hash;
};

/* All of the output goes through the look, piece by piece. -ENOMEM; else dlt_output_end() is due,
 * which completes the report. */
int dlt_output_begin(struct dlt_output_look *look, const struct wetdbg_dd_bytes *expected,
                     struct dlt_report *report);
void dlt_output_piece(struct dlt_output_look *look, const void *bytes, size_t size);
void dlt_output_end(struct dlt_output_look *look);

#endif

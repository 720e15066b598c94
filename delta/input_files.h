/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that are rows of items, each ended by a zero byte: words, variables, names of a
 * directory's files. */
#ifndef DELTA_INPUT_FILES_H
#define DELTA_INPUT_FILES_H

#include <wetdbg/delta_program.h>

/* The failing input of `options`, or the passing one (empty where there is none). `bytes->data` is
 * for the caller to free. Errors with sentences. */
int dlt_input_read(const struct wetdbg_dd_options *options, bool is_fail,
                   struct wetdbg_dd_bytes *bytes);

/* What the files that items name are like now, so that a change is noticed: sizes and times, as a
 * hash. */
uint64_t dlt_items_state(const struct wetdbg_dd_bytes *items);

#endif

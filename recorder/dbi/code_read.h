/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program's code, read from its pages and decoded: one fragment of it. */
#ifndef RECORDER_DBI_CODE_READ_H
#define RECORDER_DBI_CODE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/dbi/dbi.h"
#include "recorder/dbi/decode.h"

/* Fills dbi->code from `pc`, with `limit` instructions at most. 0; 1 with *fault when not even one
 * can be fetched, or with `seen_only` not all from pages that are here; or an error. */
int dbi_code_get(struct dbi *dbi, uint64_t pc, unsigned limit, bool seen_only,
                 struct dbi_fetch_fault *fault);

/* How much of an instruction has to be known in a page with these flags. */
enum dbi_detail dbi_detail_of(const struct dbi *dbi, unsigned page_flags);

#endif

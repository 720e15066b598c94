/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which code is going to run, where that is known (dbi_expect()). */
#ifndef RECORDER_DBI_EXPECT_H
#define RECORDER_DBI_EXPECT_H

#include <stdbool.h>
#include <stdint.h>

struct dbi;

/* Whether code at `pc` may run, as far as dbi_expect() said so. */
bool dbi_is_expected(const struct dbi *dbi, uint64_t pc);

#endif

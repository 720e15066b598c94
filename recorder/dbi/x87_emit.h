/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The address of the last x87 instruction, kept for whoever asks the program. */
#ifndef RECORDER_DBI_X87_EMIT_H
#define RECORDER_DBI_X87_EMIT_H

#include "recorder/dbi/work.h"

/* What is due before instruction `at` and behind it, if it is one of the x87 unit's. */
void dbi_x87_before(struct work *w, unsigned at);
void dbi_x87_after(struct work *w, unsigned at);

#endif

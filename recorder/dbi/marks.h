/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marks of written lines, with DBI_COUNT: whoever looks at memory later finds what changed. */
#ifndef RECORDER_DBI_MARKS_H
#define RECORDER_DBI_MARKS_H

#include "recorder/dbi/work.h"

/* Marks, before instruction `at`, the lines that it will write; the agent does where only it can
 * tell. */
void dbi_marks_emit(struct work *w, unsigned at);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code in pages that nobody watches: such a fragment compares the program's code with what it was
 * made from. */
#ifndef RECORDER_DBI_CODE_CHECK_H
#define RECORDER_DBI_CODE_CHECK_H

#include "recorder/dbi/work.h"

/* Emits the comparison at the start of the fragment, if it needs one. What is there instead of its
 * code may read any flag, so they are kept even where this code would not mind. */
void dbi_check_emit(struct work *w);

/* Emits where dbi_check_emit() leads if the code is another one: for the agent. Cold code, at the
 * very end. */
void dbi_check_stub_emit(struct work *w);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions that ask the processor what it is, and writes of segment registers. */
#ifndef RECORDER_DBI_PROCESSOR_EMIT_H
#define RECORDER_DBI_PROCESSOR_EMIT_H

#include "recorder/dbi/work.h"

/* Emits the last instruction: rdpid, lsl, or a write of ds, es or ss. */
void dbi_processor_emit(struct work *w, unsigned at);

#endif

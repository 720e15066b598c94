/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls, returns and indirect jumps: how they find the code of where they go. */
#ifndef RECORDER_DBI_LOOKUP_H
#define RECORDER_DBI_LOOKUP_H

#include "recorder/dbi/work.h"

/* Pushes the return address and goes to `target` (0: to that in r11), at instruction `at`. */
void dbi_call_emit(struct work *w, unsigned at, uint64_t next, uint64_t target);

/* Returns; r11 and rcx are in their homes. */
void dbi_return_emit(struct work *w, unsigned at, uint16_t extra_bytes);

/* Goes on at the jump's target in r11; r11 and rcx are in their homes. */
void dbi_lookup_emit(struct work *w);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Registers and memory of an interval, seen backward: what they held just before any of its
 * instructions. The interval is run once, and all that it wrote is kept until the next one is
 * loaded.
 */
#ifndef SLICER_CONFIDENCE_VALUES_H
#define SLICER_CONFIDENCE_VALUES_H

#include "slicer/slicer.h"

struct slc_values;

/* 0 or -ENOMEM. *out is for slc_values_free(), before the wet is closed. */
int slc_values_new(struct wetdbg *wet, struct slc_values **out);
void slc_values_free(struct slc_values *values); /* NULL is fine */

/* Runs `interval`, which is borrowed until the next one is loaded. Cheaper if that is the one
 * before the last one that was loaded. Errors of running an interval. */
int slc_values_load(struct slc_values *values, const struct wet_interval *interval);

/*
 * A general register just before the instruction at `time` (first_time to first_time + instructions
 * of the interval), which never gets later from one call for any register or memory to the next.
 * False if it is not known: the stack pointer never is.
 */
bool slc_values_register(struct slc_values *values, uint32_t task, unsigned gpr, wetdbg_time time,
                         uint64_t *value);

/* The same for up to 8 bytes of memory, the lowest first. Memory that is not mapped at the
 * interval's end is 0. */
int slc_values_memory(struct slc_values *values, uint64_t address, unsigned bytes, wetdbg_time time,
                      uint64_t *value);

#endif

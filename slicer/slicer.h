/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slices as the library's own parts ask for them: <wetdbg/slice.h>, and what needs locations. */
#ifndef SLICER_SLICER_H
#define SLICER_SLICER_H

#include "wet/intervals.h"
#include <wetdbg/slice.h>

/*
 * Registers and memory just before the instruction at `time` (1..instructions), for programs that
 * have no text: that instance is the criterion. With neither registers nor memory it is all that
 * the instruction uses.
 */
int slc_criterion_of_places(struct wetdbg *wet, wetdbg_time time, const struct ins_regset *regs,
                            uint64_t address, uint64_t size_bytes, struct wetdbg_criterion **out);

/* wetdbg_slice_initials() of a slice with record_parents, where bytes side by side that have other
 * users are apart. */
const struct wetdbg_slice_initial *slc_slice_initials_by_user(const struct wetdbg_slice *slice,
                                                              size_t *count);

/* The address of the instance at a time of the run, if a slice with record_parents has it, or that
 * is where it faulted; else 0. */
uint64_t slc_slice_pc_at(const struct wetdbg_slice *slice, wetdbg_time time);

/* Whether 8 bytes are more likely an address, which differs from run to run, than a value. */
static inline bool slc_looks_like_address(uint64_t bytes)
{
    return bytes >> 32 && !(bytes >> 47);
}

#endif

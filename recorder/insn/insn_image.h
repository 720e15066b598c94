/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What xsave and its kin touch of the image at their operand: the operand is a bound for whatever a
 * processor may have, and these are the bytes that an execution stored or loaded. See chapter 13 of
 * volume 1 of Intel's manual, "Managing state using the XSAVE feature set".
 */
#ifndef RECORDER_INSN_INSN_IMAGE_H
#define RECORDER_INSN_INSN_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/insn/insn_ranges.h"

#define INS_IMAGE_STATES_OFF 512 /* XSTATE_BV, then XCOMP_BV */

/* The slots behind the address: what edx:eax asked for, and after the instruction what the image's
 * header says. */
enum ins_image_slot {
    INS_IMAGE_RAX,
    INS_IMAGE_RDX,
    INS_IMAGE_STATES, /* XSTATE_BV: components that are not as they begin */
    INS_IMAGE_LAYOUT, /* XCOMP_BV: bit 63 says that the image is compacted */
    INS_IMAGE_SLOTS,
};

bool ins_is_image(unsigned mnemonic);

/* Whether the ranges are all that was stored and no more. What xsaveopt finds unchanged since an
 * xrstor it may leave out. */
bool ins_image_is_exact(unsigned mnemonic);

/*
 * The bytes that an execution with these slots touched, in ascending order, at least the header's.
 * xsave stores what was asked for, xsaveopt and xsavec of that what is in use, and xrstor loads the
 * latter. Where components lie, and which there are, is the running processor's, on which the
 * slots were made. Any slots are safe.
 */
unsigned ins_image_ranges(const struct ins_info *info, const uint64_t *slots,
                          struct ins_range ranges[INS_RANGES_MAX]);

#endif

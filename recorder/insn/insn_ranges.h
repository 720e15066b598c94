/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which bytes an executed instruction's memory operand touched, from the recorded slots. */
#ifndef RECORDER_INSN_INSN_RANGES_H
#define RECORDER_INSN_INSN_RANGES_H

#include "recorder/insn/insn.h"

struct ins_range {
    uint64_t address;
    uint64_t size_bytes;
};

/* The flow of a cmov that did not apply, as a bit of ins_flow.kinds: `slots` are those of its
 * execution, whose last one says whether it took its operand. 0 for other instructions. */
static inline unsigned ins_skipped_flow(const struct ins_info *info, const uint64_t *slots)
{
    if (!(info->flags & INS_IS_CMOV))
        return 0;
    return slots[info->mem_count] & 1 ? INS_FLOW_NOT_TAKEN : INS_FLOW_TAKEN;
}

/* How many slots (words of 8 bytes) an execution of the instruction has: see struct wet_exec. */
unsigned ins_slot_count(const struct ins_info *info);

/* Whether ins_operand_ranges() gives no more than what was touched, though the operand's flags
 * leave open how much that is. */
bool ins_ranges_are_exact(const struct ins_info *info, unsigned operand);

/* Every other byte of a 512-bit vector. */
#define INS_RANGES_MAX 32

/*
 * The ranges of memory operand `operand`, in the order of its elements. `slots` are those of the
 * instruction's execution, from its first operand on: one address per operand; behind those of a
 * rep instruction rcx before, rcx after, and the first operand's address after; behind the address
 * of an operand with a VSIB index the 64-byte images of index and mask (of a mask register: 8 bytes
 * of it); behind all of these what info->choice says. Returns how many: 1, of VSIB those lanes that
 * the mask chooses, perhaps 0, of a masked move and its kind (INS_CHOICE_BYTES) runs of the bytes
 * that were taken or written, perhaps 0, too, of xsave and its kin (INS_CHOICE_IMAGE) what is in
 * use and was asked for. A rep instruction that did nothing has an empty one.
 */
unsigned ins_operand_ranges(const struct ins_info *info, unsigned operand, const uint64_t *slots,
                            struct ins_range ranges[INS_RANGES_MAX]);

#endif

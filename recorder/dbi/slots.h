/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which slots of an execution need a word of its ring record.
 *
 * An operand whose address differs by a constant from that of an earlier one in the same fragment
 * needs none, nor does one whose address the code alone tells. Which ones those are follows from
 * the code.
 */
#ifndef RECORDER_DBI_SLOTS_H
#define RECORDER_DBI_SLOTS_H

#include "recorder/dbi/decode.h"

/* Whether an instruction's operands are base + index * scale + disp and no more. Their words are
 * without disp; of other instructions each slot has its word, which is all of it. */
bool dbi_slots_plain(const struct ins_info *info);

/* A gather has 17 slots, anything else less. */
#define DBI_SLOTS_MAX (DBI_INSN_MAX * 17)

/*
 * Fills slots[DBI_SLOTS_MAX] for a fragment (with info of its memory operands) and gives their
 * number; *words: how many words its records have behind the first one.
 */
unsigned dbi_slots_derive(const struct dbi_code *code, struct dbi_slot *slots, unsigned *words);

#endif

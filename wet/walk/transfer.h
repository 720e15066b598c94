/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How instructions lead on, for those who walk over nodes. */
#ifndef WET_WALK_TRANSFER_H
#define WET_WALK_TRANSFER_H

#include "recorder/insn/insn.h"
#include <wetdbg/walk.h>

static inline enum wetdbg_transfer wet_transfer_of(enum ins_class klass)
{
    switch (klass) {
    case INS_PLAIN:
        return WETDBG_TRANSFER_NONE;
    case INS_JCC:
        return WETDBG_TRANSFER_BRANCH;
    case INS_JMP:
        return WETDBG_TRANSFER_JUMP;
    case INS_JMP_INDIRECT:
        return WETDBG_TRANSFER_INDIRECT_JUMP;
    case INS_CALL:
    case INS_CALL_INDIRECT:
        return WETDBG_TRANSFER_CALL;
    case INS_RET:
        return WETDBG_TRANSFER_RETURN;
    case INS_SYSCALL:
        return WETDBG_TRANSFER_SYSCALL;
    default:
        return WETDBG_TRANSFER_OTHER;
    }
}

#endif

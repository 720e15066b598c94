/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What control flow needs to know of one instruction. */
#ifndef WET_MODEL_INSN_FLOW_H
#define WET_MODEL_INSN_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mdl_insn_kind {
    MDL_INSN_PLAIN,
    MDL_INSN_NOP,
    MDL_INSN_CALL,
    MDL_INSN_JUMP,
    MDL_INSN_BRANCH, /* conditional */
    MDL_INSN_RETURN,
    MDL_INSN_STOP /* hlt, ud2 */
};

struct mdl_insn {
    uint64_t pc;
    uint8_t length;
    enum mdl_insn_kind kind;
    bool is_direct;  /* calls, jumps, branches: `target` is it */
    uint64_t target; /* of a direct one */
    uint64_t slot;   /* of an indirect one through [rip + x]: that address; else 0 */
};

/* 0, or -1 if the bytes are no instruction. */
int mdl_decode(uint64_t pc, const uint8_t *bytes, size_t available, struct mdl_insn *insn);

/* The same without its short cut for common instructions. */
int mdl_decode_any(uint64_t pc, const uint8_t *bytes, size_t available, struct mdl_insn *insn);

#endif

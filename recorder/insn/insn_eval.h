/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an integer instruction computes: the processor's results, from any values of its operands.
 * So it can be told what an executed instruction would have made of another value.
 *
 * Not all instructions are known here, but all that compilers make of arithmetic on integers. What
 * moves bytes only (INS_FLOW_COPIES) is not: its flow says it all.
 */
#ifndef RECORDER_INSN_INSN_EVAL_H
#define RECORDER_INSN_INSN_EVAL_H

#include "recorder/insn/insn.h"

#define INS_EVAL_INPUTS  3
#define INS_EVAL_RESULTS 2

/* Bits of rflags. */
enum ins_rflag {
    INS_RFLAG_CF = 1 << 0,
    INS_RFLAG_PF = 1 << 2,
    INS_RFLAG_AF = 1 << 4,
    INS_RFLAG_ZF = 1 << 6,
    INS_RFLAG_SF = 1 << 7,
    INS_RFLAG_DF = 1 << 10,
    INS_RFLAG_OF = 1 << 11,
};

enum ins_eval_kind {
    INS_EVAL_NONE,
    INS_EVAL_GPR,
    INS_EVAL_MEMORY,
    INS_EVAL_IMMEDIATE,
};

/* Where a value is before, or after, the instruction: `bytes` (1, 2, 4, 8) of a general register
 * from byte `first` on, or of memory. A result of 4 bytes in a register clears the upper ones. */
struct ins_eval_place {
    uint8_t kind; /* enum ins_eval_kind */
    uint8_t gpr, first;
    uint8_t operand; /* index in ins_info.mems */
    uint8_t bytes;
    uint64_t immediate; /* cut to `bytes` */
};

struct ins_eval {
    uint16_t op; /* of insn_eval.c */
    uint8_t bytes;
    uint8_t condition; /* enum ins_condition */
    uint8_t scale;     /* of lea's index */
    uint8_t input_count;
    bool keeps_flags;    /* it writes none, other than its like */
    uint16_t flags_used; /* enum ins_rflag */
    struct ins_eval_place inputs[INS_EVAL_INPUTS];
    struct ins_eval_place results[INS_EVAL_RESULTS];
};

struct ins_eval_result {
    uint64_t values[INS_EVAL_RESULTS];
    uint64_t flags;
    uint64_t known; /* flags that `flags` has a value of: written, and not undefined */
};

/* False if the bytes are no instruction that is known here. `code` is untrusted. */
bool ins_eval_make(const uint8_t *code, size_t len, struct ins_eval *out);

/* What it computes of inputs, which are cut to their places' sizes, and flags. False if it would
 * fault, or leaves its result as it was. */
bool ins_eval_run(const struct ins_eval *eval, const uint64_t inputs[INS_EVAL_INPUTS],
                  uint64_t flags, struct ins_eval_result *result);

/* The first result alone, of the instructions that are met most: false for all others, and where
 * ins_eval_run() is. */
bool ins_eval_value(const struct ins_eval *eval, const uint64_t inputs[INS_EVAL_INPUTS],
                    uint64_t *value);

/*
 * How many of the lowest bytes of input `i` are determined by as many of the lowest bytes of the
 * first result, of which the lowest `bytes` are known, whatever the value: addition and what is
 * like it, for which the other inputs are as they were. 0: none; several of its values may give one
 * result.
 */
unsigned ins_eval_determined(const struct ins_eval *eval, unsigned i,
                             const uint64_t inputs[INS_EVAL_INPUTS], unsigned bytes);

/* The flags that a condition looks at; 0 for those of rcx. */
uint64_t ins_condition_flags(unsigned condition);

static inline uint64_t ins_low_bytes(unsigned bytes)
{
    return bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * bytes) - 1;
}

#endif

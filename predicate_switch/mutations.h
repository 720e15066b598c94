/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What one instruction could have been instead: the same place in the code, other bytes. */
#ifndef PREDICATE_SWITCH_MUTATIONS_H
#define PREDICATE_SWITCH_MUTATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/mutate.h>

#define PSW_MUTATIONS_MAX 48 /* of one instruction */

struct psw_mutation {
    enum wetdbg_mutation kind;
    uint8_t round;        /* 0: likely; the larger, the less */
    uint8_t offset, size; /* what of the instruction is replaced */
    uint8_t bytes[WETDBG_MUTANT_BYTES_MAX];
    int64_t was, is;
};

/* What a variable is relative to: registers as instructions encode them; none, if it is global. */
enum { PSW_RSP = 4, PSW_RBP = 5, PSW_GLOBAL = 16 };

/* A variable that an instruction accesses at a fixed place. */
struct psw_variable {
    uint8_t base;     /* PSW_RSP, PSW_RBP or PSW_GLOBAL */
    uint8_t bytes;    /* that are accessed */
    int64_t location; /* displacement from the register; of a global one its address */
};

/* Which variable it is; false if it accesses none. */
bool psw_mutation_variable(const uint8_t *code, size_t length, uint64_t pc,
                           struct psw_variable *variable);

/* The mutations of an instruction at `pc`, PSW_MUTATIONS_MAX at most, by round. `others` are the
 * variables of its function, each once. Their number; 0 also for what is no instruction. */
unsigned psw_mutations_of(const uint8_t *code, size_t length, uint64_t pc,
                          const struct psw_variable *others, size_t other_count,
                          struct psw_mutation list[PSW_MUTATIONS_MAX]);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One instruction under test: what it is, and states to run it in. */
#ifndef TESTS_INSN_ORACLE_CASE_H
#define TESTS_INSN_ORACLE_CASE_H

#include <Zydis/Zydis.h>

#include "oracle_cpu.h"

struct oracle_case {
    struct ins_info info;
    ZydisDecodedInstruction zi;
    ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
    uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
    uint64_t random; /* the generator's state, never 0 */
};

struct oracle_range {
    uint64_t start, size;
};

uint64_t oracle_random(struct oracle_case *at);

/* The memory of info.mems[i] in this state, worked out from insn.h's definition of addresses. Of a
 * list of addresses (INS_MEM_VSIB*), the first element's place without its index. */
struct oracle_range oracle_operand_range(const struct oracle_case *at, unsigned i,
                                         const struct oracle_state *state);
/* oracle_operand_range(), and for a list everything that oracle_random_state lets its indices
 * reach. */
struct oracle_range oracle_reachable_range(const struct oracle_case *at, unsigned i,
                                           const struct oracle_state *in);
/* Gives what the mask chooses of a list of addresses: how many ranges, as insn_ranges.h works them
 * out. */
#define ORACLE_LANES_MAX 16
unsigned oracle_lanes(const struct oracle_case *at, unsigned i, const struct oracle_state *state,
                      struct oracle_range lanes[ORACLE_LANES_MAX]);
bool oracle_in_memory(const struct oracle_range *range);
bool oracle_overlap(const struct oracle_range *a, const struct oracle_range *b);

/* A new state, new contents of oracle_pristine, and the code set up for oracle_run. Displacements
 * without a base register are rewritten, in code and info. False when an operand cannot be placed
 * in the test's memory. */
bool oracle_random_state(struct oracle_case *at, struct oracle_state *state);

#endif

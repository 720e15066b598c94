/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Code in the place of an instruction that is longer than it. A cave is the end of a mapping of
 * code that has nothing in it: what is put there is what comes before the instruction, the
 * instruction, what comes behind it, and the way back; the instruction becomes a jump there.
 */
#ifndef PREDICATE_SWITCH_CAVES_H
#define PREDICATE_SWITCH_CAVES_H

#include <stdint.h>

#include <wetdbg/model.h>
#include <wetdbg/mutate.h>
#include <wetdbg/wet.h>

struct psw_caves;

/* The caves of the code that is mapped at `time`. Errors of wetdbg_state_open(), -ENOMEM. */
int psw_caves_open(struct wetdbg *wet, wetdbg_time time, struct psw_caves **out);
void psw_caves_close(struct psw_caves *caves); /* NULL is fine */

/* Reads the function that the next ones are about. Of code that cannot be read, or is not all
 * instructions, none can be in a cave. 0 or -ENOMEM. */
int psw_caves_function(struct psw_caves *caves, const struct wetdbg_function *function);

/* Says that a jump may lead to `pc`, beside those that the function itself makes. */
void psw_caves_target(struct psw_caves *caves, uint64_t pc);

/* Where the code of a cave begins that the instruction at `pc` can jump to; 0: it cannot. Then a
 * jump fits there, and nothing is known to lead to the instructions behind it that it covers. */
uint64_t psw_caves_at(struct psw_caves *caves, uint64_t pc);

struct psw_cave_code {
    uint8_t jump[5];
    uint8_t size;
    uint8_t bytes[WETDBG_MUTANT_CAVE_MAX];
};

/* For a pc that psw_caves_at() has a cave for. `before` is executed before the instruction and
 * `after` behind it; both stay as they are. Whether all of it fits. */
bool psw_cave_make(const struct psw_caves *caves, uint64_t pc, const uint8_t *before,
                   unsigned before_size, const uint8_t *after, unsigned after_size,
                   struct psw_cave_code *code);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an instruction is about to read, in memory or in a register, to be compared between runs. */
#ifndef PREDICATE_SWITCH_READING_H
#define PREDICATE_SWITCH_READING_H

#include "common/hash.h"
#include "predicate_switch/asked.h"
#include "predicate_switch/tracer.h"
#include <wetdbg/implicit.h>

struct psw_reading {
    uint64_t pc;
    /* Of memory: which operand, by index (of an instruction without one that has the byte,
     * mem_count), and the address of that, or of the byte. */
    unsigned operand;
    uint64_t address;
    /* The part of the operand, or of the register, that is looked at; size 0: what the register
     * holds is not known. */
    uint64_t off, size;
    uint16_t location;                        /* of a register, else WETDBG_LOCATION_NONE */
    uint8_t bytes[WETDBG_IMPLICIT_BYTES_MAX]; /* of a register those that are not read are 0 */
};

/* A use in the recorded run. Errors of states, -EFAULT, -WETDBG_ERR_CORRUPT. */
int psw_reading_take(struct wetdbg *wet, const struct psw_use *use, struct psw_reading *out);

/* What uses of the recorded run read, each looked at once. */
struct psw_readings {
    struct psw_known_reading *items;
    uint32_t count, capacity;
    struct wd_index by_use;
};
/* psw_reading_take(), or what it gave before. *out is borrowed until the next is asked for. */
int psw_readings_get(struct psw_readings *readings, struct wetdbg *wet, const struct psw_use *use,
                     const struct psw_reading **out);
void psw_readings_fini(struct psw_readings *readings);

/* What the same instruction reads at a time of the run that a tracer has taken, in the same
 * register or by the same operand as `like`. -WETDBG_ERR_NOT_FOUND, without a sentence, if another
 * instruction is there; errors as above, and of the tracer. */
int psw_reading_take_like(struct psw_tracer *tracer, wetdbg_time time,
                          const struct psw_reading *like, struct psw_reading *out);

#endif

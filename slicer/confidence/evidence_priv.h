/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the evidence of one instruction is put together: what it made (evidence.c), what it used for
 * that (operands.c; of vectors vector_pins.c), and where that was (addresses.c).
 */
#ifndef SLICER_CONFIDENCE_EVIDENCE_PRIV_H
#define SLICER_CONFIDENCE_EVIDENCE_PRIV_H

#include "slicer/confidence/evidence.h"

struct slc_move; /* slicer/pieces.h */

#define SLC_NO_REGISTER (-1)

/* A value that the instance made: in a general register, or up to 8 bytes of memory. */
struct slc_made {
    int reg; /* SLC_NO_REGISTER: memory */
    uint64_t address;
    bool has_value; /* value is known */
    bool is_pinned; /* ... by something */
    uint64_t value, mask;
    struct slc_pinned pinned;
    const struct slc_range *range;
    struct slc_alt *alt;   /* what tests leave; NULL: all */
    uint64_t equal, exact; /* bits */
    double confidence;
};

#define SLC_MADE_MAX 4

struct slc_work {
    struct slc_stepping *stepping;
    struct slc_pinned_task *task;
    const struct slc_instance *in;
    const struct ins_info *info;
    const uint64_t *slots; /* of the statement */
    struct slc_profile *profile;
    unsigned skipped;
    struct slc_made made[SLC_MADE_MAX];
    unsigned made_count;
    struct slc_flag_pin flags[SLC_FLAG_PINS_MAX];
    unsigned flag_count;
    bool is_wide_pinned, is_wide_exact;
    struct slc_pin_at {
        uint64_t at; /* spot or address */
        slc_pin pin;
        bool is_memory;
    } * given; /* what is to be pinned before it */
    size_t given_count, given_capacity;
    struct slc_judge judge;
};

/* ---- pins for what was used ---- */

/* Has a byte pinned, a spot or one of memory, once the instruction has been passed; the pin is
 * given up if memory is short. 0 or -ENOMEM. */
int slc_give(struct slc_work *work, bool is_memory, uint64_t at, slc_pin pin);

/* Pins the bytes of a place by a test. */
int slc_give_test(struct slc_work *work, bool is_memory, uint64_t at, unsigned bytes,
                  const struct slc_test *like);

/* Pins all of a general register as equal. */
int slc_give_equal(struct slc_work *work, unsigned gpr);

/* Hands the pin of a byte of a move's destination, counted from its start, to that of the source
 * that it came from, or drops it. */
int slc_hand_on(struct slc_work *work, const struct slc_move *move, unsigned byte, slc_pin pin);

#define SLC_VECTOR_BYTES 64u

/* Takes over the pins of a vector register's bytes that the instruction made, and hands them to
 * what these were made of. */
int slc_hand_lanes(struct slc_work *work, unsigned vector, const slc_pin pins[]);

/* The flags of `condition` decided something that is known to be right. */
void slc_pin_flags(struct slc_pinned_task *task, unsigned condition, bool holds, bool varies);

bool slc_defines_register(const struct ins_flow *flow, unsigned gpr);

/* What was used for all that is pinned of what the instruction made. 0 or an error of the wet. */
int slc_pin_operands(struct slc_work *work);

/* ---- addresses ---- */

/* Whether what lies at another address would have done as well as what was loaded. */
typedef bool (*slc_loaded_fn)(const struct slc_work *work, const void *arg, uint64_t loaded);

/* Pins what the address of a load was made of, if what lay at some other address that the
 * instruction has had would not have done. */
int slc_pin_load_address(struct slc_work *work, unsigned operand, slc_loaded_fn would_do,
                         const void *arg);

/* Pins the address of a store: had it been stored elsewhere, what was there before would be there
 * still. */
int slc_pin_store_address(struct slc_work *work, const struct slc_made *made, unsigned operand);

#endif

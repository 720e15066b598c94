/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile of a run: which values each instruction has produced, which addresses it has read,
 * which ways its branch has gone. It is what range(n) is in X. Zhang, N. Gupta, R. Gupta, Pruning
 * dynamic slices with confidence, PLDI 2006.
 *
 * Of more than SLC_RANGE_MAX different values a sample is kept: those whose hash is low enough.
 */
#ifndef SLICER_CONFIDENCE_RANGES_H
#define SLICER_CONFIDENCE_RANGES_H

#include "recorder/insn/insn_eval.h"
#include "recorder/insn/insn_lanes.h"
#include "slicer/slicer.h"

#define SLC_RANGE_MAX     4096
#define SLC_ADDRESSES_MAX 256 /* of more, nothing is known */

/* Distinct values, in no order. */
struct slc_range {
    uint64_t *values;     /* by hash; 0 is kept apart */
    uint64_t least, most; /* no value is less, or more; both 0 if nothing but 0 is there */
    uint32_t count, capacity;
    uint8_t level; /* one value of 2^level is here */
    bool has_zero;
};

/* How many values there are in all, for sampled ranges an estimate. */
double slc_range_size(const struct slc_range *range);
/* The values, `count` of them with 0; values[i] for i below slc_range_places(), where *is_there. */
static inline size_t slc_range_places(const struct slc_range *range)
{
    return (size_t)range->capacity + 1;
}
static inline bool slc_range_get(const struct slc_range *range, size_t i, uint64_t *value)
{
    *value = i < range->capacity ? range->values[i] : 0;
    return i < range->capacity ? *value != 0 : range->has_zero;
}
/* Where a value is among them, or slc_range_places() if it is not there. */
size_t slc_range_find(const struct slc_range *range, uint64_t value);

/* What is known of one instruction address. */
struct slc_profile {
    uint64_t pc;
    const struct ins_info *info; /* the wet's */
    const uint8_t *code;         /* of it, the wet's */
    bool is_judged, can_run;     /* slc_profile_eval() */
    bool is_laned;               /* slc_profile_lanes() was asked for: */
    struct ins_lanes *lanes;     /* or NULL */
    bool went, stayed;           /* of a conditional branch */
    bool has_many;               /* addresses: too many */
    uint8_t result_count;
    uint16_t address_count, address_capacity;
    struct ins_eval eval;
    uint64_t *addresses; /* that its first memory operand had; sorted once the profile is made */
    struct slc_result {
        int8_t reg;    /* general register, or -1: memory */
        uint64_t mask; /* of the bytes of the register that it defines */
        struct slc_range
            range; /* of these, where they are in the register; of the memory operand */
    } * results;
    struct slc_range targets; /* of an indirect jump or call */
};

struct slc_ranges;

/* Runs the intervals up to the one of `last`, so many of them that they hold `instructions` (0: all
 * of the run, `last` means nothing then). `is_unwanted` is asked now and then whether to give up,
 * and told how many instructions are done; may be NULL. *out is for slc_ranges_free(), before the
 * wet is closed. -ENOMEM, -WETDBG_ERR_INTERRUPTED, errors of running intervals. */
int slc_ranges_make(struct wetdbg *wet, wetdbg_time last, uint64_t instructions,
                    bool (*is_unwanted)(void *arg, uint64_t done), void *arg,
                    struct slc_ranges **out);
void slc_ranges_free(struct slc_ranges *ranges); /* NULL is fine */

/* The first interval that was run for it, and the one behind the last. */
uint64_t slc_ranges_first(const struct slc_ranges *ranges);
uint64_t slc_ranges_end(const struct slc_ranges *ranges);

/* The profile of an address; NULL if it did not run. */
struct slc_profile *slc_ranges_find(struct slc_ranges *ranges, uint64_t pc);

/* How to compute what it computes; NULL if that is not known. */
const struct ins_eval *slc_profile_eval(struct slc_profile *profile);

/* How the bytes of its vector result come from its operands; NULL if that is not known, or memory
 * is short. */
const struct ins_lanes *slc_profile_lanes(struct slc_profile *profile);

/* What it put into a general register (-1: memory); NULL if it did not. */
const struct slc_result *slc_profile_result(const struct slc_profile *profile, int reg);

/* The bytes of a general register that an instruction defines, as a mask of its value. */
uint64_t slc_defined_mask(const struct ins_info *info, unsigned gpr);

#endif

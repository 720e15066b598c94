/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the program's own instructions made in a slice, and what else they make: for replacements of
 * values (<wetdbg/replace.h>). */
#ifndef PREDICATE_SWITCH_MADE_VALUES_H
#define PREDICATE_SWITCH_MADE_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/hash.h"
#include <wetdbg/slice.h>
#include <wetdbg/wet.h>

#define PSW_INSTANCES_MAX 16 /* of one instruction */
#define PSW_NATURAL_MAX   64 /* different values of one instruction that are kept */

/* An instance, and what it made. */
struct psw_made_instance {
    wetdbg_time time;
    uint32_t distance;
    uint64_t address, value;
};

/* An instruction and one of the places that it writes: a register, or memory of one size. */
struct psw_made {
    uint64_t pc;
    int reg;                                               /* -1: memory */
    unsigned size;                                         /* bytes */
    size_t line;                                           /* in wetdbg_slice_lines() */
    struct psw_made_instance instances[PSW_INSTANCES_MAX]; /* by time */
    unsigned instance_count;
    struct psw_natural {
        uint64_t value, count;
    } natural[PSW_NATURAL_MAX];
    unsigned natural_count;
    uint32_t next; /* 1 + index of the next one of the instruction; 0: none */
};

struct psw_made_values {
    struct psw_made *items;
    size_t count, capacity;
    /* Inside: instructions of the slice, and where they are in the tables. */
    struct psw_made_code *code;
    size_t code_count, code_capacity;
    struct wd_index by_pc;
    size_t most;
};

/*
 * Of each own instruction of the slice at most `most` instances (PSW_INSTANCES_MAX is the limit)
 * before `until`, the nearest first; and the values that it made in the 16 last intervals with some
 * of them, and of each of the passing runs. psw_made_values_fini() is due in any case. -ENOMEM,
 * errors of running intervals, -WETDBG_ERR_INTERRUPTED if `is_unwanted` (may be NULL) says so.
 */
int psw_made_values_find(struct psw_made_values *made, struct wetdbg *wet,
                         const struct wetdbg_slice *slice, size_t most, wetdbg_time until,
                         struct wetdbg *const *passing, size_t passing_count,
                         bool (*is_unwanted)(void *arg), void *arg);
void psw_made_values_fini(struct psw_made_values *made);

/* What could stand in for a value that was made: natural ones first. At most `max` are written;
 * how many. */
unsigned psw_made_alternatives(const struct psw_made *made, uint64_t value, uint64_t *list,
                               unsigned max);

#endif

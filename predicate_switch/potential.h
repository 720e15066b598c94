/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Potential dependences: decisions that kept something from being written which the slice uses.
 * Nothing in the run leads there. (Zhang, Tallam, Gupta, Gupta, PLDI 2007, section 2.)
 *
 * A use u of a byte that was written at d depends potentially on a predicate's instance between d
 * and u that went past a store to that byte. Whether the other side would have written there is
 * known of stores that wrote there at some time of the run, of stores to an address that the
 * code has, and of those through the frame pointer that other code of the function uses: an
 * approximation, which only serves to try these first.
 */
#ifndef PREDICATE_SWITCH_POTENTIAL_H
#define PREDICATE_SWITCH_POTENTIAL_H

#include "predicate_switch/order_priv.h"

/* Of the slice's uses on which a predicate might have had an influence, one. */
struct psw_omission {
    uint32_t predicate;
    uint32_t way;              /* that leads to the store, by index */
    uint32_t distance;         /* of the definition that was used instead */
    wetdbg_time after, before; /* the definition (0: it is initial), the use */
    uint64_t address;          /* of a byte that was used */
    bool is_near;              /* the store wrote near the byte, and not to it */
};

struct psw_omissions {
    struct psw_omission *items; /* by predicate */
    size_t count, capacity;
};

#define PSW_OMISSIONS_EACH 16 /* of each way, the nearest uses */

/* Runs all intervals before the failure once. Memory: 80 bytes for each byte of memory that the
 * slice's instances handed on. */
int psw_omissions_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                       struct psw_omissions *omissions);

#endif

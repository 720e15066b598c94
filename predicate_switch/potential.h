/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Potential dependences: decisions that kept something from being written which the slice uses.
 * Nothing in the run leads there. (Zhang, Tallam, Gupta, Gupta, PLDI 2007, section 2.)
 *
 * A use u of a byte that was written at d depends potentially on a predicate's instance between d
 * and u that went past a store to that byte. Whether the other side would have written there is
 * known of stores that wrote there at some time of the run, of stores to an address that the
 * code has, and of those through the frame pointer that other code of the function uses. Of all
 * other stores it may be guessed. Of a register that was defined at d the code tells which blocks
 * could have defined it for u instead (reaching.h). An approximation, which only serves to try
 * these first.
 */
#ifndef PREDICATE_SWITCH_POTENTIAL_H
#define PREDICATE_SWITCH_POTENTIAL_H

#include "predicate_switch/order_priv.h"

/* How it is known that the other side writes there: the less sure, the later. */
enum psw_omission_kind {
    PSW_OMITS_PLACE, /* a store wrote that byte at some time, or can write nothing else; or
                      * instructions there define that register */
    PSW_OMITS_NEAR,  /* a store wrote to the same 64 bytes */
    PSW_OMITS_BLIND, /* a store through a pointer never ran, so it might write anything */
    PSW_OMITS_CALL,  /* a store through a pointer, or a library's function, might write elsewhere */
};

/* Of the slice's uses on which a predicate might have had an influence, one. */
struct psw_omission {
    uint32_t predicate;
    uint32_t way;              /* that leads to the store, by index */
    uint32_t distance;         /* of the definition that was used instead */
    wetdbg_time after, before; /* the definition (0: it is initial), the use */
    uint64_t address;          /* of a byte that was used, */
    uint16_t location;         /* ... or, unless WETDBG_LOCATION_NONE, which register */
    enum psw_omission_kind kind;
};

struct psw_omissions {
    struct psw_omission *items; /* by predicate */
    size_t count, capacity;
};

#define PSW_OMISSIONS_EACH 16 /* of each way, the nearest uses */

/* `is_thorough`: also registers, and the last two kinds for the nearest uses of all. Runs all
 * intervals before the failure once; -WETDBG_ERR_INTERRUPTED where the candidates' is_unwanted says
 * so. Memory: while it gathers 300 bytes for each of
 * the nearest uses of every eight bytes, and of every 64, that the slice's instances handed on, and
 * 100 MB; half of that later. */
int psw_omissions_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                       bool is_thorough, struct psw_omissions *omissions);

#endif

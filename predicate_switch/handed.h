/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Registers that a slice's instances handed on: of each definition in the code its nearest uses. */
#ifndef PREDICATE_SWITCH_HANDED_H
#define PREDICATE_SWITCH_HANDED_H

#include "common/hash.h"
#include <wetdbg/slice.h>

#define PSW_HANDS_EACH 16 /* of each definition, the nearest uses */

/* One time that it was handed on. */
struct psw_hand {
    wetdbg_time after, before; /* of the definition, of the use */
    uint32_t distance;         /* of the definition */
};

struct psw_handing {
    uint64_t pc;       /* of the definition */
    uint16_t location; /* a general register, a flag, or one of the first 16 vector registers */
    uint32_t count;
    struct psw_hand hands[PSW_HANDS_EACH]; /* the nearest first */
};

struct psw_handings {
    struct psw_handing *items;
    uint32_t count, capacity;
    struct wd_index by_place;
};

/* Adds what an instance of a slice with distances handed on to its nearest user, if that was a
 * register, and there was an instruction between the two. 0 or -ENOMEM. */
int psw_handings_add(struct psw_handings *handings, const struct wetdbg_slice_instance *instance);
void psw_handings_fini(struct psw_handings *handings);

#endif

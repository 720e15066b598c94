/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which switches to try for implicit dependences: predicates' instances outside of a slice on which
 * its uses depend potentially (potential.h), and for each of them the uses that it concerns.
 */
#ifndef PREDICATE_SWITCH_ASKED_H
#define PREDICATE_SWITCH_ASKED_H

#include "predicate_switch/potential.h"

/* A switch to be tried. */
struct psw_asked {
    wetdbg_time time; /* of the predicate's instance */
    uint32_t predicate;
    uint32_t way; /* that it should go, by index */
    uint32_t distance;
    uint32_t turn; /* how many later instances are asked about the same use */
    enum psw_omission_kind kind;
    bool is_sure; /* confidence has pruned the definition that was used */
};

struct psw_asked_list {
    struct psw_asked *items; /* what to try first comes first */
    size_t count, capacity;
    bool is_cut; /* there were more instances than were asked for */
};

/* A use, by its time, and what it read. */
struct psw_use {
    wetdbg_time time;
    uint64_t address;  /* of a byte, */
    uint16_t location; /* ... or, unless WETDBG_LOCATION_NONE, which register */
};

struct psw_uses {
    struct psw_use *items; /* by time */
    size_t count, capacity;
};

/* Those of a slice's omissions: for a use `each` instances of a predicate, the latest before it.
 * `unsure` may be NULL. Goes back over the run once. Memory: 40 bytes for each switch, 40 MB at
 * most. 0, -ENOMEM or errors of running intervals. */
int psw_asked_find(struct wetdbg_candidates *candidates, const struct wetdbg_slice *slice,
                   const struct psw_omissions *omissions, const struct wetdbg_set *unsure,
                   uint32_t each, struct psw_asked_list *list);

/* The uses that a switch might concern, each once. 0 or -ENOMEM. */
int psw_asked_uses(const struct psw_asked *asked, const struct psw_omissions *omissions,
                   struct psw_uses *uses);

#endif

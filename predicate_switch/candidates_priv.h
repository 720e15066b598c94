/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PREDICATE_SWITCH_CANDIDATES_PRIV_H
#define PREDICATE_SWITCH_CANDIDATES_PRIV_H

#include "predicate_switch/instances.h"
#include <wetdbg/candidates.h>

struct wetdbg_candidates {
    struct wetdbg *wet;
    struct wetdbg_candidates_options options; /* `until` is never 0 */
    struct psw_predicates predicates;
    struct psw_instances instances;
};

/* wetdbg_candidates_at() of an instance that is known. *room grows; *count may become 0. */
struct psw_choices {
    struct wetdbg_candidate *items;
    size_t count, capacity;
};
int psw_choices_make(struct wetdbg_candidates *candidates, const struct psw_list *list, size_t at,
                     struct psw_choices *choices);

/* How many instances a predicate has before a time. Runs one interval. */
int psw_instances_before(struct wetdbg_candidates *candidates, uint32_t predicate, wetdbg_time time,
                         uint64_t *count);

/* When its first instance was. Runs one interval. */
int psw_instance_first(struct wetdbg_candidates *candidates, uint32_t predicate, wetdbg_time *time);

#endif

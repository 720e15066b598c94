/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instances of predicates, one interval at a time: how many each interval has the file tells;
 * which ways they went only running it does. The lists of the intervals that were asked for last
 * are kept.
 */
#ifndef PREDICATE_SWITCH_INSTANCES_H
#define PREDICATE_SWITCH_INSTANCES_H

#include "predicate_switch/predicates.h"

#define PSW_LISTS_KEPT 8

struct psw_instance {
    uint32_t time_off; /* from the interval's first time */
    uint32_t predicate;
    uint32_t ordinal; /* among those of the predicate in the interval, from 0 */
    uint32_t way;     /* that it went: an index, or PSW_NONE if that is not known */
};

/* The instances of an interval, in order of time. */
struct psw_list {
    uint64_t interval;
    wetdbg_time first_time;
    struct psw_instance *items;
    size_t count, capacity;
    uint64_t used;      /* when, of all lists */
    unsigned asked;     /* ways of setccs */
    uint8_t *set_bytes; /* 1 + what the item's setcc made, 0 if that is not known; NULL: nobody has
                           looked */
};

struct psw_instances {
    const struct psw_predicates *predicates;
    struct psw_list lists[PSW_LISTS_KEPT];
    uint32_t *ordinals;             /* by predicate; work space */
    struct wetdbg_effects *effects; /* NULL: not yet */
    uint64_t uses;
    bool (*is_unwanted)(void *arg);
    void *arg;
};

/* 0 or -ENOMEM. */
int psw_instances_init(struct psw_instances *instances, const struct psw_predicates *predicates,
                       bool (*is_unwanted)(void *arg), void *arg);
void psw_instances_fini(struct psw_instances *instances);

/* The list of an interval; borrowed until the next one is asked for. Errors of running it;
 * -WETDBG_ERR_INTERRUPTED. */
int psw_instances_of(struct psw_instances *instances, uint64_t interval,
                     const struct psw_list **list);

/* Whether an interval has an instance of any predicate. Runs nothing. */
bool psw_has_instances(const struct psw_predicates *predicates, uint64_t interval);

/* Told of an instance and its time; not 0 ends the walk. */
typedef int psw_instance_fn(void *arg, const struct psw_instance *item, wetdbg_time time);

/* All instances before a time of the run, the latest first. The callback may not ask for lists.
 * What it returned, or errors of psw_instances_of(). */
int psw_instances_back(struct psw_instances *instances, wetdbg_time until, psw_instance_fn *fn,
                       void *arg);

/* How many instances a predicate has in the intervals before one. Runs nothing. */
uint64_t psw_count_before(const struct psw_predicates *predicates, uint32_t predicate,
                          uint64_t interval);

/* The instance at a time: an index in the list. -WETDBG_ERR_NOT_FOUND, without a sentence. */
int psw_instance_find(const struct psw_list *list, wetdbg_time time, size_t *at);

/* Which way it went, where the list does not say: the flags of a setcc, and what the thread ran
 * after the interval's end. *way is an index or PSW_NONE. */
int psw_instance_way(struct psw_instances *instances, wetdbg_time time, uint32_t predicate,
                     uint32_t *way);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is on the other side of a branch: the blocks that a way leads through until both ways are
 * one again, and the own functions that these call.
 */
#ifndef PREDICATE_SWITCH_SIDES_H
#define PREDICATE_SWITCH_SIDES_H

#include <stdbool.h>

#include "common/hash.h"
#include "predicate_switch/predicates.h"

/* A block of the program's own code that may be on a side. */
struct psw_block {
    uint64_t start;
    uint64_t end;
    uint64_t function;               /* where that begins */
    uint32_t first_call, call_count; /* of the own functions that it calls; once it is on a side */
    bool has_calls;                  /* that is known */
    uint32_t side;                   /* the latest that it is on, from 1 */
};

struct psw_blocks {
    struct psw_block *items;
    uint32_t count, capacity;
    struct wd_index by_start;
    uint64_t *calls; /* where functions begin */
    uint32_t call_count, call_capacity;
};

/* The blocks of one way, by index. */
struct psw_side {
    uint32_t predicate, way;
    uint32_t first, count; /* in psw_sides.members */
};

struct psw_sides {
    struct psw_blocks blocks;
    struct psw_side *items;
    uint32_t count, capacity;
    uint32_t *members;
    uint32_t member_count, member_capacity;
};

/* The block that begins at an address, by index; PSW_NONE if it is on no side. */
uint32_t psw_block_at(const struct psw_blocks *blocks, uint64_t start);

/* The sides of all ways of branches and tables. 0 or -ENOMEM; psw_sides_fini() is due in any
 * case. */
int psw_sides_find(struct psw_sides *sides, const struct psw_predicates *predicates);
void psw_sides_fini(struct psw_sides *sides);

#endif

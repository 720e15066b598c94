/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Only how own code is left counts: by which branch, and for where. That is one comparison for each
 * turn that the programs took, and nothing is kept. Addresses are compared without what a module's
 * place adds to them.
 */
#include <stdlib.h>

#include "common/hash.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/parting.h>
#include <wetdbg/walk.h>

#define KNOWN_BITS 14

/* Where an address is: worked out once, as long as no other one takes its place. */
struct known {
    uint64_t pc; /* 0: free */
    bool is_own;
    uint64_t relative; /* to where its module was loaded */
};

struct side {
    struct wetdbg *wet;
    struct wetdbg_walk *walk;
    struct known *known;
    bool is_end;
    /* The turn that it took last. */
    wetdbg_time time;
    uint64_t pc, from, to; /* `from` and `to` relative; `to` 0: into code that is not own */
};

static const struct known *know(struct side *side, uint64_t pc)
{
    struct known *known = &side->known[wd_hash_u64(pc) >> (64 - KNOWN_BITS)];
    struct wetdbg_module module;

    if (known->pc == pc)
        return known;
    *known = (struct known){.pc = pc, .is_own = wetdbg_is_own(side->wet, pc)};
    if (known->is_own && wetdbg_module_at(wetdbg_get_model(side->wet), pc, &module) == 0)
        known->relative = pc - module.bias;
    return known;
}

static bool is_turn(enum wetdbg_transfer transfer)
{
    return transfer == WETDBG_TRANSFER_BRANCH || transfer == WETDBG_TRANSFER_INDIRECT_JUMP ||
           transfer == WETDBG_TRANSFER_CALL;
}

/* Takes the next turn in own code, or comes to the end. */
static int turn(struct side *side)
{
    int moved = 1;

    while (moved == 1 && !wetdbg_walk_is_end(side->walk)) {
        bool is_here = is_turn(wetdbg_walk_here(side->walk)->transfer);
        const struct known *known = NULL;
        if (is_here) {
            wetdbg_walk_to_last(side->walk);
            side->time = wetdbg_walk_time(side->walk);
            side->pc = wetdbg_walk_pc(side->walk);
            known = know(side, side->pc);
            side->from = known->relative;
            is_here = known->is_own;
        }
        moved = wetdbg_walk_next_node(side->walk, NULL);
        if (moved < 0)
            return moved;
        if (!is_here)
            continue;
        known = moved == 1 ? know(side, wetdbg_walk_pc(side->walk)) : NULL;
        side->to = known && known->is_own ? known->relative : 0;
        return 0;
    }
    side->is_end = true;
    return 0;
}

static int open_side(struct side *side, struct wetdbg *wet, bool (*is_unwanted)(void *arg),
                     void *arg)
{
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(wet, &count);

    side->wet = wet;
    side->known = calloc((size_t)1 << KNOWN_BITS, sizeof(*side->known));
    if (!side->known)
        return -ENOMEM;
    int err = wetdbg_walk_open(wet, &threads[0], wetdbg_get_info(wet)->first_time, &side->walk);
    if (!err && is_unwanted)
        wetdbg_walk_watch(side->walk, is_unwanted, arg);
    return err;
}

static void close_side(struct side *side)
{
    wetdbg_walk_close(side->walk);
    free(side->known);
}

/* Goes on until the turns differ: 0. */
static int walk_in_step(struct side *one, struct side *other)
{
    for (;;) {
        int err = turn(one);
        if (!err)
            err = turn(other);
        if (err)
            return err;
        if (one->is_end || other->is_end)
            return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                               "no branch of the program went another way: the two runs go the "
                               "same way until %s ends",
                               one->is_end ? "the failing one" : "the passing one");
        if (one->from != other->from)
            return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                               "the two runs part where no branch is: after time %llu of the one "
                               "and %llu of the other",
                               (unsigned long long)one->time, (unsigned long long)other->time);
        if (one->to != other->to)
            return 0;
    }
}

int wetdbg_find_parting(struct wetdbg *wet, struct wetdbg *other, const struct wetdbg_set *causes,
                        bool (*is_unwanted)(void *arg), void *arg, struct wetdbg_parting *parting)
{
    struct side one = {0}, two = {0};
    int err = open_side(&one, wet, is_unwanted, arg);
    if (!err)
        err = open_side(&two, other, is_unwanted, arg);
    if (!err)
        err = walk_in_step(&one, &two);
    if (!err)
        *parting = (struct wetdbg_parting){
            .time = one.time,
            .other_time = two.time,
            .pc = one.pc,
            .other_pc = two.pc,
            .is_cause = causes && wetdbg_set_contains_time(causes, two.time),
        };
    close_side(&one);
    close_side(&two);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/align.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/walk.h>

/* One of the two runs, and where it stands. */
struct side {
    struct wetdbg *wet;
    struct wetdbg_walk *walk;
    /* Of the region that is passed: calls that have not returned, by the slots of their return
     * addresses, the innermost last; and handlers of signals. */
    uint64_t *calls;
    size_t call_count, call_capacity;
    int handlers;
    bool has_left;      /* the frame in which the region began has returned */
    uint64_t left_slot; /* ... by this slot */
    bool is_end;
};

struct pair {
    struct side here, there;
    struct psw_counterpart *asked;
    size_t count, at; /* asked[at] is the next one */
};

/* ---- one run ---- */

static int side_open(struct side *side, struct wetdbg *wet, wetdbg_time time)
{
    const struct wetdbg_thread *thread = wetdbg_thread_at(wet, time);

    side->wet = wet;
    if (!thread)
        return wetdbg_fail(-EINVAL, "no thread runs at time %llu", (unsigned long long)time);
    int err = wetdbg_walk_open(wet, thread, time, &side->walk);
    side->is_end = !err && wetdbg_walk_is_end(side->walk);
    return err;
}

static void side_close(struct side *side)
{
    wetdbg_walk_close(side->walk);
    free(side->calls);
}

/* Here a region begins. */
static void side_begin(struct side *side)
{
    side->call_count = 0;
    side->handlers = 0;
    side->has_left = false;
}

/* Calls whose frames lie below a slot are gone, however that was. */
static void drop_calls(struct side *side, uint64_t slot)
{
    while (side->call_count && side->calls[side->call_count - 1] < slot)
        side->call_count--;
}

/* What the node's last instruction does to the frames. 0 or -ENOMEM. */
static int note_transfer(struct side *side)
{
    enum wetdbg_transfer transfer = wetdbg_walk_here(side->walk)->transfer;

    if (transfer != WETDBG_TRANSFER_CALL && transfer != WETDBG_TRANSFER_RETURN)
        return 0;
    uint64_t slot = wetdbg_walk_slot(side->walk);
    drop_calls(side, slot);
    bool is_known = side->call_count && side->calls[side->call_count - 1] == slot;
    if (transfer == WETDBG_TRANSFER_CALL) {
        if (is_known)
            return 0; /* it made this frame's place again */
        if (wd_grow(side->calls, side->call_capacity, side->call_count + 1))
            return -ENOMEM;
        side->calls[side->call_count++] = slot;
    } else if (is_known) {
        side->call_count--;
    } else if (!side->call_count && !side->handlers) {
        side->has_left = true;
        side->left_slot = slot;
    }
    return 0;
}

/* Goes to the next node of its thread. */
static int side_advance(struct side *side)
{
    int change, result = note_transfer(side);

    if (result)
        return result;
    result = wetdbg_walk_next_node(side->walk, &change);
    side->is_end = result == 0;
    side->handlers += result == 1 ? change : 0;
    return result < 0 ? result : 0;
}

/* Whether it comes to an address in this node, and then it stands there. */
static int comes_to(struct side *side, uint64_t target, bool *is_there)
{
    uint64_t pc = wetdbg_walk_pc(side->walk);
    int result = 1;

    *is_there = false;
    if (target < pc || target >= wetdbg_walk_here(side->walk)->end)
        return 0;
    while ((pc = wetdbg_walk_pc(side->walk)) < target && wetdbg_walk_left(side->walk) &&
           result == 1)
        result = wetdbg_walk_next(side->walk, NULL);
    *is_there = pc == target;
    return result < 0 ? result : 0;
}

/* Passes what is left of a region, to `target` in the frame in which it began (0: to nowhere), or
 * to where that frame has returned. */
static int side_skip(struct side *side, uint64_t target)
{
    bool is_there = false;
    int err = 0;

    while (!err && !side->is_end && !side->has_left) {
        if (!side->call_count && !side->handlers && target)
            err = comes_to(side, target, &is_there);
        if (err || is_there)
            return err;
        err = side_advance(side);
    }
    return err;
}

/* ---- both ---- */

static uint64_t last_asked(const struct pair *pair)
{
    return pair->asked[pair->count - 1].time;
}

static void settle(struct pair *pair, wetdbg_time until, enum psw_fate fate)
{
    while (pair->at < pair->count && pair->asked[pair->at].time < until)
        pair->asked[pair->at++].fate = fate;
}

/* The next `count` instructions are the same in both. */
static void note_matches(struct pair *pair, uint32_t count)
{
    wetdbg_time here = wetdbg_walk_time(pair->here.walk);
    wetdbg_time there = wetdbg_walk_time(pair->there.walk);

    settle(pair, here, PSW_SKIPPED);
    while (pair->at < pair->count && pair->asked[pair->at].time < here + count) {
        struct psw_counterpart *asked = &pair->asked[pair->at++];
        asked->fate = PSW_MET;
        asked->there = there + (asked->time - here);
    }
}

/* Where both come together again behind the instruction that they stand before, which led them to
 * different places. False if that is not known. */
static bool find_join(struct pair *pair, uint64_t pc, const struct wetdbg_walk_node *node,
                      uint64_t *target)
{
    *target = 0;
    switch (node->transfer) {
    case WETDBG_TRANSFER_BRANCH:
    case WETDBG_TRANSFER_JUMP:
    case WETDBG_TRANSFER_INDIRECT_JUMP:
        return wetdbg_ipdom_no_exits(wetdbg_get_model(pair->here.wet), pc, target) == 0;
    case WETDBG_TRANSFER_CALL:
        *target = node->end;
        return true;
    default:
        return false;
    }
}

/* Both have left frames: the same ones in the end. */
static int level(struct pair *pair)
{
    int err = 0;

    while (!err && !pair->here.is_end && !pair->there.is_end &&
           pair->here.left_slot != pair->there.left_slot) {
        struct side *inner =
            pair->here.left_slot < pair->there.left_slot ? &pair->here : &pair->there;
        side_begin(inner);
        err = side_skip(inner, 0);
    }
    return err;
}

/* Skips both regions. */
static int rejoin(struct pair *pair, uint64_t target)
{
    struct side *here = &pair->here, *there = &pair->there;
    int err = side_skip(here, target);

    if (!err && (here->is_end || wetdbg_walk_time(here->walk) > last_asked(pair))) {
        settle(pair, UINT64_MAX, PSW_SKIPPED);
        return 0;
    }
    if (!err)
        err = side_skip(there, target);
    if (err || there->is_end || here->has_left == there->has_left)
        return err ? err : here->has_left && there->has_left ? level(pair) : 0;
    err = side_skip(here->has_left ? there : here, 0);
    return err || here->is_end || there->is_end ? err : level(pair);
}

/* Both step over `count` instructions that match; at the end of one's node or of both's. */
static int step_both(struct pair *pair, uint32_t count)
{
    struct side *sides[] = {&pair->here, &pair->there};
    int err = 0;

    for (unsigned i = 0; i < 2 && !err; i++) {
        side_begin(sides[i]);
        bool ends = wetdbg_walk_left(sides[i]->walk) < count;
        for (uint32_t n = 0; !ends && n < count && err >= 0; n++)
            err = wetdbg_walk_next(sides[i]->walk, NULL);
        err = err < 0 ? err : ends ? side_advance(sides[i]) : 0;
    }
    return err;
}

/* Goes over what both execute next, and over what follows differently. */
static int go_on(struct pair *pair, bool *is_lost)
{
    struct side *here = &pair->here, *there = &pair->there;
    uint32_t left = wetdbg_walk_left(here->walk), other = wetdbg_walk_left(there->walk),
             target_left;
    const struct wetdbg_walk_node *node = wetdbg_walk_here(here->walk);
    uint64_t target, pc;

    target_left = left < other ? left : other;
    note_matches(pair, target_left + 1);
    if (pair->at == pair->count)
        return 0;
    if (left == other) {
        wetdbg_walk_to_last(here->walk);
        wetdbg_walk_to_last(there->walk);
        target_left = 0;
    }
    pc = wetdbg_walk_pc(here->walk);
    int err = step_both(pair, target_left + 1);
    if (err || here->is_end || there->is_end)
        return err;
    if (here->handlers == there->handlers &&
        wetdbg_walk_pc(here->walk) == wetdbg_walk_pc(there->walk))
        return 0;
    *is_lost =
        left != other || here->handlers || there->handlers || !find_join(pair, pc, node, &target);
    if (*is_lost)
        return 0;
    err = rejoin(pair, target);
    if (!err && !here->is_end && !there->is_end && pair->at < pair->count)
        *is_lost = wetdbg_walk_pc(here->walk) != wetdbg_walk_pc(there->walk);
    return err;
}

int psw_align(struct wetdbg *run, struct wetdbg *switched, wetdbg_time time,
              struct psw_counterpart *asked, size_t count)
{
    struct pair pair = {.asked = asked, .count = count};
    bool is_lost = false;
    int err = side_open(&pair.here, run, time);

    if (!err)
        err = side_open(&pair.there, switched, time);
    while (!err && !is_lost && pair.at < count && !pair.here.is_end && !pair.there.is_end)
        err = go_on(&pair, &is_lost);
    settle(&pair, UINT64_MAX, is_lost || pair.here.is_end ? PSW_LOST : PSW_ENDED);
    side_close(&pair.here);
    side_close(&pair.there);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/align.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/walk.h>

/* ---- a thread's way through a run ---- */

/* Of a run in a file, or of one that a tracer goes over. */
struct way {
    struct wetdbg_walk *walk; /* NULL: the tracer's */
    struct psw_tracer *tracer;
};

static bool way_is_end(const struct way *way)
{
    return way->walk ? wetdbg_walk_is_end(way->walk) : psw_way_is_end(way->tracer);
}

static wetdbg_time way_time(const struct way *way)
{
    return way->walk ? wetdbg_walk_time(way->walk) : psw_way_time(way->tracer);
}

static uint64_t way_pc(const struct way *way)
{
    return way->walk ? wetdbg_walk_pc(way->walk) : psw_way_pc(way->tracer);
}

static uint32_t way_left(const struct way *way)
{
    return way->walk ? wetdbg_walk_left(way->walk) : psw_way_left(way->tracer);
}

static enum wetdbg_transfer way_transfer(const struct way *way)
{
    return way->walk ? wetdbg_walk_here(way->walk)->transfer : psw_way_here(way->tracer)->transfer;
}

/* Where its node ends. */
static uint64_t way_end(const struct way *way)
{
    return way->walk ? wetdbg_walk_here(way->walk)->end : psw_way_here(way->tracer)->end;
}

static uint64_t way_slot(const struct way *way)
{
    return way->walk ? wetdbg_walk_slot(way->walk) : psw_way_slot(way->tracer);
}

static int way_next(struct way *way)
{
    return way->walk ? wetdbg_walk_next(way->walk, NULL) : psw_way_next(way->tracer);
}

static int way_next_node(struct way *way, int *change)
{
    return way->walk ? wetdbg_walk_next_node(way->walk, change)
                     : psw_way_next_node(way->tracer, change);
}

static void way_to_last(struct way *way)
{
    if (way->walk)
        wetdbg_walk_to_last(way->walk);
    else
        psw_way_to_last(way->tracer);
}

/* One of the two runs, and where it stands. */
struct side {
    struct way way;
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
    struct wetdbg_model *model;
    struct side here, there;
    struct psw_counterpart *asked;
    size_t count, at;  /* asked[at] is the next one */
    bool is_joint_end; /* the first run ended where the other one was with it */
};

/* ---- one run ---- */

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
    enum wetdbg_transfer transfer = way_transfer(&side->way);

    if (transfer != WETDBG_TRANSFER_CALL && transfer != WETDBG_TRANSFER_RETURN)
        return 0;
    uint64_t slot = way_slot(&side->way);
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
    result = way_next_node(&side->way, &change);
    side->is_end = result == 0;
    side->handlers += result == 1 ? change : 0;
    return result < 0 ? result : 0;
}

/* Whether it comes to an address in this node, and then it stands there. */
static int comes_to(struct side *side, uint64_t target, bool *is_there)
{
    uint64_t pc = way_pc(&side->way);
    int result = 1;

    *is_there = false;
    if (target < pc || target >= way_end(&side->way))
        return 0;
    while ((pc = way_pc(&side->way)) < target && way_left(&side->way) && result == 1)
        result = way_next(&side->way);
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
    wetdbg_time here = way_time(&pair->here.way);
    wetdbg_time there = way_time(&pair->there.way);

    settle(pair, here, PSW_SKIPPED);
    while (pair->at < pair->count && pair->asked[pair->at].time < here + count) {
        struct psw_counterpart *asked = &pair->asked[pair->at++];
        asked->fate = PSW_MET;
        asked->there = there + (asked->time - here);
    }
}

/* Where both come together again behind the instruction that they stand before, which led them to
 * different places. False if that is not known. */
static bool find_join(struct pair *pair, uint64_t pc, enum wetdbg_transfer transfer, uint64_t end,
                      uint64_t *target)
{
    *target = 0;
    switch (transfer) {
    case WETDBG_TRANSFER_BRANCH:
    case WETDBG_TRANSFER_JUMP:
    case WETDBG_TRANSFER_INDIRECT_JUMP:
        return wetdbg_ipdom_no_exits(pair->model, pc, target) == 0;
    case WETDBG_TRANSFER_CALL:
        *target = end;
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

    if (!err && (here->is_end || way_time(&here->way) > last_asked(pair))) {
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
        bool ends = way_left(&sides[i]->way) < count;
        for (uint32_t n = 0; !ends && n < count && err >= 0; n++)
            err = way_next(&sides[i]->way);
        err = err < 0 ? err : ends ? side_advance(sides[i]) : 0;
    }
    return err;
}

/* Goes over what both execute next, and over what follows differently. */
static int go_on(struct pair *pair, bool *is_lost)
{
    struct side *here = &pair->here, *there = &pair->there;
    uint32_t left = way_left(&here->way), other = way_left(&there->way), target_left;
    enum wetdbg_transfer transfer = way_transfer(&here->way);
    uint64_t target, pc, end = way_end(&here->way);

    target_left = left < other ? left : other;
    note_matches(pair, target_left + 1);
    if (pair->at == pair->count)
        return 0;
    if (left == other) {
        way_to_last(&here->way);
        way_to_last(&there->way);
        target_left = 0;
    }
    pc = way_pc(&here->way);
    int err = step_both(pair, target_left + 1);
    pair->is_joint_end = !err && here->is_end && here->handlers == there->handlers;
    if (err || here->is_end || there->is_end)
        return err;
    if (here->handlers == there->handlers && way_pc(&here->way) == way_pc(&there->way))
        return 0;
    *is_lost = left != other || here->handlers || there->handlers ||
               !find_join(pair, pc, transfer, end, &target);
    if (*is_lost)
        return 0;
    err = rejoin(pair, target);
    if (!err && !here->is_end && !there->is_end && pair->at < pair->count)
        *is_lost = way_pc(&here->way) != way_pc(&there->way);
    return err;
}

/* What is behind the end of at least one run: in the first one, only what faulted there. */
static void settle_rest(struct pair *pair, bool is_lost)
{
    bool goes_on = pair->is_joint_end && !pair->there.is_end;

    for (size_t i = pair->at; i < pair->count && goes_on; i++)
        pair->asked[i].there = way_time(&pair->there.way);
    if (pair->is_joint_end)
        settle(pair, UINT64_MAX, goes_on ? PSW_MET : PSW_ENDS);
    else
        settle(pair, UINT64_MAX, is_lost || pair->here.is_end ? PSW_LOST : PSW_ENDED);
}

static int pair_open(struct pair *pair, struct wetdbg *run, const struct wetdbg_thread *thread,
                     struct psw_tracer *switched, wetdbg_time time)
{
    int err = wetdbg_walk_open(run, thread, time, &pair->here.way.walk);

    if (!err)
        err = psw_way_begin(switched, time, thread->task);
    if (err)
        return err;
    pair->model = wetdbg_get_model(run);
    pair->there.way.tracer = switched;
    pair->here.is_end = way_is_end(&pair->here.way);
    pair->there.is_end = way_is_end(&pair->there.way);
    return 0;
}

static void pair_close(struct pair *pair)
{
    wetdbg_walk_close(pair->here.way.walk);
    free(pair->here.calls);
    free(pair->there.calls);
}

int psw_align(struct wetdbg *run, const struct wetdbg_thread *thread, struct psw_tracer *switched,
              wetdbg_time time, struct psw_counterpart *asked, size_t count)
{
    struct pair pair = {.asked = asked, .count = count};
    bool is_lost = false;
    int err = pair_open(&pair, run, thread, switched, time);

    while (!err && !is_lost && pair.at < count && !pair.here.is_end && !pair.there.is_end)
        err = go_on(&pair, &is_lost);
    settle_rest(&pair, is_lost);
    pair_close(&pair);
    return err;
}

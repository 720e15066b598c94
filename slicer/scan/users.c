/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The steps of slc_follow(), on instructions of which is known what they take. They come in the
 * same order: of several users that are as near as each other the first one stays, and slices say
 * which one that is.
 */
#include "slicer/scan/users.h"

#include <assert.h>
#include <errno.h>

#include "slicer/scan/plain.h"

/* ---- step 1 ---- */

/* Whether some are wanted. */
static bool hit_registers(struct slc_hits *hits, const struct slc_regs *regs,
                          const struct slc_op *op, const struct slc_way *way)
{
    unsigned words = SLC_OP_WORDS(op);
    uint64_t any = 0;

    for (unsigned i = 0; i < words; i++) {
        uint64_t values = regs->value.bits[i] & way->word[i].value_hits;
        uint64_t addresses = regs->address.bits[i] & way->word[i].address_hits;
        any |= values | addresses;
        for (uint64_t left = values | addresses; left; left &= left - 1) {
            uint64_t bit = left & -left;
            unsigned loc = 64 * i + (unsigned)__builtin_ctzll(left);
            if (values & bit)
                slc_hit(hits, &regs->wants->value[loc], loc, 0);
            if (addresses & bit)
                slc_hit(hits, &regs->wants->address[loc], loc, 0);
        }
    }
    return any != 0;
}

static void hit_bytes(struct slc_hits *hits, const struct slc_plain_hit *hit, uint64_t address)
{
    const struct slc_want *wants = hit->page->wants[address % SLC_PAGE_BYTES / 64];

    for (uint64_t left = hit->store; left; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctzll(left);
        slc_hit(hits, &wants[address % 64 + i], INS_LOC_COUNT, address + i);
    }
}

/* What of the flows that are `possible` is wanted: hit->ways. */
static void collect(struct slc_scan *scan, const struct slc_regs *regs, const struct slc_op *op,
                    uint64_t address, bool is_control, unsigned possible, struct slc_plain_hit *hit)
{
    for (unsigned f = 0; f < op->way_count; f++) {
        const struct slc_way *way = &op->ways[f];
        if (!(possible >> f & 1))
            continue;
        bool is_hit = hit_registers(&scan->hits, regs, op, way);
        if (way->has_store && hit->store)
            hit_bytes(&scan->hits, hit, address);
        if (is_hit || (way->has_store && hit->store) || (is_control && way->is_branch))
            hit->ways |= 1u << f;
    }
}

/* ---- step 2 ---- */

static void drop_defined(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                         uint64_t address, const struct slc_plain_hit *hit)
{
    unsigned words = SLC_OP_WORDS(op);

    for (unsigned i = 0; i < words; i++) {
        regs->value.bits[i] &= ~op->word[i].defines;
        regs->address.bits[i] &= ~op->word[i].defines;
        regs->narrow.bits[i] &= ~op->word[i].defines;
    }
    if (hit->store)
        slc_page_drop(&scan->memory, hit->page, address % SLC_PAGE_BYTES / 64,
                      hit->store << (address % 64));
}

/* ---- step 3 ---- */

/* An instance that is in the slice. */
struct user {
    const uint64_t *slots; /* of its execution */
    const struct ins_info *info;
    struct slc_want want;
};

static void want_registers(struct slc_regs *regs, uint64_t bits, unsigned word, struct user *user,
                           enum wetdbg_edge edge)
{
    user->want.edge = (uint8_t)edge;
    for (; bits; bits &= bits - 1)
        slc_regs_add(regs, 64 * word + (unsigned)__builtin_ctzll(bits), &user->want,
                     edge == WETDBG_EDGE_ADDRESS);
}

/* What a flow computes from. */
static int want_values(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                       unsigned f, struct user *user)
{
    const struct slc_way *way = &op->ways[f];
    unsigned words = SLC_OP_WORDS(op);
    int err = 0;

    for (unsigned i = 0; i < words; i++) {
        uint64_t uses = user->info->flows[f].value_uses.bits[i];
        for (unsigned left = way->halves; left && i == 0; left &= left - 1)
            uses &= ~(UINT64_C(1) << SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)));
        want_registers(regs, uses, i, user, WETDBG_EDGE_VALUE);
    }
    user->want.edge = WETDBG_EDGE_VALUE;
    for (unsigned left = way->halves; left; left &= left - 1)
        slc_regs_add_mask(regs, SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)), SLC_HALF_MASK,
                          &user->want);
    for (unsigned m = 0; way->loads >> m && !err; m++)
        if (way->loads >> m & 1)
            err = slc_memory_add_wants(&scan->memory, user->slots[op->slot + m],
                                       UINT64_MAX >> (64 - op->load_bytes[m]), &user->want);
    return err;
}

/* ... or passes on: `wanted` bytes of its destination. */
static int want_source(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                       const struct slc_move *move, uint64_t wanted, struct user *user)
{
    uint64_t bytes = slc_move_source(move, wanted);

    user->want.edge = WETDBG_EDGE_VALUE;
    if (move->from_memory)
        return slc_memory_add_wants(&scan->memory, user->slots[op->slot + move->operand], bytes,
                                    &user->want);
    slc_regs_add_bytes(regs, move->from, bytes << move->from_start, &user->want);
    return 0;
}

static int follow_way(struct slc_scan *scan, struct slc_regs *regs, const struct slc_op *op,
                      unsigned f, uint64_t wanted, struct user *user)
{
    const struct slc_way *way = &op->ways[f];
    unsigned words = SLC_OP_WORDS(op);
    int err;

    if (way->is_move) {
        bool is_near = scan->slice->options.copies_are_near;
        user->want.distance -= is_near;
        err = want_source(scan, regs, op, &way->move, wanted, user);
        user->want.distance += is_near;
    } else {
        err = want_values(scan, regs, op, f, user);
    }
    for (unsigned i = 0; i < words; i++)
        want_registers(regs, user->info->flows[f].cond_uses.bits[i], i, user,
                       WETDBG_EDGE_CONDITION);
    for (unsigned i = 0; i < words && scan->follows_address; i++)
        want_registers(regs, way->word[i].address_uses, i, user, WETDBG_EDGE_ADDRESS);
    return err;
}

/* slc_scan_add(), where the interval has room for one more. */
static inline int add_member(struct slc_scan *scan, wetdbg_time time, uint32_t pc_index)
{
    struct slc_share *share = &scan->slice->shares[scan->interval->index];
    const struct slc_want *best = &scan->hits.best;
    uint64_t off = time - scan->interval->first_time;

    if (!scan->bits || share->member_count == share->member_capacity ||
        off >= scan->interval->instructions)
        return slc_scan_add(scan, time, pc_index);
    scan->bits[off / 64] |= UINT64_C(1) << (off % 64);
    share->members[share->member_count++] = (struct slc_member){.parent = best->user,
                                                                .address = scan->hits.best_address,
                                                                .time_off = (uint32_t)off,
                                                                .pc_index = pc_index,
                                                                .distance = best->distance,
                                                                .location = best->location,
                                                                .edge = best->edge};
    slc_code_tally(scan->code, pc_index, 1, time, time, best->distance);
    return 0;
}

/* Whether one of the same control class that is as near waits in the frame: then the branch that
 * let it run is wanted as it is. */
static inline bool waits_nearer(const struct slc_scan *scan, struct slc_task *task,
                                uint32_t pc_index)
{
    const struct slc_frames *frames = &task->frames;
    const struct slc_frame *top = slc_frames_top(&task->frames);
    uint32_t klass = scan->code->pcs[pc_index].klass;

    if (klass == SLC_UNKNOWN || klass != top->last_klass || scan->hits.best.force)
        return false;
    const struct slc_class *own = &scan->code->classes[klass];
    if (own->mark_frames != frames || own->mark_serial != top->serial ||
        own->mark_at < top->first || own->mark_at >= frames->demand_count)
        return false;
    const struct slc_demand *demand = &frames->demands[own->mark_at];
    return demand->klass == klass && demand->want.distance <= scan->hits.best.distance + 1;
}

/* Follows one instance of a plain instruction. */
static int follow(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  const struct slc_node *node, uint32_t s, const struct slc_op *op,
                  struct slc_plain_hit *hit, bool is_control)
{
    struct user user = {scan->interval->slots + exec->slot_off, node->wet->statements[s].info, {0}};
    struct ins_info settled;
    wetdbg_time time = scan->interval->first_time + exec->time_off + s;
    uint64_t address = op->flags & SLC_OP_STORE ? user.slots[op->store_slot] : 0;
    struct slc_hits *hits = &scan->hits;
    uint64_t wanted[INS_FLOW_MAX];

    if (user.info->choice.kind == INS_CHOICE_TOP)
        user.info = ins_settle(user.info, user.slots + op->slot, &settled);
    collect(scan, &task->regs, op, address, is_control, slc_op_flows(op, user.slots), hit);
    for (unsigned f = 0; hit->ways >> f; f++)
        if (hit->ways >> f & 1 && op->ways[f].is_move)
            wanted[f] = slc_plain_wanted(&op->ways[f], &task->regs, hit);
    drop_defined(scan, &task->regs, op, address, hit);
    if (hits->best.distance == SLC_NOT_WANTED)
        return 0;
    int err = add_member(scan, time, op->pc_index);
    user.want.user = time;
    user.want.distance = hits->best.distance + 1;
    for (unsigned f = 0; hit->ways >> f && scan->follows_data && !err; f++)
        if (hit->ways >> f & 1)
            err = follow_way(scan, &task->regs, op, f, wanted[f], &user);
    if (!err && scan->tracks_frames && !waits_nearer(scan, task, op->pc_index))
        err = slc_follow_control(scan, task, op->pc_index, time);
    return err;
}

/* ---- executions ---- */

static inline void forget_hit(struct slc_hits *hits)
{
    hits->best = slc_no_want();
    hits->best_address = 0;
    hits->is_guard = false;
}

static int pass_plain(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                      const struct slc_node *node, uint32_t s, bool is_control)
{
    const struct slc_op *op =
        slc_op_settled(&node->compiled.ops[s], scan->interval->slots + exec->slot_off);
    struct slc_plain_hit hit = {0};
    int err = 0;

    if (op->flags & SLC_OP_STORE) {
        uint64_t address = scan->interval->slots[exec->slot_off + op->store_slot];
        if (address % 64 + op->store_bytes <= 64)
            err = slc_plain_store(scan, task, exec, s, op, address, &hit);
        else if (slc_memory_wants_long(&scan->memory, address, op->store_bytes))
            return slc_follow(scan, task, exec, node, s, NULL);
    }
    if (!is_control && !hit.store && !slc_plain_touches(op, &task->regs))
        return err;
    if (op->popped >= 0 && !err)
        err = slc_plain_pop(scan, task, exec, node, s);
    return err ? err : follow(scan, task, exec, node, s, op, &hit, is_control);
}

int slc_users_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                   const struct slc_node *node, uint32_t count)
{
    bool is_control = scan->hits.best.distance != SLC_NOT_WANTED;
    int err = 0;

    assert(task->regs.wants && !scan->draft);
    if (!is_control && !slc_regs_intersect(&task->regs, &node->defs) &&
        !slc_stores_wanted(scan, node, scan->interval->slots + exec->slot_off))
        return 0;
    for (uint32_t s = count; s-- > 0 && !err; is_control = false) {
        if (node->compiled.ops[s].flags & SLC_OP_HARD || node->compiled.ops[s].pick ||
            (is_control && !scan->follows_control))
            err = slc_follow(scan, task, exec, node, s, NULL);
        else
            err = pass_plain(scan, task, exec, node, s, is_control);
        if (scan->hits.best.distance != SLC_NOT_WANTED)
            forget_hit(&scan->hits);
    }
    return err;
}

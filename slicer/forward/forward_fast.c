/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slc_fwd_step() over compiled instructions (slicer/scan/scan_ops.h), where nobody asks who marked
 * a place: the same three steps on bit sets. What is marked whole is most often nothing.
 */
#include <errno.h>

#include "recorder/insn/insn_pick.h"
#include "slicer/forward/forward_memo.h"

#define WORDS(op) ((op)->flags & SLC_OP_NARROW ? 1u : 4u)

/* The execution that is passed. */
struct pass {
    struct slc_forward *fwd;
    struct slc_fwd_task *task;
    const struct wet_exec *exec;
    const struct slc_node *node;
    const uint64_t *slots;
    struct slc_fwd_draft *draft; /* NULL: nothing is written down */
    uint32_t klass;              /* whose parent was asked for last, or SLC_UNKNOWN */
    bool is_let;                 /* ... and instances of it are marked by it */
    bool is_parent;              /* what the last instruction lets run is marked */
};

bool slc_fwd_is_fast(const struct slc_forward *fwd, const struct slc_node *node)
{
    return fwd->code->has_memos && node->compiled.ops;
}

/* ---- step 1 ---- */

static bool sees_loads(const struct pass *pass, const struct slc_op *op, unsigned loads)
{
    for (; loads; loads &= loads - 1) {
        unsigned m = (unsigned)__builtin_ctz(loads);
        if (slc_memory_mask(&pass->fwd->memory, pass->slots[op->slot + m], op->load_bytes[m]))
            return true;
    }
    return false;
}

static inline bool sees_registers(const struct slc_op *op, const struct slc_way *way,
                                  const struct slc_regs *regs)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < WORDS(op); i++)
        found |= (regs->value.bits[i] & way->word[i].uses) |
                 (regs->address.bits[i] & way->word[i].address_uses);
    if (found)
        return true;
    for (unsigned left = way->halves; left; left &= left - 1)
        if (slc_regs_value_mask(regs, SLC_UPPER_PIECE((unsigned)__builtin_ctz(left))) &
            SLC_HALF_MASK)
            return true;
    return false;
}

/* Marked bytes of a move's source, counted from its start. */
static uint64_t marked_source(const struct pass *pass, const struct slc_op *op,
                              const struct slc_move *move)
{
    const struct slc_regs *regs = &pass->task->regs;
    uint64_t bytes = 0;

    if (move->from_memory)
        return slc_memory_mask(&pass->fwd->memory, pass->slots[op->slot + move->operand],
                               op->load_bytes[move->operand]);
    const struct slc_shape *shape = slc_shape_of(move->from);
    for (unsigned p = 0; p < shape->count; p++)
        bytes |= (uint64_t)slc_regs_value_mask(regs, move->from + p) << shape->start[p];
    return bytes >> move->from_start;
}

struct seen {
    unsigned ways;                 /* bit f: all that flow f defines is marked */
    unsigned moves;                /* bit f: flow f passes on marked bytes */
    uint64_t copied[INS_FLOW_MAX]; /* ... to these of its destination */
    bool any;
};

static uint64_t marked_place(const struct pass *pass, const struct slc_op *op, unsigned place)
{
    const struct slc_regs *regs = &pass->task->regs;
    uint64_t bytes = 0;

    if (place == INS_PLACE_COMPUTED) {
        const struct ins_regset uses = ins_computed_uses(op->pick);
        bool is_marked = ins_regset_intersects(&regs->value, &uses) ||
                         sees_loads(pass, op, op->pick->flows[0].mem_uses);
        return is_marked ? UINT64_MAX : 0;
    }
    if (place >= INS_PLACE_MEMORY) {
        unsigned m = place - INS_PLACE_MEMORY;
        return slc_memory_mask(&pass->fwd->memory, pass->slots[op->slot + m], op->load_bytes[m]);
    }
    for (unsigned p = 0; p < INS_VEC_PIECES; p++)
        bytes |= (uint64_t)slc_regs_value_mask(regs, INS_LOC_VEC + INS_VEC_PIECES * place + p)
                 << slc_vector_shape.start[p];
    return bytes;
}

/* What says of bytes of the destination that they come from memory. */
static unsigned memory_place(const struct ins_info *info)
{
    return ins_place_is_memory(info, info->choice.from[0]) ? info->choice.from[0]
                                                           : INS_PLACE_MEMORY;
}

/* Bytes of the destination that are marked by what they were taken from, or by what chose them. */
static uint64_t picked_bytes(const struct pass *pass, const struct slc_op *op,
                             const struct slc_way *way)
{
    const struct ins_choice *choice = &op->pick->choice;
    const struct slc_regs *regs = &pass->task->regs;
    struct ins_picked picked;
    struct ins_pick pick;
    uint64_t bytes = 0, addresses = 0;

    ins_pick_get(op->pick, pass->slots + op->slot, &pick);
    ins_pick_sources(&pick, UINT64_MAX, &picked);
    for (unsigned i = 0; i < picked.count; i++)
        bytes |= ins_pick_targets(&pick, picked.place[i], marked_place(pass, op, picked.place[i]));
    if (choice->selector != INS_PLACE_NONE)
        bytes |= ins_pick_chosen(&pick, marked_place(pass, op, choice->selector));
    if (picked.is_masked && ins_regset_has(&regs->value, INS_LOC_K + choice->mask))
        bytes |= pick.masked;
    for (unsigned i = 0; i < WORDS(op); i++)
        addresses |= regs->address.bits[i] & way->word[i].address_uses;
    if (addresses)
        bytes |= choice->selector == INS_PLACE_MEMORY
                     ? ins_pick_chosen(&pick, UINT64_MAX)
                     : ins_pick_targets(&pick, memory_place(op->pick), UINT64_MAX);
    return bytes;
}

static inline void see_way(const struct pass *pass, const struct slc_op *op, unsigned f,
                           struct seen *seen)
{
    const struct slc_way *way = &op->ways[f];

    if (way->is_pick) {
        seen->copied[f] = picked_bytes(pass, op, way);
        seen->any |= seen->copied[f] != 0;
        seen->moves |= seen->copied[f] ? 1u << f : 0;
    } else if (sees_registers(op, way, &pass->task->regs) || sees_loads(pass, op, way->loads)) {
        seen->ways |= 1u << f;
        seen->any = true;
    } else if (way->is_move) {
        uint64_t source = marked_source(pass, op, &way->move);
        seen->copied[f] = slc_move_target(&way->move, source);
        seen->any |= (source & way->move.bytes) != 0;
        seen->moves |= seen->copied[f] ? 1u << f : 0;
    }
}

/* ---- steps 2 and 3 ---- */

static void mark_moved(struct slc_regs *regs, const struct slc_way *way, uint64_t copied)
{
    const struct slc_shape *shape = slc_shape_of(way->move.to);
    uint64_t bytes = copied << way->move.to_start;

    for (unsigned p = 0; p < shape->count; p++) {
        unsigned loc = way->move.to + p;
        uint64_t bit = UINT64_C(1) << (loc % 64);
        uint32_t mask = (uint32_t)(bytes >> shape->start[p]) & shape->mask[p];
        if (!mask || !(way->word[loc / 64].value_hits & bit))
            continue;
        slc_regs_add_mask(regs, loc, mask, &slc_some_want);
        regs->address.bits[loc / 64] |= way->word[loc / 64].address_hits & bit;
    }
}

static void define_registers(struct slc_regs *regs, const struct slc_op *op,
                             const struct seen *seen)
{
    unsigned words = WORDS(op);

    for (unsigned i = 0; i < words; i++) {
        regs->value.bits[i] &= ~op->word[i].defines;
        regs->address.bits[i] &= ~op->word[i].defines;
        regs->narrow.bits[i] &= ~op->word[i].defines;
    }
    for (unsigned f = 0; (seen->ways | seen->moves) >> f; f++) {
        const struct slc_way *way = &op->ways[f];
        if (seen->ways >> f & 1) {
            for (unsigned i = 0; i < words; i++) {
                regs->value.bits[i] |= way->word[i].value_hits;
                regs->narrow.bits[i] &= ~way->word[i].value_hits;
                regs->address.bits[i] |= way->word[i].address_hits;
            }
        } else if (seen->moves >> f & 1 && !way->move.to_memory) {
            mark_moved(regs, way, seen->copied[f]);
        }
    }
}

/* Bytes of the store that become marked. */
static uint64_t stored_bytes(const struct slc_op *op, const struct seen *seen)
{
    uint64_t all = UINT64_MAX >> (64 - op->store_bytes), bytes = 0;

    for (unsigned f = 0; (seen->ways | seen->moves) >> f; f++) {
        const struct slc_way *way = &op->ways[f];
        if (seen->ways >> f & 1 && way->has_store)
            bytes = all;
        else if (seen->moves >> f & 1 && way->move.to_memory)
            bytes |= seen->copied[f] & all;
    }
    return bytes;
}

/* Marks of `size` bytes, all in one word of a page, those that `bytes` has, and no others. */
static inline void store_word(struct slc_memory *memory, struct slc_page *page, uint64_t address,
                              unsigned size, uint64_t bytes)
{
    unsigned off = address % 64, group = address % SLC_PAGE_BYTES / 64;
    uint64_t *word = &page->bytes[group], was = *word;

    if (slc_page_slots_among(page, group, off, size))
        slc_saves_end(memory, address, size);
    *word = (was & ~(UINT64_MAX >> (64 - size) << off)) | bytes << off;
    memory->word_count += (uint64_t)(*word != 0) - (uint64_t)(was != 0);
}

int slc_fwd_store(struct slc_memory *memory, uint64_t address, unsigned size, uint64_t bytes)
{
    struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);

    if (page && address % 64 + size <= 64) {
        store_word(memory, page, address, size, bytes);
        return 0;
    }
    if (slc_memory_wants(memory, address, size)) {
        slc_saves_end(memory, address, size);
        if (slc_memory_mask(memory, address, size) & ~bytes)
            slc_memory_drop(memory, address, size);
    }
    return slc_memory_add_bytes(memory, address, bytes);
}

static int define_memory(const struct pass *pass, const struct slc_op *op, uint64_t bytes)
{
    if (pass->draft)
        slc_fwd_draft_step(pass->draft,
                           (struct slc_fwd_step){bytes, op->store_slot, op->store_bytes, -1});
    return slc_fwd_store(&pass->fwd->memory, pass->slots[op->store_slot], op->store_bytes, bytes);
}

static int count_member(struct slc_forward *fwd, const struct slc_op *op, wetdbg_time time)
{
    uint64_t off = time - fwd->interval->first_time;
    int err = 0;

    if (!fwd->bits && (err = slc_slice_make_bits(fwd->slice, fwd->interval, &fwd->bits)))
        return err;
    fwd->bits[off / 64] |= UINT64_C(1) << (off % 64);
    slc_code_tally(fwd->code, op->pc_index, 1, time, time, WETDBG_DISTANCE_UNKNOWN);
    return 0;
}

/* ---- saved registers ---- */

static const struct slc_save *find_save(const struct pass *pass, const struct slc_op *op,
                                        uint32_t s)
{
    struct slc_forward *fwd = pass->fwd;
    const struct slc_saving pop = slc_fwd_saving(fwd, pass->exec, pass->node, s, op->popped);

    return slc_saves_find(&fwd->saves, &fwd->memory, pop.task, pop.reg, pop.slot);
}

static int pass_pop(const struct pass *pass, const struct slc_op *op, uint32_t s,
                    const struct slc_save *save, bool is_marked)
{
    const struct slc_saving pop = slc_fwd_saving(pass->fwd, pass->exec, pass->node, s, op->popped);
    return slc_fwd_pop(pass->fwd, pass->task, &pop, save, is_marked);
}

static int pass_push(const struct pass *pass, const struct slc_op *op, uint32_t s, bool is_marked)
{
    const struct slc_saving push = slc_fwd_saving(pass->fwd, pass->exec, pass->node, s, op->pushed);

    if (pass->draft && is_marked) {
        uint64_t word = slc_saves_word(&pass->task->regs, push.reg);
        slc_fwd_draft_step(pass->draft, (struct slc_fwd_step){word, op->store_slot, 8, op->pushed});
    }
    return slc_fwd_push(pass->fwd, pass->task, &push, is_marked);
}

/* ---- one instruction ---- */

static int control_of(struct pass *pass, struct slc_op *op)
{
    struct slc_want mark;

    if (op->klass == SLC_UNKNOWN) {
        op->klass = slc_code_class(pass->fwd->code, op->pc_index);
        if (op->klass == SLC_UNKNOWN)
            return -ENOMEM;
    }
    if (op->klass == pass->klass)
        return 0;
    pass->klass = op->klass;
    int err = slc_branches_parent(&pass->task->branches, pass->fwd->ids, pass->fwd->code, op->klass,
                                  &mark);
    pass->is_let = mark.distance != SLC_NOT_WANTED;
    return err;
}

static int pass_plain(struct pass *pass, struct slc_op *op, uint32_t s, bool is_live,
                      bool *is_parent)
{
    struct slc_forward *fwd = pass->fwd;
    struct slc_regs *regs = &pass->task->regs;
    struct seen seen = {0};
    const struct slc_save *save = NULL;
    int err = is_live ? control_of(pass, op) : 0;
    bool is_let = is_live && pass->is_let;

    if (is_let) {
        seen.ways = (1u << op->way_count) - 1;
        seen.any = true;
    } else {
        unsigned possible = fwd->follows_data ? slc_op_flows(op, pass->slots) : 0;
        for (unsigned f = 0; f < op->way_count; f++)
            if (possible >> f & 1)
                see_way(pass, op, f, &seen);
    }
    if (seen.any && pass->draft)
        pass->draft->members |= UINT64_C(1) << s;
    if (seen.any && !err)
        err = count_member(fwd, op, fwd->interval->first_time + pass->exec->time_off + s);
    *is_parent = is_let;
    for (unsigned f = 0; (seen.ways | seen.moves) >> f && op->flags & SLC_OP_BRANCH; f++)
        *is_parent |= op->ways[f].is_branch && (seen.ways | seen.moves) >> f & 1;
    if (err || !fwd->follows_data)
        return err;
    if (op->popped >= 0)
        save = find_save(pass, op, s);
    if (op->flags & SLC_OP_STORE && !err)
        err = define_memory(pass, op, stored_bytes(op, &seen));
    define_registers(regs, op, &seen);
    if (op->popped >= 0 && !err)
        err = pass_pop(pass, op, s, save, (seen.ways | seen.moves) != 0);
    return err || op->pushed < 0 ? err : pass_push(pass, op, s, seen.any);
}

/* ---- a glance at all of it ---- */

/* Control classes of the node whose instances are marked: bit c, and the last bit for all
 * beyond. */
static unsigned lets_of(struct pass *pass, struct slc_glance *glance, struct slc_node *node,
                        int *err)
{
    unsigned lets = 0;
    struct slc_forward *fwd = pass->fwd;
    struct slc_want mark;

    if (!glance->classes && (*err = slc_glance_classes(glance, fwd->code, node)))
        return 0;
    if (slc_branches_lets_all(&pass->task->branches))
        return glance->all_lets;
    for (unsigned c = 0; c < glance->class_count && !*err; c++) {
        *err = slc_branches_parent(&pass->task->branches, fwd->ids, fwd->code, glance->classes[c],
                                   &mark);
        if (mark.distance != SLC_NOT_WANTED)
            lets |= 1u << (c < 31 ? c : 31);
    }
    return lets;
}

static inline bool meets_marks(const struct pass *pass, const struct slc_glance *glance)
{
    struct slc_memory *memory = &pass->fwd->memory;

    if (slc_regs_intersect(&pass->task->regs, &glance->touches))
        return true;
    if (!memory->word_count && !memory->slot_count)
        return false;
    for (unsigned i = 0; i < glance->operand_count; i++)
        if (slc_memory_wants(memory, pass->slots[glance->operands[i].slot],
                             glance->operands[i].bytes))
            return true;
    return false;
}

/* How dependents of a statement are marked. */
static struct slc_want parent_mark(const struct pass *pass, uint32_t s)
{
    return (struct slc_want){.user = pass->fwd->interval->first_time + pass->exec->time_off + s,
                             .distance = 1,
                             .edge = WETDBG_EDGE_CONTROL,
                             .location = INS_LOC_COUNT};
}

static int pass_all(struct pass *pass, struct slc_node *node, bool is_live,
                    struct slc_want *as_parent)
{
    struct slc_forward *fwd = pass->fwd;
    int err = 0;

    for (uint32_t s = 0; s < node->statement_count && !err; s++) {
        struct slc_op *op = slc_op_settled(&node->compiled.ops[s], pass->slots);
        bool is_parent = false;
        if (op->flags & SLC_OP_HARD) {
            err = slc_fwd_step(fwd, pass->task, pass->exec, node, s, as_parent);
            fwd->bits = slc_slice_bits(fwd->slice, fwd->interval);
            continue;
        }
        err = pass_plain(pass, op, s, is_live, &is_parent);
        *as_parent = slc_no_want();
        pass->is_parent = is_parent;
        if (is_parent && fwd->follows_control)
            *as_parent = parent_mark(pass, s);
    }
    return err;
}

/* Passes an execution by its node's memos, of which it makes one if there is none of its key. */
static int pass_known(struct pass *pass, struct slc_node *node, unsigned lets, bool is_live,
                      struct slc_want *as_parent)
{
    struct slc_forward *fwd = pass->fwd;
    struct slc_fwd_draft draft;
    struct slc_fwd_key key;

    struct slc_fwd_memo *memo = NULL;
    bool is_whole = slc_fwd_is_only_whole(node->glance, lets);

    if (is_whole)
        memo = node->glance->whole;
    if (!memo && !slc_fwd_key(fwd, pass->task, node->glance, node, pass->exec, lets, &key))
        return pass_all(pass, node, is_live, as_parent);
    if (!is_whole)
        memo = slc_fwd_memo_find(node->glance, &key);
    if (memo) {
        if (memo->is_parent && fwd->follows_control)
            *as_parent = parent_mark(pass, node->statement_count - 1);
        return slc_fwd_memo_apply(fwd, pass->task, node->glance, pass->exec, memo);
    }
    draft.is_void = false;
    draft.members = draft.step_count = 0;
    pass->draft = &draft;
    int err = pass_all(pass, node, is_live, as_parent);
    return err ? err
               : slc_fwd_memo_keep(node->glance, node, &pass->task->regs, &key, &draft,
                                   pass->is_parent);
}

int slc_fwd_fast(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                 struct slc_node *node, struct slc_want *as_parent)
{
    struct pass pass = {.fwd = fwd,
                        .task = task,
                        .exec = exec,
                        .node = node,
                        .slots = fwd->interval->slots + exec->slot_off,
                        .klass = SLC_UNKNOWN};
    bool is_live = fwd->follows_control && slc_branches_top(&task->branches)->is_live;
    int err = 0;

    if (!node->glance && !(node->glance = slc_glance_make(node)))
        return -ENOMEM;
    unsigned lets = is_live ? lets_of(&pass, node->glance, node, &err) : 0;
    if (err || (node->glance->is_plain && !lets && !meets_marks(&pass, node->glance)))
        return err;
    if (node->glance->is_fit && fwd->follows_data)
        return pass_known(&pass, node, lets, is_live, as_parent);
    return pass_all(&pass, node, is_live, as_parent);
}

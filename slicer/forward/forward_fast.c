/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * slc_fwd_step() over compiled instructions (slicer/scan/scan_ops.h), where nobody asks who marked a
 * place: the same three steps on bit sets. What is marked whole is most often nothing.
 */
#include <errno.h>

#include "slicer/forward/forward.h"

#define WORDS(op) ((op)->flags & SLC_OP_NARROW ? 1u : 4u)

/* The execution that is passed. */
struct pass {
    struct slc_forward *fwd;
    struct slc_fwd_task *task;
    const struct wet_exec *exec;
    const struct slc_node *node;
    const uint64_t *slots;
    uint32_t klass; /* whose parent was asked for last, or SLC_UNKNOWN */
    bool is_let;    /* ... and instances of it are marked by it */
};

bool slc_fwd_is_fast(const struct slc_forward *fwd, const struct slc_node *node)
{
    return fwd->code->compiles && node->compiled.ops;
}

/* ---- step 1 ---- */

/* Marked bytes among `size` up to 64 from an address on; bit i is byte i. */
static inline uint64_t marked_bytes(const struct slc_memory *memory, uint64_t address,
                                    unsigned size)
{
    const struct slc_page *page = slc_page_find(memory, address >> SLC_PAGE_BITS);
    unsigned off = address % SLC_PAGE_BYTES, bit = off % 64;
    uint64_t found = page ? page->bytes[off / 64] >> bit : 0;

    if (bit + size > 64) {
        if (off / 64 == SLC_PAGE_BYTES / 64 - 1) {
            page = slc_page_find(memory, (address >> SLC_PAGE_BITS) + 1);
            found |= page ? page->bytes[0] << (64 - bit) : 0;
        } else {
            found |= page ? page->bytes[off / 64 + 1] << (64 - bit) : 0;
        }
    }
    return found & UINT64_MAX >> (64 - size);
}

static bool sees_loads(const struct pass *pass, const struct slc_op *op, unsigned loads)
{
    for (; loads; loads &= loads - 1) {
        unsigned m = (unsigned)__builtin_ctz(loads);
        if (marked_bytes(&pass->fwd->memory, pass->slots[op->slot + m], op->load_bytes[m]))
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
        return marked_bytes(&pass->fwd->memory, pass->slots[op->slot + move->operand],
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

static inline void see_way(const struct pass *pass, const struct slc_op *op, unsigned f,
                           struct seen *seen)
{
    const struct slc_way *way = &op->ways[f];

    if (sees_registers(op, way, &pass->task->regs) || sees_loads(pass, op, way->loads)) {
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

static int define_memory(struct slc_forward *fwd, const struct slc_op *op, uint64_t address,
                         uint64_t bytes)
{
    struct slc_memory *memory = &fwd->memory;

    if (slc_memory_wants(memory, address, op->store_bytes)) {
        slc_saves_end(memory, address, op->store_bytes);
        if (marked_bytes(memory, address, op->store_bytes) & ~bytes)
            slc_memory_drop(memory, address, op->store_bytes);
    }
    return slc_memory_add_bytes(memory, address, bytes);
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
    int err = slc_branches_parent(&pass->task->branches, &pass->fwd->ids, pass->fwd->code,
                                  op->klass, &mark);
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
        err = define_memory(fwd, op, pass->slots[op->store_slot], stored_bytes(op, &seen));
    define_registers(regs, op, &seen);
    if (op->popped >= 0 && !err)
        err = pass_pop(pass, op, s, save, (seen.ways | seen.moves) != 0);
    return err || op->pushed < 0 ? err : pass_push(pass, op, s, seen.any);
}

/* ---- a glance at all of it ---- */

static struct slc_glance *glance_at(struct slc_forward *fwd, uint32_t id,
                                    const struct slc_node *node)
{
    if (id >= fwd->code->node_limit)
        return NULL;
    if (!fwd->glances[id])
        fwd->glances[id] = slc_glance_make(node);
    return fwd->glances[id];
}

/* Whether something of the node is marked by control. */
static bool lets_any(struct pass *pass, struct slc_glance *glance, struct slc_node *node, int *err)
{
    struct slc_forward *fwd = pass->fwd;
    struct slc_want mark;

    if (!glance->classes && (*err = slc_glance_classes(glance, fwd->code, node)))
        return false;
    for (unsigned c = 0; c < glance->class_count && !*err; c++) {
        *err = slc_branches_parent(&pass->task->branches, &fwd->ids, fwd->code, glance->classes[c],
                                   &mark);
        if (mark.distance != SLC_NOT_WANTED)
            return true;
    }
    return false;
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

static int pass_all(struct pass *pass, struct slc_node *node, bool is_live,
                    struct slc_want *as_parent)
{
    struct slc_forward *fwd = pass->fwd;
    wetdbg_time first = fwd->interval->first_time + pass->exec->time_off;
    int err = 0;

    for (uint32_t s = 0; s < node->statement_count && !err; s++) {
        struct slc_op *op = &node->compiled.ops[s];
        bool is_parent = false;
        if (op->flags & SLC_OP_HARD) {
            err = slc_fwd_step(fwd, pass->task, pass->exec, node, s, as_parent);
            fwd->bits = slc_slice_bits(fwd->slice, fwd->interval);
            continue;
        }
        err = pass_plain(pass, op, s, is_live, &is_parent);
        *as_parent = slc_no_want();
        if (is_parent && fwd->follows_control)
            *as_parent = (struct slc_want){.user = first + s,
                                           .distance = 1,
                                           .edge = WETDBG_EDGE_CONTROL,
                                           .location = INS_LOC_COUNT};
    }
    return err;
}

int slc_fwd_fast(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                 struct slc_node *node, struct slc_want *as_parent)
{
    struct pass pass = {fwd,         task, exec, node, fwd->interval->slots + exec->slot_off,
                        SLC_UNKNOWN, false};
    bool is_live = fwd->follows_control && slc_branches_top(&task->branches)->is_live;
    struct slc_glance *glance = glance_at(fwd, exec->node, node);
    int err = 0;

    if (!glance)
        return -ENOMEM;
    if (glance->is_plain && !meets_marks(&pass, glance) &&
        !(is_live && lets_any(&pass, glance, node, &err)))
        return err;
    return pass_all(&pass, node, is_live, as_parent);
}

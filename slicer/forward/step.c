/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one instance means for a forward pass, in three steps: what of the source it sees, flow by
 * flow; what it defines loses its marks; what flows that saw something define is marked.
 *
 * The steps are apart because an instruction may define what it uses, and because the distance of
 * an instance is the least over all that it sees.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "recorder/insn/insn_pick.h"
#include "slicer/forward/forward.h"
#include <wetdbg/errors.h>

#define RESULT_FLOW 0 /* of a syscall instruction: rax */

/* One instruction of one execution. */
struct instance {
    const struct wet_statement *statement;
    const struct ins_info *info;
    const uint64_t *slots;
    wetdbg_time time;
    const struct wet_exec *exec;
    const struct slc_node *node;
    uint32_t index; /* of the statement in its node */
};

/* Bytes that a flow writes and that become marked. */
struct run {
    uint64_t address, size_bytes;
    bool is_copy; /* of bytes that were marked as they are */
};

/* What becomes of an instance. */
struct outcome {
    struct slc_sight sight;        /* of the whole instance */
    bool is_start;                 /* of the source itself */
    bool is_let;                   /* marked by control */
    bool is_sent;                  /* of a call: all that it sends is marked */
    unsigned flows;                /* bit f: all that flow f defines is marked */
    uint64_t copied[INS_FLOW_MAX]; /* of a flow that moves bytes: those of its destination */
    struct slc_move move[INS_FLOW_MAX];
    unsigned moves; /* bit f: move[f] says how flow f passes bytes on */
    struct run *runs;
    size_t run_count, run_capacity;
};

/* ---- step 1: what is seen ---- */

void slc_see_registers(const struct slc_regs *regs, const struct ins_regset *set, uint16_t halves,
                       enum wetdbg_edge edge, struct slc_sight *sight)
{
    const struct ins_regset *marked = edge == WETDBG_EDGE_ADDRESS ? &regs->address : &regs->value;

    for (unsigned i = 0; i < 4; i++) {
        for (uint64_t left = set->bits[i] & marked->bits[i]; left; left &= left - 1) {
            unsigned loc = 64 * i + (unsigned)__builtin_ctzll(left);
            bool is_half =
                loc < INS_LOC_CF && loc % INS_GPR_PIECES == 2 && halves >> loc / INS_GPR_PIECES & 1;
            if (is_half && !(slc_regs_value_mask(regs, loc) & SLC_HALF_MASK))
                continue;
            const struct slc_want *mark = edge == WETDBG_EDGE_ADDRESS ? slc_regs_address(regs, loc)
                                                                      : slc_regs_value(regs, loc);
            slc_see(sight, mark, edge, loc, 0);
        }
    }
}

void slc_see_memory(struct slc_memory *memory, uint64_t address, uint64_t size,
                    enum wetdbg_edge edge, struct slc_sight *sight)
{
    uint64_t end = address + size < address ? UINT64_MAX : address + size;
    const struct slc_want *mark;

    for (uint64_t at = address; (mark = slc_memory_next(memory, &at, end)); at++) {
        slc_see(sight, mark, edge, INS_LOC_COUNT, at);
        if (!memory->has_wants)
            return;
    }
}

static void see_operands(struct slc_forward *fwd, const struct instance *in, unsigned mask,
                         struct slc_sight *sight)
{
    struct ins_range ranges[INS_RANGES_MAX];

    for (unsigned m = 0; mask >> m; m++) {
        unsigned count =
            mask >> m & 1 ? slc_operand_ranges(in->statement, m, in->slots, ranges) : 0;
        for (unsigned r = 0; r < count; r++)
            slc_see_memory(&fwd->memory, ranges[r].address, ranges[r].size_bytes, WETDBG_EDGE_VALUE,
                           sight);
    }
}

/* Conditions and addresses: what they see marks all that the flow defines. */
static void see_conditions(struct slc_forward *fwd, struct slc_fwd_task *task,
                           const struct instance *in, unsigned f, struct slc_sight *sight)
{
    const struct ins_flow *flow = &in->info->flows[f];
    unsigned operands = flow->mem_uses | flow->mem_defs | flow->mem_may_defs;

    slc_see_registers(&task->regs, &flow->cond_uses, 0, WETDBG_EDGE_CONDITION, sight);
    for (unsigned m = 0; operands >> m && fwd->follows_address; m++) {
        if (!(operands >> m & 1))
            continue;
        struct ins_regset uses = ins_addr_uses(in->info, m);
        slc_see_registers(&task->regs, &uses, 0, WETDBG_EDGE_ADDRESS, sight);
    }
}

/* Which bytes of a move's source are marked, counted from its start. */
static uint64_t marked_source(struct slc_forward *fwd, const struct slc_fwd_task *task,
                              const struct instance *in, const struct slc_move *move)
{
    const struct slc_shape *shape = slc_shape_of(move->from);
    uint64_t bytes = 0;

    if (!move->from_memory) {
        for (unsigned p = 0; p < shape->count; p++)
            bytes |= (uint64_t)slc_regs_value_mask(&task->regs, move->from + p) << shape->start[p];
        return bytes >> move->from_start;
    }
    struct ins_range range = slc_operand_range(in->statement, move->operand, in->slots);
    if (range.size_bytes > 64)
        return 0;
    for (uint64_t at = range.address;
         slc_memory_next(&fwd->memory, &at, range.address + range.size_bytes); at++)
        bytes |= UINT64_C(1) << (at - range.address);
    return bytes;
}

/* ---- what was chosen ---- */

/* Marked ones among `bytes` of a vector. */
static uint64_t see_vector(const struct slc_regs *regs, unsigned vector, uint64_t bytes,
                           enum wetdbg_edge edge, struct slc_sight *sight)
{
    const struct slc_shape *shape = &slc_vector_shape;
    uint64_t seen = 0;

    for (unsigned p = 0; p < shape->count; p++) {
        unsigned loc = INS_LOC_VEC + INS_VEC_PIECES * vector + p;
        uint64_t marked = (uint64_t)slc_regs_value_mask(regs, loc) << shape->start[p] & bytes;
        if (marked)
            slc_see(sight, slc_regs_value(regs, loc), edge, loc, 0);
        seen |= marked;
    }
    return seen;
}

/* ... of memory. */
static uint64_t see_bytes(struct slc_memory *memory, uint64_t first, uint64_t bytes,
                          enum wetdbg_edge edge, struct slc_sight *sight)
{
    const struct slc_want *mark;
    uint64_t seen = 0;

    for (uint64_t at = first; (mark = slc_memory_next(memory, &at, first + 64)); at++)
        if (bytes >> (at - first) & 1) {
            slc_see(sight, mark, edge, INS_LOC_COUNT, at);
            seen |= UINT64_C(1) << (at - first);
        }
    return seen;
}

static uint64_t see_place(struct slc_forward *fwd, const struct slc_fwd_task *task,
                          const struct instance *in, unsigned place, uint64_t bytes,
                          enum wetdbg_edge edge, struct slc_sight *sight)
{
    if (place == INS_PLACE_COMPUTED) {
        const struct ins_regset uses = ins_computed_uses(in->info);
        struct slc_sight own = slc_no_sight();
        slc_see_registers(&task->regs, &uses, 0, edge, &own);
        see_operands(fwd, in, in->info->flows[0].mem_uses, &own);
        if (own.best.distance == SLC_NOT_WANTED)
            return 0;
        slc_see(sight, &own.best, edge, own.best.location, own.address);
        return UINT64_MAX;
    }
    if (place < INS_PLACE_MEMORY)
        return see_vector(&task->regs, place, bytes, edge, sight);
    return see_bytes(&fwd->memory, in->slots[in->statement->slot + place - INS_PLACE_MEMORY], bytes,
                     edge, sight);
}

/* Bytes of the destination to which a marked address of the memory operand matters. */
static uint64_t see_pick_address(struct slc_forward *fwd, const struct slc_fwd_task *task,
                                 const struct instance *in, const struct ins_pick *pick,
                                 struct slc_sight *sight)
{
    const struct ins_choice *choice = &in->info->choice;
    uint64_t bytes = ins_pick_targets(pick, INS_PLACE_MEMORY, UINT64_MAX);
    struct slc_sight own = slc_no_sight();
    struct ins_regset uses = ins_addr_uses(in->info, 0);

    if (ins_place_is_memory(in->info, INS_PLACE_COMPUTED))
        bytes |= ins_pick_targets(pick, INS_PLACE_COMPUTED, UINT64_MAX);
    if (choice->to == INS_PLACE_MEMORY)
        bytes = ins_pick_written(pick);
    if (choice->selector == INS_PLACE_MEMORY)
        bytes |= ins_pick_chosen(pick, UINT64_MAX);
    if (!bytes || !fwd->follows_address)
        return 0;
    slc_see_registers(&task->regs, &uses, 0, WETDBG_EDGE_ADDRESS, &own);
    if (own.best.distance == SLC_NOT_WANTED)
        return 0;
    slc_see(sight, &own.best, WETDBG_EDGE_ADDRESS, own.best.location, own.address);
    return bytes;
}

/* What takes bytes by a mask or by indices passes on those that it took, and all that something
 * marked chose. */
static void see_pick(struct slc_forward *fwd, struct slc_fwd_task *task, const struct instance *in,
                     unsigned f, struct outcome *out)
{
    const struct ins_choice *choice = &in->info->choice;
    struct ins_regset mask = {0};
    struct ins_picked picked;
    struct ins_pick pick;

    ins_pick_get(in->info, in->slots + in->statement->slot, &pick);
    uint64_t written = ins_pick_written(&pick), copied = 0;
    if (choice->to == INS_PLACE_MEMORY)
        written &= UINT64_MAX >> (INS_PICK_BYTES - choice->bytes);
    ins_pick_sources(&pick, written, &picked);
    for (unsigned i = 0; i < picked.count; i++)
        copied |= ins_pick_targets(&pick, picked.place[i],
                                   see_place(fwd, task, in, picked.place[i], picked.bytes[i],
                                             WETDBG_EDGE_VALUE, &out->sight));
    if (picked.selector)
        copied |= ins_pick_chosen(&pick, see_place(fwd, task, in, choice->selector, picked.selector,
                                                   WETDBG_EDGE_CONDITION, &out->sight));
    if (picked.is_masked && ins_regset_has(&task->regs.value, INS_LOC_K + choice->mask)) {
        ins_regset_add(&mask, INS_LOC_K + choice->mask);
        slc_see_registers(&task->regs, &mask, 0, WETDBG_EDGE_CONDITION, &out->sight);
        copied |= pick.masked;
    }
    copied |= see_pick_address(fwd, task, in, &pick, &out->sight);
    out->copied[f] = copied & written;
    out->move[f] = (struct slc_move){.to_memory = choice->to == INS_PLACE_MEMORY};
    out->moves |= 1u << f;
}

static void see_flow(struct slc_forward *fwd, struct slc_fwd_task *task, const struct instance *in,
                     unsigned f, struct outcome *out)
{
    const struct ins_flow *flow = &in->info->flows[f];
    struct slc_sight whole = slc_no_sight();

    see_conditions(fwd, task, in, f, &whole);
    if (whole.best.distance != SLC_NOT_WANTED)
        out->flows |= 1u << f;
    struct slc_sight values = slc_no_sight();
    slc_see_registers(&task->regs, &flow->value_uses, flow->halves, WETDBG_EDGE_VALUE, &values);
    see_operands(fwd, in, flow->mem_uses, &values);
    if (values.best.distance != SLC_NOT_WANTED) {
        if (slc_move_make(&out->move[f], flow)) {
            out->moves |= 1u << f;
            out->copied[f] =
                slc_move_target(&out->move[f], marked_source(fwd, task, in, &out->move[f]));
        } else {
            out->flows |= 1u << f;
        }
        slc_see(&whole, &values.best, WETDBG_EDGE_VALUE, values.best.location, values.address);
    }
    slc_see(&out->sight, &whole.best, (enum wetdbg_edge)whole.best.edge, whole.best.location,
            whole.address);
}

/* ---- memory that is written ---- */

static int add_run(struct outcome *out, uint64_t address, uint64_t size, bool is_copy)
{
    if (size == 0)
        return 0;
    if (wd_grow(out->runs, out->run_capacity, out->run_count + 1))
        return -ENOMEM;
    out->runs[out->run_count++] = (struct run){address, size, is_copy};
    return 0;
}

/* rep movs: each byte goes for itself; rep stos: the register, again and again. */
static int add_repeated(struct slc_forward *fwd, const struct slc_fwd_task *task,
                        const struct instance *in, const struct slc_move *move, unsigned m,
                        struct ins_range range, struct outcome *out)
{
    uint64_t element = in->info->mems[m].size_bytes, source = 0;
    int err = 0;

    if (!move->from_memory)
        source = slc_move_target(move, marked_source(fwd, task, in, move));
    for (uint64_t b = 0; b < range.size_bytes && !err; b++) {
        uint64_t at = range.address + b;
        bool is_marked = source >> b % element & 1;
        if (move->from_memory) {
            uint64_t from = slc_moved_from(in->statement, m, in->slots, at), end = from + 1;
            is_marked = slc_memory_next(&fwd->memory, &from, end);
        }
        if (is_marked)
            err = add_run(out, at, 1, true);
    }
    return err;
}

static int add_copied(struct outcome *out, uint64_t address, uint64_t bytes)
{
    int err = 0;

    while (bytes && !err) {
        unsigned first = (unsigned)__builtin_ctzll(bytes);
        uint64_t rest = ~(bytes >> first);
        unsigned count = rest ? (unsigned)__builtin_ctzll(rest) : 64;
        err = add_run(out, address + first, count, true);
        bytes &= first + count < 64 ? UINT64_MAX << (first + count) : 0;
    }
    return err;
}

/* What of a written range becomes marked. */
static int mark_range(struct slc_forward *fwd, const struct slc_fwd_task *task,
                      const struct instance *in, unsigned f, unsigned m, struct ins_range range,
                      struct outcome *out)
{
    bool is_rep = in->info->mems[m].flags & INS_MEM_REP;

    if (out->flows >> f & 1)
        return add_run(out, range.address, range.size_bytes, false);
    if (!(out->moves >> f & 1) || !out->move[f].to_memory)
        return 0;
    if (is_rep)
        return add_repeated(fwd, task, in, &out->move[f], m, range, out);
    uint64_t bytes = out->copied[f];
    if (ins_is_pick(in->info)) /* of which this is a part */
        bytes >>= range.address - in->slots[in->statement->slot + m];
    if (range.size_bytes < 64)
        bytes &= (UINT64_C(1) << range.size_bytes) - 1;
    return add_copied(out, range.address, bytes);
}

static int each_store(struct slc_forward *fwd, const struct slc_fwd_task *task,
                      const struct instance *in, struct outcome *out,
                      int (*fn)(struct slc_forward *, const struct slc_fwd_task *,
                                const struct instance *, unsigned f, unsigned m, struct ins_range,
                                struct outcome *))
{
    struct ins_range ranges[INS_RANGES_MAX];
    int err = 0;

    for (unsigned f = 0; f < in->info->flow_count && !err; f++) {
        unsigned mask = in->info->flows[f].mem_defs | in->info->flows[f].mem_may_defs;
        for (unsigned m = 0; mask >> m && !err; m++) {
            unsigned count =
                mask >> m & 1 ? slc_operand_ranges(in->statement, m, in->slots, ranges) : 0;
            for (unsigned r = 0; r < count && !err; r++)
                err = fn(fwd, task, in, f, m, ranges[r], out);
        }
    }
    return err;
}

/* A rep instruction says "perhaps" for the case of no element, a masked store for what its mask
 * leaves out; their ranges are exact. */
static int unmark_range(struct slc_forward *fwd, const struct slc_fwd_task *task,
                        const struct instance *in, unsigned f, unsigned m, struct ins_range range,
                        struct outcome *out)
{
    (void)task;
    (void)out;
    slc_saves_end(&fwd->memory, range.address, range.size_bytes);
    if (in->info->flows[f].mem_defs >> m & 1 || ins_ranges_are_exact(in->info, m))
        slc_memory_drop(&fwd->memory, range.address, range.size_bytes);
    return 0;
}

/* ---- registers ---- */

static void mark_register(struct slc_regs *regs, unsigned loc, uint32_t mask, bool is_address,
                          const struct slc_want *mark)
{
    if (loc < INS_LOC_CF || (loc >= INS_LOC_VEC && loc < INS_LOC_K))
        slc_regs_add_mask(regs, loc, mask & slc_piece_mask(loc), mark);
    else
        slc_regs_add(regs, loc, mark, false);
    if (is_address)
        slc_regs_add(regs, loc, mark, true);
}

static void mark_defined(struct slc_fwd_task *task, const struct ins_flow *flow,
                         const struct outcome *out, unsigned f, const struct slc_want *mark)
{
    struct ins_regset set = flow->defs;
    bool is_address = !(flow->kinds & INS_FLOW_STACK_ADDRESS);
    bool is_whole = out->flows >> f & 1;
    const struct slc_move *move = &out->move[f];

    if (flow->kinds & INS_FLOW_STACK)
        return;
    ins_regset_join(&set, &flow->may_defs);
    if (!is_whole && (!(out->moves >> f & 1) || move->to_memory))
        return;
    for (unsigned l = ins_regset_next(&set, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&set, l + 1)) {
        uint32_t mask = UINT32_MAX;
        unsigned unit, from, to;
        if (!is_whole) {
            slc_piece_bytes(l, &unit, &from, &to);
            mask = (uint32_t)(out->copied[f] << move->to_start >> from) & slc_piece_mask(l);
        }
        if (mask)
            mark_register(&task->regs, l, mask, is_address, mark);
    }
}

/* ---- all of it ---- */

static int define(struct slc_forward *fwd, struct slc_fwd_task *task, const struct instance *in,
                  struct outcome *out, const struct slc_save *save)
{
    int popped = in->node->popped[in->index], pushed = in->node->pushed[in->index];
    const struct slc_want mark = {.user = in->time,
                                  .distance = out->sight.best.distance + 1,
                                  .edge = WETDBG_EDGE_VALUE,
                                  .location = INS_LOC_COUNT};
    struct slc_want copy = mark;
    int err = each_store(fwd, task, in, out, mark_range);

    copy.distance -= fwd->slice->options.copies_are_near;
    if (!err)
        err = each_store(fwd, task, in, out, unmark_range);
    for (unsigned f = 0; f < in->info->flow_count && !err; f++)
        slc_regs_remove(&task->regs, &in->info->flows[f].defs);
    for (unsigned f = 0; f < in->info->flow_count && !err; f++)
        mark_defined(task, &in->info->flows[f], out, f, out->flows >> f & 1 ? &mark : &copy);
    for (size_t r = 0; r < out->run_count && !err; r++)
        err = slc_memory_add(&fwd->memory, out->runs[r].address, out->runs[r].size_bytes,
                             out->runs[r].is_copy ? &copy : &mark);
    if (popped >= 0 && !err) {
        const struct slc_saving pop = slc_fwd_saving(fwd, in->exec, in->node, in->index, popped);
        err = slc_fwd_pop(fwd, task, &pop, save, (out->flows | out->moves) != 0);
    }
    if (pushed >= 0 && !err) {
        const struct slc_saving push = slc_fwd_saving(fwd, in->exec, in->node, in->index, pushed);
        err = slc_fwd_push(fwd, task, &push, out->sight.best.distance != SLC_NOT_WANTED);
    }
    return err;
}

int slc_fwd_control(struct slc_forward *fwd, struct slc_fwd_task *task, uint32_t pc_index,
                    struct slc_want *mark)
{
    *mark = slc_no_want();
    if (!fwd->follows_control || !slc_branches_top(&task->branches)->is_live)
        return 0;
    uint32_t klass = slc_code_class(fwd->code, pc_index);
    if (klass == SLC_UNKNOWN)
        return -ENOMEM;
    return slc_branches_parent(&task->branches, fwd->ids, fwd->code, klass, mark);
}

/* ---- system calls ---- */

struct caller {
    struct slc_forward *fwd;
    struct slc_fwd_task *task;
    struct slc_sight parts[SLC_CALL_SENT + 1];
};

static int see_argument(void *arg, enum slc_call_part part, unsigned gpr, enum wetdbg_edge edge)
{
    struct caller *caller = arg;
    struct ins_regset set = {0};

    if (edge == WETDBG_EDGE_ADDRESS && !caller->fwd->follows_address)
        return 0;
    ins_regset_add_gpr(&set, gpr, 0, 8);
    slc_see_registers(&caller->task->regs, &set, 0, edge, &caller->parts[part]);
    return 0;
}

static int see_argument_bytes(void *arg, enum slc_call_part part, uint64_t address, uint64_t bytes)
{
    struct caller *caller = arg;

    slc_see_memory(&caller->fwd->memory, address, bytes, WETDBG_EDGE_VALUE, &caller->parts[part]);
    return 0;
}

/* The event that tells of the arguments of the call at `time`. */
static void find_arguments(const struct slc_forward *fwd, const struct instance *in,
                           struct slc_call_args *call)
{
    *call = (struct slc_call_args){.is_known = false};
    for (size_t i = fwd->event_at; i < fwd->interval->event_count; i++) {
        const struct wet_event *event = &fwd->interval->events[i];
        if (event->time > in->time)
            return;
        if (event->task == in->exec->task && event->entry->kind == EVQ_SYSCALL_ENTER) {
            slc_call_note(call, event->entry);
            return;
        }
    }
}

/* What a call sees with all that it uses. */
static int see_call(struct slc_forward *fwd, struct slc_fwd_task *task, const struct instance *in,
                    struct outcome *out)
{
    struct caller caller = {fwd, task, {slc_no_sight(), slc_no_sight(), slc_no_sight()}};
    const struct slc_call_user user = {.wet = fwd->wet,
                                       .lengths = &fwd->slice->session->lengths,
                                       .interval = fwd->interval,
                                       .time = in->time,
                                       .last = SLC_CALL_SENT,
                                       .use_register = see_argument,
                                       .use_bytes = see_argument_bytes,
                                       .arg = &caller};
    struct slc_call_args call;
    bool is_known, is_seen = false;

    if (slc_regs_is_empty(&task->regs) && fwd->memory.word_count == 0)
        return 0;
    find_arguments(fwd, in, &call);
    int err = slc_call_uses(&call, &user, &is_known);
    for (unsigned part = 0; part <= SLC_CALL_SENT; part++) {
        const struct slc_sight *sight = &caller.parts[part];
        is_seen |= sight->best.distance != SLC_NOT_WANTED;
        if (part == SLC_CALL_RESULT)
            out->flows = is_seen ? 1u << RESULT_FLOW : 0;
        if (part == SLC_CALL_SENT_AT)
            out->is_sent = is_seen;
        slc_see(&out->sight, &sight->best, (enum wetdbg_edge)sight->best.edge, sight->best.location,
                sight->address);
    }
    if (is_seen)
        fwd->slice->counts.unknown_calls += !is_known;
    return err;
}

/* ---- what is seen, of all flows ---- */

static bool is_start(struct slc_forward *fwd, const struct instance *in)
{
    bool is_it = false;

    for (size_t i = fwd->start_at; i < fwd->start_count && fwd->starts[i].time == in->time; i++)
        is_it |= fwd->starts[i].is_maker || fwd->starts[i].seed->uses != SLC_USES_NONE;
    return is_it;
}

/* Of a start that only delivered the source's bytes nothing else is marked. */
static bool is_whole_start(const struct slc_forward *fwd, const struct instance *in)
{
    for (size_t i = fwd->start_at; i < fwd->start_count && fwd->starts[i].time == in->time; i++)
        if (!fwd->starts[i].is_maker && fwd->starts[i].seed->uses != SLC_USES_NONE)
            return true;
    return false;
}

static void see_start(struct slc_forward *fwd, const struct instance *in, struct outcome *out)
{
    if (fwd->start_at == fwd->start_count || !is_start(fwd, in))
        return;
    out->sight.best =
        (struct slc_want){.distance = 0, .edge = WETDBG_EDGE_NONE, .location = INS_LOC_COUNT};
    out->sight.address = 0;
    out->is_start = is_whole_start(fwd, in);
}

static int see_all(struct slc_forward *fwd, struct slc_fwd_task *task, const struct instance *in,
                   struct outcome *out)
{
    const struct ins_info *info = in->info;
    bool is_call = info->klass == INS_SYSCALL;
    unsigned skipped = ins_skipped_flow(info, in->slots + in->statement->slot);
    struct slc_want control;
    int err = slc_fwd_control(fwd, task, in->node->pc_index[in->index], &control);

    if (err)
        return err;
    out->is_let = control.distance != SLC_NOT_WANTED;
    if (out->is_let)
        slc_see(&out->sight, &control, WETDBG_EDGE_CONTROL, INS_LOC_COUNT, 0);
    for (unsigned f = is_call; f < info->flow_count && fwd->follows_data; f++)
        if (ins_is_pick_flow(info, f))
            see_pick(fwd, task, in, f, out);
        else if (!(info->flows[f].kinds & skipped))
            see_flow(fwd, task, in, f, out);
    if (is_call) /* what else it changes depends on nothing that it uses */
        out->flows = out->moves = 0;
    if (is_call && fwd->follows_data)
        err = see_call(fwd, task, in, out);
    see_start(fwd, in, out);
    if (out->is_let || out->is_start) {
        out->flows = (1u << info->flow_count) - 1;
        out->is_sent = true;
    }
    return err;
}

/* How what the instance lets run is marked. */
static struct slc_want as_parent_of(const struct instance *in, const struct outcome *out)
{
    struct slc_want mark = {.user = in->time,
                            .distance = out->sight.best.distance + 1,
                            .edge = WETDBG_EDGE_CONTROL,
                            .location = INS_LOC_COUNT};
    bool is_marked = out->is_let || out->is_start;

    for (unsigned f = 0; f < in->info->flow_count; f++)
        is_marked |=
            in->info->flows[f].kinds & INS_FLOW_BRANCH && (out->flows | out->moves) >> f & 1;
    return is_marked ? mark : slc_no_want();
}

/* What of a call matters to what the kernel does for it. */
static struct slc_fwd_call call_of(const struct instance *in, const struct outcome *out,
                                   const struct slc_want *as_parent)
{
    const struct slc_want mark = {.user = in->time,
                                  .distance = out->sight.best.distance + 1,
                                  .edge = WETDBG_EDGE_VALUE,
                                  .location = INS_LOC_COUNT};

    return (struct slc_fwd_call){.time = in->time,
                                 .pc_index = in->node->pc_index[in->index],
                                 .distance = out->sight.best.distance,
                                 .result = out->flows >> RESULT_FLOW & 1 ? mark : slc_no_want(),
                                 .sent = out->is_sent ? mark : slc_no_want(),
                                 .maker = *as_parent};
}

int slc_fwd_step(struct slc_forward *fwd, struct slc_fwd_task *task, const struct wet_exec *exec,
                 const struct slc_node *node, uint32_t statement, struct slc_want *as_parent)
{
    struct instance in = {.statement = &node->wet->statements[statement],
                          .info = node->wet->statements[statement].info,
                          .slots = fwd->interval->slots + exec->slot_off,
                          .time = fwd->interval->first_time + exec->time_off + statement,
                          .exec = exec,
                          .node = node,
                          .index = statement};
    struct outcome out = {.sight = slc_no_sight()};
    const struct slc_save *save = NULL;
    struct ins_info settled;
    in.info = ins_settle(in.info, in.slots + in.statement->slot, &settled);
    int err = see_all(fwd, task, &in, &out);

    assert(statement < node->statement_count);
    if (err)
        return err;
    *as_parent = fwd->follows_control ? as_parent_of(&in, &out) : slc_no_want();
    if (node->popped[statement] >= 0) {
        const struct slc_saving pop =
            slc_fwd_saving(fwd, exec, node, statement, node->popped[statement]);
        save = slc_saves_find(&fwd->saves, &fwd->memory, pop.task, pop.reg, pop.slot);
    }
    if (out.sight.best.distance != SLC_NOT_WANTED)
        err = slc_slice_add(fwd->slice, fwd->interval, in.time, node->pc_index[statement],
                            &out.sight.best, out.sight.address);
    if (in.info->klass == INS_SYSCALL)
        task->call = call_of(&in, &out, as_parent);
    if (in.info->klass == INS_SYSCALL && task->call.result.distance != SLC_NOT_WANTED && !err)
        err = slc_call_bytes_add(&fwd->slice->calls,
                                 (struct slc_call_run){.time = in.time, .kind = SLC_BYTES_ALL});
    if (!err && fwd->follows_data)
        err = define(fwd, task, &in, &out, save);
    free(out.runs);
    return err;
}

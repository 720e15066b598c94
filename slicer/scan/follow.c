/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one instance means for a backward scan, in three steps: which of its flows define something
 * wanted; those places are no longer wanted before it; what those flows use is.
 *
 * The steps are apart because an instruction's uses are places *before* it (add [rax], rcx may use
 * what it defines), and because the distance of an instance is the least over all that want it.
 */
#include <assert.h>
#include <errno.h>

#include "common/array.h"
#include "recorder/insn/insn_pick.h"
#include "slicer/scan/implied.h"
#include "slicer/scan/recorder.h"
#include "slicer/scan/scan.h"

/* ---- step 1: hits ---- */

static int add_run(struct slc_hits *hits, struct slc_run run)
{
    assert(run.size_bytes && run.flow < INS_FLOW_MAX);
    if (hits->run_count) {
        struct slc_run *last = &hits->runs[hits->run_count - 1];
        if (last->flow == run.flow && last->operand == run.operand &&
            last->address + last->size_bytes == run.address) {
            last->size_bytes += run.size_bytes;
            return 0;
        }
    }
    if (wd_grow(hits->runs, hits->run_capacity, hits->run_count + 1))
        return -ENOMEM;
    hits->runs[hits->run_count++] = run;
    return 0;
}

static void hit_registers(struct slc_hits *hits, struct slc_regs *regs, const struct ins_flow *flow,
                          unsigned f)
{
    struct ins_regset set = flow->defs;

    ins_regset_join(&set, &flow->may_defs);
    if (!slc_regs_intersect(regs, &set))
        return;
    for (unsigned i = 0; i < 4; i++)
        set.bits[i] &= regs->value.bits[i] | regs->address.bits[i];
    for (unsigned l = ins_regset_next(&set, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&set, l + 1)) {
        uint32_t bytes = 0;
        unsigned unit, from = 0, to;
        bool is_hit = false, is_piece = slc_piece_bytes(l, &unit, &from, &to);
        if (!(flow->kinds & INS_FLOW_STACK) && ins_regset_has(&regs->value, l)) {
            slc_hit(hits, slc_regs_value(regs, l), l, 0);
            bytes = is_piece ? slc_regs_value_mask(regs, l) : 0;
            is_hit = true;
        }
        if (!(flow->kinds & (INS_FLOW_STACK | INS_FLOW_STACK_ADDRESS)) &&
            ins_regset_has(&regs->address, l)) {
            slc_hit(hits, slc_regs_address(regs, l), l, 0);
            bytes = is_piece ? slc_piece_mask(l) : 0;
            is_hit = true;
        }
        hits->bytes[f] |= (uint64_t)bytes << from;
        hits->flows |= is_hit ? 1u << f : 0;
    }
}

static int hit_range(struct slc_scan *scan, struct ins_range range, unsigned f, unsigned operand)
{
    struct slc_hits *hits = &scan->hits;
    uint64_t end = range.address + range.size_bytes;
    struct slc_want *want;

    if (end < range.address)
        end = UINT64_MAX;
    for (uint64_t at = range.address; (want = slc_memory_next(&scan->memory, &at, end)); at++) {
        slc_hit(hits, want, INS_LOC_COUNT, at);
        hits->flows |= 1u << f;
        if (add_run(hits, (struct slc_run){at, 1, f, operand}))
            return -ENOMEM;
    }
    return 0;
}

/* One instruction of one execution. */
struct instance {
    const struct wet_statement *statement;
    const struct ins_info *info;
    const uint64_t *slots;
    wetdbg_time time;
    uint32_t task;
    int8_t pushed, popped; /* callee-saved register, or -1 */
    uint64_t pop_slot;
    unsigned skipped; /* kind of the flow that did not apply */
    /* Of a call: what it wrote is wanted, or what it sent. */
    bool has_written, has_sent;
    bool jumps_to_recorder; /* ... into rr's library, for a call that is wanted */
};

static int hit_memory(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                      unsigned f)
{
    const struct ins_flow *flow = &in->info->flows[f];
    unsigned mask = flow->mem_defs | flow->mem_may_defs;
    struct ins_range ranges[INS_RANGES_MAX];

    for (unsigned m = 0; m < in->info->mem_count; m++) {
        if (!(mask & 1u << m))
            continue;
        unsigned count = slc_operand_ranges(in->statement, m, in->slots, ranges);
        for (unsigned r = 0; r < count; r++) {
            if (!slc_memory_wants(&scan->memory, ranges[r].address, ranges[r].size_bytes))
                continue;
            int err = slc_bypass_write(&scan->bypass, &scan->memory, &task->regs, in->task,
                                       in->pushed, ranges[r].address, ranges[r].size_bytes);
            if (!err)
                err = hit_range(scan, ranges[r], f, m);
            if (err)
                return err;
        }
    }
    return 0;
}

/* A pop that ends a saved register's life takes its wants away before they are hits. */
static int try_bypass(struct slc_scan *scan, struct slc_task *task, const struct instance *in)
{
    if (scan->slice->options.no_bypass || !scan->memory.table)
        return 0;
    int reg = in->popped;
    if (reg < 0)
        return 0;
    struct ins_regset pieces = {0};
    ins_regset_add_gpr(&pieces, (unsigned)reg, 0, 8);
    if (!slc_regs_intersect(&task->regs, &pieces))
        return 0;
    int taken = slc_bypass_pop(&scan->bypass, &scan->memory, &task->regs, in->task, (unsigned)reg,
                               in->pop_slot, in->time);
    return taken < 0 ? taken : 0;
}

/* ---- step 2: what is defined for sure is no longer wanted ---- */

static void drop_defined(struct slc_scan *scan, struct slc_task *task, const struct instance *in)
{
    for (unsigned f = 0; f < in->info->flow_count; f++)
        slc_regs_remove(&task->regs, &in->info->flows[f].defs);
    /* A rep instruction says "perhaps" for the case of no element, a masked store for
     * bytes that its mask leaves out; their ranges are exact here. */
    for (size_t r = 0; r < scan->hits.run_count; r++) {
        const struct slc_run *run = &scan->hits.runs[r];
        const struct ins_flow *flow = &in->info->flows[run->flow];
        if (flow->mem_defs & 1u << run->operand || ins_ranges_are_exact(in->info, run->operand))
            slc_memory_drop(&scan->memory, run->address, run->size_bytes);
    }
}

/* ---- step 3: uses ---- */

#define RESULT_FLOW 1u /* of a syscall instruction: rax */

static void want_registers(struct slc_task *task, const struct ins_regset *set,
                           struct slc_want *want, enum wetdbg_edge edge)
{
    want->edge = (uint8_t)edge;
    for (unsigned l = ins_regset_next(set, 0); l < INS_LOC_COUNT; l = ins_regset_next(set, l + 1))
        slc_regs_add(&task->regs, l, want, edge == WETDBG_EDGE_ADDRESS);
}

/* Wants what a flow uses as values: of the general registers that it uses half, the lower half. */
static void want_values(struct slc_task *task, const struct ins_flow *flow, struct slc_want *want)
{
    struct ins_regset whole = flow->value_uses;

    for (unsigned left = flow->halves; left; left &= left - 1)
        whole.bits[0] &= ~(UINT64_C(1) << SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)));
    want_registers(task, &whole, want, WETDBG_EDGE_VALUE);
    for (unsigned left = flow->halves; left; left &= left - 1)
        slc_regs_add_mask(&task->regs, SLC_UPPER_PIECE((unsigned)__builtin_ctz(left)),
                          SLC_HALF_MASK, want);
}

static int want_operands(struct slc_scan *scan, const struct instance *in, unsigned mask,
                         struct slc_want *want)
{
    struct ins_range ranges[INS_RANGES_MAX];
    int err = 0;

    want->edge = WETDBG_EDGE_VALUE;
    for (unsigned m = 0; m < in->info->mem_count; m++) {
        unsigned count =
            mask & 1u << m ? slc_operand_ranges(in->statement, m, in->slots, ranges) : 0;
        for (unsigned r = 0; r < count && !err; r++)
            err = slc_memory_add(&scan->memory, ranges[r].address, ranges[r].size_bytes, want);
    }
    return err;
}

/* Wants bytes from an address on, up to 64 of them. */
static int want_bytes(struct slc_scan *scan, uint64_t at, uint64_t bytes,
                      const struct slc_want *want)
{
    int err = 0;

    while (bytes && !err) {
        unsigned first = (unsigned)__builtin_ctzll(bytes);
        uint64_t rest = ~(bytes >> first);
        unsigned count = rest ? (unsigned)__builtin_ctzll(rest) : 64;
        err = slc_memory_add(&scan->memory, at + first, count, want);
        bytes &= first + count < 64 ? UINT64_MAX << (first + count) : 0;
    }
    return err;
}

/* Wants bytes of a move's source, where bit i of `wanted` is the destination's i-th byte. */
static int want_source(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                       const struct slc_move *move, uint64_t wanted, struct slc_want *want)
{
    uint64_t bytes = slc_move_source(move, wanted);

    want->edge = WETDBG_EDGE_VALUE;
    if (!move->from_memory) {
        slc_regs_add_bytes(&task->regs, move->from, bytes << move->from_start, want);
        return 0;
    }
    uint64_t at = slc_operand_range(in->statement, move->operand, in->slots).address;
    return want_bytes(scan, at, bytes, want);
}

static int want_moved(struct slc_scan *scan, const struct instance *in, const struct slc_run *run,
                      struct slc_want *want)
{
    int err = 0;

    want->edge = WETDBG_EDGE_VALUE;
    for (uint64_t b = 0; b < run->size_bytes && !err; b++) {
        uint64_t at = slc_moved_from(in->statement, run->operand, in->slots, run->address + b);
        err = slc_memory_add(&scan->memory, at, 1, want);
    }
    return err;
}

/* Wants the source of rep stos: each element is the register again. */
static int want_repeated(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                         const struct slc_run *run, const struct slc_move *move,
                         struct slc_want *want)
{
    uint64_t element = in->info->mems[run->operand].size_bytes, wanted = 0;
    uint64_t off = run->address - slc_operand_range(in->statement, run->operand, in->slots).address;

    for (uint64_t b = 0; b < run->size_bytes && b < element; b++)
        wanted |= UINT64_C(1) << (off + b) % element;
    return want_source(scan, task, in, move, wanted, want);
}

static int follow_copy(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                       unsigned f, const struct slc_move *move, struct slc_want *want)
{
    uint64_t wanted = scan->hits.bytes[f] >> move->to_start;
    int err = 0;

    for (size_t r = 0; r < scan->hits.run_count && move->to_memory && !err; r++) {
        const struct slc_run *run = &scan->hits.runs[r];
        if (run->flow != f)
            continue;
        struct ins_range range = slc_operand_range(in->statement, run->operand, in->slots);
        if (!(in->info->mems[run->operand].flags & INS_MEM_REP))
            wanted |= UINT64_MAX >> (64 - run->size_bytes) << (run->address - range.address);
        else if (move->from_memory)
            err = want_moved(scan, in, run, want);
        else
            err = want_repeated(scan, task, in, run, move, want);
    }
    return err ? err : want_source(scan, task, in, move, wanted, want);
}

/* ---- what was chosen ---- */

/* Bytes of the destination that are wanted. */
static uint64_t wanted_of_pick(const struct slc_scan *scan, const struct instance *in, unsigned f)
{
    uint64_t first = in->slots[in->statement->slot], wanted = scan->hits.bytes[f];

    if (scan->hits.whole >> f & 1)
        return UINT64_MAX;
    for (size_t r = 0; r < scan->hits.run_count; r++)
        wanted |= UINT64_MAX >> (64 - scan->hits.runs[r].size_bytes)
                                    << (scan->hits.runs[r].address - first);
    return wanted;
}

/* Wants bytes of a vector or of a memory operand. */
static int want_place(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                      unsigned place, uint64_t bytes, const struct slc_want *want)
{
    if (place == INS_PLACE_COMPUTED) {
        const struct ins_regset uses = ins_computed_uses(in->info);
        struct slc_want computed = *want;
        want_registers(task, &uses, &computed, WETDBG_EDGE_VALUE);
        return want_operands(scan, in, in->info->flows[0].mem_uses, &computed);
    }
    if (place >= INS_PLACE_MEMORY)
        return want_bytes(scan, in->slots[in->statement->slot + place - INS_PLACE_MEMORY], bytes,
                          want);
    slc_regs_add_bytes(&task->regs, INS_LOC_VEC + INS_VEC_PIECES * place, bytes, want);
    return 0;
}

/* Follows what takes bytes by a mask or by indices to those that it took, and to what chose
 * them. */
static int follow_pick(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                       unsigned f, struct slc_want *want)
{
    const struct ins_choice *choice = &in->info->choice;
    bool is_near = scan->slice->options.copies_are_near && !(scan->hits.whole >> f & 1);
    bool has_memory = in->info->flows[f].mem_may_defs != 0;
    struct ins_picked picked;
    struct ins_pick pick;
    int err = 0;

    ins_pick_get(in->info, in->slots + in->statement->slot, &pick);
    ins_pick_sources(&pick, wanted_of_pick(scan, in, f), &picked);
    want->edge = WETDBG_EDGE_VALUE;
    for (unsigned i = 0; i < picked.count && !err; i++) {
        bool is_nearer = is_near && picked.place[i] != INS_PLACE_COMPUTED;
        has_memory |= ins_place_is_memory(in->info, picked.place[i]);
        want->distance -= is_nearer;
        err = want_place(scan, task, in, picked.place[i], picked.bytes[i], want);
        want->distance += is_nearer;
    }
    want->edge = WETDBG_EDGE_CONDITION;
    if (picked.selector && !err) {
        has_memory |= choice->selector >= INS_PLACE_MEMORY;
        err = want_place(scan, task, in, choice->selector, picked.selector, want);
    }
    if (picked.is_masked)
        slc_regs_add(&task->regs, INS_LOC_K + choice->mask, want, false);
    struct ins_regset address = ins_addr_uses(in->info, 0);
    if (has_memory && scan->follows_address)
        want_registers(task, &address, want, WETDBG_EDGE_ADDRESS);
    return err;
}

static int follow_flow(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                       unsigned f, struct slc_want *want)
{
    if (ins_is_pick_flow(in->info, f))
        return follow_pick(scan, task, in, f, want);
    const struct ins_flow *flow = &in->info->flows[f];
    unsigned operands = flow->mem_uses | flow->mem_defs | flow->mem_may_defs;
    struct slc_move move;
    int err;

    if (!(scan->hits.whole & 1u << f) && slc_move_make(&move, flow)) {
        bool is_near = scan->slice->options.copies_are_near;
        want->distance -= is_near;
        err = follow_copy(scan, task, in, f, &move, want);
        want->distance += is_near;
    } else {
        want_values(task, flow, want);
        err = want_operands(scan, in, flow->mem_uses, want);
    }
    want_registers(task, &flow->cond_uses, want, WETDBG_EDGE_CONDITION);
    for (unsigned m = 0; m < in->info->mem_count && scan->follows_address; m++) {
        if (!(operands & 1u << m))
            continue;
        struct ins_regset uses = ins_addr_uses(in->info, m);
        want_registers(task, &uses, want, WETDBG_EDGE_ADDRESS);
    }
    return err;
}

static bool is_call_wanted(const struct slc_hits *hits, const struct instance *in)
{
    return (hits->whole | hits->flows) & RESULT_FLOW || in->has_written;
}

static enum slc_call_part last_part(const struct slc_hits *hits, const struct instance *in)
{
    if (hits->whole & RESULT_FLOW)
        return SLC_CALL_SENT;
    return in->has_sent ? SLC_CALL_SENT_AT : SLC_CALL_RESULT;
}

/* Follows a system call that is wanted. What it returns and writes comes from outside; what it used
 * says which call it was. */
static int follow_call(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                       enum slc_call_wants what, struct slc_want *want)
{
    const struct slc_hits *hits = &scan->hits;
    bool is_whole = hits->whole & RESULT_FLOW;
    const struct slc_call_run run = {.time = in->time,
                                     .kind = is_whole ? SLC_BYTES_ALL : SLC_BYTES_RESULT};
    int err = slc_call_bytes_join(&scan->slice->calls, &task->wrote, in->time);
    if (!err && (is_whole || hits->flows & RESULT_FLOW))
        err = slc_call_bytes_add(&scan->slice->calls, run);
    if (!err)
        err = slc_call_want(scan, task, in->time, last_part(hits, in), what, want);
    if (!err && is_whole)
        err = slc_passed_brought(scan, in->time, want);
    return err ? err : slc_passed_want(scan, task, want);
}

/* Follows what jumped to rr's library for a call that is wanted: with that call's registers. */
static int follow_hooked(struct slc_scan *scan, struct slc_task *task, struct slc_want *want)
{
    struct slc_hooked *hooked = &task->hooked;
    const struct slc_call_args call = task->call;
    int err = 0;

    task->call = hooked->call;
    if (hooked->has_args)
        err = slc_call_want(scan, task, hooked->time, hooked->last, SLC_CALL_WANTS_REGISTERS, want);
    task->call = call;
    hooked->want = slc_no_want();
    return err;
}

static int follow_uses(struct slc_scan *scan, struct slc_task *task, const struct instance *in)
{
    struct slc_hits *hits = &scan->hits;
    struct slc_want want = {.user = in->time, .distance = hits->best.distance + 1};
    bool is_call = in->info->klass == INS_SYSCALL;
    unsigned flows = hits->whole | hits->flows;
    int err = 0;

    if (is_call) {
        flows = hits->whole & ~RESULT_FLOW;
        if (is_call_wanted(hits, in))
            err = follow_call(scan, task, in, SLC_CALL_WANTS_ALL, &want);
    }
    if (in->jumps_to_recorder && !err)
        err = follow_hooked(scan, task, &want);
    for (unsigned f = 0; f < in->info->flow_count && !err; f++)
        if (flows & 1u << f)
            err = follow_flow(scan, task, in, f, &want);
    return err;
}

static enum slc_force next_force(const struct slc_hits *hits)
{
    if (hits->best.force == SLC_FORCE_GUARD && hits->is_guard)
        return SLC_FORCE_NOT;
    return (enum slc_force)hits->best.force;
}

int slc_follow_control(struct slc_scan *scan, struct slc_task *task, uint32_t pc_index,
                       uint64_t user)
{
    struct slc_want want = {.user = user,
                            .distance = scan->hits.best.distance + 1,
                            .edge = WETDBG_EDGE_CONTROL,
                            .location = INS_LOC_COUNT,
                            .force = (uint8_t)next_force(&scan->hits)};

    if (!scan->follows_control && want.force == SLC_FORCE_NOT)
        return 0;
    uint32_t klass = slc_code_class(scan->code, pc_index);
    if (klass == SLC_UNKNOWN)
        return -ENOMEM;
    return slc_frames_demand(&task->frames, scan->code->classes, klass, &want);
}

/* ---- seeds ---- */

int slc_follow_seed(struct slc_scan *scan, struct slc_task *task, const struct slc_seed *seed,
                    uint64_t user)
{
    struct slc_want want = {.user = user, .distance = 1};
    int err = 0;

    for (unsigned edge = 0; edge < 3 && scan->follows_data; edge++)
        want_registers(task, &seed->regs[edge], &want, (enum wetdbg_edge)edge);
    for (size_t i = 0; i < seed->place_count && scan->follows_data && !err; i++) {
        if (seed->places[i].is_after)
            continue;
        want.edge = (uint8_t)seed->places[i].edge;
        err = slc_memory_add(&scan->memory, seed->places[i].address, seed->places[i].size_bytes,
                             &want);
    }
    if (!err && seed->passed.size && scan->follows_data)
        err = slc_passed_seed(scan, &seed->passed, &want);
    if (!err && seed->is_fault) {
        struct slc_want none = {.distance = 0, .edge = WETDBG_EDGE_NONE, .force = seed->force};
        scan->hits.best = none;
        scan->hits.is_guard = false;
        uint32_t pc_index = slc_code_pc(scan->code, seed->pc);
        if (pc_index == SLC_UNKNOWN)
            return -ENOMEM;
        err = slc_follow_control(scan, task, pc_index, user);
    }
    return err;
}

/* Wants what the seed's instance is to have made: before it is looked for what that defines. */
static int want_made(struct slc_scan *scan, const struct slc_seed *seed)
{
    const struct slc_want want = {
        .distance = 0, .edge = WETDBG_EDGE_NONE, .location = INS_LOC_COUNT};
    int err = 0;

    for (size_t i = 0; i < seed->place_count && scan->follows_data && !err; i++)
        if (seed->places[i].is_after)
            err = slc_memory_add(&scan->memory, seed->places[i].address, seed->places[i].size_bytes,
                                 &want);
    return err;
}

static void hit_seed(struct slc_scan *scan, const struct slc_seed *seed, const struct instance *in)
{
    const struct ins_info *info = in->info;
    struct slc_hits *hits = &scan->hits;
    struct slc_want want = {.distance = 0, .edge = WETDBG_EDGE_NONE, .force = seed->force};

    if (seed->implicit_count)
        want = slc_implicit_want(scan->slice, seed);
    if (want.distance == SLC_NOT_WANTED)
        return;
    slc_hit(hits, &want, INS_LOC_COUNT, 0);
    hits->is_guard = false;
    for (unsigned f = 0; f < info->flow_count; f++)
        if ((seed->uses == SLC_USES_ALL && !(info->flows[f].kinds & in->skipped)) ||
            (seed->uses == SLC_USES_BRANCH && info->flows[f].kinds & INS_FLOW_BRANCH))
            hits->whole |= 1u << f;
}

/* ---- all of it ---- */

static int collect(struct slc_scan *scan, struct slc_task *task, const struct instance *in)
{
    const struct ins_info *info = in->info;
    struct slc_hits *hits = &scan->hits;
    bool is_control = hits->best.distance != SLC_NOT_WANTED;
    int err = try_bypass(scan, task, in);

    for (unsigned f = 0; f < info->flow_count && !err; f++) {
        const struct ins_flow *flow = &info->flows[f];
        if (flow->kinds & in->skipped)
            continue;
        if (is_control && flow->kinds & INS_FLOW_BRANCH)
            hits->whole |= 1u << f;
        hits->bytes[f] = 0;
        hit_registers(hits, &task->regs, flow, f);
        if (flow->mem_defs | flow->mem_may_defs)
            err = hit_memory(scan, task, in, f);
    }
    return err;
}

/* A call of rr's library that is wanted is the instance of what jumped into the library: that has
 * its registers. */
static void note_hooked(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                        bool has_args)
{
    const struct slc_hits *hits = &scan->hits;
    struct slc_hooked *hooked = &task->hooked;

    if (hits->best.distance < hooked->want.distance)
        hooked->want = hits->best;
    hooked->has_args = has_args;
    hooked->call = task->call;
    if (hooked->call.number == SLC_RECORDER_IS_LEFT)
        hooked->call.number = task->left_call;
    hooked->time = in->time;
    hooked->last = last_part(hits, in);
}

/* Passes an instance of rr's (slicer/scan/recorder.h): what it copied is wanted where it came from,
 * by the same users and at the same distance. */
static int pass_recorder(struct slc_scan *scan, struct slc_task *task, const struct instance *in,
                         bool is_seed)
{
    const struct slc_hits *hits = &scan->hits;
    struct slc_want want = {.user = hits->best.user, .distance = hits->best.distance};
    bool is_wanted = hits->best.distance != SLC_NOT_WANTED && scan->follows_data;
    bool is_call = in->info->klass == INS_SYSCALL && is_call_wanted(hits, in) && is_wanted;
    int err = 0;

    for (unsigned f = 0; f < in->info->flow_count && !err && is_wanted; f++) {
        const struct ins_flow *flow = &in->info->flows[f];
        struct slc_move move;
        if (hits->flows >> f & 1 && !(hits->whole >> f & 1) && slc_move_make(&move, flow))
            err = follow_copy(scan, task, in, f, &move, &want);
    }
    if (is_call || is_seed)
        note_hooked(scan, task, in, is_call);
    if (is_call && !err)
        err = follow_call(scan, task, in, SLC_CALL_WANTS_BYTES, &want);
    task->carried_count = 0;
    task->wrote.count = 0;
    return err;
}

/* Whether this instance jumped to rr's library, which made a call that is wanted. */
static bool jumps_to_recorder(const struct slc_task *task, const struct slc_node *node,
                              uint32_t statement)
{
    return task->hooked.want.distance != SLC_NOT_WANTED && !node->is_recorder &&
           statement + 1 == node->statement_count && task->jumped_to &&
           task->jumped_to->is_recorder;
}

int slc_follow(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
               const struct slc_node *node, uint32_t statement, const struct slc_seed *seed)
{
    struct slc_hits *hits = &scan->hits;
    struct instance in = {.statement = &node->wet->statements[statement],
                          .info = node->wet->statements[statement].info,
                          .slots = scan->interval->slots + exec->slot_off,
                          .time = scan->interval->first_time + exec->time_off + statement,
                          .task = exec->task,
                          .pushed = node->pushed[statement],
                          .jumps_to_recorder = jumps_to_recorder(task, node, statement),
                          .has_written = task->call_wrote,
                          .has_sent = task->call_sent};
    struct ins_info settled;
    in.info = ins_settle(in.info, in.slots + in.statement->slot, &settled);
    in.skipped = ins_skipped_flow(in.info, in.slots + in.statement->slot);
    in.popped = (int8_t)slc_restored_register(node, statement, in.slots, &in.pop_slot);
    assert(statement < node->statement_count && (!scan->draft || scan->draft->is_void));
    task->call_wrote = task->call_sent = false;
    hits->flows = hits->whole = 0;
    hits->run_count = 0;
    if (in.info->klass == INS_SYSCALL && task->call.is_known &&
        task->call.number == EVQ_CALL_PATCHED)
        return 0; /* it became a jump, and was no call */
    int err = seed ? want_made(scan, seed) : 0;
    if (!err)
        err = collect(scan, task, &in);
    if (err)
        return err;
    drop_defined(scan, task, &in);
    if (seed)
        hit_seed(scan, seed, &in);
    bool is_recorders =
        node->is_recorder && !(node->has_displaced && slc_recorder_is_displaced(in.info));
    if (is_recorders && (!seed || in.info->klass == INS_SYSCALL)) {
        err = pass_recorder(scan, task, &in, seed != NULL);
        return err || !seed ? err : slc_follow_seed(scan, task, seed, in.time);
    }
    if (in.jumps_to_recorder)
        slc_hit(hits, &task->hooked.want, INS_LOC_COUNT, 0);
    if (hits->best.distance == SLC_NOT_WANTED) {
        task->wrote.count = 0;
        return 0;
    }
    if (seed && slc_call_bytes_add(&task->wrote, (struct slc_call_run){.kind = SLC_BYTES_ALL}))
        return -ENOMEM;
    uint32_t pc_index = node->pc_index[statement];
    err = slc_scan_add(scan, in.time, pc_index);
    if (!err && scan->follows_data)
        err = follow_uses(scan, task, &in);
    task->carried_count = 0;
    task->wrote.count = 0;
    if (!err && seed)
        err = slc_follow_seed(scan, task, seed, in.time);
    if (!err && scan->tracks_frames)
        err = slc_follow_control(scan, task, pc_index, in.time);
    return err;
}

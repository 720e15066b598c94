/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction, seen backward: which bytes of the value it defined, and where it had them from.
 *
 * All flows look at where the bytes are after the instruction, and only then are they moved: xchg
 * has two flows that change places.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/insn/insn_pick.h"
#include "slicer/origin/chase.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

struct step {
    struct slc_chase *chase;
    const struct wet_statement *statement;
    const struct ins_info *info;
    const uint8_t *code;
    const uint64_t *slots;
    wetdbg_time time;
    uint32_t task;
    unsigned moved_bytes; /* see ins_moved_bytes(); valid if was_decoded */
    bool is_sign_extended, was_decoded;
    struct slc_track *next; /* the chase's: not to be cleared for every instruction */
    uint64_t changed;       /* bit i: next[i] is to be taken */
    uint64_t unchanged;     /* bit i: its place holds what it held before; valid if was_compared */
    bool was_compared;
};

/* Where in what a flow defines a byte lies. */
struct hit {
    unsigned operand; /* of memory */
    uint64_t off;
};

static void decode(struct step *step)
{
    if (!step->was_decoded)
        step->moved_bytes =
            ins_moved_bytes(step->code, step->info->length, &step->is_sign_extended);
    step->was_decoded = true;
}

/* ---- hits ---- */

static bool hits_register(const struct step *step, const struct ins_flow *flow,
                          const struct slc_track *track, struct hit *hit)
{
    struct ins_regset all = flow->defs;
    unsigned unit, start;

    ins_regset_join(&all, &flow->may_defs);
    if (track->spot.task != step->task || !ins_regset_has(&all, track->location))
        return false;
    hit->off = 0;
    if (track->spot.kind != WETDBG_SPOT_LOCATION && slc_set_start(&all, &unit, &start))
        hit->off = track->spot.byte - start;
    return true;
}

static bool hits_memory(const struct step *step, const struct ins_flow *flow,
                        const struct slc_track *track, struct hit *hit)
{
    unsigned mask = flow->mem_defs | flow->mem_may_defs;
    struct ins_range ranges[INS_RANGES_MAX];

    for (unsigned m = 0; mask >> m; m++) {
        unsigned count =
            mask >> m & 1 ? slc_operand_ranges(step->statement, m, step->slots, ranges) : 0;
        for (unsigned r = 0; r < count; r++)
            if (track->spot.address - ranges[r].address < ranges[r].size_bytes) {
                hit->operand = m;
                hit->off = track->spot.address - ranges[r].address;
                return true;
            }
    }
    return false;
}

static bool is_hit(const struct step *step, const struct ins_flow *flow,
                   const struct slc_track *track, struct hit *hit)
{
    if (track->state != SLC_TRACK_LIVE)
        return false;
    if (track->spot.kind == WETDBG_SPOT_MEMORY)
        return hits_memory(step, flow, track, hit);
    return hits_register(step, flow, track, hit);
}

/* Whether a flow's definitions perhaps were none; of a rep instruction the range is exact. */
static bool is_doubtful(const struct step *step, const struct ins_flow *flow,
                        const struct slc_track *track, const struct hit *hit)
{
    if (step->info->flags & INS_IS_REP)
        return false;
    if (track->spot.kind == WETDBG_SPOT_MEMORY)
        return !(flow->mem_defs >> hit->operand & 1) &&
               !ins_ranges_are_exact(step->info, hit->operand);
    return !ins_regset_has(&flow->defs, track->location);
}

static int read_at(const struct step *step, wetdbg_time time, uint8_t *bytes, uint64_t *known)
{
    struct slc_chase *chase = step->chase;
    struct wetdbg_state *state;
    int err = wetdbg_state_open(chase->wet, time, &state);

    if (err)
        return err;
    *known = 0;
    if (wetdbg_state_select(state, step->task) == 0)
        for (size_t i = 0; i < chase->origin->size; i++)
            if (chase->tracks[i].state == SLC_TRACK_LIVE &&
                slc_spot_read(state, &chase->tracks[i].spot, &bytes[i]))
                *known |= UINT64_C(1) << i;
    wetdbg_state_close(state);
    return 0;
}

/* The bytes whose places hold the same before and after the instruction. */
static int find_unchanged(struct step *step)
{
    uint8_t before[WETDBG_VALUE_BYTES_MAX], after[WETDBG_VALUE_BYTES_MAX];
    uint64_t known_before, known_after;

    if (step->was_compared)
        return 0;
    step->was_compared = true;
    int err = read_at(step, step->time, before, &known_before);
    if (!err)
        err = read_at(step, step->time + 1, after, &known_after);
    for (unsigned i = 0; i < step->chase->origin->size && !err; i++)
        if (known_before & known_after & UINT64_C(1) << i && before[i] == after[i])
            step->unchanged |= UINT64_C(1) << i;
    return err;
}

/* ---- sources ---- */

/* Byte `off` of the flow's one source. */
static struct wetdbg_spot source_byte(const struct step *step, const struct ins_flow *flow,
                                      uint64_t off)
{
    struct wetdbg_spot spot = {.task = step->task};
    unsigned unit, start;

    if (flow->mem_uses) {
        unsigned m = (unsigned)__builtin_ctz(flow->mem_uses);
        spot.kind = WETDBG_SPOT_MEMORY;
        spot.address = slc_operand_range(step->statement, m, step->slots).address + off;
        return spot;
    }
    slc_set_start(&flow->value_uses, &unit, &start);
    spot.kind = unit < INS_GPR_COUNT ? WETDBG_SPOT_GPR : WETDBG_SPOT_VECTOR;
    spot.number = (uint16_t)(unit < INS_GPR_COUNT ? unit : unit - INS_GPR_COUNT);
    spot.byte = (uint16_t)(start + off);
    return spot;
}

/* Bytes of a plain move's source. General registers come in pieces that do not say. */
static uint64_t source_bytes(struct step *step, const struct ins_flow *flow)
{
    unsigned unit, start, own, from, to = 0, l;

    if (flow->mem_uses)
        return step->info->mems[__builtin_ctz(flow->mem_uses)].size_bytes;
    slc_set_start(&flow->value_uses, &unit, &start);
    if (unit < INS_GPR_COUNT) {
        decode(step);
        return step->moved_bytes ? step->moved_bytes : 8;
    }
    for (l = ins_regset_next(&flow->value_uses, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&flow->value_uses, l + 1))
        slc_piece_bytes(l, &own, &from, &to);
    return to - start;
}

static bool extends_sign(struct step *step, const struct ins_flow *flow)
{
    unsigned unit, start;

    decode(step);
    if (!step->is_sign_extended)
        return false;
    return flow->mem_uses || slc_set_start(&flow->value_uses, &unit, &start);
}

/* The source of a byte that rep movs or rep stos wrote. */
static struct wetdbg_spot string_source(const struct step *step, const struct ins_flow *flow,
                                        const struct wetdbg_spot *to, const struct hit *hit)
{
    if (!flow->mem_uses)
        return source_byte(step, flow, hit->off % step->info->mems[hit->operand].size_bytes);
    struct wetdbg_spot spot = {.kind = WETDBG_SPOT_MEMORY, .task = step->task};
    spot.address = slc_moved_from(step->statement, hit->operand, step->slots, to->address);
    return spot;
}

/* ---- flows ---- */

static bool is_string_move(const struct step *step, const struct ins_flow *flow)
{
    return flow->kinds & INS_FLOW_COPY && step->info->flags & INS_IS_REP &&
           (flow->mem_defs | flow->mem_may_defs);
}

static bool uses_nothing(const struct ins_info *info, const struct ins_flow *flow)
{
    if (flow->kinds & INS_FLOW_STACK)
        return false;
    return ins_regset_is_empty(&flow->value_uses) && ins_regset_is_empty(&flow->cond_uses) &&
           flow->mem_uses == 0 && info->klass == INS_PLAIN;
}

static struct wetdbg_hop *new_hop(struct step *step, enum wetdbg_hop_kind kind)
{
    struct wetdbg_hop *hop = slc_chase_hop(step->chase, kind, step->time, step->statement->pc);

    if (!hop)
        return NULL;
    slc_chase_note_code(step->chase, step->code, step->info->length);
    if (step->info->klass == INS_SYSCALL) {
        hop->kind = WETDBG_HOP_SYSCALL;
        slc_hop_set_call(hop, &step->chase->calls[step->task]);
    }
    return hop;
}

/* The chain of these bytes ends here. */
static int end_at(struct step *step, const struct ins_flow *flow, uint64_t bytes)
{
    bool is_constant = uses_nothing(step->info, flow);
    struct wetdbg_hop *hop = new_hop(step, is_constant ? WETDBG_HOP_CONSTANT : WETDBG_HOP_COMPUTED);

    if (!hop)
        return -ENOMEM;
    for (unsigned i = 0; i < step->chase->origin->size; i++)
        if (bytes >> i & 1) {
            struct wetdbg_spot to = step->chase->tracks[i].spot;
            slc_hop_add(hop, i, to, (struct wetdbg_spot){0});
            step->next[i] = step->chase->tracks[i];
            step->next[i].state = SLC_TRACK_DONE;
        }
    step->changed |= bytes;
    return 0;
}

static bool is_same(const struct wetdbg_spot *a, const struct wetdbg_spot *b)
{
    return a->kind == b->kind && a->number == b->number && a->byte == b->byte &&
           a->address == b->address;
}

static bool is_saved_register(const struct step *step)
{
    return slc_pushed_register(step->info) >= 0 || slc_popped_register(step->info) >= 0;
}

/* Follows a move of `width` bytes; `low` of the value's bytes are among them, `high` above. */
static int move(struct step *step, const struct ins_flow *flow, const struct hit *hits,
                uint64_t low, uint64_t high, uint64_t width, bool is_sign)
{
    enum wetdbg_hop_kind kind = !high     ? WETDBG_HOP_COPY
                                : is_sign ? WETDBG_HOP_SIGN_EXTEND
                                          : WETDBG_HOP_ZERO_EXTEND;
    struct slc_track *tracks = step->chase->tracks;
    struct wetdbg_spot first_to = {0}, first_from = {0};
    uint64_t moved = 0;

    if (!low && !is_sign)
        return end_at(step, &(struct ins_flow){0}, high);
    for (unsigned i = 0; i < step->chase->origin->size; i++) {
        struct wetdbg_spot from;
        if (!((low | high) >> i & 1))
            continue;
        step->next[i] = tracks[i];
        step->next[i].state = SLC_TRACK_DONE;
        if (high >> i & 1 && low)
            continue; /* followed with the low ones */
        if (is_string_move(step, flow))
            from = string_source(step, flow, &tracks[i].spot, &hits[i]);
        else
            from = source_byte(step, flow, hits[i].off < width ? hits[i].off : width - 1);
        slc_track_move(&step->next[i], from);
        if (first_to.kind == WETDBG_SPOT_NONE) {
            first_to = tracks[i].spot;
            first_from = from;
        }
        moved |= (uint64_t)!is_same(&from, &tracks[i].spot) << i;
    }
    step->changed |= low | high;
    if (!moved && !high)
        return 0; /* a cmov that moved nothing */
    struct wetdbg_hop *hop = new_hop(step, kind);
    if (!hop)
        return -ENOMEM;
    slc_hop_add(hop, (unsigned)__builtin_ctzll(low | high), first_to, first_from);
    hop->bytes = low | high;
    hop->is_saving = is_saved_register(step);
    slc_chase_bypass(step->chase);
    return 0;
}

/* ---- what was chosen ---- */

/* Where a byte of a destination was taken from. */
static struct wetdbg_spot picked_from(const struct step *step, unsigned place, unsigned byte)
{
    struct wetdbg_spot spot = {.task = step->task};

    if (place < INS_PLACE_MEMORY) {
        spot.kind = WETDBG_SPOT_VECTOR;
        spot.number = (uint16_t)place;
        spot.byte = (uint16_t)byte;
        return spot;
    }
    spot.kind = WETDBG_SPOT_MEMORY;
    spot.address = step->slots[step->statement->slot + place - INS_PLACE_MEMORY] + byte;
    return spot;
}

/* Follows bytes of what a blend, a masked move or a permutation made. */
static int pass_pick(struct step *step, const struct ins_flow *flow)
{
    struct slc_track *tracks = step->chase->tracks;
    uint64_t zeros = 0, computed = 0, moved = 0, first = step->slots[step->statement->slot];
    struct wetdbg_spot first_to = {0}, first_from = {0};
    struct ins_pick pick;
    struct hit hit;

    ins_pick_get(step->info, step->slots + step->statement->slot, &pick);
    for (unsigned i = 0; i < step->chase->origin->size; i++) {
        if (!is_hit(step, flow, &tracks[i], &hit))
            continue;
        uint64_t at = tracks[i].spot.kind == WETDBG_SPOT_MEMORY ? tracks[i].spot.address - first
                                                                : tracks[i].spot.byte;
        if (pick.place[at % INS_PICK_BYTES] >= INS_PLACE_COMPUTED) {
            *(pick.place[at % INS_PICK_BYTES] == INS_PLACE_COMPUTED ? &computed : &zeros) |=
                UINT64_C(1) << i;
            continue;
        }
        struct wetdbg_spot from =
            picked_from(step, pick.place[at % INS_PICK_BYTES], pick.from[at % INS_PICK_BYTES]);
        if (is_same(&from, &tracks[i].spot))
            continue;
        step->next[i] = tracks[i];
        step->next[i].state = SLC_TRACK_DONE;
        slc_track_move(&step->next[i], from);
        if (!moved) {
            first_to = tracks[i].spot;
            first_from = from;
        }
        moved |= UINT64_C(1) << i;
    }
    step->changed |= moved;
    if (zeros) {
        int err = end_at(step, &(struct ins_flow){0}, zeros);
        if (err)
            return err;
    }
    if (computed) {
        int err = end_at(step, flow, computed);
        if (err)
            return err;
    }
    if (!moved)
        return 0;
    struct wetdbg_hop *hop = new_hop(step, WETDBG_HOP_COPY);
    if (!hop)
        return -ENOMEM;
    slc_hop_add(hop, (unsigned)__builtin_ctzll(moved), first_to, first_from);
    hop->bytes = moved;
    return 0;
}

static int pass_flow(struct step *step, const struct ins_flow *flow)
{
    struct hit hits[WETDBG_VALUE_BYTES_MAX]; /* of the bytes in `bytes` */
    uint64_t bytes = 0, low = 0, width = UINT64_MAX;

    for (unsigned i = 0; i < step->chase->origin->size; i++) {
        const struct slc_track *track = &step->chase->tracks[i];
        if (step->changed >> i & 1 || !is_hit(step, flow, track, &hits[i]))
            continue;
        if (is_doubtful(step, flow, track, &hits[i])) {
            int err = find_unchanged(step);
            if (err)
                return err;
            if (step->unchanged >> i & 1)
                continue;
        }
        bytes |= UINT64_C(1) << i;
    }
    if (!bytes)
        return 0;
    bool is_copy = slc_is_byte_copy(flow) &&
                   step->chase->tracks[__builtin_ctzll(bytes)].spot.kind != WETDBG_SPOT_LOCATION;
    bool is_sign = !is_copy && step->info->klass == INS_PLAIN && extends_sign(step, flow);
    if (!is_copy && !is_sign)
        return end_at(step, flow, bytes);
    if (is_sign)
        width = step->moved_bytes;
    else if (!is_string_move(step, flow))
        width = source_bytes(step, flow);
    for (unsigned i = 0; i < step->chase->origin->size; i++)
        low |= (uint64_t)(bytes >> i & 1 && hits[i].off < width) << i;
    return move(step, flow, hits, low, bytes & ~low, width, is_sign);
}

/* ---- cmov ---- */

static bool hits_any(const struct step *step)
{
    struct hit hit;

    for (unsigned i = 0; i < step->chase->origin->size; i++)
        for (unsigned f = 0; f < step->info->flow_count; f++)
            if (is_hit(step, &step->info->flows[f], &step->chase->tracks[i], &hit))
                return true;
    return false;
}

/* ---- all of it ---- */

/* Completes the hops of a system call at its instruction, for which the bytes that it wrote have
 * waited. */
static void complete_calls(struct step *step)
{
    struct wetdbg_origin *origin = step->chase->origin;

    for (unsigned i = 0; i < origin->size; i++) {
        struct slc_track *track = &step->chase->tracks[i];
        if (track->state != SLC_TRACK_CALL || track->spot.task != step->task)
            continue;
        struct wetdbg_hop *hop = &origin->hops[track->hop];
        hop->time = step->time;
        hop->pc = step->statement->pc;
        track->state = SLC_TRACK_DONE;
    }
    slc_chase_sum(step->chase);
}

int slc_chase_step(struct slc_chase *chase, const struct wet_exec *exec,
                   const struct wet_node *node, uint32_t statement)
{
    struct step step = {.chase = chase,
                        .statement = &node->statements[statement],
                        .info = node->statements[statement].info,
                        .code = node->code + node->statements[statement].byte_off,
                        .slots = chase->interval->slots + exec->slot_off,
                        .time = chase->interval->first_time + exec->time_off + statement,
                        .task = exec->task,
                        .next = chase->next};
    struct ins_info settled;
    unsigned skipped = 0;
    int err = 0;

    assert(statement < node->statement_count);
    if (chase->has_calls)
        complete_calls(&step);
    if (!hits_any(&step))
        return 0;
    step.info = ins_settle(step.info, step.slots + step.statement->slot, &settled);
    skipped = ins_skipped_flow(step.info, step.slots + step.statement->slot);
    for (unsigned f = 0; f < step.info->flow_count && !err; f++)
        if (ins_is_pick_flow(step.info, f))
            err = pass_pick(&step, &step.info->flows[f]);
        else if (!(step.info->flows[f].kinds & skipped))
            err = pass_flow(&step, &step.info->flows[f]);
    for (unsigned i = 0; i < chase->origin->size; i++)
        if (step.changed >> i & 1)
            chase->tracks[i] = step.next[i];
    slc_chase_sum(chase);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/confidence/evidence.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/insn/insn_ranges.h"
#include "slicer/pieces.h"
#include "slicer/scan/code_summary.h"

#define NO_REGISTER (-1)
#define WIDE_BYTES  64u

/* A value that the instance made: in a general register, or up to 8 bytes of memory. */
struct made {
    int reg; /* NO_REGISTER: memory */
    uint64_t address;
    bool has_value; /* value is known */
    bool is_pinned; /* ... by something */
    uint64_t value, mask;
    struct slc_pinned pinned;
    const struct slc_range *range;
    struct slc_alt *alt;   /* what tests leave; NULL: all */
    uint64_t equal, exact; /* bits */
    double confidence;
};

#define MADE_MAX 4

/* Bytes that were moved and are no such value: vectors, ranges. */
struct moved {
    slc_pin *pins;
    uint64_t *sources; /* spots, or addresses */
    size_t count, capacity;
    bool to_memory;
};

struct work {
    struct slc_stepping *stepping;
    struct slc_pinned_task *task;
    const struct slc_instance *in;
    const struct ins_info *info;
    const uint64_t *slots; /* of the statement */
    struct slc_profile *profile;
    unsigned skipped;
    struct made made[MADE_MAX];
    unsigned made_count;
    struct slc_flag_pin flags[SLC_FLAG_PINS_MAX];
    unsigned flag_count;
    bool is_wide_pinned, is_wide_exact;
    bool has_live_rest; /* it made something else that is used, and not pinned */
    struct slc_pin_at {
        uint64_t at; /* spot or address */
        slc_pin pin;
        bool is_memory;
    } * given; /* what is to be pinned before it */
    size_t given_count, given_capacity;
    struct slc_judge judge;
};

/* ---- pins of registers ---- */

static slc_pin take_spot(struct slc_pinned_task *task, unsigned spot)
{
    slc_pin pin = task->spots[spot];

    task->spots[spot] = SLC_PIN_NONE;
    return pin;
}

/* The first spot of a location, and how many; 0 if it has none. */
static unsigned location_spots(unsigned location, unsigned *first)
{
    unsigned unit, from, to;

    if (!slc_piece_bytes(location, &unit, &from, &to))
        return 0;
    *first = unit < INS_GPR_COUNT ? SLC_SPOT_GPR + 8 * unit
                                  : SLC_SPOT_VECTOR + 64 * (unit - INS_GPR_COUNT);
    *first += from;
    return to - from;
}

static unsigned spot_location(unsigned spot)
{
    if (spot < SLC_SPOT_VECTOR) {
        unsigned byte = spot % 8;
        return INS_LOC_GPR + INS_GPR_PIECES * (spot / 8) + (byte < 2 ? byte : 2);
    }
    unsigned byte = (spot - SLC_SPOT_VECTOR) % 64;
    unsigned piece = byte < 4 ? 0 : byte < 8 ? 1 : byte < 16 ? 2 : byte < 32 ? 3 : 4;
    return INS_LOC_VEC + INS_VEC_PIECES * ((spot - SLC_SPOT_VECTOR) / 64) + piece;
}

static void add_spot(struct slc_stepping *stepping, struct slc_pinned_task *task, unsigned spot,
                     slc_pin pin)
{
    if (pin == SLC_PIN_NONE)
        return;
    if (spot / 8 == INS_RSP) {
        slc_pin_drop(stepping->pins, pin);
        return;
    }
    task->spots[spot] = slc_pin_join(stepping->pins, task->spots[spot], pin);
    ins_regset_add(&task->pinned, spot_location(spot));
}

void slc_pin_location(struct slc_stepping *stepping, struct slc_pinned_task *task,
                      unsigned location, uint64_t bytes)
{
    unsigned first, count = location_spots(location, &first);

    for (unsigned i = 0; i < count; i++) {
        unsigned byte =
            first < SLC_SPOT_VECTOR ? (first + i) % 8 : (first - SLC_SPOT_VECTOR + i) % 64;
        if (bytes >> byte & 1)
            add_spot(stepping, task, first + i, SLC_PIN_EXACT);
    }
}

void slc_forget_registers(struct slc_stepping *stepping, struct slc_pinned_task *task)
{
    for (unsigned spot = 0; spot < SLC_SPOT_COUNT; spot++)
        slc_pin_drop(stepping->pins, take_spot(task, spot));
    task->pinned = (struct ins_regset){0};
    memset(&task->live, 0xff, sizeof(task->live));
    task->flag_count = 0;
}

/* Uses and definitions of flags are locations like others. */
static uint64_t flags_of(const struct ins_regset *set)
{
    static const uint16_t flags[] = {INS_RFLAG_CF, INS_RFLAG_PF, INS_RFLAG_AF, INS_RFLAG_ZF,
                                     INS_RFLAG_SF, INS_RFLAG_OF, INS_RFLAG_DF};
    static const uint16_t locations[] = {INS_LOC_CF, INS_LOC_PF, INS_LOC_AF, INS_LOC_ZF,
                                         INS_LOC_SF, INS_LOC_OF, INS_LOC_DF};
    uint64_t found = 0;

    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        if (ins_regset_has(set, locations[i]))
            found |= flags[i];
    return found;
}

void slc_pass_liveness(struct ins_regset *live, const struct ins_info *info)
{
    for (unsigned f = 0; f < info->flow_count; f++)
        ins_regset_remove(live, &info->flows[f].defs);
    for (unsigned f = 0; f < info->flow_count; f++) {
        ins_regset_join(live, &info->flows[f].value_uses);
        ins_regset_join(live, &info->flows[f].cond_uses);
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        struct ins_regset uses = ins_addr_uses(info, m);
        ins_regset_join(live, &uses);
    }
}

/* ---- giving pins to what was used ---- */

static int give(struct work *work, bool is_memory, uint64_t at, slc_pin pin)
{
    if (pin == SLC_PIN_NONE)
        return 0;
    if (wd_grow(work->given, work->given_capacity, work->given_count + 1)) {
        slc_pin_drop(work->stepping->pins, pin);
        return -ENOMEM;
    }
    work->given[work->given_count++] = (struct slc_pin_at){at, pin, is_memory};
    return 0;
}

static int give_all(struct work *work)
{
    int err = 0;

    for (size_t i = 0; i < work->given_count; i++) {
        const struct slc_pin_at *given = &work->given[i];
        if (!given->is_memory)
            add_spot(work->stepping, work->task, (unsigned)given->at, given->pin);
        else if (slc_pins_add(work->stepping->pins, given->at, given->pin))
            err = -ENOMEM;
    }
    work->given_count = 0;
    return err;
}

/* Pins the bytes of a place by a test. */
static int give_test(struct work *work, bool is_memory, uint64_t at, unsigned bytes,
                     const struct slc_test *like)
{
    struct slc_test *test = slc_test_new(work->stepping->pins, like);
    int err = test ? 0 : -ENOMEM;

    for (unsigned b = 0; b < bytes && !err; b++)
        err = give(work, is_memory, at + b, slc_pin_test(work->stepping->pins, test, b));
    slc_test_release(work->stepping->pins, test);
    return err;
}

/* ---- what the instance made ---- */

static struct made *made_new(struct work *work, int reg, uint64_t mask)
{
    if (work->made_count == MADE_MAX)
        return NULL;
    struct made *made = &work->made[work->made_count++];
    *made = (struct made){.reg = reg, .mask = mask};
    made->pinned.count = 8;
    const struct slc_result *result = slc_profile_result(work->profile, reg);
    made->range = result ? &result->range : NULL;
    return made;
}

/* Takes the pins of a general register's bytes that the instruction defines. */
static int make_register(struct work *work, unsigned gpr)
{
    uint64_t mask = slc_defined_mask(work->info, gpr);
    struct made *made = made_new(work, (int)gpr, mask);

    if (!made)
        return -ENOMEM;
    for (unsigned b = 0; b < 8; b++) {
        if (!(mask >> 8 * b & 1))
            continue;
        made->pinned.bytes[b] = take_spot(work->task, SLC_SPOT_GPR + 8 * gpr + b);
        made->is_pinned |= made->pinned.bytes[b] != SLC_PIN_NONE;
    }
    made->has_value = slc_values_register(work->stepping->values, work->in->task, gpr,
                                          work->in->time + 1, &made->value);
    made->value &= mask;
    return 0;
}

static int make_memory(struct work *work, const struct ins_range *range)
{
    struct made *made = made_new(work, NO_REGISTER, ins_low_bytes((unsigned)range->size_bytes));

    if (!made)
        return -ENOMEM;
    made->address = range->address;
    made->pinned.count = (uint8_t)range->size_bytes;
    for (unsigned b = 0; b < made->pinned.count; b++) {
        made->pinned.bytes[b] = slc_pins_take(work->stepping->pins, range->address + b);
        made->is_pinned |= made->pinned.bytes[b] != SLC_PIN_NONE;
    }
    made->has_value = true;
    if (!made->is_pinned)
        return 0;
    return slc_values_memory(work->stepping->values, range->address, made->pinned.count,
                             work->in->time + 1, &made->value);
}

static bool defines_register(const struct ins_flow *flow, unsigned gpr)
{
    for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++)
        if (ins_regset_has(&flow->defs, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece))
            return true;
    return false;
}

/* Drops the pins of what perhaps kept its value. */
static void drop_perhaps(struct work *work, const struct ins_flow *flow)
{
    for (unsigned l = ins_regset_next(&flow->may_defs, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&flow->may_defs, l + 1)) {
        unsigned first, count = location_spots(l, &first);
        for (unsigned i = 0; i < count; i++)
            slc_pin_drop(work->stepping->pins, take_spot(work->task, first + i));
    }
}

static int collect_registers(struct work *work)
{
    int err = 0;

    for (unsigned gpr = 0; gpr < INS_GPR_COUNT && !err; gpr++) {
        bool is_defined = false, is_pointer = false;
        for (unsigned f = 0; f < work->info->flow_count; f++) {
            const struct ins_flow *flow = &work->info->flows[f];
            if (flow->kinds & work->skipped || !defines_register(flow, gpr))
                continue;
            is_defined = true;
            is_pointer |= flow->kinds & INS_FLOW_STACK;
        }
        if (is_pointer) {
            for (unsigned b = 0; b < 8; b++)
                slc_pin_drop(work->stepping->pins, take_spot(work->task, 8 * gpr + b));
        } else if (is_defined && gpr != INS_RSP) {
            err = make_register(work, gpr);
        }
    }
    return err;
}

/* Outcomes that the flags decided which it defines: they are its own, if it defines all that
 * decided. */
static void collect_flags(struct work *work)
{
    struct ins_regset defs = {0}, perhaps = {0};
    unsigned kept = 0;

    for (unsigned f = 0; f < work->info->flow_count; f++) {
        ins_regset_join(&defs, &work->info->flows[f].defs);
        ins_regset_join(&perhaps, &work->info->flows[f].may_defs);
    }
    uint64_t defined = flags_of(&defs), unsure = flags_of(&perhaps);
    for (unsigned i = 0; i < work->task->flag_count; i++) {
        const struct slc_flag_pin *pin = &work->task->flags[i];
        uint64_t flags = ins_condition_flags(pin->outcome.condition);
        if (!(flags & (defined | unsure)))
            work->task->flags[kept++] = *pin;
        else if (!(flags & ~defined) && !(flags & unsure))
            work->flags[work->flag_count++] = *pin;
    }
    work->task->flag_count = kept;
}

static void pin_flags(struct slc_pinned_task *task, unsigned condition, bool holds, bool varies)
{
    for (unsigned i = 0; i < task->flag_count; i++)
        if (task->flags[i].outcome.condition == condition &&
            task->flags[i].outcome.holds == holds) {
            task->flags[i].varies |= varies;
            return;
        }
    if (task->flag_count < SLC_FLAG_PINS_MAX && condition < 16)
        task->flags[task->flag_count++] = (struct slc_flag_pin){
            .outcome = {.condition = (uint8_t)condition, .holds = holds}, .varies = varies};
}

/* ---- what moves many bytes ---- */

static void note_wide(struct work *work, slc_pin pin)
{
    if (!work->is_wide_pinned)
        work->is_wide_exact = true;
    work->is_wide_pinned = true;
    work->is_wide_exact &= pin == SLC_PIN_EXACT;
}

/* Of rep movs each byte has a source; what other instructions store in ranges has none here. */
static int collect_range(struct work *work, const struct ins_flow *flow, unsigned operand,
                         const struct ins_range *range)
{
    bool is_move = flow->kinds & INS_FLOW_COPY && flow->mem_uses;
    uint64_t end = range->address + range->size_bytes;
    int err = 0;

    for (uint64_t at = range->address; at < end && !err; at++) {
        if (at % 64 == 0 && !slc_pins_touch(work->stepping->pins, at, 64)) {
            at += 63;
            continue;
        }
        slc_pin pin = slc_pins_take(work->stepping->pins, at);
        if (pin == SLC_PIN_NONE)
            continue;
        note_wide(work, pin);
        if (is_move)
            err = give(work, true,
                       slc_moved_from(work->in->statement, operand, work->in->slots, at), pin);
        else
            slc_pin_drop(work->stepping->pins, pin);
    }
    return err;
}

/* The bytes of a move's destination, one by one. */
static int collect_move(struct work *work, const struct slc_move *move, unsigned byte, slc_pin pin)
{
    uint64_t source = slc_move_source(move, UINT64_C(1) << byte);
    bool is_extension = !(move->bytes >> byte & 1);

    if (pin == SLC_PIN_NONE)
        return 0;
    if (is_extension || !source) {
        slc_pin_drop(work->stepping->pins, pin);
        return 0;
    }
    unsigned from = (unsigned)__builtin_ctzll(source);
    if (move->from_memory) {
        struct ins_range range =
            slc_operand_range(work->in->statement, move->operand, work->in->slots);
        return give(work, true, range.address + from, pin);
    }
    unsigned first, count = location_spots(move->from, &first);
    if (!count) {
        slc_pin_drop(work->stepping->pins, pin);
        return 0;
    }
    return give(work, false, first + move->from_start + from, pin);
}

/* Vector registers: moves pass pins on, all else ends them. */
static int collect_vectors(struct work *work, const struct ins_flow *flow)
{
    struct slc_move move;
    bool is_move = slc_move_make(&move, flow) && !move.to_memory;
    int err = 0;

    for (unsigned l = ins_regset_next(&flow->defs, INS_LOC_VEC); l < INS_LOC_K && !err;
         l = ins_regset_next(&flow->defs, l + 1)) {
        unsigned first, count = location_spots(l, &first);
        for (unsigned i = 0; i < count && !err; i++) {
            slc_pin pin = take_spot(work->task, first + i);
            unsigned byte = (first - SLC_SPOT_VECTOR + i) % 64;
            if (pin == SLC_PIN_NONE)
                continue;
            note_wide(work, pin);
            if (is_move && byte >= move.to_start)
                err = collect_move(work, &move, byte - move.to_start, pin);
            else
                slc_pin_drop(work->stepping->pins, pin);
        }
    }
    return err;
}

static int collect_stores(struct work *work, const struct ins_flow *flow)
{
    struct ins_range ranges[INS_RANGES_MAX];
    struct slc_move move;
    bool is_move = slc_move_make(&move, flow) && move.to_memory;
    int err = 0;

    for (unsigned m = 0; m < work->info->mem_count && !err; m++) {
        unsigned bit = 1u << m;
        bool is_range = work->info->mems[m].flags & INS_MEM_REP;
        if (!((flow->mem_defs | flow->mem_may_defs) & bit))
            continue;
        unsigned count = slc_operand_ranges(work->in->statement, m, work->in->slots, ranges);
        for (unsigned r = 0; r < count && !err; r++) {
            if (!slc_pins_touch(work->stepping->pins, ranges[r].address, ranges[r].size_bytes))
                continue;
            if (!(flow->mem_defs & bit) && !is_range)
                slc_pins_drop_range(work->stepping->pins, ranges[r].address, ranges[r].size_bytes);
            else if (ranges[r].size_bytes <= 8 && !is_range)
                err = make_memory(work, &ranges[r]);
            else if (!is_move || is_range)
                err = collect_range(work, flow, m, &ranges[r]);
            else
                for (unsigned b = 0; b < ranges[r].size_bytes && b < WIDE_BYTES && !err; b++) {
                    slc_pin pin = slc_pins_take(work->stepping->pins, ranges[r].address + b);
                    if (pin != SLC_PIN_NONE)
                        note_wide(work, pin);
                    err = collect_move(work, &move, b, pin);
                }
        }
    }
    return err;
}

static int collect(struct work *work)
{
    int err = 0;

    collect_flags(work);
    for (unsigned f = 0; f < work->info->flow_count && !err; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (flow->kinds & work->skipped)
            continue;
        drop_perhaps(work, flow);
        err = collect_vectors(work, flow);
        if (!err && flow->mem_defs | flow->mem_may_defs)
            err = collect_stores(work, flow);
    }
    if (!err)
        err = collect_registers(work);
    for (unsigned f = 0; f < work->info->flow_count; f++)
        ins_regset_remove(&work->task->pinned, &work->info->flows[f].defs);
    return err;
}

/* ---- how sure its value is ---- */

/* So many values of a range are judged at first: only if none of them would do, the rest is,
 * too. */
#define JUDGED_FIRST 32

/* Tests that are made for one instance. */
#define POOL 2048

/* How many values of a range were judged, and how many of these were others that would do. */
struct enumeration {
    uint32_t judged, others;
    size_t places; /* that were looked at */
};

/* Judges the values of a range, in an order that has nothing to do with them. Those that would not
 * do are marked in `alt`, unless that is NULL. */
static struct enumeration enumerate(const struct work *work, const struct made *made,
                                    struct slc_alt *alt)
{
    struct enumeration done = {0};
    size_t places = slc_range_places(made->range);
    unsigned pool = POOL;
    uint64_t value;

    for (; done.places < places && pool; done.places++) {
        if (done.judged >= JUDGED_FIRST && done.others)
            break;
        if (!slc_range_get(made->range, done.places, &value))
            continue;
        done.judged++;
        if (value == made->value)
            continue;
        if (slc_judge_allows_of(&work->judge, value, &pool))
            done.others++;
        else if (alt)
            alt->forbidden[done.places / 64] |= UINT64_C(1) << done.places % 64;
    }
    return done;
}

static double confidence_of(double alt, double range)
{
    double confidence = range > 1 ? 1 - log(alt) / log(range) : 0;
    return alt <= 1 && range > 1 ? 1 : confidence < 0 ? 0 : confidence;
}

/* How many values would do, its own among them. A sample that nothing of fits does not tell that
 * nothing else would. */
static double estimate(const struct slc_range *range, const struct enumeration *done)
{
    double share = done->judged ? (double)done->others / done->judged : 0;
    double alt = 1 + share * slc_range_size(range);
    bool is_sample = range->level || done->places < slc_range_places(range);

    if (is_sample && alt < 2)
        alt = 2;
    return is_sample ? alt : 1 + done->others;
}

static int judge_by_tests(struct work *work, struct made *made)
{
    struct slc_alt *alt = slc_alt_new(made->range);
    double size = slc_range_size(made->range);

    if (!alt)
        return -ENOMEM;
    struct enumeration done = enumerate(work, made, alt);
    made->confidence = confidence_of(estimate(made->range, &done), size);
    alt->judged = (uint32_t)done.places;
    if (done.others + 1 >= done.judged) {
        slc_alt_release(work->stepping->pins, alt);
        return 0;
    }
    slc_alt_keep(work->stepping->pins, alt, &work->judge);
    made->alt = alt;
    return 0;
}

static int judge_made(struct work *work, struct made *made)
{
    for (unsigned b = 0; b < made->pinned.count; b++) {
        if (made->pinned.bytes[b] == SLC_PIN_EXACT)
            made->exact |= UINT64_C(0xff) << 8 * b;
    }
    slc_judge_make(work->stepping->pins, &made->pinned, made->value, &work->judge);
    made->equal = work->judge.equal;
    if ((made->exact & made->mask) == made->mask) {
        made->confidence = 1;
        return 0;
    }
    if (!made->has_value || !made->range || !made->range->count)
        return 0;
    if ((made->equal & made->mask) == made->mask) {
        made->confidence = slc_range_size(made->range) > 1;
        return 0;
    }
    if (work->judge.test_count)
        return judge_by_tests(work, made);
    struct enumeration done = enumerate(work, made, NULL);
    made->confidence = confidence_of(estimate(made->range, &done), slc_range_size(made->range));
    return 0;
}

static bool is_live(const struct work *work, unsigned gpr)
{
    for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++)
        if (ins_regset_has(&work->task->live, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece))
            return true;
    return false;
}

#define OF_RESULT ((uint64_t)(INS_RFLAG_ZF | INS_RFLAG_SF | INS_RFLAG_PF))

/* Flags that a later instruction reads, and which neither pins nor a pinned value tell. */
static bool has_loose_flags(const struct work *work, bool has_pinned_value)
{
    struct ins_regset defs = ins_all_defs(work->info);
    uint64_t loose = flags_of(&defs) & flags_of(&work->task->live);

    for (unsigned i = 0; i < work->flag_count; i++)
        loose &= ~ins_condition_flags(work->flags[i].outcome.condition);
    return loose & ~(has_pinned_value ? OF_RESULT : 0);
}

static void settle_verdict(struct work *work, struct slc_verdict *verdict)
{
    bool has_value = false, has_flags = false;
    double confidence = 1;

    for (unsigned i = 0; i < work->made_count; i++) {
        const struct made *made = &work->made[i];
        if (!made->is_pinned && (made->reg == NO_REGISTER || !is_live(work, (unsigned)made->reg)))
            continue;
        has_value |= made->is_pinned;
        if (made->confidence < confidence)
            confidence = made->confidence;
    }
    for (unsigned i = 0; i < work->flag_count; i++) {
        has_flags = true;
        if (!has_value && !work->flags[i].varies)
            confidence = 0;
    }
    if (work->is_wide_pinned && !work->is_wide_exact)
        confidence = 0;
    bool is_pinned = has_value || has_flags || work->is_wide_pinned;
    if (is_pinned && has_loose_flags(work, has_value))
        confidence = 0;
    verdict->is_pinned = is_pinned;
    verdict->confidence = is_pinned ? confidence : 0;
}

/* ---- operands ---- */

static bool read_input(struct work *work, const struct ins_eval_place *place, uint64_t *at,
                       uint64_t *value, int *err)
{
    wetdbg_time time = work->in->time;
    bool is_known = true;

    *value = 0;
    switch (place->kind) {
    case INS_EVAL_IMMEDIATE:
        *value = place->immediate;
        return true;
    case INS_EVAL_GPR:
        *at = SLC_SPOT_GPR + 8u * place->gpr + place->first;
        is_known =
            slc_values_register(work->stepping->values, work->in->task, place->gpr, time, value);
        *value = *value >> 8 * place->first & ins_low_bytes(place->bytes);
        return is_known;
    case INS_EVAL_MEMORY:
        *at = slc_operand_range(work->in->statement, place->operand, work->in->slots).address;
        *err = slc_values_memory(work->stepping->values, *at, place->bytes, time, value);
        return *err == 0;
    default:
        return true;
    }
}

static const struct made *made_at(const struct work *work, const struct ins_eval_place *place)
{
    int reg = place->kind == INS_EVAL_GPR ? place->gpr : NO_REGISTER;

    for (unsigned i = 0; place->kind != INS_EVAL_NONE && i < work->made_count; i++)
        if (work->made[i].reg == reg)
            return &work->made[i];
    return NULL;
}

/* What is pinned of the results, as a check of what is computed. */
static void make_check(const struct work *work, const struct ins_eval *eval,
                       struct slc_check *check)
{
    memset(check, 0, sizeof(*check));
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++) {
        const struct ins_eval_place *place = &eval->results[i];
        const struct made *made = made_at(work, place);
        unsigned shift = place->kind == INS_EVAL_GPR ? 8u * place->first : 0;
        if (!made || !made->is_pinned)
            continue;
        check->values[i] = made->value >> shift & ins_low_bytes(place->bytes);
        check->masks[i] = made->equal >> shift & ins_low_bytes(place->bytes);
        check->alts[i] = made->alt;
        check->alt_masks[i] = made->mask;
        check->alt_shifts[i] = (uint8_t)shift;
    }
    for (unsigned i = 0; i < work->flag_count && i < SLC_OUTCOMES_MAX; i++)
        check->outcomes[check->outcome_count++] = work->flags[i].outcome;
}

/* Whether it computes what it did: else memory or registers are not known here. A carry that it
 * took is found so. */
static bool find_flags(const struct ins_eval *eval, const uint64_t inputs[],
                       const struct work *work, struct slc_check *check, uint64_t *flags)
{
    struct ins_eval_result result;

    for (unsigned carry = 0; carry < (eval->flags_used ? 2u : 1u); carry++) {
        *flags = carry;
        if (!ins_eval_run(eval, inputs, *flags, &result))
            continue;
        bool is_same = true;
        for (unsigned i = 0; i < INS_EVAL_RESULTS; i++) {
            const struct ins_eval_place *place = &eval->results[i];
            const struct made *made = made_at(work, place);
            unsigned shift = place->kind == INS_EVAL_GPR ? 8u * place->first : 0;
            if (made && made->is_pinned &&
                ((made->value >> shift) ^ result.values[i]) & ins_low_bytes(place->bytes))
                is_same = false;
        }
        for (unsigned i = 0; i < check->outcome_count; i++) {
            uint64_t used = ins_condition_flags(check->outcomes[i].condition);
            if ((result.known & used) == used &&
                ins_condition_holds(check->outcomes[i].condition, result.flags, 0) !=
                    check->outcomes[i].holds)
                is_same = false;
        }
        if (is_same)
            return true;
    }
    return false;
}

static bool is_same_place(const struct ins_eval_place *a, const struct ins_eval_place *b)
{
    return a->kind == b->kind && a->gpr == b->gpr && a->first == b->first &&
           a->operand == b->operand && a->bytes == b->bytes;
}

static bool overlaps(const struct ins_eval_place *a, const struct ins_eval_place *b)
{
    return a->kind == b->kind &&
           (a->kind == INS_EVAL_GPR ? a->gpr == b->gpr : a->kind == INS_EVAL_MEMORY);
}

/* Bits of the inputs that input i is; 0 if another one has a part of it. */
static unsigned varied_with(const struct ins_eval *eval, unsigned i)
{
    unsigned varied = 1u << i;

    for (unsigned other = 0; other < eval->input_count; other++) {
        if (other == i || !overlaps(&eval->inputs[i], &eval->inputs[other]))
            continue;
        if (!is_same_place(&eval->inputs[i], &eval->inputs[other]))
            return 0;
        varied |= 1u << other;
    }
    return varied;
}

static unsigned low_bytes_of(uint64_t mask)
{
    unsigned count = 0;

    while (count < 8 && (mask >> 8 * count & 0xff) == 0xff)
        count++;
    return count;
}

/* Pins the lowest bytes of an input that the result's lowest bytes determine. How many that are. */
static int pin_determined(struct work *work, const struct slc_test *like, unsigned i, uint64_t at,
                          unsigned *determined)
{
    const struct ins_eval_place *place = &like->eval->inputs[i];
    const struct made *made = made_at(work, &like->eval->results[0]);
    unsigned shift = made && made->reg != NO_REGISTER ? 8u * like->eval->results[0].first : 0;
    unsigned equal = low_bytes_of(like->check.masks[0]);
    unsigned exact = made ? low_bytes_of(made->exact >> shift) : 0;
    int err = 0;

    equal = equal < place->bytes ? equal : place->bytes;
    exact = exact < place->bytes ? exact : place->bytes;
    *determined = ins_eval_determined(like->eval, i, like->inputs, equal);
    exact = ins_eval_determined(like->eval, i, like->inputs, exact);
    for (unsigned b = 0; b < *determined && !err; b++)
        err = give(work, place->kind == INS_EVAL_MEMORY, at + b,
                   b < exact ? SLC_PIN_EXACT : SLC_PIN_EQUAL);
    return err;
}

static bool says_something(const struct slc_check *check)
{
    return check->masks[0] || check->masks[1] || check->alts[0] || check->alts[1] ||
           check->outcome_count;
}

static int pin_input(struct work *work, const struct slc_test *like, unsigned i, uint64_t at)
{
    const struct ins_eval_place *place = &like->eval->inputs[i];
    unsigned varied = varied_with(like->eval, i), determined = 0;
    struct slc_test test = *like;
    int err = 0;

    if (!varied || varied & ((1u << i) - 1))
        return 0;
    if (varied == 1u << i)
        err = pin_determined(work, like, i, at, &determined);
    if (err || determined == place->bytes)
        return err;
    test.varied = (uint8_t)varied;
    test.value = like->inputs[i];
    return give_test(work, place->kind == INS_EVAL_MEMORY, at, place->bytes, &test);
}

/* setcc, and sbb of a register from itself: the flags decided the value. */
static void pin_used_flags(struct work *work, const struct slc_test *test)
{
    const struct ins_eval *eval = test->eval;
    struct ins_eval_result other;
    bool is_set = eval->condition != INS_COND_NONE;
    uint64_t flags = test->flags;

    if (!eval->flags_used || !says_something(&test->check))
        return;
    if (is_set) {
        bool holds = test->check.values[0] & 1;
        other = (struct ins_eval_result){.values = {!holds}};
        if (!slc_check_passes(&test->check, &other))
            pin_flags(work->task, eval->condition, holds, true);
        return;
    }
    if (ins_eval_run(eval, test->inputs, flags ^ INS_RFLAG_CF, &other) &&
        !slc_check_passes(&test->check, &other))
        pin_flags(work->task, INS_COND_B, flags & INS_RFLAG_CF, true);
}

/* ---- addresses ---- */

/* An address that came from registers: those that may be judged. */
static bool judges_address(const struct ins_mem *mem)
{
    const unsigned strange = INS_MEM_STACK | INS_MEM_REP | INS_MEM_LANES | INS_MEM_VSIB32 |
                             INS_MEM_VSIB64 | INS_MEM_BIT_OFFSET | INS_MEM_ADDR32 |
                             INS_MEM_INDEX_BYTE | INS_MEM_LINE | INS_MEM_IMPLICIT;
    return !(mem->flags & strange) && mem->base != mem->index;
}

/* A frame pointer's own value is bookkeeping. */
static bool judges_base(const struct ins_mem *mem)
{
    return mem->base >= 0 && mem->base != INS_RSP && mem->base != INS_RBP;
}

static int give_address_test(struct work *work, unsigned gpr, unsigned scale, uint64_t address,
                             struct slc_addresses *forbidden)
{
    struct slc_test test = {.address = address, .scale = scale, .forbidden = forbidden};

    memset(&test.check, 0, sizeof(test.check));
    if (!slc_values_register(work->stepping->values, work->in->task, gpr, work->in->time,
                             &test.value))
        return 0;
    return give_test(work, false, SLC_SPOT_GPR + 8u * gpr, 8, &test);
}

/* Whether what lies at another address would have done as well as what was loaded. */
typedef bool (*loaded_fn)(const struct work *work, const void *arg, uint64_t loaded);

/* The addresses that are tried: those that the instruction was seen with or, if they lie close
 * together, all from the first to the last one, as in a table. */
struct candidates {
    const uint64_t *list; /* NULL: in steps */
    uint64_t first, step;
    unsigned count;
};

static struct candidates candidates_of(const struct slc_profile *profile, uint64_t own,
                                       unsigned step)
{
    uint64_t low = profile->addresses[0], high = profile->addresses[profile->address_count - 1];
    uint64_t first = own - (own - low) / step * step, count = (high - first) / step + 1;

    if (count < profile->address_count || count > SLC_ADDRESSES_MAX)
        return (struct candidates){.list = profile->addresses, .count = profile->address_count};
    return (struct candidates){.first = first, .step = step, .count = (unsigned)count};
}

static uint64_t candidate_get(const struct candidates *candidates, unsigned i)
{
    return candidates->list ? candidates->list[i] : candidates->first + i * candidates->step;
}

static int pin_load_address(struct work *work, unsigned operand, loaded_fn would_do,
                            const void *arg)
{
    const struct ins_mem *mem = &work->info->mems[operand];
    const struct slc_profile *profile = work->profile;
    uint64_t own = slc_operand_range(work->in->statement, operand, work->in->slots).address;
    int err = 0;

    if (operand != 0 || !judges_address(mem) || profile->has_many || profile->address_count < 2 ||
        mem->size_bytes > 8)
        return 0;
    const struct candidates candidates = candidates_of(profile, own, mem->size_bytes);
    struct slc_addresses *forbidden =
        malloc(sizeof(*forbidden) + candidates.count * sizeof(uint64_t));
    if (!forbidden)
        return -ENOMEM;
    *forbidden = (struct slc_addresses){.users = 1};
    for (unsigned i = 0; i < candidates.count && !err; i++) {
        uint64_t loaded, address = candidate_get(&candidates, i);
        if (address == own)
            continue;
        err = slc_values_memory(work->stepping->values, address, mem->size_bytes, work->in->time,
                                &loaded);
        if (!err && !would_do(work, arg, loaded))
            forbidden->addresses[forbidden->count++] = address;
    }
    if (!err && forbidden->count && judges_base(mem))
        err = give_address_test(work, (unsigned)mem->base, 1, own, forbidden);
    if (!err && forbidden->count && mem->index >= 0)
        err = give_address_test(work, (unsigned)mem->index, mem->scale, own, forbidden);
    slc_addresses_release(forbidden);
    return err;
}

static int give_equal(struct work *work, unsigned gpr)
{
    int err = 0;

    for (unsigned b = 0; b < 8 && !err; b++)
        err = give(work, false, SLC_SPOT_GPR + 8u * gpr + b, SLC_PIN_EQUAL);
    return err;
}

/* Had it been stored elsewhere, what was there before would be there still. */
static int pin_store_address(struct work *work, const struct made *made, unsigned operand)
{
    const struct ins_mem *mem = &work->info->mems[operand];
    uint64_t before;

    if (!judges_address(mem) || !(mem->flags & INS_MEM_WRITE))
        return 0;
    int err = slc_values_memory(work->stepping->values, made->address, made->pinned.count,
                                work->in->time, &before);
    slc_judge_make(work->stepping->pins, &made->pinned, made->value, &work->judge);
    if (err || slc_judge_allows(&work->judge, before))
        return err;
    if (judges_base(mem))
        err = give_equal(work, (unsigned)mem->base);
    if (!err && mem->index >= 0 && mem->index != INS_RSP)
        err = give_equal(work, (unsigned)mem->index);
    return err;
}

/* ---- what it used, by how it made its value ---- */

struct evaluated {
    const struct slc_test *test;
    unsigned varied;
};

static bool computes_well(const struct work *work, const void *arg, uint64_t loaded)
{
    const struct evaluated *evaluated = arg;
    const struct slc_test *test = evaluated->test;
    struct ins_eval_result result;
    uint64_t inputs[INS_EVAL_INPUTS];

    (void)work;
    for (unsigned i = 0; i < INS_EVAL_INPUTS; i++)
        inputs[i] = evaluated->varied >> i & 1 ? loaded : test->inputs[i];
    return !ins_eval_run(test->eval, inputs, test->flags, &result) ||
           slc_check_passes(&test->check, &result);
}

static bool uses_something(const struct ins_info *info)
{
    struct ins_regset uses = ins_all_uses(info);
    unsigned memory = 0;

    for (unsigned f = 0; f < info->flow_count; f++)
        memory |= info->flows[f].mem_uses;
    return memory || !ins_regset_is_empty(&uses);
}

static int pin_computed(struct work *work)
{
    const struct ins_eval *eval = slc_profile_eval(work->profile);
    struct slc_test test = {.eval = eval};
    uint64_t at[INS_EVAL_INPUTS] = {0};
    int err = 0;

    memset(&test.check, 0, sizeof(test.check));
    if (!eval || work->info->flags & INS_IS_ZEROING) {
        work->stepping->unjudged += !eval && uses_something(work->info);
        return 0;
    }
    make_check(work, eval, &test.check);
    if (!says_something(&test.check))
        return 0;
    for (unsigned i = 0; i < eval->input_count; i++)
        if (!read_input(work, &eval->inputs[i], &at[i], &test.inputs[i], &err)) {
            work->stepping->unjudged++;
            return err;
        }
    if (eval->condition == INS_COND_NONE &&
        !find_flags(eval, test.inputs, work, &test.check, &test.flags)) {
        work->stepping->unjudged++;
        return 0;
    }
    for (unsigned i = 0; i < eval->input_count && !err; i++)
        if (eval->inputs[i].kind == INS_EVAL_GPR || eval->inputs[i].kind == INS_EVAL_MEMORY)
            err = pin_input(work, &test, i, at[i]);
    for (unsigned i = 0; i < eval->input_count && !err; i++) {
        const struct evaluated evaluated = {&test, 1u << i};
        if (eval->inputs[i].kind == INS_EVAL_MEMORY)
            err = pin_load_address(work, eval->inputs[i].operand, computes_well, &evaluated);
    }
    pin_used_flags(work, &test);
    return err;
}

/* What a move makes of a source, in the place of its destination. */
static uint64_t moved_value(const struct slc_move *move, uint64_t source, uint64_t mask)
{
    unsigned count = (unsigned)__builtin_popcountll(move->bytes);
    uint64_t value = source & ins_low_bytes(count);

    if (move->is_reversed)
        value = __builtin_bswap64(value) >> (64 - 8 * count);
    if (move->is_sign && count < 8 && value >> (8 * count - 1) & 1)
        value |= ~ins_low_bytes(count);
    return (value << (move->to_memory ? 0 : 8 * move->to_start)) & mask;
}

struct moving {
    const struct slc_move *move;
    const struct made *made;
};

static bool moves_well(const struct work *work, const void *arg, uint64_t loaded)
{
    const struct moving *moving = arg;
    return slc_judge_allows(&work->judge, moved_value(moving->move, loaded, moving->made->mask));
}

/* A pin that is passed on belongs to the source from now on. */
static slc_pin pass_pin(const struct made *made, unsigned byte)
{
    return made->pinned.bytes[byte];
}

static int pin_moved(struct work *work, struct made *made, const struct slc_move *move)
{
    const struct moving moving = {move, made};
    unsigned start = move->to_memory ? 0 : move->to_start;
    int err = 0;

    if (move->from_memory && made->has_value) {
        slc_judge_make(work->stepping->pins, &made->pinned, made->value, &work->judge);
        err = pin_load_address(work, move->operand, moves_well, &moving);
    }
    for (unsigned b = 0; b < made->pinned.count && !err; b++) {
        slc_pin pin = pass_pin(made, b);
        made->pinned.bytes[b] = SLC_PIN_NONE;
        if (b < start)
            slc_pin_drop(work->stepping->pins, pin);
        else
            err = collect_move(work, move, b - start, pin);
    }
    return err;
}

/* The other operand of a cmov would not have done: its condition had to turn out as it did. */
static int pin_choice(struct work *work, const struct made *made)
{
    bool is_taken = work->skipped == INS_FLOW_NOT_TAKEN;
    struct slc_move move;
    uint64_t other = 0;
    int err = 0;

    for (unsigned f = 0; f < work->info->flow_count; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (!(flow->kinds & work->skipped) || !slc_move_make(&move, flow))
            continue;
        if (move.from_memory) {
            struct ins_range range =
                slc_operand_range(work->in->statement, move.operand, work->in->slots);
            err = slc_values_memory(work->stepping->values, range.address,
                                    (unsigned)__builtin_popcountll(move.bytes), work->in->time,
                                    &other);
        } else if (!slc_values_register(work->stepping->values, work->in->task,
                                        move.from / INS_GPR_PIECES, work->in->time, &other)) {
            return 0;
        }
        slc_judge_make(work->stepping->pins, &made->pinned, made->value, &work->judge);
        if (!err && !slc_judge_allows(&work->judge, moved_value(&move, other, made->mask)))
            pin_flags(work->task, work->info->condition, is_taken, true);
        return err;
    }
    return 0;
}

static const struct ins_flow *flow_of(const struct work *work, const struct made *made)
{
    for (unsigned f = 0; f < work->info->flow_count; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (flow->kinds & work->skipped)
            continue;
        if (made->reg == NO_REGISTER ? flow->mem_defs != 0
                                     : defines_register(flow, (unsigned)made->reg))
            return flow;
    }
    return NULL;
}

static int pin_operands(struct work *work)
{
    bool is_computed = work->flag_count > 0;
    struct slc_move move;
    int err = 0;

    for (unsigned i = 0; i < work->made_count && !err; i++) {
        struct made *made = &work->made[i];
        const struct ins_flow *flow = flow_of(work, made);
        if (!made->is_pinned || !flow)
            continue;
        if (made->reg == NO_REGISTER && made->has_value)
            err = pin_store_address(work, made, (unsigned)__builtin_ctz(flow->mem_defs));
        if (!err && work->info->flags & INS_IS_CMOV && made->has_value)
            err = pin_choice(work, made);
        if (!err && slc_move_make(&move, flow))
            err = pin_moved(work, made, &move);
        else if (!err)
            is_computed = true;
    }
    return err || !is_computed ? err : pin_computed(work);
}

/* ---- what it let run ---- */

static bool is_equal_target(const struct work *work, const void *arg, uint64_t loaded)
{
    (void)work;
    return loaded == *(const uint64_t *)arg;
}

/* An indirect jump or call had to go where it went. */
static int pin_target(struct work *work, struct slc_verdict *verdict)
{
    int err = 0;

    for (unsigned f = 0; f < work->info->flow_count && !err; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (!(flow->kinds & INS_FLOW_BRANCH))
            continue;
        for (unsigned gpr = 0; gpr < INS_GPR_COUNT && !err; gpr++)
            if (ins_regset_has(&flow->value_uses, INS_LOC_GPR + INS_GPR_PIECES * gpr))
                err = give_equal(work, gpr);
        if (!(flow->mem_uses & 1) || err)
            continue;
        struct ins_range range = slc_operand_range(work->in->statement, 0, work->in->slots);
        uint64_t target;
        err = slc_values_memory(work->stepping->values, range.address, 8, work->in->time, &target);
        for (unsigned b = 0; b < 8 && !err; b++)
            err = give(work, true, range.address + b, SLC_PIN_EQUAL);
        if (!err)
            err = pin_load_address(work, 0, is_equal_target, &target);
    }
    verdict->confidence = slc_range_size(&work->profile->targets) > 1;
    return err;
}

/* A branch that let something right run is known to have gone where it should: what its condition
 * used is pinned to values that lead there. */
static int pin_guard(struct work *work, struct slc_verdict *verdict)
{
    const struct ins_info *info = work->info;

    verdict->is_pinned = true;
    verdict->confidence = 0;
    switch (info->klass) {
    case INS_JCC:
        if (!work->in->next_pc)
            return 0;
        pin_flags(work->task, info->condition, work->in->next_pc == info->target,
                  work->profile->went && work->profile->stayed);
        verdict->confidence = work->profile->went && work->profile->stayed;
        return 0;
    case INS_JMP_INDIRECT:
    case INS_CALL_INDIRECT:
        return pin_target(work, verdict);
    default:
        verdict->is_neutral = true;
        return 0;
    }
}

/* ---- all of it ---- */

/* Somebody has said that all that the instance made is right. */
static void pin_right(struct work *work)
{
    struct ins_range ranges[INS_RANGES_MAX];

    for (unsigned f = 0; f < work->info->flow_count; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (flow->kinds & (work->skipped | INS_FLOW_STACK))
            continue;
        for (unsigned l = ins_regset_next(&flow->defs, 0); l < INS_LOC_K;
             l = ins_regset_next(&flow->defs, l + 1))
            slc_pin_location(work->stepping, work->task, l, UINT64_MAX);
        for (unsigned m = 0; m < work->info->mem_count; m++) {
            unsigned count = flow->mem_defs >> m & 1 ? slc_operand_ranges(work->in->statement, m,
                                                                          work->in->slots, ranges)
                                                     : 0;
            for (unsigned r = 0; r < count; r++)
                for (uint64_t b = 0; b < ranges[r].size_bytes; b++)
                    slc_pins_add(work->stepping->pins, ranges[r].address + b, SLC_PIN_EXACT);
        }
    }
}

static int step(struct work *work, struct slc_verdict *verdict)
{
    int err = 0;

    if (work->in->is_right)
        pin_right(work);
    err = collect(work);
    for (unsigned i = 0; i < work->made_count && !err; i++)
        if (work->made[i].is_pinned)
            err = judge_made(work, &work->made[i]);
    if (err)
        return err;
    settle_verdict(work, verdict);
    if (work->in->is_guard)
        err = pin_guard(work, verdict);
    if (!err)
        err = pin_operands(work);
    if (work->in->is_right) {
        verdict->is_pinned = true;
        verdict->confidence = 1;
    }
    return err;
}

int slc_step(struct slc_stepping *stepping, struct slc_pinned_task *task,
             const struct slc_instance *instance, struct slc_verdict *verdict)
{
    struct work work = {.stepping = stepping,
                        .task = task,
                        .in = instance,
                        .info = instance->statement->info,
                        .slots = instance->slots + instance->statement->slot,
                        .profile = slc_ranges_find(stepping->ranges, instance->statement->pc)};

    *verdict = (struct slc_verdict){0};
    work.skipped = ins_skipped_flow(work.info, work.slots);
    /* it did not run when the profile was made: nothing is sure of what it defined */
    if (!work.profile) {
        slc_forget_registers(stepping, task);
        slc_pins_drop_range(stepping->pins, 0, UINT64_MAX);
        return 0;
    }
    int err = step(&work, verdict);
    for (unsigned i = 0; i < work.made_count; i++) {
        slc_alt_release(stepping->pins, work.made[i].alt);
        for (unsigned b = 0; b < work.made[i].pinned.count; b++)
            slc_pin_drop(stepping->pins, work.made[i].pinned.bytes[b]);
    }
    int given = give_all(&work);
    free(work.given);
    slc_pass_liveness(&task->live, work.info);
    return err ? err : given;
}

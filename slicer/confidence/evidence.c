/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/insn/insn_ranges.h"
#include "slicer/confidence/evidence_priv.h"
#include "slicer/pieces.h"
#include "slicer/scan/code_summary.h"

#define WIDE_BYTES 64u

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

int slc_give(struct slc_work *work, bool is_memory, uint64_t at, slc_pin pin)
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

static int give_all(struct slc_work *work)
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
int slc_give_test(struct slc_work *work, bool is_memory, uint64_t at, unsigned bytes,
                  const struct slc_test *like)
{
    struct slc_test *test = slc_test_get(work->stepping->pins, like);
    int err = test ? 0 : -ENOMEM;

    for (unsigned b = 0; b < bytes && !err; b++)
        err = slc_give(work, is_memory, at + b, slc_pin_test(work->stepping->pins, test, b));
    slc_test_release(work->stepping->pins, test);
    return err;
}

/* ---- what the instance made ---- */

static struct slc_made *made_new(struct slc_work *work, int reg, uint64_t mask)
{
    if (work->made_count == SLC_MADE_MAX)
        return NULL;
    struct slc_made *made = &work->made[work->made_count++];
    *made = (struct slc_made){.reg = reg, .mask = mask};
    made->pinned.count = 8;
    const struct slc_result *result = slc_profile_result(work->profile, reg);
    made->range = result ? &result->range : NULL;
    return made;
}

/* Takes the pins of a general register's bytes that the instruction defines. */
static int make_register(struct slc_work *work, unsigned gpr)
{
    uint64_t mask = slc_defined_mask(work->info, gpr);
    struct slc_made *made = made_new(work, (int)gpr, mask);

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

static int make_memory(struct slc_work *work, const struct ins_range *range)
{
    struct slc_made *made =
        made_new(work, SLC_NO_REGISTER, ins_low_bytes((unsigned)range->size_bytes));

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

bool slc_defines_register(const struct ins_flow *flow, unsigned gpr)
{
    for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++)
        if (ins_regset_has(&flow->defs, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece))
            return true;
    return false;
}

/* Drops the pins of what perhaps kept its value. */
static void drop_perhaps(struct slc_work *work, const struct ins_flow *flow)
{
    for (unsigned l = ins_regset_next(&flow->may_defs, 0); l < INS_LOC_COUNT;
         l = ins_regset_next(&flow->may_defs, l + 1)) {
        unsigned first, count = location_spots(l, &first);
        for (unsigned i = 0; i < count; i++)
            slc_pin_drop(work->stepping->pins, take_spot(work->task, first + i));
    }
}

static int collect_registers(struct slc_work *work)
{
    int err = 0;

    for (unsigned gpr = 0; gpr < INS_GPR_COUNT && !err; gpr++) {
        bool is_defined = false, is_pointer = false;
        for (unsigned f = 0; f < work->info->flow_count; f++) {
            const struct ins_flow *flow = &work->info->flows[f];
            if (flow->kinds & work->skipped || !slc_defines_register(flow, gpr))
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
static void collect_flags(struct slc_work *work)
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

void slc_pin_flags(struct slc_pinned_task *task, unsigned condition, bool holds, bool varies)
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

static void note_wide(struct slc_work *work, slc_pin pin)
{
    if (!work->is_wide_pinned)
        work->is_wide_exact = true;
    work->is_wide_pinned = true;
    work->is_wide_exact &= pin == SLC_PIN_EXACT;
}

/* Of rep movs each byte has a source; what other instructions store in ranges has none here. */
static int collect_range(struct slc_work *work, const struct ins_flow *flow, unsigned operand,
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
            err = slc_give(work, true,
                           slc_moved_from(work->in->statement, operand, work->in->slots, at), pin);
        else
            slc_pin_drop(work->stepping->pins, pin);
    }
    return err;
}

/* The bytes of a move's destination, one by one. */
int slc_hand_on(struct slc_work *work, const struct slc_move *move, unsigned byte, slc_pin pin)
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
        return slc_give(work, true, range.address + from, pin);
    }
    unsigned first, count = location_spots(move->from, &first);
    if (!count) {
        slc_pin_drop(work->stepping->pins, pin);
        return 0;
    }
    return slc_give(work, false, first + move->from_start + from, pin);
}

/* A vector register's pins that the flow takes, by byte. */
static bool take_vector(struct slc_work *work, const struct ins_flow *flow, unsigned vector,
                        slc_pin pins[])
{
    unsigned base = INS_LOC_VEC + INS_VEC_PIECES * vector;
    bool is_pinned = false;

    memset(pins, 0, SLC_VECTOR_BYTES * sizeof(*pins));
    for (unsigned l = ins_regset_next(&flow->defs, base); l < base + INS_VEC_PIECES;
         l = ins_regset_next(&flow->defs, l + 1)) {
        unsigned first, count = location_spots(l, &first);
        for (unsigned i = first; i < first + count; i++) {
            slc_pin pin = take_spot(work->task, i);
            pins[(i - SLC_SPOT_VECTOR) % SLC_VECTOR_BYTES] = pin;
            if (pin != SLC_PIN_NONE)
                note_wide(work, pin);
            is_pinned |= pin != SLC_PIN_NONE;
        }
    }
    return is_pinned;
}

/* Vector registers: moves pass pins on, one by one. */
static int collect_vectors(struct slc_work *work, const struct ins_flow *flow)
{
    struct slc_move move;
    bool is_move = slc_move_make(&move, flow) && !move.to_memory;
    slc_pin pins[SLC_VECTOR_BYTES];
    int err = 0;

    for (unsigned l = ins_regset_next(&flow->defs, INS_LOC_VEC); l < INS_LOC_K && !err;) {
        unsigned vector = (l - INS_LOC_VEC) / INS_VEC_PIECES;
        bool is_pinned = take_vector(work, flow, vector, pins);
        if (is_pinned && !is_move)
            err = slc_hand_lanes(work, vector, pins);
        for (unsigned b = 0; b < SLC_VECTOR_BYTES && is_pinned && is_move && !err; b++) {
            if (b >= move.to_start)
                err = slc_hand_on(work, &move, b - move.to_start, pins[b]);
            else
                slc_pin_drop(work->stepping->pins, pins[b]);
        }
        l = ins_regset_next(&flow->defs, INS_LOC_VEC + INS_VEC_PIECES * (vector + 1));
    }
    return err;
}

static int collect_stores(struct slc_work *work, const struct ins_flow *flow)
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
                    err = slc_hand_on(work, &move, b, pin);
                }
        }
    }
    return err;
}

static int collect(struct slc_work *work)
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
#define POOL 512

/* How many values of a range were judged, and how many of these were others that would do. */
struct enumeration {
    uint32_t judged, others;
    size_t places; /* that were looked at */
};

/* Judges the values of a range, in an order that has nothing to do with them. Those that would not
 * do are marked in `alt`, unless that is NULL. */
static struct enumeration enumerate(const struct slc_work *work, const struct slc_made *made,
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

static int judge_by_tests(struct slc_work *work, struct slc_made *made)
{
    struct slc_pins *pins = work->stepping->pins;
    struct slc_alt *alt = slc_alt_find(pins, made->range, &work->judge);

    if (!alt) {
        alt = slc_alt_new(made->range);
        if (!alt)
            return -ENOMEM;
        struct enumeration done = enumerate(work, made, alt);
        alt->confidence = confidence_of(estimate(made->range, &done), slc_range_size(made->range));
        alt->judged = (uint32_t)done.places;
        alt->allows_all = done.others + 1 >= done.judged;
        slc_alt_keep(pins, alt, &work->judge);
    }
    made->confidence = alt->confidence;
    if (alt->allows_all)
        slc_alt_release(pins, alt);
    else
        made->alt = alt;
    return 0;
}

static int judge_made(struct slc_work *work, struct slc_made *made)
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

static bool is_live(const struct slc_work *work, unsigned gpr)
{
    for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++)
        if (ins_regset_has(&work->task->live, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece))
            return true;
    return false;
}

#define OF_RESULT ((uint64_t)(INS_RFLAG_ZF | INS_RFLAG_SF | INS_RFLAG_PF))

/* Flags that a later instruction reads, and which neither pins nor a pinned value tell. */
static bool has_loose_flags(const struct slc_work *work, bool has_pinned_value)
{
    struct ins_regset defs = ins_all_defs(work->info);
    uint64_t loose = flags_of(&defs) & flags_of(&work->task->live);

    for (unsigned i = 0; i < work->flag_count; i++)
        loose &= ~ins_condition_flags(work->flags[i].outcome.condition);
    return loose & ~(has_pinned_value ? OF_RESULT : 0);
}

static void settle_verdict(struct slc_work *work, struct slc_verdict *verdict)
{
    bool has_value = false, has_flags = false;
    double confidence = 1;

    for (unsigned i = 0; i < work->made_count; i++) {
        const struct slc_made *made = &work->made[i];
        if (!made->is_pinned &&
            (made->reg == SLC_NO_REGISTER || !is_live(work, (unsigned)made->reg)))
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

/* ---- what it let run ---- */

static bool is_equal_target(const struct slc_work *work, const void *arg, uint64_t loaded)
{
    (void)work;
    return loaded == *(const uint64_t *)arg;
}

/* An indirect jump or call had to go where it went. */
static int pin_target(struct slc_work *work, struct slc_verdict *verdict)
{
    int err = 0;

    for (unsigned f = 0; f < work->info->flow_count && !err; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (!(flow->kinds & INS_FLOW_BRANCH))
            continue;
        for (unsigned gpr = 0; gpr < INS_GPR_COUNT && !err; gpr++)
            if (ins_regset_has(&flow->value_uses, INS_LOC_GPR + INS_GPR_PIECES * gpr))
                err = slc_give_equal(work, gpr);
        if (!(flow->mem_uses & 1) || err)
            continue;
        struct ins_range range = slc_operand_range(work->in->statement, 0, work->in->slots);
        uint64_t target;
        err = slc_values_memory(work->stepping->values, range.address, 8, work->in->time, &target);
        for (unsigned b = 0; b < 8 && !err; b++)
            err = slc_give(work, true, range.address + b, SLC_PIN_EQUAL);
        if (!err)
            err = slc_pin_load_address(work, 0, is_equal_target, &target);
    }
    verdict->confidence = slc_range_size(&work->profile->targets) > 1;
    return err;
}

/* A branch that let something right run is known to have gone where it should: what its condition
 * used is pinned to values that lead there. */
static int pin_guard(struct slc_work *work, struct slc_verdict *verdict)
{
    const struct ins_info *info = work->info;

    verdict->is_pinned = true;
    verdict->confidence = 0;
    switch (info->klass) {
    case INS_JCC:
        if (!work->in->next_pc)
            return 0;
        slc_pin_flags(work->task, info->condition, work->in->next_pc == info->target,
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
static void pin_right(struct slc_work *work)
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

static int step(struct slc_work *work, struct slc_verdict *verdict)
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
        err = slc_pin_operands(work);
    if (work->in->is_right) {
        verdict->is_pinned = true;
        verdict->confidence = 1;
    }
    return err;
}

int slc_step(struct slc_stepping *stepping, struct slc_pinned_task *task,
             const struct slc_instance *instance, struct slc_verdict *verdict)
{
    struct slc_work work = {.stepping = stepping,
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

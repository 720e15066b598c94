/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an instruction used, judged by what is pinned of what it made: moves hand pins on, all that
 * computes is computed once more with other operands. */
#include <string.h>

#include "recorder/insn/insn_ranges.h"
#include "slicer/confidence/evidence_priv.h"
#include "slicer/pieces.h"
#include "slicer/scan/code_summary.h"

/* ---- operands ---- */

static bool read_input(struct slc_work *work, const struct ins_eval_place *place, uint64_t *at,
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

static const struct slc_made *made_at(const struct slc_work *work,
                                      const struct ins_eval_place *place)
{
    int reg = place->kind == INS_EVAL_GPR ? place->gpr : SLC_NO_REGISTER;

    for (unsigned i = 0; place->kind != INS_EVAL_NONE && i < work->made_count; i++)
        if (work->made[i].reg == reg)
            return &work->made[i];
    return NULL;
}

/* What is pinned of the results, as a check of what is computed. */
static void make_check(const struct slc_work *work, const struct ins_eval *eval,
                       struct slc_check *check)
{
    memset(check, 0, sizeof(*check));
    for (unsigned i = 0; i < INS_EVAL_RESULTS; i++) {
        const struct ins_eval_place *place = &eval->results[i];
        const struct slc_made *made = made_at(work, place);
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
                       const struct slc_work *work, struct slc_check *check, uint64_t *flags)
{
    struct ins_eval_result result;

    for (unsigned carry = 0; carry < (eval->flags_used ? 2u : 1u); carry++) {
        *flags = carry;
        if (!ins_eval_run(eval, inputs, *flags, &result))
            continue;
        bool is_same = true;
        for (unsigned i = 0; i < INS_EVAL_RESULTS; i++) {
            const struct ins_eval_place *place = &eval->results[i];
            const struct slc_made *made = made_at(work, place);
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
    if (a->kind != b->kind || a->kind != INS_EVAL_GPR)
        return a->kind == b->kind && a->kind == INS_EVAL_MEMORY;
    return a->gpr == b->gpr && a->first < b->first + b->bytes && b->first < a->first + a->bytes;
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
static int pin_determined(struct slc_work *work, const struct slc_test *like, unsigned i,
                          uint64_t at, unsigned *determined)
{
    const struct ins_eval_place *place = &like->eval->inputs[i];
    const struct slc_made *made = made_at(work, &like->eval->results[0]);
    unsigned shift = made && made->reg != SLC_NO_REGISTER ? 8u * like->eval->results[0].first : 0;
    unsigned equal = low_bytes_of(like->check.masks[0]);
    unsigned exact = made ? low_bytes_of(made->exact >> shift) : 0;
    int err = 0;

    equal = equal < place->bytes ? equal : place->bytes;
    exact = exact < place->bytes ? exact : place->bytes;
    *determined = ins_eval_determined(like->eval, i, like->inputs, equal);
    exact = ins_eval_determined(like->eval, i, like->inputs, exact);
    for (unsigned b = 0; b < *determined && !err; b++)
        err = slc_give(work, place->kind == INS_EVAL_MEMORY, at + b,
                       b < exact ? SLC_PIN_EXACT : SLC_PIN_EQUAL);
    return err;
}

static bool says_something(const struct slc_check *check)
{
    return check->masks[0] || check->masks[1] || check->alts[0] || check->alts[1] ||
           check->outcome_count;
}

/* Whether another operand that could be another value is the same as operand i: both may have come
 * from one place, and what determines one of them while the other stays tells nothing of both. */
static bool may_come_twice(const struct slc_test *like, unsigned i)
{
    const struct ins_eval *eval = like->eval;

    for (unsigned other = 0; other < eval->input_count; other++) {
        unsigned bytes = eval->inputs[i].bytes < eval->inputs[other].bytes
                             ? eval->inputs[i].bytes
                             : eval->inputs[other].bytes;
        unsigned kind = eval->inputs[other].kind;
        bool can_vary = kind == INS_EVAL_GPR || kind == INS_EVAL_MEMORY;
        if (other != i && can_vary &&
            !((like->inputs[i] ^ like->inputs[other]) & ins_low_bytes(bytes)))
            return true;
    }
    return false;
}

static int pin_input(struct slc_work *work, const struct slc_test *like, unsigned i, uint64_t at)
{
    const struct ins_eval_place *place = &like->eval->inputs[i];
    unsigned varied = varied_with(like->eval, i), determined = 0;
    struct slc_test test = *like;
    int err = 0;

    if (!varied || varied & ((1u << i) - 1))
        return 0;
    if (varied == 1u << i && !may_come_twice(like, i))
        err = pin_determined(work, like, i, at, &determined);
    if (err || determined == place->bytes)
        return err;
    test.varied = (uint8_t)varied;
    test.value = like->inputs[i];
    return slc_give_test(work, place->kind == INS_EVAL_MEMORY, at, place->bytes, &test);
}

/* setcc, and sbb of a register from itself: the flags decided the value. */
static void pin_used_flags(struct slc_work *work, const struct slc_test *test)
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
            slc_pin_flags(work->task, eval->condition, holds, true);
        return;
    }
    if (ins_eval_run(eval, test->inputs, flags ^ INS_RFLAG_CF, &other) &&
        !slc_check_passes(&test->check, &other))
        slc_pin_flags(work->task, INS_COND_B, flags & INS_RFLAG_CF, true);
}

/* ---- what it used, by how it made its value ---- */

struct evaluated {
    const struct slc_test *test;
    unsigned varied;
};

static bool computes_well(const struct slc_work *work, const void *arg, uint64_t loaded)
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

static int pin_computed(struct slc_work *work)
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
            err = slc_pin_load_address(work, eval->inputs[i].operand, computes_well, &evaluated);
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
    const struct slc_made *made;
};

static bool moves_well(const struct slc_work *work, const void *arg, uint64_t loaded)
{
    const struct moving *moving = arg;
    return slc_judge_allows(&work->judge, moved_value(moving->move, loaded, moving->made->mask));
}

/* A pin that is passed on belongs to the source from now on. */
static slc_pin pass_pin(const struct slc_made *made, unsigned byte)
{
    return made->pinned.bytes[byte];
}

static int pin_moved(struct slc_work *work, struct slc_made *made, const struct slc_move *move)
{
    const struct moving moving = {move, made};
    unsigned start = move->to_memory ? 0 : move->to_start;
    int err = 0;

    if (move->from_memory && made->has_value) {
        slc_judge_make(work->stepping->pins, &made->pinned, made->value, &work->judge);
        err = slc_pin_load_address(work, move->operand, moves_well, &moving);
    }
    for (unsigned b = 0; b < made->pinned.count && !err; b++) {
        slc_pin pin = pass_pin(made, b);
        made->pinned.bytes[b] = SLC_PIN_NONE;
        if (b < start)
            slc_pin_drop(work->stepping->pins, pin);
        else
            err = slc_hand_on(work, move, b - start, pin);
    }
    return err;
}

/* The other operand of a cmov would not have done: its condition had to turn out as it did. */
static int pin_choice(struct slc_work *work, const struct slc_made *made)
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
            slc_pin_flags(work->task, work->info->condition, is_taken, true);
        return err;
    }
    return 0;
}

static const struct ins_flow *flow_of(const struct slc_work *work, const struct slc_made *made)
{
    for (unsigned f = 0; f < work->info->flow_count; f++) {
        const struct ins_flow *flow = &work->info->flows[f];
        if (flow->kinds & work->skipped)
            continue;
        if (made->reg == SLC_NO_REGISTER ? flow->mem_defs != 0
                                         : slc_defines_register(flow, (unsigned)made->reg))
            return flow;
    }
    return NULL;
}

int slc_pin_operands(struct slc_work *work)
{
    bool is_computed = work->flag_count > 0;
    struct slc_move move;
    int err = 0;

    for (unsigned i = 0; i < work->made_count && !err; i++) {
        struct slc_made *made = &work->made[i];
        const struct ins_flow *flow = flow_of(work, made);
        if (!made->is_pinned || !flow)
            continue;
        if (made->reg == SLC_NO_REGISTER && made->has_value)
            err = slc_pin_store_address(work, made, (unsigned)__builtin_ctz(flow->mem_defs));
        if (!err && work->info->flags & INS_IS_CMOV && made->has_value)
            err = pin_choice(work, made);
        if (!err && slc_move_make(&move, flow))
            err = pin_moved(work, made, &move);
        else if (!err)
            is_computed = true;
    }
    return err || !is_computed ? err : pin_computed(work);
}

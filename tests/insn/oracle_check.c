/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For one form: a random state in which its memory operands lie in the test's memory; a run; then
 * the same with one thing changed, and again. What must hold of every pair of runs that completed:
 *
 *   1. A register location outside all flows' defs and may_defs keeps its value, and memory
 *      outside the operands that flows define keeps its bytes.
 *   2. An output that differs between the two runs belongs to a flow that declares the changed
 *      input: as a use, as a byte of a memory use, or as part of a used operand's address.
 *   3. Only may_defs may also depend on their own old value.
 *   4. No output depends on bytes 4..7 of a register of which four bytes are used or copied.
 *   5. A byte that a flow copies depends on that byte of its source and no other.
 *   6. Of what takes bytes by a mask or by indices: a byte depends on the one that
 *      ins_pick_get() says, which always matters, and on what chose it; bytes of a store
 *      that were not chosen stay.
 *
 * What st(i) is depends on TOP: the description is settled for each state (ins_settle()).
 *
 * Exempt by the rules of insn.h: TOP and tags of the x87 as inputs, rsp and rbp as inputs of
 * INS_FLOW_STACK, rsp as an address's base, flags that the manual leaves undefined.
 */
#include "oracle_check.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "insn_format.h"
#include "oracle_case.h"
#include "recorder/insn/insn_pick.h"

#define RANGE_BYTES_MAX 4096

struct outcome {
    struct oracle_state state;
    struct oracle_range written[INS_MEM_MAX]; /* size 0 when the operand is not written */
    uint8_t bytes[INS_MEM_MAX][RANGE_BYTES_MAX];
};

/* The thing that was changed: a register location, or memory that some operands cover. */
struct change {
    unsigned loc;     /* INS_LOC_COUNT for memory */
    bool is_upper;    /* only bytes 4..7 of a general register, of which `loc` is the last piece */
    unsigned mems;    /* operands that cover the byte */
    uint64_t address; /* for the report */
};

struct check {
    struct oracle_case at;
    struct oracle_tally *tally;
    FILE *why;
    unsigned complaints;
    char last_complaint[160];
    int last_signal;
    struct ins_regset seen;      /* locations whose change mattered */
    struct ins_regset undefined; /* flags */
    struct ins_regset all_defs;
    struct ins_regset results;   /* ... that this machine has and the manual defines */
    struct ins_regset untouched; /* what this machine has and no flow defines */
    struct ins_regset strangers; /* registers that the description does not name */
};

const char *oracle_verdict_name(enum oracle_verdict verdict)
{
    static const char *const names[ORACLE_VERDICTS] = {
        "right",
        "WRONG",
        "control flow",
        "traps or enters the kernel",
        "result comes from outside",
        "waits",
        "not on this processor",
        "always faults",
        "operands cannot be placed",
    };
    return names[verdict];
}

/* ---- running ---- */

static bool is_defined_mem(const struct check *check, unsigned i)
{
    for (unsigned f = 0; f < check->at.info.flow_count; f++) {
        if ((check->at.info.flows[f].mem_defs | check->at.info.flows[f].mem_may_defs) >> i & 1)
            return true;
    }
    return false;
}

__attribute__((format(printf, 2, 3))) static void complain(struct check *check, const char *format,
                                                           ...);

/* False when the run faulted or its operands run into each other or out of reach. */
static bool run(struct check *check, const struct oracle_state *in, struct outcome *out)
{
    check->tally->runs++;
    int number = oracle_run(in, &out->state);
    if (number != 0) {
        check->tally->faults++;
        check->last_signal = number;
        return false;
    }
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        out->written[i] = (struct oracle_range){0};
        if (!is_defined_mem(check, i))
            continue;
        struct oracle_range range = oracle_reachable_range(&check->at, i, in);
        if (!oracle_in_memory(&range) || range.size > RANGE_BYTES_MAX)
            return false;
        out->written[i] = range;
        memcpy(out->bytes[i], (const void *)(uintptr_t)range.start, range.size);
    }
    return true;
}

/* ---- the three claims ---- */

static void complain(struct check *check, const char *format, ...)
{
    char line[sizeof(check->last_complaint)];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (strcmp(line, check->last_complaint) == 0 || check->complaints++ >= 4)
        return;
    memcpy(check->last_complaint, line, sizeof(line));
    if (check->complaints == 1) {
        char text[160];
        ins_text(check->at.code, check->at.zi.length, (uint64_t)(uintptr_t)ORACLE_CODE, text,
                 sizeof(text));
        fprintf(check->why, "  %s\n", text);
    }
    fprintf(check->why, "    %s\n", line);
}

static bool is_stack_pointer(unsigned loc, bool or_frame)
{
    unsigned gpr = loc / INS_GPR_PIECES;
    return loc < INS_LOC_CF && (gpr == INS_RSP || (or_frame && gpr == INS_RBP));
}

static bool address_depends(const struct check *check, unsigned i, unsigned loc)
{
    if (loc == INS_LOC_COUNT)
        return false;
    struct ins_regset uses = ins_addr_uses(&check->at.info, i);
    return ins_regset_has(&uses, loc) ||
           (check->at.info.mems[i].base == INS_RSP && is_stack_pointer(loc, false));
}

/* A flow that uses or copies four bytes of a register says so. */
static bool uses_lower_half(const struct ins_flow *flow, unsigned loc)
{
    if (flow->kinds & INS_FLOW_COPIES && flow->copy_bytes && flow->copy_bytes <= 4)
        return true;
    return flow->halves >> loc / INS_GPR_PIECES & 1;
}

static bool flow_declares(const struct check *check, const struct ins_flow *flow,
                          const struct change *change)
{
    if (change->loc != INS_LOC_COUNT &&
        ((ins_regset_has(&flow->value_uses, change->loc) &&
          !(change->is_upper && uses_lower_half(flow, change->loc))) ||
         ins_regset_has(&flow->cond_uses, change->loc)))
        return true;
    if ((flow->kinds & INS_FLOW_STACK) && is_stack_pointer(change->loc, true))
        return true;
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        if ((flow->mem_uses >> i & 1) &&
            ((change->mems >> i & 1) || address_depends(check, i, change->loc)))
            return true;
    }
    return false;
}

static bool register_may_differ(const struct check *check, unsigned loc,
                                const struct change *change)
{
    for (unsigned f = 0; f < check->at.info.flow_count; f++) {
        const struct ins_flow *flow = &check->at.info.flows[f];
        bool may = ins_regset_has(&flow->may_defs, loc);
        if ((may || ins_regset_has(&flow->defs, loc)) && flow_declares(check, flow, change))
            return true;
        if (may && change->loc == loc)
            return true;
    }
    return false;
}

static bool memory_may_differ(const struct check *check, unsigned i, const struct change *change)
{
    for (unsigned f = 0; f < check->at.info.flow_count; f++) {
        const struct ins_flow *flow = &check->at.info.flows[f];
        bool may = flow->mem_may_defs >> i & 1;
        if ((may || (flow->mem_defs >> i & 1)) && flow_declares(check, flow, change))
            return true;
        if (may && ((change->mems >> i & 1) || address_depends(check, i, change->loc)))
            return true;
    }
    return false;
}

static const char *change_name(const struct change *change)
{
    static char text[40];
    if (change->loc != INS_LOC_COUNT)
        return ins_location_name(change->loc);
    snprintf(text, sizeof(text), "memory (operands %#x)", change->mems);
    return text;
}

static bool same_location(const struct oracle_state *a, const struct oracle_state *b, unsigned loc)
{
    uint8_t left[ORACLE_VALUE_MAX], right[ORACLE_VALUE_MAX];
    unsigned size = oracle_get(a, loc, left);
    oracle_get(b, loc, right);
    return memcmp(left, right, size) == 0;
}

static bool is_list(const struct check *check, unsigned i)
{
    return check->at.info.mems[i].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64);
}

/* Whether a flow says that this byte may be written. Of a scatter that is what its mask chooses. */
static bool is_declared(const struct check *check, const struct oracle_state *in,
                        const struct outcome *out, const struct oracle_range *byte)
{
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        struct oracle_range lanes[ORACLE_LANES_MAX];
        if (!is_list(check, i)) {
            if (oracle_overlap(byte, &out->written[i]))
                return true;
            continue;
        }
        unsigned count = is_defined_mem(check, i) ? oracle_lanes(&check->at, i, in, lanes) : 0;
        for (unsigned k = 0; k < count; k++)
            if (oracle_overlap(byte, &lanes[k]))
                return true;
    }
    return false;
}

/* The first byte of memory from `at` on that is not as before the run. */
static uint64_t next_changed(uint64_t at)
{
    while (at < ORACLE_MEMORY_BYTES) {
        bool is_same_page =
            at % ORACLE_PAGE_BYTES == 0 && !oracle_page_changed[at / ORACLE_PAGE_BYTES];
        uint64_t size = is_same_page ? ORACLE_PAGE_BYTES : at % 64 == 0 ? 64 : 1;
        if (size == 64 && memcmp(ORACLE_MEMORY + at, oracle_pristine + at, size) != 0)
            size = 1;
        if (size == 1 && ORACLE_MEMORY[at] != oracle_pristine[at])
            break;
        at += size;
    }
    return at;
}

/* Claim 1. */
static void check_untouched(struct check *check, const struct oracle_state *in,
                            const struct outcome *out)
{
    const struct ins_regset *set = &check->untouched;
    for (unsigned loc = ins_regset_next(set, 0); loc < INS_LOC_COUNT;
         loc = ins_regset_next(set, loc + 1)) {
        unsigned same = oracle_same_pieces(in, &out->state, loc);
        if (same)
            loc += same - 1;
        else if (!same_location(in, &out->state, loc))
            complain(check, "%s changes, which no flow defines", ins_location_name(loc));
    }
    for (uint64_t at = next_changed(0); at < ORACLE_MEMORY_BYTES; at = next_changed(at + 1)) {
        struct oracle_range byte = {(uint64_t)(uintptr_t)ORACLE_MEMORY + at, 1};
        if (!is_declared(check, in, out, &byte))
            complain(check, "memory %#llx changes, outside every defined operand",
                     (unsigned long long)byte.start);
    }
}

static bool memory_differs(const struct outcome *a, const struct outcome *b, unsigned i)
{
    uint64_t size =
        a->written[i].size < b->written[i].size ? a->written[i].size : b->written[i].size;
    return memcmp(a->bytes[i], b->bytes[i], size) != 0;
}

/* Claims 2 and 3. Returns whether any output differed beyond the changed input itself. */
static bool check_differences(struct check *check, const struct outcome *before,
                              const struct outcome *after, const struct change *change)
{
    const struct ins_regset *results = &check->results;
    bool mattered = false;
    for (unsigned loc = ins_regset_next(results, 0); loc < INS_LOC_COUNT;
         loc = ins_regset_next(results, loc + 1)) {
        if (same_location(&before->state, &after->state, loc))
            continue;
        mattered = true;
        if (!register_may_differ(check, loc, change))
            complain(check, "%s depends on %s, which its flows do not use", ins_location_name(loc),
                     change_name(change));
    }
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        if (!memory_differs(before, after, i))
            continue;
        mattered = true;
        if (!memory_may_differ(check, i, change))
            complain(check, "memory operand %u depends on %s, which its flows do not use", i,
                     change_name(change));
    }
    return mattered;
}

/* ---- claim 5 ---- */

static bool is_address_register(const struct check *check, unsigned loc)
{
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        if (address_depends(check, i, loc))
            return true;
    }
    return false;
}

static unsigned first_byte(unsigned loc)
{
    static const uint8_t gpr[] = {0, 1, 2}, vector[] = {0, 4, 8, 16, 32};
    return loc < INS_LOC_CF ? gpr[loc % INS_GPR_PIECES]
                            : vector[(loc - INS_LOC_VEC) % INS_VEC_PIECES];
}

static uint64_t differing_bytes(const struct oracle_state *a, const struct oracle_state *b,
                                unsigned loc)
{
    uint8_t left[ORACLE_VALUE_MAX], right[ORACLE_VALUE_MAX];
    uint64_t bytes = 0;
    unsigned size = oracle_get(a, loc, left);
    oracle_get(b, loc, right);
    for (unsigned i = 0; i < size && i < 64; i++)
        bytes |= (uint64_t)(left[i] != right[i]) << i;
    return bytes;
}

/* Whether a flow other than `f` declares the change and defines the location. */
static bool another_may(const struct check *check, unsigned f, unsigned loc,
                        const struct change *change)
{
    for (unsigned g = 0; g < check->at.info.flow_count; g++) {
        const struct ins_flow *flow = &check->at.info.flows[g];
        if (g != f && (ins_regset_has(&flow->defs, loc) || ins_regset_has(&flow->may_defs, loc)) &&
            flow_declares(check, flow, change))
            return true;
    }
    return false;
}

/* Bytes of the destination that may differ where these of the source do. */
static uint64_t copied_bytes(const struct ins_flow *flow, uint64_t source)
{
    unsigned size = flow->copy_bytes;
    uint64_t all = size >= 64 ? UINT64_MAX : (UINT64_C(1) << size) - 1;
    if (flow->kinds & INS_FLOW_REVERSED_COPY) {
        uint64_t reversed = 0;
        for (unsigned i = 0; i < size; i++)
            reversed |= (source >> i & 1) << (size - 1 - i);
        return reversed;
    }
    bool extends = flow->kinds & INS_FLOW_SIGN_COPY && source >> (size - 1) & 1;
    return (source & all) | (extends ? ~all : 0);
}

static void check_copy(struct check *check, unsigned f, uint64_t source,
                       const struct outcome *before, const struct outcome *after,
                       const struct change *change)
{
    const struct ins_flow *flow = &check->at.info.flows[f];
    struct ins_regset defs = flow->defs;
    uint64_t allowed = copied_bytes(flow, source);
    ins_regset_join(&defs, &flow->may_defs);
    unsigned start = ins_regset_next(&defs, 0);
    for (unsigned loc = start; loc < INS_LOC_K; loc = ins_regset_next(&defs, loc + 1)) {
        unsigned shift = first_byte(loc) - first_byte(start);
        uint64_t differing = differing_bytes(&before->state, &after->state, loc) << shift;
        if (differing & ~allowed && !another_may(check, f, loc, change))
            complain(check, "%s takes other bytes of %s than its copy says", ins_location_name(loc),
                     change_name(change));
    }
    for (unsigned i = 0; i < check->at.info.mem_count; i++)
        for (uint64_t at = 0; at < before->written[i].size && at < 64; at++)
            if (flow->mem_defs >> i & 1 && !(allowed >> at & 1) &&
                before->bytes[i][at] != after->bytes[i][at])
                complain(check, "memory operand %u takes other bytes of %s than its copy says", i,
                         change_name(change));
}

/* `in` and `changed` differ in one register location. */
static void check_copied_register(struct check *check, const struct oracle_state *in,
                                  const struct oracle_state *changed, const struct outcome *before,
                                  const struct outcome *after, const struct change *change)
{
    for (unsigned f = 0; f < check->at.info.flow_count; f++) {
        const struct ins_flow *flow = &check->at.info.flows[f];
        unsigned start = ins_regset_next(&flow->value_uses, 0);
        if (!(flow->kinds & INS_FLOW_COPIES) || !flow->copy_bytes || flow->mem_uses ||
            !ins_regset_has(&flow->value_uses, change->loc) || change->loc >= INS_LOC_K ||
            is_address_register(check, change->loc))
            continue;
        unsigned shift = first_byte(change->loc) - first_byte(start);
        check_copy(check, f, differing_bytes(in, changed, change->loc) << shift, before, after,
                   change);
    }
}

/* Checks what a copy did where one byte of memory was changed. */
static void check_copied_memory(struct check *check, const struct oracle_state *in,
                                const struct outcome *before, const struct outcome *after,
                                const struct change *change)
{
    for (unsigned f = 0; f < check->at.info.flow_count; f++) {
        const struct ins_flow *flow = &check->at.info.flows[f];
        if (!(flow->kinds & INS_FLOW_COPIES) || !flow->copy_bytes || !flow->mem_uses)
            continue;
        unsigned m = (unsigned)__builtin_ctz(flow->mem_uses);
        struct oracle_range range = oracle_operand_range(&check->at, m, in);
        uint64_t off = change->address - range.start;
        if (off < flow->copy_bytes && (change->mems & (change->mems - 1)) == 0)
            check_copy(check, f, UINT64_C(1) << off, before, after, change);
    }
}

/* ---- claim 6 ---- */

#define PICK_SLOTS (INS_MEM_MAX + 9)

/* The slots of an execution in this state. */
static void pick_slots(const struct check *check, const struct oracle_state *in,
                       uint64_t slots[PICK_SLOTS])
{
    const struct ins_info *info = &check->at.info;
    const struct ins_choice *choice = &info->choice;
    uint64_t *words = slots + info->mem_count;

    memset(slots, 0, PICK_SLOTS * sizeof(*slots));
    for (unsigned i = 0; i < info->mem_count; i++)
        slots[i] = oracle_operand_range(&check->at, i, in).start;
    for (unsigned off = 0, bytes = ins_selector_bytes(choice); off < bytes; off += 8) {
        if (choice->selector == INS_PLACE_MEMORY)
            memcpy(words + off / 8,
                   oracle_pristine + off + (slots[0] - (uint64_t)(uintptr_t)ORACLE_MEMORY),
                   bytes < 8 ? bytes : 8);
        else
            memcpy(words + off / 8, in->vectors + oracle_vector_offset(choice->selector, off), 8);
    }
    if (choice->mask != INS_PLACE_NONE)
        memcpy(words + choice->slots - 1, in->vectors + oracle_mask_offset(choice->mask), 8);
}

/* Bytes of the destination that differ. */
static uint64_t picked_differences(const struct check *check, const struct outcome *a,
                                   const struct outcome *b)
{
    const struct ins_choice *choice = &check->at.info.choice;
    uint64_t bytes = 0;

    for (unsigned i = 0; i < (choice->is_legacy ? choice->bytes : 64u); i++) {
        if (choice->to == INS_PLACE_MEMORY) {
            bytes |= (uint64_t)(i < choice->bytes && a->bytes[0][i] != b->bytes[0][i]) << i;
            continue;
        }
        unsigned at = oracle_vector_offset(choice->to, i);
        bytes |= (uint64_t)(at && a->state.vectors[at] != b->state.vectors[at]) << i;
    }
    return bytes;
}

/* Changes byte `byte` of a place that the instruction may take from, or that chooses. */
static void try_place(struct check *check, const struct oracle_state *in,
                      const struct outcome *before, const struct ins_pick *pick, unsigned place,
                      unsigned byte)
{
    static struct outcome after;
    const struct ins_choice *choice = &check->at.info.choice;
    struct oracle_state changed = *in;
    uint8_t bit = (uint8_t)(1u << (oracle_random(&check->at) & 7)), *at;
    uint64_t taken = ins_pick_targets(pick, place, UINT64_C(1) << byte);
    uint64_t chosen = place == choice->selector ? ins_pick_chosen(pick, UINT64_C(1) << byte) : 0;
    bool is_memory = place == INS_PLACE_MEMORY;

    if (choice->uses_old && place == choice->to)
        chosen |= ins_pick_targets(pick, INS_PLACE_COMPUTED, UINT64_MAX);
    if (is_memory) {
        struct oracle_range range = oracle_operand_range(&check->at, 0, in);
        at = oracle_pristine + byte + (range.start - (uint64_t)(uintptr_t)ORACLE_MEMORY);
    } else {
        unsigned offset = oracle_vector_offset(place, byte);
        if (!offset)
            return;
        at = changed.vectors + offset;
    }
    *at ^= bit;
    if (is_memory)
        oracle_pristine_is_new();
    if (run(check, &changed, &after)) {
        uint64_t differing = picked_differences(check, before, &after);
        if (differing & ~(taken | chosen))
            complain(check, "byte %u of place %#x reaches other bytes than it was taken for", byte,
                     place);
        if (taken & ~chosen & ~differing)
            complain(check, "byte %u of place %#x is not what was taken", byte, place);
    }
    *at ^= bit;
    if (is_memory)
        oracle_pristine_is_new();
}

static void check_kept(struct check *check, const struct oracle_state *in,
                       const struct outcome *before, const struct ins_pick *pick)
{
    struct oracle_range range = oracle_operand_range(&check->at, 0, in);
    uint64_t off = range.start - (uint64_t)(uintptr_t)ORACLE_MEMORY;

    for (unsigned i = 0; i < check->at.info.choice.bytes; i++)
        if (pick->place[i] == INS_PLACE_KEPT && before->bytes[0][i] != oracle_pristine[off + i])
            complain(check, "byte %u of the store was not chosen and changes", i);
}

static void try_pick(struct check *check, const struct oracle_state *in,
                     const struct outcome *before)
{
    const struct ins_choice *choice = &check->at.info.choice;
    const uint8_t places[] = {choice->from[0], choice->from[1], choice->other, choice->selector};
    uint64_t slots[PICK_SLOTS];
    struct ins_pick pick;

    pick_slots(check, in, slots);
    ins_pick_get(&check->at.info, slots, &pick);
    if (choice->to == INS_PLACE_MEMORY)
        check_kept(check, in, before, &pick);
    for (unsigned p = 0; p < sizeof(places); p++)
        for (unsigned byte = 0; byte < choice->bytes && places[p] < INS_PLACE_COMPUTED; byte++) {
            bool is_memory = places[p] == INS_PLACE_MEMORY;
            if (!is_memory || byte < check->at.info.mems[0].size_bytes)
                try_place(check, in, before, &pick, places[p], byte);
        }
}

/* An address that moves a written operand onto another one changes what is read: not our case. */
static bool operands_collide(const struct check *check, const struct oracle_state *in)
{
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        struct oracle_range a = oracle_operand_range(&check->at, i, in);
        for (unsigned k = i + 1; k < check->at.info.mem_count; k++) {
            struct oracle_range b = oracle_operand_range(&check->at, k, in);
            if (oracle_overlap(&a, &b))
                return true;
        }
    }
    return false;
}

/* ---- one change after another ---- */

/* Half of the changes of an address keep its alignment and stay in reach. */
static void change_register(struct check *check, struct oracle_state *state, unsigned loc)
{
    static const uint8_t shifts[] = {6, 8, 16};
    uint64_t random = oracle_random(&check->at);
    if (loc < INS_LOC_CF && is_address_register(check, loc) && (random & 3) != 0)
        state->regs.gpr[loc / 3] ^= (1 + (loc % 3 == 2 ? 0 : random >> 8 & 3)) << shifts[loc % 3] &
                                    (loc % 3 == 0 ? 0xff : UINT64_MAX);
    else if (loc == INS_LOC_X87_STATUS && check->at.info.choice.kind == INS_CHOICE_TOP)
        oracle_perturb(state, loc, random & ~UINT64_C(0x3800));
    else
        oracle_perturb(state, loc, random);
}

static void try_register(struct check *check, const struct oracle_state *in,
                         const struct outcome *before, unsigned loc)
{
    static struct outcome after;
    struct oracle_state changed = *in;
    struct change change = {.loc = loc};
    change_register(check, &changed, loc);
    if (same_location(in, &changed, loc) || operands_collide(check, &changed) ||
        !run(check, &changed, &after))
        return;
    check_untouched(check, &changed, &after);
    if (check_differences(check, before, &after, &change))
        ins_regset_add(&check->seen, loc);
    check_copied_register(check, in, &changed, before, &after, &change);
}

static bool results_differ(const struct check *check, const struct outcome *a,
                           const struct outcome *b)
{
    for (unsigned loc = ins_regset_next(&check->results, 0); loc < INS_LOC_COUNT;
         loc = ins_regset_next(&check->results, loc + 1))
        if (!same_location(&a->state, &b->state, loc))
            return true;
    for (unsigned i = 0; i < check->at.info.mem_count; i++)
        if (memory_differs(a, b, i))
            return true;
    return false;
}

/* Changes all strangers at once, which saves most runs. False: one of them matters, or may. */
static bool strangers_are_idle(struct check *check, const struct oracle_state *in,
                               const struct outcome *before)
{
    static struct outcome after;
    struct oracle_state changed = *in;
    for (unsigned loc = ins_regset_next(&check->strangers, 0); loc < INS_LOC_COUNT;
         loc = ins_regset_next(&check->strangers, loc + 1))
        oracle_perturb(&changed, loc, oracle_random(&check->at));
    if (!run(check, &changed, &after))
        return false;
    check_untouched(check, &changed, &after);
    return !results_differ(check, before, &after);
}

/* Bytes 4..7 of a general register. */
static void try_upper_half(struct check *check, const struct oracle_state *in,
                           const struct outcome *before, unsigned gpr)
{
    static struct outcome after;
    struct oracle_state changed = *in;
    struct change change = {.loc = INS_GPR_PIECES * gpr + 2, .is_upper = true};
    changed.regs.gpr[gpr] ^= (UINT64_C(0x9e3779b9) + gpr) << 32;
    if (is_address_register(check, change.loc) || !run(check, &changed, &after))
        return;
    check_differences(check, before, &after, &change);
}

static unsigned covering_operands(const struct check *check, const struct oracle_state *in,
                                  uint64_t address)
{
    unsigned mems = 0;
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        struct oracle_range range = oracle_operand_range(&check->at, i, in), byte = {address, 1};
        struct oracle_range lanes[ORACLE_LANES_MAX];
        unsigned count = is_list(check, i) ? oracle_lanes(&check->at, i, in, lanes) : 1;
        for (unsigned k = 0; k < count; k++)
            if (oracle_overlap(is_list(check, i) ? &lanes[k] : &range, &byte))
                mems |= 1u << i;
    }
    return mems;
}

/* A byte between the lanes of a scatter keeps its change: that is no result. */
static void forget_uncovered_byte(const struct check *check, const struct outcome *before,
                                  struct outcome *after, const struct change *change)
{
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        uint64_t offset = change->address - after->written[i].start;
        if (is_list(check, i) && !(change->mems >> i & 1) && offset < after->written[i].size)
            after->bytes[i][offset] = before->bytes[i][offset];
    }
}

static void try_memory(struct check *check, const struct oracle_state *in,
                       const struct outcome *before, uint64_t address)
{
    static struct outcome after;
    uint64_t at = address - (uint64_t)(uintptr_t)ORACLE_MEMORY;
    uint8_t old = oracle_pristine[at];
    struct change change = {
        .loc = INS_LOC_COUNT, .mems = covering_operands(check, in, address), .address = address};
    oracle_pristine[at] ^= (uint8_t)(1u << (oracle_random(&check->at) & 7));
    oracle_pristine_is_new();
    if (run(check, in, &after)) {
        check_untouched(check, in, &after);
        forget_uncovered_byte(check, before, &after, &change);
        check_differences(check, before, &after, &change);
        check_copied_memory(check, in, before, &after, &change);
    }
    oracle_pristine[at] = old;
    oracle_pristine_is_new();
}

static void try_operand_bytes(struct check *check, const struct oracle_state *in,
                              const struct outcome *before, unsigned i)
{
    struct oracle_range range = oracle_reachable_range(&check->at, i, in);
    if (!oracle_in_memory(&range) || range.size == 0)
        return;
    unsigned count = range.size <= 8 ? (unsigned)range.size : 12;
    for (unsigned k = 0; k < count; k++)
        try_memory(check, in, before,
                   range.start + (range.size <= 8 ? k : oracle_random(&check->at) % range.size));
}

/* Restores an operand: of a gather only the lanes; a scatter's places are held against its lanes by
 * claim 1. */
static void restore_operand(const struct check *check, const struct oracle_state *in, unsigned i,
                            const uint8_t *kept)
{
    struct oracle_range ranges[ORACLE_LANES_MAX];
    unsigned count = 1;
    ranges[0] = oracle_reachable_range(&check->at, i, in);
    if (is_list(check, i) && !is_defined_mem(check, i))
        count = oracle_lanes(&check->at, i, in, ranges);
    for (unsigned k = 0; k < count; k++) {
        uint64_t at = ranges[k].start - (uint64_t)(uintptr_t)ORACLE_MEMORY;
        if (oracle_in_memory(&ranges[k]))
            memcpy(oracle_pristine + at, kept + at, ranges[k].size);
    }
}

/* Changes all memory that no operand covers: nothing may depend on it. */
static void try_other_memory(struct check *check, const struct oracle_state *in,
                             const struct outcome *before)
{
    static struct outcome after;
    static uint8_t kept[ORACLE_MEMORY_BYTES];
    struct change change = {.loc = INS_LOC_COUNT};
    memcpy(kept, oracle_pristine, sizeof(kept));
    for (uint64_t at = 0; at < ORACLE_MEMORY_BYTES; at++)
        oracle_pristine[at] ^= 0x5a;
    for (unsigned i = 0; i < check->at.info.mem_count; i++)
        restore_operand(check, in, i, kept);
    oracle_pristine_is_new();
    if (run(check, in, &after))
        check_differences(check, before, &after, &change);
    memcpy(oracle_pristine, kept, sizeof(kept));
    oracle_pristine_is_new();
}

static void sort_definitions(struct check *check);
static void find_strangers(struct check *check);

/* Settles which registers st(i) are. */
static void settle(struct check *check, const struct oracle_state *in)
{
    uint64_t slots[PICK_SLOTS] = {0};
    struct ins_info settled;

    if (check->at.info.choice.kind != INS_CHOICE_TOP)
        return;
    slots[check->at.info.mem_count] = oracle_x87_status(in);
    check->at.info = *ins_settle(&check->at.info, slots, &settled);
    check->results = check->untouched = check->strangers = (struct ins_regset){0};
    sort_definitions(check);
    find_strangers(check);
}

static bool try_state(struct check *check, const struct oracle_state *in)
{
    static struct outcome before;
    settle(check, in);
    if (operands_collide(check, in) && check->at.info.mem_count > 1 &&
        !(check->at.info.mems[0].flags & check->at.info.mems[1].flags & INS_MEM_STACK))
        return false;
    if (!run(check, in, &before))
        return false;
    check_untouched(check, in, &before);
    bool idle = strangers_are_idle(check, in, &before) && strangers_are_idle(check, in, &before);
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        if (!oracle_has_location(loc) || (idle && ins_regset_has(&check->strangers, loc)))
            continue;
        for (unsigned k = 0; k < 2; k++)
            try_register(check, in, &before, loc);
    }
    for (unsigned gpr = 0; gpr < INS_GPR_COUNT; gpr++)
        if (gpr != INS_RSP)
            try_upper_half(check, in, &before, gpr);
    for (unsigned i = 0; i < check->at.info.mem_count; i++)
        try_operand_bytes(check, in, &before, i);
    try_other_memory(check, in, &before);
    if (ins_is_pick(&check->at.info))
        try_pick(check, in, &before);
    return true;
}

/* ---- forms ---- */

static enum oracle_verdict reason_to_skip(const struct check *check)
{
    switch (check->at.info.klass) {
    case INS_JCC:
    case INS_JMP:
    case INS_JMP_INDIRECT:
    case INS_CALL:
    case INS_CALL_INDIRECT:
    case INS_RET:
        return ORACLE_CONTROL_FLOW;
    case INS_SYSCALL:
    case INS_TRAP:
    case INS_FAR:
        return ORACLE_KERNEL;
    case INS_CPUID:
    case INS_RDTSC:
    case INS_RDRAND:
        return ORACLE_INPUT;
    default:
        break;
    }
    switch (check->at.zi.mnemonic) {
    case ZYDIS_MNEMONIC_RDPID:
        return ORACLE_INPUT;
    case ZYDIS_MNEMONIC_MONITORX:
    case ZYDIS_MNEMONIC_MWAITX:
    case ZYDIS_MNEMONIC_UMONITOR:
    case ZYDIS_MNEMONIC_UMWAIT:
    case ZYDIS_MNEMONIC_TPAUSE:
        return ORACLE_WAITS;
    default:
        return check->at.zi.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && !oracle_has_avx512()
                   ? ORACLE_NO_CPU
                   : ORACLE_RIGHT;
    }
}

static void find_undefined_flags(struct check *check)
{
    static const uint32_t bits[] = {ZYDIS_CPUFLAG_CF, ZYDIS_CPUFLAG_PF, ZYDIS_CPUFLAG_AF,
                                    ZYDIS_CPUFLAG_ZF, ZYDIS_CPUFLAG_SF, ZYDIS_CPUFLAG_OF};
    if (check->at.zi.cpu_flags == NULL)
        return;
    for (unsigned i = 0; i < 6; i++) {
        if (check->at.zi.cpu_flags->undefined & bits[i])
            ins_regset_add(&check->undefined, INS_LOC_CF + i);
    }
}

static void sort_definitions(struct check *check)
{
    check->all_defs = ins_all_defs(&check->at.info);
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        if (!oracle_has_location(loc))
            continue;
        if (!ins_regset_has(&check->all_defs, loc))
            ins_regset_add(&check->untouched, loc);
        else if (!ins_regset_has(&check->undefined, loc))
            ins_regset_add(&check->results, loc);
    }
}

/* General, vector and mask registers but for those of flows, addresses and the stack. */
static void find_strangers(struct check *check)
{
    struct ins_regset named = ins_all_uses(&check->at.info);
    ins_regset_join(&named, &check->all_defs);
    for (unsigned i = 0; i < check->at.info.mem_count; i++) {
        struct ins_regset address = ins_addr_uses(&check->at.info, i);
        ins_regset_join(&named, &address);
    }
    for (unsigned loc = 0; loc < INS_LOC_X87; loc++)
        if ((loc < INS_LOC_CF || loc >= INS_LOC_VEC) && oracle_has_location(loc) &&
            !is_stack_pointer(loc, true) && !ins_regset_has(&named, loc))
            ins_regset_add(&check->strangers, loc);
}

static bool setup(struct check *check, const struct oracle_form *form,
                  const struct oracle_options *options)
{
    ZydisDecoder decoder;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, form->code, form->length, &check->at.zi,
                                           check->at.ops)) ||
        ins_decode(form->code, form->length, (uint64_t)(uintptr_t)ORACLE_CODE, &check->at.info) !=
            0)
        return false;
    memcpy(check->at.code, form->code, form->length);
    if (options->spoil != NULL)
        options->spoil(&check->at.info);
    find_undefined_flags(check);
    sort_definitions(check);
    find_strangers(check);
    return true;
}

static void report(struct check *check, const struct oracle_form *form, bool list_unseen)
{
    char text[2048];
    struct ins_regset declared = ins_all_uses(&check->at.info), unseen;
    ins_text(form->code, form->length, (uint64_t)(uintptr_t)ORACLE_CODE, text, sizeof(text));
    unseen = declared;
    ins_regset_remove(&unseen, &check->seen);
    for (unsigned loc = 0; loc < INS_LOC_COUNT; loc++) {
        bool counted = ins_regset_has(&declared, loc) && oracle_has_location(loc);
        check->tally->uses_declared += counted;
        check->tally->uses_seen += counted && ins_regset_has(&check->seen, loc);
    }
    if (list_unseen && !ins_regset_is_empty(&unseen)) {
        char set[1024];
        insn_format_set(&unseen, set, sizeof(set));
        fprintf(stderr, "never mattered: %-40s %s\n", text, set);
    }
}

enum oracle_verdict oracle_check(const struct oracle_form *form,
                                 const struct oracle_options *options, struct oracle_tally *tally,
                                 FILE *why)
{
    struct check check = {.at.random = (form->key ^ options->seed) | 1, .tally = tally, .why = why};
    struct oracle_state state;
    unsigned completed = 0;
    if (!setup(&check, form, options)) {
        fprintf(why, "  a form that decoded before does not decode now\n");
        return ORACLE_WRONG;
    }
    enum oracle_verdict verdict = reason_to_skip(&check);
    if (verdict != ORACLE_RIGHT)
        return verdict;
    for (unsigned k = 0; k < options->trials * 16 && completed < options->trials; k++) {
        if (!oracle_random_state(&check.at, &state))
            return ORACLE_NO_STATE;
        completed += try_state(&check, &state);
    }
    if (completed == 0)
        return check.last_signal == SIGILL ? ORACLE_NO_CPU : ORACLE_FAULTS;
    report(&check, form, options->list_unseen);
    return check.complaints != 0 ? ORACLE_WRONG : ORACLE_RIGHT;
}

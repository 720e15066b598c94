/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/confidence/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include <wetdbg/errors.h>

#define RANGE_FIRST  8u
#define BYTES_MAX    (UINT64_C(256) << 20) /* of all ranges: from then on none gets larger */
#define CACHE_PLACES 4096u

struct slc_ranges {
    struct wetdbg *wet;
    struct slc_profile *profiles;
    uint32_t count, capacity;
    struct wd_index by_pc;
    uint64_t bytes;      /* of all ranges */
    uint64_t first, end; /* intervals that were run */
    struct {
        uint64_t pc;
        uint32_t at;
    } cache[CACHE_PLACES]; /* lately looked for */
};

/* ---- ranges ---- */

double slc_range_size(const struct slc_range *range)
{
    return (double)range->count * (double)(UINT64_C(1) << range->level);
}

static uint64_t spread(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0xd6e8feb86659fd93);
    value ^= value >> 32;
    return value * UINT64_C(0xd6e8feb86659fd93);
}

/* Whether a value is of the sample. */
static bool is_sampled(const struct slc_range *range, uint64_t value)
{
    return range->level == 0 || spread(value) >> (64 - range->level) == 0;
}

static uint64_t *find_place(const struct slc_range *range, uint64_t value)
{
    return &range->values[wd_hash_find(spread(value), range->capacity, i,
                                       !range->values[i] || range->values[i] == value)];
}

/* Behind the places there are four bits for each, of which a value has one: most values that are
 * asked for are not there, and the bits lie closer together than the values. */
static size_t filter_words(size_t capacity)
{
    return (capacity + 15) / 16;
}

static uint64_t *filter_of(const struct slc_range *range, uint64_t value, uint64_t *bit)
{
    uint64_t at = (spread(value) >> 32) & (4 * (uint64_t)range->capacity - 1);

    *bit = UINT64_C(1) << at % 64;
    return &range->values[range->capacity + at / 64];
}

static void enter(struct slc_range *range, uint64_t value)
{
    uint64_t bit;

    *find_place(range, value) = value;
    *filter_of(range, value, &bit) |= bit;
}

size_t slc_range_find(const struct slc_range *range, uint64_t value)
{
    size_t none = slc_range_places(range);

    if (value == 0)
        return range->has_zero ? range->capacity : none;
    if (value - range->least > range->most - range->least || !range->capacity)
        return none;
    uint64_t bit;
    if (!(*filter_of(range, value, &bit) & bit))
        return none;
    const uint64_t *place = find_place(range, value);
    return *place ? (size_t)(place - range->values) : none;
}

/* Puts the values that are still of the sample into a table of that capacity. */
static int refill(struct slc_range *range, uint32_t capacity)
{
    struct slc_range old = *range;

    range->values = calloc(capacity + filter_words(capacity), sizeof(*range->values));
    if (!range->values) {
        range->values = old.values;
        return -ENOMEM;
    }
    range->capacity = capacity;
    range->has_zero = old.has_zero && is_sampled(range, 0);
    range->count = range->has_zero;
    for (uint32_t i = 0; i < old.capacity; i++)
        if (old.values[i] && is_sampled(range, old.values[i])) {
            enter(range, old.values[i]);
            range->count++;
        }
    free(old.values);
    return 0;
}

static int make_room(struct slc_ranges *ranges, struct slc_range *range)
{
    bool is_full = range->count >= SLC_RANGE_MAX ||
                   (ranges->bytes >= BYTES_MAX && range->capacity >= RANGE_FIRST);

    if (is_full) {
        range->level++;
        return refill(range, range->capacity);
    }
    uint32_t capacity = range->capacity ? 2 * range->capacity : RANGE_FIRST;
    ranges->bytes += (capacity - range->capacity) * sizeof(*range->values);
    return refill(range, capacity);
}

static int range_add(struct slc_ranges *ranges, struct slc_range *range, uint64_t value)
{
    if (slc_range_find(range, value) < slc_range_places(range) || !is_sampled(range, value))
        return 0;
    while (2 * (range->count + 1) > range->capacity || range->count >= SLC_RANGE_MAX) {
        if (range->level >= 62 || make_room(ranges, range))
            return -ENOMEM;
        if (!is_sampled(range, value))
            return 0;
    }
    if (value) {
        enter(range, value);
        range->least = value < range->least || !range->least ? value : range->least;
        range->most = value > range->most ? value : range->most;
    } else {
        range->has_zero = true;
    }
    range->count++;
    return 0;
}

/* ---- instructions ---- */

struct slc_profile *slc_ranges_find(struct slc_ranges *ranges, uint64_t pc)
{
    size_t place = (wd_hash_u64(pc) >> 32) % CACHE_PLACES;

    if (ranges->cache[place].pc == pc)
        return &ranges->profiles[ranges->cache[place].at];
    if (!ranges->by_pc.capacity)
        return NULL;
    uint32_t at =
        *wd_index_find(&ranges->by_pc, wd_hash_u64(pc) >> 32, n, ranges->profiles[n].pc == pc);
    if (!at)
        return NULL;
    ranges->cache[place].pc = pc;
    ranges->cache[place].at = at - 1;
    return &ranges->profiles[at - 1];
}

static int renew_index(struct slc_ranges *ranges)
{
    int err =
        wd_index_renew(&ranges->by_pc, ranges->by_pc.capacity ? 2 * ranges->by_pc.capacity : 4096);

    for (uint32_t i = 0; i < ranges->count && !err; i++)
        *wd_index_find(&ranges->by_pc, wd_hash_u64(ranges->profiles[i].pc) >> 32, n,
                       ranges->profiles[n].pc == ranges->profiles[i].pc) = i + 1;
    return err;
}

static int learn_node(struct slc_ranges *ranges, const struct wet_node *node)
{
    for (uint32_t s = 0; s < node->statement_count; s++) {
        const struct wet_statement *statement = &node->statements[s];
        if (slc_ranges_find(ranges, statement->pc))
            continue;
        if ((2 * (size_t)(ranges->count + 1) > ranges->by_pc.capacity && renew_index(ranges)) ||
            wd_grow(ranges->profiles, ranges->capacity, ranges->count + 1))
            return -ENOMEM;
        ranges->profiles[ranges->count] = (struct slc_profile){
            .pc = statement->pc, .info = statement->info, .code = node->code + statement->byte_off};
        ranges->count++;
        *wd_index_find(&ranges->by_pc, wd_hash_u64(statement->pc) >> 32, n,
                       ranges->profiles[n].pc == statement->pc) = ranges->count;
    }
    return 0;
}

const struct ins_eval *slc_profile_eval(struct slc_profile *profile)
{
    if (!profile->is_judged) {
        profile->is_judged = true;
        profile->can_run = ins_eval_make(profile->code, profile->info->length, &profile->eval);
    }
    return profile->can_run ? &profile->eval : NULL;
}

const struct ins_lanes *slc_profile_lanes(struct slc_profile *profile)
{
    struct ins_lanes lanes;

    if (!profile->is_laned && ins_lanes_make(profile->code, profile->info->length, &lanes)) {
        profile->lanes = malloc(sizeof(*profile->lanes));
        if (profile->lanes)
            *profile->lanes = lanes;
    }
    profile->is_laned = true;
    return profile->lanes;
}

const struct slc_result *slc_profile_result(const struct slc_profile *profile, int reg)
{
    for (unsigned i = 0; i < profile->result_count; i++)
        if (profile->results[i].reg == reg)
            return &profile->results[i];
    return NULL;
}

uint64_t slc_defined_mask(const struct ins_info *info, unsigned gpr)
{
    static const uint64_t masks[INS_GPR_PIECES] = {0xff, 0xff00, ~UINT64_C(0xffff)};
    struct ins_regset defs = ins_all_defs(info);
    uint64_t mask = 0;

    for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++)
        if (ins_regset_has(&defs, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece))
            mask |= masks[piece];
    return mask;
}

static struct slc_result *result_make(struct slc_profile *profile, int reg)
{
    struct slc_result *known = (struct slc_result *)slc_profile_result(profile, reg);

    if (known)
        return known;
    struct slc_result *results =
        realloc(profile->results, (profile->result_count + 1u) * sizeof(*results));
    if (!results)
        return NULL;
    profile->results = results;
    results[profile->result_count] = (struct slc_result){
        .reg = (int8_t)reg,
        .mask = reg < 0 ? UINT64_MAX : slc_defined_mask(profile->info, (unsigned)reg)};
    return &results[profile->result_count++];
}

/* ---- a pass over the run ---- */

static int note_effect(void *arg, const struct wetdbg_effect *effect)
{
    struct slc_ranges *ranges = arg;
    uint64_t value = 0;

    if (effect->event || !effect->after || effect->size > 8)
        return 0;
    struct slc_profile *profile = slc_ranges_find(ranges, effect->pc);
    struct slc_result *result = profile ? result_make(profile, effect->reg) : NULL;
    if (!result)
        return profile ? -ENOMEM : 0;
    memcpy(&value, effect->after, effect->size);
    return range_add(ranges, &result->range, value & result->mask);
}

static int note_address(struct slc_profile *profile, uint64_t address)
{
    size_t at = wd_bisect(0, profile->address_count, i, profile->addresses[i] < address);

    if (profile->has_many || (at < profile->address_count && profile->addresses[at] == address))
        return 0;
    if (profile->address_count == SLC_ADDRESSES_MAX) {
        profile->has_many = true;
        return 0;
    }
    if (wd_grow(profile->addresses, profile->address_capacity, profile->address_count + 1u))
        return -ENOMEM;
    for (size_t i = profile->address_count; i > at; i--)
        profile->addresses[i] = profile->addresses[i - 1];
    profile->addresses[at] = address;
    profile->address_count++;
    return 0;
}

/* Addresses that registers choose, and are no slots of a stack frame's. */
static bool has_addresses(const struct ins_info *info)
{
    const struct ins_mem *mem = &info->mems[0];

    return info->mem_count == 1 && mem->flags & INS_MEM_READ &&
           !(mem->flags & (INS_MEM_STACK | INS_MEM_REP | INS_MEM_LANES | INS_MEM_VSIB32 |
                           INS_MEM_VSIB64 | INS_MEM_BIT_OFFSET)) &&
           (mem->index >= 0 || (mem->base >= 0 && mem->base != INS_RBP));
}

static int note_node(struct slc_ranges *ranges, const struct wet_interval *interval,
                     const struct wet_exec *exec, uint64_t next)
{
    const struct wet_node *node = wet_get_node(ranges->wet, exec->node);
    int err = 0;

    for (uint32_t s = 0; node && s < node->statement_count && !err; s++) {
        const struct wet_statement *statement = &node->statements[s];
        bool is_last = s + 1 == node->statement_count;
        bool is_read = has_addresses(statement->info);
        if (!is_read && !is_last)
            continue;
        struct slc_profile *profile = slc_ranges_find(ranges, statement->pc);
        if (!profile) {
            err = learn_node(ranges, node);
            profile = err ? NULL : slc_ranges_find(ranges, statement->pc);
        }
        if (profile && is_read)
            err = note_address(profile, interval->slots[exec->slot_off + statement->slot]);
        if (profile && is_last && next && statement->info->klass == INS_JCC) {
            profile->went |= next == statement->info->target;
            profile->stayed |= next != statement->info->target;
        } else if (profile && is_last && next && !err &&
                   (statement->info->klass == INS_JMP_INDIRECT ||
                    statement->info->klass == INS_CALL_INDIRECT)) {
            err = range_add(ranges, &profile->targets, next);
        }
    }
    return err;
}

/* Where each execution's task went next: its next execution, unless that is in another interval. */
static int note_interval(struct slc_ranges *ranges, const struct wet_interval *interval)
{
    uint64_t next[EVQ_TASKS_MAX] = {0};
    int err = 0;

    for (size_t e = interval->exec_count; e-- > 0 && !err;) {
        const struct wet_exec *exec = &interval->execs[e];
        const struct wet_node *node = wet_get_node(ranges->wet, exec->node);
        if (!node || exec->task >= EVQ_TASKS_MAX)
            continue;
        err = note_node(ranges, interval, exec, next[exec->task]);
        next[exec->task] = node->pc;
    }
    return err;
}

static int profile_interval(struct slc_ranges *ranges, struct wetdbg_effects *effects, uint64_t k)
{
    const struct wet_interval *interval;
    int err = wet_interval_get(ranges->wet, k, &interval);

    if (err)
        return err;
    err = note_interval(ranges, interval);
    wet_interval_put(ranges->wet, interval);
    return err ? err : wetdbg_effects_each(effects, k, true, note_effect, ranges);
}

/* Which intervals are run. */
static void choose_intervals(struct slc_ranges *ranges, wetdbg_time last, uint64_t instructions)
{
    const struct wetdbg_info *info = wetdbg_get_info(ranges->wet);

    ranges->end = info->intervals;
    if (!instructions || instructions >= info->instructions)
        return;
    last = last < info->last_time ? last : info->last_time;
    ranges->end = wetdbg_interval_at(ranges->wet, last) + 1;
    if (last - info->first_time >= instructions)
        ranges->first = wetdbg_interval_at(ranges->wet, last - instructions + 1);
}

static int run_intervals(struct slc_ranges *ranges, bool (*is_unwanted)(void *arg, uint64_t done),
                         void *arg)
{
    struct wetdbg_effects *effects;
    wetdbg_time first = wetdbg_interval_time(ranges->wet, ranges->first);
    int err = wetdbg_effects_open(ranges->wet, &effects);

    if (err)
        return err;
    for (uint64_t k = ranges->first; k < ranges->end && !err; k++) {
        err = profile_interval(ranges, effects, k);
        if (!err && is_unwanted &&
            is_unwanted(arg, wetdbg_interval_time(ranges->wet, k + 1) - first))
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "pruning was interrupted");
    }
    wetdbg_effects_close(effects);
    return err;
}

int slc_ranges_make(struct wetdbg *wet, wetdbg_time last, uint64_t instructions,
                    bool (*is_unwanted)(void *arg, uint64_t done), void *arg,
                    struct slc_ranges **out)
{
    struct slc_ranges *ranges = calloc(1, sizeof(*ranges));
    int err = 0;

    if (!ranges)
        return -ENOMEM;
    ranges->wet = wet;
    choose_intervals(ranges, last, instructions);
    for (uint32_t id = 0; id < wet_node_limit(wet) && !err; id++) {
        const struct wet_node *node = wet_get_node(wet, id);
        err = node ? learn_node(ranges, node) : 0;
    }
    if (!err)
        err = run_intervals(ranges, is_unwanted, arg);
    if (err)
        slc_ranges_free(ranges);
    else
        *out = ranges;
    return err;
}

uint64_t slc_ranges_first(const struct slc_ranges *ranges)
{
    return ranges->first;
}

uint64_t slc_ranges_end(const struct slc_ranges *ranges)
{
    return ranges->end;
}

void slc_ranges_free(struct slc_ranges *ranges)
{
    if (!ranges)
        return;
    for (uint32_t i = 0; i < ranges->count; i++) {
        struct slc_profile *profile = &ranges->profiles[i];
        for (unsigned r = 0; r < profile->result_count; r++)
            free(profile->results[r].range.values);
        free(profile->results);
        free(profile->addresses);
        free(profile->lanes);
        free(profile->targets.values);
    }
    wd_index_fini(&ranges->by_pc);
    free(ranges->profiles);
    free(ranges);
}

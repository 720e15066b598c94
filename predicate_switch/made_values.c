/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/made_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "slicer/slicer.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/spectrum.h>

#define INTERVALS_MAX 16 /* that are run again, of one run */
#define RSP           4

/* An instruction of the slice, and which of its instances are looked at, the nearest first. */
struct psw_made_code {
    uint64_t pc;
    size_t line;
    bool is_own;
    uint32_t first; /* 1 + index in items; 0: none */
    unsigned chosen_count;
    struct chosen {
        wetdbg_time time;
        uint32_t distance;
    } chosen[PSW_INSTANCES_MAX];
};

/* ---- instructions ---- */

static uint32_t *place_of(const struct psw_made_values *made, uint64_t pc)
{
    return wd_index_find(&made->by_pc, wd_hash_u64(pc) >> 32, n, made->code[n].pc == pc);
}

static int room_make(struct psw_made_values *made)
{
    int err = wd_grow(made->code, made->code_capacity, made->code_count + 1);
    return err ? err
               : wd_index_room(&made->by_pc, made->code_count, 1024, n,
                               place_of(made, made->code[n].pc));
}

static size_t line_of(const struct wetdbg_slice *slice, struct wetdbg *wet, uint64_t pc)
{
    const struct wetdbg_slice_line *lines;
    struct wetdbg_line line;
    size_t count;
    lines = wetdbg_slice_lines(slice, &count);
    if (wetdbg_line_of_instruction(wetdbg_get_model(wet), pc, &line) || !line.file)
        return SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (lines[i].file && lines[i].line == line.line && strcmp(lines[i].file, line.file) == 0)
            return i;
    return SIZE_MAX;
}

struct gathering {
    struct psw_made_values *made;
    struct wetdbg *wet;
    const struct wetdbg_slice *slice;
    wetdbg_time until;
    bool (*is_unwanted)(void *arg);
    void *arg;
    struct wetdbg *other; /* the run that is looked at, if it is a passing one */
};

/* The instruction of an instance; NULL if there is no memory. */
static struct psw_made_code *code_of(struct gathering *gathering, uint64_t pc)
{
    struct psw_made_values *made = gathering->made;
    if (room_make(made))
        return NULL;
    uint32_t *place = place_of(made, pc);
    if (!*place) {
        size_t line = wetdbg_is_own(gathering->wet, pc)
                          ? line_of(gathering->slice, gathering->wet, pc)
                          : SIZE_MAX;
        made->code[made->code_count] =
            (struct psw_made_code){.pc = pc, .line = line, .is_own = line != SIZE_MAX};
        *place = (uint32_t)++made->code_count;
    }
    return &made->code[*place - 1];
}

/* Keeps the nearest ones, in order; of those at one distance the latest, which come first. */
static int instance_take(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct gathering *gathering = arg;
    size_t most = gathering->made->most;
    struct psw_made_code *code = code_of(gathering, instance->pc);
    if (!code)
        return -ENOMEM;
    if (!code->is_own || instance->time >= gathering->until)
        return 0;
    unsigned at = code->chosen_count;
    while (at && code->chosen[at - 1].distance > instance->distance)
        at--;
    if (at >= most)
        return 0;
    if (code->chosen_count < most)
        code->chosen_count++;
    memmove(code->chosen + at + 1, code->chosen + at,
            (code->chosen_count - at - 1) * sizeof(*code->chosen));
    code->chosen[at] = (struct chosen){instance->time, instance->distance};
    return 0;
}

/* ---- values ---- */

static struct psw_made *made_of(struct psw_made_values *made, struct psw_made_code *code, int reg,
                                unsigned size)
{
    for (uint32_t n = code->first; n; n = made->items[n - 1].next)
        if (made->items[n - 1].reg == reg && made->items[n - 1].size == size)
            return &made->items[n - 1];
    if (wd_grow(made->items, made->capacity, made->count + 1))
        return NULL;
    struct psw_made *found = &made->items[made->count++];
    *found = (struct psw_made){
        .pc = code->pc, .reg = reg, .size = size, .line = code->line, .next = code->first};
    code->first = (uint32_t)made->count;
    return found;
}

static void natural_add(struct psw_made *made, uint64_t value)
{
    for (unsigned i = 0; i < made->natural_count; i++)
        if (made->natural[i].value == value) {
            made->natural[i].count++;
            return;
        }
    if (made->natural_count < PSW_NATURAL_MAX)
        made->natural[made->natural_count++] = (struct psw_natural){value, 1};
}

static void instance_add(struct psw_made *made, const struct psw_made_code *code,
                         const struct wetdbg_effect *effect, uint64_t value)
{
    for (unsigned i = 0; i < code->chosen_count; i++)
        if (code->chosen[i].time == effect->time && made->instance_count < PSW_INSTANCES_MAX)
            made->instances[made->instance_count++] =
                (struct psw_made_instance){.time = effect->time,
                                           .distance = code->chosen[i].distance,
                                           .address = effect->address,
                                           .value = value};
}

/* What the instruction was in the failing run; 0: it was none. */
static uint64_t own_pc(const struct gathering *gathering, uint64_t pc)
{
    uint64_t own = 0;
    if (!gathering->other)
        return pc;
    return wetdbg_pc_in_other(gathering->other, pc, gathering->wet, &own) ? 0 : own;
}

/* Addresses of another run mean nothing in this one. */
static int effect_take(void *arg, const struct wetdbg_effect *effect)
{
    struct gathering *gathering = arg;
    struct psw_made_values *made = gathering->made;
    uint64_t value = 0, pc;
    if (!effect->pc || !effect->after || effect->reg == RSP || effect->size > sizeof(value))
        return 0;
    memcpy(&value, effect->after, effect->size);
    if (gathering->other && slc_looks_like_address(value))
        return 0;
    pc = own_pc(gathering, effect->pc);
    uint32_t *place = pc ? place_of(made, pc) : NULL;
    if (!place || !*place || !made->code[*place - 1].is_own)
        return 0;
    struct psw_made_code *code = &made->code[*place - 1];
    struct psw_made *found = made_of(made, code, effect->reg, (unsigned)effect->size);
    if (!found)
        return -ENOMEM;
    natural_add(found, value);
    if (!gathering->other)
        instance_add(found, code, effect, value);
    return 0;
}

static bool is_chosen(const struct psw_made_values *made, wetdbg_time from, wetdbg_time to)
{
    for (size_t i = 0; i < made->code_count; i++)
        for (unsigned k = 0; k < made->code[i].chosen_count; k++)
            if (made->code[i].chosen[k].time >= from && made->code[i].chosen[k].time < to)
                return true;
    return false;
}

/* Runs the last intervals again: of the failing run those that have something that was chosen. */
static int intervals_run(struct gathering *gathering, struct wetdbg *wet)
{
    unsigned left = INTERVALS_MAX;
    struct wetdbg_effects *effects;
    int err = wetdbg_effects_open(wet, &effects);
    if (err)
        return err;
    for (uint64_t k = wetdbg_get_info(wet)->intervals; k-- > 0 && left && !err;) {
        if (gathering->is_unwanted && gathering->is_unwanted(gathering->arg))
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        else if (gathering->other || is_chosen(gathering->made, wetdbg_interval_time(wet, k),
                                               wetdbg_interval_time(wet, k + 1)))
            err = left-- ? wetdbg_effects_each(effects, k, true, effect_take, gathering) : 0;
    }
    wetdbg_effects_close(effects);
    return err;
}

int psw_made_values_find(struct psw_made_values *made, struct wetdbg *wet,
                         const struct wetdbg_slice *slice, size_t most, wetdbg_time until,
                         struct wetdbg *const *passing, size_t passing_count,
                         bool (*is_unwanted)(void *arg), void *arg)
{
    struct gathering gathering = {.made = made,
                                  .wet = wet,
                                  .slice = slice,
                                  .until = until,
                                  .is_unwanted = is_unwanted,
                                  .arg = arg};
    *made = (struct psw_made_values){.most = most < PSW_INSTANCES_MAX ? most : PSW_INSTANCES_MAX};
    int err = room_make(made);
    if (!err)
        err = wetdbg_slice_each_instance(slice, NULL, 0, instance_take, &gathering);
    if (!err)
        err = intervals_run(&gathering, wet);
    for (size_t i = 0; i < passing_count && !err; i++) {
        gathering.other = passing[i];
        err = wetdbg_check_same_program(wet, passing[i], "a passing run");
        if (!err)
            err = intervals_run(&gathering, passing[i]);
    }
    return err;
}

void psw_made_values_fini(struct psw_made_values *made)
{
    free(made->items);
    free(made->code);
    wd_index_fini(&made->by_pc);
    *made = (struct psw_made_values){0};
}

/* ---- alternatives ---- */

static int64_t signed_of(uint64_t value, unsigned size)
{
    unsigned unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

struct alternatives {
    uint64_t value, *list;
    unsigned size, count, max;
};

static void alternative_add(struct alternatives *found, uint64_t value)
{
    value &= found->size < 8 ? (UINT64_C(1) << 8 * found->size) - 1 : UINT64_MAX;
    bool is_new = value != found->value && found->count < found->max;
    for (unsigned i = 0; i < found->count && is_new; i++)
        is_new = found->list[i] != value;
    if (is_new)
        found->list[found->count++] = value;
}

/* The next smaller and the next larger one, the most frequent one, the least and the greatest. */
static void naturals_add(const struct psw_made *made, struct alternatives *found)
{
    const struct psw_natural *below = NULL, *above = NULL, *often = NULL, *least = NULL,
                             *most = NULL;
    int64_t was = signed_of(found->value, made->size);
    for (unsigned i = 0; i < made->natural_count; i++) {
        const struct psw_natural *one = &made->natural[i];
        int64_t value = signed_of(one->value, made->size);
        if (value < was && (!below || value > signed_of(below->value, made->size)))
            below = one;
        if (value > was && (!above || value < signed_of(above->value, made->size)))
            above = one;
        if (value != was && (!often || one->count > often->count))
            often = one;
        if (!least || value < signed_of(least->value, made->size))
            least = one;
        if (!most || value > signed_of(most->value, made->size))
            most = one;
    }
    const struct psw_natural *const all[] = {below, above, often, least, most};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i])
            alternative_add(found, all[i]->value);
}

unsigned psw_made_alternatives(const struct psw_made *made, uint64_t value, uint64_t *list,
                               unsigned max)
{
    struct alternatives found = {.value = value, .list = list, .size = made->size, .max = max};
    naturals_add(made, &found);
    if (made->size < 8 || !slc_looks_like_address(value)) {
        alternative_add(&found, value + 1);
        alternative_add(&found, value - 1);
        alternative_add(&found, 0);
        alternative_add(&found, 1);
    }
    return found.count;
}

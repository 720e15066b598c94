/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slice held against passing runs, by instruction: those of the slice are looked for in each
 * passing run's modules, which may lie elsewhere. What was executed is known by node, without
 * running anything. Values need intervals run again: those only in which an instruction ran of
 * which some value of the failing run has not been seen yet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "common/array.h"
#include "common/bisect.h"
#include "common/hash.h"
#include "slicer/slice_priv.h"
#include <wetdbg/caller.h>
#include <wetdbg/errors.h>
#include <wetdbg/spectrum.h>

/* An instruction of the slice, and where it is in the run that is looked at. */
struct statement {
    uint64_t pc;    /* in the failing run */
    uint64_t there; /* 0: nowhere */
    uint32_t line;  /* in wetdbg_slice_lines() */
    uint32_t id;
};

/* Something that a statement made in the slice. */
struct value {
    uint64_t key;
    uint32_t line;
    bool is_seen; /* by a passing run */
};

/* A node of the run that is looked at, and a statement that it holds. */
struct holder {
    uint32_t node;
    uint32_t id; /* of the statement */
};

struct holding {
    const struct wetdbg_slice *slice;
    bool (*is_unwanted)(void *arg);
    void *arg;
    struct wetdbg_against *lines;
    size_t line_count;
    struct statement *statements; /* by `there` */
    size_t statement_count;
    struct value *values;
    size_t value_count, value_capacity;
    struct wd_index by_key;
    bool is_failing; /* the run that is looked at is the slice's own: values are collected */
    struct holder *holders;
    size_t holder_count, holder_capacity;
    uint32_t *unseen;      /* by statement's id: its values that no passing run made so far */
    uint64_t unseen_count; /* of all */
};

/* ---- the same instruction elsewhere ---- */

static bool is_same_module(struct wetdbg_model *model, const struct wetdbg_module *module,
                           struct wetdbg_model *other, const struct wetdbg_module *candidate)
{
    struct wetdbg_module_debug one, two;

    if (strcmp(module->name, candidate->name) != 0)
        return false;
    if (wetdbg_module_debug(model, module->id, &one) ||
        wetdbg_module_debug(other, candidate->id, &two) || !*one.build_id || !*two.build_id)
        return strcmp(module->path, candidate->path) == 0;
    return strcmp(one.build_id, two.build_id) == 0;
}

static int find_module(struct wetdbg_model *model, const struct wetdbg_module *module,
                       struct wetdbg_model *other, struct wetdbg_module *found)
{
    for (size_t i = 0; i < wetdbg_module_count(other); i++)
        if (wetdbg_module_get(other, (wetdbg_module_id)i, found) == 0 &&
            is_same_module(model, module, other, found))
            return 0;
    return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

int wetdbg_pc_in_other(struct wetdbg *wet, uint64_t pc, struct wetdbg *other, uint64_t *other_pc)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    struct wetdbg_module module, found;

    if (wetdbg_module_at(model, pc, &module) ||
        find_module(model, &module, wetdbg_get_model(other), &found))
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    *other_pc = pc - module.bias + found.bias;
    return 0;
}

static const char *base_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;

    return slash ? slash + 1 : path ? path : "?";
}

/* The module that was executed. */
static int find_program(struct wetdbg *wet, struct wetdbg_module *module)
{
    struct wetdbg_model *model = wetdbg_get_model(wet);
    const char *name = base_name(wetdbg_get_info(wet)->program);

    for (size_t i = 0; i < wetdbg_module_count(model); i++)
        if (wetdbg_module_get(model, (wetdbg_module_id)i, module) == 0 &&
            strcmp(module->name, name) == 0)
            return 0;
    return -WETDBG_ERR_NOT_FOUND;
}

int wetdbg_check_same_program(struct wetdbg *wet, struct wetdbg *other, const char *name)
{
    const char *one = base_name(wetdbg_get_info(wet)->program);
    const char *two = base_name(wetdbg_get_info(other)->program);
    struct wetdbg_module module, found;

    if (strcmp(one, two) != 0)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is a run of another program: %s, not %s", name,
                           two, one);
    if (find_program(wet, &module) == 0 &&
        find_module(wetdbg_get_model(wet), &module, wetdbg_get_model(other), &found))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s is a run of another build of %s", name, one);
    return 0;
}

/* ---- the slice's instructions ---- */

static int by_place(const void *a, const void *b)
{
    const struct statement *x = a, *y = b;

    return x->there < y->there ? -1 : x->there > y->there;
}

/* Looks for them in a run. */
static void place_statements(struct holding *holding, struct wetdbg *wet)
{
    for (size_t i = 0; i < holding->statement_count; i++) {
        struct statement *statement = &holding->statements[i];
        if (wetdbg_pc_in_other(holding->slice->wet, statement->pc, wet, &statement->there))
            statement->there = 0;
    }
    qsort(holding->statements, holding->statement_count, sizeof(*holding->statements), by_place);
}

static int find_statements(struct holding *holding)
{
    const struct wetdbg_slice *slice = holding->slice;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &holding->line_count);
    uint32_t *places = calloc(slice->code->line_count + 1, sizeof(*places));
    bool has_own = false;
    uint32_t limit = slice->total_capacity < slice->code->pc_count ? slice->total_capacity
                                                                   : slice->code->pc_count;

    holding->lines = calloc(holding->line_count + 1, sizeof(*holding->lines));
    holding->statements = calloc(limit + 1, sizeof(*holding->statements));
    holding->unseen = calloc(limit + 1, sizeof(*holding->unseen));
    if (!places || !holding->lines || !holding->statements || !holding->unseen) {
        free(places);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < holding->line_count; i++)
        places[slice->order[i]] = lines[i].file ? i + 1 : 0;
    for (uint32_t i = 0; i < limit; i++) {
        uint32_t line = slice->totals[i].instances ? slc_code_line(slice->code, i) : SLC_UNKNOWN;
        if (line >= slice->code->line_count || !places[line])
            continue;
        uint64_t pc = slice->code->pcs[i].pc;
        has_own = has_own || wetdbg_is_own(slice->wet, pc);
        uint32_t id = (uint32_t)holding->statement_count++;
        holding->statements[id] = (struct statement){.pc = pc, .line = places[line] - 1, .id = id};
    }
    free(places);
    return has_own ? 0
                   : wetdbg_fail(-WETDBG_ERR_USAGE,
                                 "the slice has no source lines of the program: without debug "
                                 "information (-g) there is nothing to be held against other runs");
}

/* ---- executed ---- */

static const struct statement *find_statement(const struct holding *holding, uint64_t there)
{
    size_t at = wd_bisect(0, holding->statement_count, i, holding->statements[i].there < there);
    bool is_there = at < holding->statement_count && holding->statements[at].there == there;

    return is_there ? &holding->statements[at] : NULL;
}

static int add_holder(struct holding *holding, uint32_t node, uint32_t id)
{
    if (wd_grow(holding->holders, holding->holder_capacity, holding->holder_count + 1))
        return -ENOMEM;
    holding->holders[holding->holder_count++] = (struct holder){node, id};
    return 0;
}

/* Finds the nodes that hold the statements, and marks the lines of which one ran. */
static int find_holders(struct holding *holding, struct wetdbg *wet, bool *is_executed)
{
    int err = 0;

    holding->holder_count = 0;
    for (uint32_t id = 0; id < wet_node_limit(wet) && !err; id++) {
        const struct wet_node *node = wet_get_node(wet, id);
        for (uint32_t s = 0; node && s < node->statement_count && !err; s++) {
            const struct statement *statement = find_statement(holding, node->statements[s].pc);
            if (!statement || !node->executions)
                continue;
            is_executed[statement->line] = true;
            err = add_holder(holding, id, statement->id);
        }
    }
    return err;
}

static int count_executed(struct holding *holding, struct wetdbg *wet)
{
    bool *is_executed = calloc(holding->line_count + 1, sizeof(*is_executed));
    int err = is_executed ? find_holders(holding, wet, is_executed) : -ENOMEM;

    for (size_t i = 0; i < holding->line_count && !err && !holding->is_failing; i++)
        holding->lines[i].executed += is_executed[i];
    free(is_executed);
    return err;
}

/* ---- sliced ---- */

static void count_sliced(struct holding *holding, const struct wetdbg_slice *other)
{
    size_t count, line_count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(holding->slice, &line_count);
    const struct wetdbg_slice_line *others = wetdbg_slice_lines(other, &count);

    for (size_t i = 0; i < line_count; i++)
        for (size_t k = 0; k < count && lines[i].file; k++)
            if (others[k].file && others[k].line == lines[i].line &&
                strcmp(others[k].file, lines[i].file) == 0) {
                holding->lines[i].sliced++;
                break;
            }
}

/* ---- values ---- */

#define VALUES_FIRST 1024 /* places */
#define VALUES_MAX   (UINT32_C(1) << 22)
#define OWN_MAX      4096u /* of one instruction: room is left for those that run later */

static uint32_t *value_slot(const struct holding *holding, uint64_t key)
{
    return wd_index_find(&holding->by_key, key, n, holding->values[n].key == key);
}

static int values_grow(struct holding *holding)
{
    if (wd_grow(holding->values, holding->value_capacity, holding->value_count + 1))
        return -ENOMEM;
    if (holding->value_count * 2 < holding->by_key.capacity)
        return 0;
    if (wd_index_renew(&holding->by_key,
                       holding->by_key.capacity ? holding->by_key.capacity * 2 : VALUES_FIRST))
        return -ENOMEM;
    for (size_t i = 0; i < holding->value_count; i++)
        *value_slot(holding, holding->values[i].key) = (uint32_t)i + 1;
    return 0;
}

static int value_add(struct holding *holding, uint64_t key, uint32_t line, uint32_t id)
{
    bool has_room = holding->value_count < VALUES_MAX && holding->unseen[id] < OWN_MAX;
    int err = has_room ? values_grow(holding) : 0;
    if (err || !has_room)
        return err;
    uint32_t *slot = value_slot(holding, key);
    if (*slot)
        return 0;
    holding->values[holding->value_count] = (struct value){.key = key, .line = line};
    *slot = (uint32_t)++holding->value_count;
    holding->unseen[id]++;
    holding->unseen_count++;
    return 0;
}

static bool is_address(const struct wetdbg_effect *effect)
{
    uint64_t value;

    if (effect->size != sizeof(value))
        return false;
    memcpy(&value, effect->after, sizeof(value));
    return slc_looks_like_address(value);
}

static int take_effect(void *arg, const struct wetdbg_effect *effect)
{
    struct holding *holding = arg;

    if (!effect->after || !effect->pc || is_address(effect))
        return 0;
    const struct statement *statement = find_statement(holding, effect->pc);
    if (!statement)
        return 0;
    uint64_t key = XXH3_64bits_withSeed(effect->after, effect->size, statement->pc);
    if (holding->is_failing)
        return wetdbg_slice_contains_time(holding->slice, effect->time)
                   ? value_add(holding, key, statement->line, statement->id)
                   : 0;
    uint32_t *slot = holding->unseen[statement->id] ? value_slot(holding, key) : NULL;
    if (slot && *slot && !holding->values[*slot - 1].is_seen) {
        holding->values[*slot - 1].is_seen = true;
        holding->unseen[statement->id]--;
        holding->unseen_count--;
    }
    return 0;
}

/* Whether an interval has something to tell: it need not be run to know that. */
static bool is_interesting(const struct holding *holding, struct wetdbg *wet, uint64_t k)
{
    if (holding->is_failing &&
        (!holding->slice->shares[k].bits || holding->value_count >= VALUES_MAX))
        return false;
    for (size_t i = 0; i < holding->holder_count; i++) {
        const struct holder *holder = &holding->holders[i];
        uint32_t unseen = holding->unseen[holder->id];
        if ((holding->is_failing ? unseen < OWN_MAX : unseen > 0) &&
            wet_node_executions_in(wet, holder->node, k))
            return true;
    }
    return false;
}

static int look_at_values(struct holding *holding, struct wetdbg *wet)
{
    uint64_t intervals = wetdbg_get_info(wet)->intervals;
    struct wetdbg_effects *effects;
    int err = wetdbg_effects_open(wet, &effects);

    if (err)
        return err;
    for (uint64_t k = 0; k < intervals && !err; k++)
        if (holding->is_unwanted && holding->is_unwanted(holding->arg))
            err = wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "interrupted");
        else if (is_interesting(holding, wet, k))
            err = wetdbg_effects_each(effects, k, true, take_effect, holding);
    wetdbg_effects_close(effects);
    return err;
}

static void count_values(struct holding *holding)
{
    for (size_t i = 0; i < holding->value_count; i++) {
        struct wetdbg_against *line = &holding->lines[holding->values[i].line];
        line->values++;
        line->new_values += !holding->values[i].is_seen;
    }
}

/* ---- all of it ---- */

static int hold_against_one(struct holding *holding, const struct wetdbg_passing *passing)
{
    int err = wetdbg_check_same_program(holding->slice->wet, passing->wet, "a passing run");

    if (err)
        return err;
    place_statements(holding, passing->wet);
    err = count_executed(holding, passing->wet);
    if (!err && passing->slice)
        count_sliced(holding, passing->slice);
    return err ? err : look_at_values(holding, passing->wet);
}

int wetdbg_slice_hold_against(const struct wetdbg_slice *slice,
                              const struct wetdbg_passing *passing, size_t count,
                              bool (*is_unwanted)(void *arg), void *arg,
                              struct wetdbg_against **lines)
{
    struct holding holding = {.slice = slice, .is_unwanted = is_unwanted, .arg = arg};
    int err = find_statements(&holding);

    if (!err) {
        holding.is_failing = true;
        place_statements(&holding, slice->wet);
        err = count_executed(&holding, slice->wet);
        err = err ? err : look_at_values(&holding, slice->wet);
        holding.is_failing = false;
    }
    for (size_t i = 0; i < count && !err; i++)
        err = hold_against_one(&holding, &passing[i]);
    if (!err)
        count_values(&holding);
    free(holding.statements);
    free(holding.values);
    free(holding.holders);
    free(holding.unseen);
    wd_index_fini(&holding.by_key);
    if (err)
        free(holding.lines);
    else
        *lines = holding.lines;
    return err;
}

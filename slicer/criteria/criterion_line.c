/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FILE:LINE[#K][:VARIABLE]: an instance of a source line, or a variable just before it.
 *
 * The K-th instance begins with the K-th hit of a breakpoint on the line. It lasts, in the same
 * frame (what the line calls is not the line), until a statement of another line begins, the
 * breakpoint is hit again, or the function returns.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/criteria/criterion.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

#define INLINE_MAX 32

struct place {
    char *file;
    uint32_t line;
    int64_t instance;
    const char *variable; /* or NULL; into the criterion's text */
};

/* ---- the text ---- */

/* The colon before the line number: the first one that digits follow. */
static const char *find_line_number(const char *text)
{
    for (const char *colon = strchr(text, ':'); colon; colon = strchr(colon + 1, ':'))
        if (isdigit((unsigned char)colon[1]) && colon > text)
            return colon;
    return NULL;
}

bool slc_is_line(const char *text)
{
    return find_line_number(text) != NULL;
}

static int parse_place(const struct wetdbg_criterion *criterion, struct place *place)
{
    const char *text = criterion->text, *colon = find_line_number(text), *rest;
    char *end;

    *place = (struct place){0};
    errno = 0;
    unsigned long line = strtoul(colon + 1, &end, 10);
    if (errno || line == 0 || line > UINT32_MAX)
        return slc_criterion_refuse(criterion);
    place->line = (uint32_t)line;
    int err = slc_parse_instance(text, end, &place->instance, &rest);
    if (err)
        return err;
    if (*rest == ':' && rest[1])
        place->variable = rest + 1;
    else if (*rest)
        return slc_criterion_refuse(criterion);
    place->file = strndup(text, (size_t)(colon - text));
    return place->file ? 0 : -ENOMEM;
}

/* ---- the instance ---- */

static int no_such_instance(struct wetdbg *wet, const struct place *place, const uint64_t *pcs,
                            size_t pc_count)
{
    uint64_t count;
    int err = wetdbg_count_instances(wet, pcs, pc_count, &count);

    if (err)
        return err;
    if (count == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "%s:%u never ran", place->file, place->line);
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "%s:%u has no instance #%lld: it ran %llu time%s in all", place->file,
                       place->line, (long long)place->instance, (unsigned long long)count,
                       count == 1 ? "" : "s");
}

static int find_instance(struct wetdbg *wet, const struct place *place, uint64_t **pcs,
                         size_t *pc_count, wetdbg_time *time)
{
    struct wetdbg_line_location *locations;
    size_t count;
    int err =
        wetdbg_line_locations(wetdbg_get_model(wet), place->file, place->line, &locations, &count);

    if (err)
        return err;
    *pc_count = 0;
    *pcs = malloc((count + 1) * sizeof(**pcs));
    for (size_t i = 0; *pcs && i < count; i++)
        if (locations[i].is_breakpoint)
            (*pcs)[(*pc_count)++] = locations[i].pc;
    for (size_t i = 0; *pcs && *pc_count == 0 && i < count; i++)
        (*pcs)[(*pc_count)++] = locations[i].pc;
    free(locations);
    if (!*pcs)
        return -ENOMEM;
    err = wetdbg_find_instance(wet, *pcs, *pc_count, place->instance, time);
    if (err == -WETDBG_ERR_NOT_FOUND)
        err = no_such_instance(wet, place, *pcs, *pc_count);
    return err;
}

/* ---- a variable ---- */

/* How many inlined functions are around the line's code at its start. It may begin with that of a
 * function which is inlined there: the variable is meant as the line's own function sees it. */
static size_t inline_depth(struct wetdbg_model *model, uint64_t pc, uint32_t line)
{
    struct wetdbg_line chain[INLINE_MAX];
    size_t count;

    if (wetdbg_inline_chain(model, pc, chain, INLINE_MAX, &count))
        return 0;
    for (size_t i = 0; i < count && i < INLINE_MAX; i++)
        if (chain[i].line == line)
            return i;
    return 0;
}

static int add_variable(struct wetdbg_criterion *criterion, struct wetdbg_state *state,
                        const struct place *place, struct slc_seed *seed)
{
    struct wetdbg_model *model = wetdbg_get_model(criterion->wet);
    struct wetdbg_machine machine = {state, slc_read_register, slc_read_memory};
    struct wetdbg_variable variable;
    struct wetdbg_place where;
    int err = wetdbg_variable_find_at(model, seed->pc, inline_depth(model, seed->pc, place->line),
                                      place->variable, &variable);

    if (err == -WETDBG_ERR_NOT_FOUND)
        return wetdbg_fail(err, "there is no variable '%s' at %s:%u", place->variable, place->file,
                           place->line);
    if (!err)
        err = wetdbg_variable_locate(model, &variable, seed->pc, &machine, &where);
    if (err)
        return err;
    switch (where.kind) {
    case WETDBG_PLACE_MEMORY:
    case WETDBG_PLACE_REGISTER:
        err = slc_seed_add_variable(seed, &where, variable.type.size_bytes);
        if (err == -WETDBG_ERR_UNSUPPORTED)
            return wetdbg_fail(err, "'%s' is in a register that slices do not follow at %s:%u",
                               place->variable, place->file, place->line);
        return err;
    case WETDBG_PLACE_VALUE:
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "'%s' is nowhere at %s:%u: the debug information computes it; try %s:%u",
                           place->variable, place->file, place->line, place->file, place->line);
    default:
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "'%s' is optimized out at %s:%u (%s); try %s:%u",
                           place->variable, place->file, place->line, where.reason, place->file,
                           place->line);
    }
}

static int seed_variable(struct wetdbg_criterion *criterion, const struct place *place,
                         wetdbg_time time)
{
    struct wetdbg_state *state;
    int err = wetdbg_state_open(criterion->wet, time, &state);

    if (err)
        return err;
    struct slc_seed *seed = slc_criterion_add(criterion, time, wet_state_regs(state)->r[EVQ_RIP]);
    if (!seed) {
        wetdbg_state_close(state);
        return -ENOMEM;
    }
    seed->task = wetdbg_state_task(state);
    err = add_variable(criterion, state, place, seed);
    wetdbg_state_close(state);
    return err;
}

/* ---- all of a line ---- */

struct walk {
    struct wetdbg_criterion *criterion;
    const struct wetdbg_range *ranges;
    size_t range_count;
    const uint64_t *pcs; /* of breakpoints */
    size_t pc_count;
    wetdbg_time start;
    uint32_t task;
    int64_t depth; /* of calls */
    bool is_over;
};

static bool is_in_line(const struct walk *walk, uint64_t pc)
{
    for (size_t i = 0; i < walk->range_count; i++)
        if (pc >= walk->ranges[i].start && pc < walk->ranges[i].end)
            return true;
    return false;
}

static bool is_breakpoint(const struct walk *walk, uint64_t pc)
{
    for (size_t i = 0; i < walk->pc_count; i++)
        if (walk->pcs[i] == pc)
            return true;
    return false;
}

static bool begins_other_line(const struct walk *walk, uint64_t pc)
{
    struct wetdbg_line line;

    return wetdbg_line_at(wetdbg_get_model(walk->criterion->wet), pc, &line) == 0 && line.is_stmt &&
           line.line && line.start == pc;
}

static int walk_statement(struct walk *walk, const struct wet_statement *statement,
                          wetdbg_time time)
{
    if (walk->depth == 0 && time >= walk->start) {
        bool is_own = is_in_line(walk, statement->pc);
        if ((is_own && time > walk->start && is_breakpoint(walk, statement->pc)) ||
            (!is_own && begins_other_line(walk, statement->pc))) {
            walk->is_over = true;
            return 0;
        }
        if (is_own) {
            struct slc_seed *seed = slc_criterion_add(walk->criterion, time, statement->pc);
            if (!seed)
                return -ENOMEM;
            seed->task = walk->task;
            seed->uses = SLC_USES_ALL;
        }
    }
    if (time < walk->start)
        return 0;
    if (statement->info->klass == INS_CALL || statement->info->klass == INS_CALL_INDIRECT)
        walk->depth++;
    if (statement->info->klass == INS_RET && walk->depth-- == 0)
        walk->is_over = true;
    return 0;
}

static int walk_interval(struct walk *walk, const struct wet_interval *interval)
{
    int err = 0;

    for (size_t e = 0; e < interval->exec_count && !err && !walk->is_over; e++) {
        const struct wet_exec *exec = &interval->execs[e];
        const struct wet_node *node = wet_get_node(walk->criterion->wet, exec->node);
        wetdbg_time time = interval->first_time + exec->time_off;
        if (!node || exec->task != walk->task || time + node->statement_count <= walk->start)
            continue;
        for (uint32_t s = 0; s < node->statement_count && !err && !walk->is_over; s++)
            err = walk_statement(walk, &node->statements[s], time + s);
    }
    return err;
}

static int seed_line(struct wetdbg_criterion *criterion, const struct place *place,
                     const uint64_t *pcs, size_t pc_count, wetdbg_time time)
{
    struct wetdbg *wet = criterion->wet;
    struct wetdbg_range *ranges;
    struct walk walk = {.criterion = criterion, .pcs = pcs, .pc_count = pc_count, .start = time};
    uint64_t pc, intervals = wetdbg_get_info(wet)->intervals;
    int err = slc_state_at(wet, time, &pc, &walk.task);

    if (!err)
        err = wetdbg_line_ranges(wetdbg_get_model(wet), place->file, place->line, &ranges,
                                 &walk.range_count);
    if (err)
        return err;
    walk.ranges = ranges;
    for (uint64_t k = wetdbg_interval_at(wet, time); k < intervals && !err && !walk.is_over; k++) {
        const struct wet_interval *interval;
        err = wet_interval_get(wet, k, &interval);
        if (err)
            break;
        err = walk_interval(&walk, interval);
        wet_interval_put(wet, interval);
    }
    free(ranges);
    if (err || criterion->seed_count)
        return err;
    /* Several lines begin at the breakpoint's address, and its instruction is another one's. */
    struct slc_seed *seed = slc_criterion_add(criterion, time, pc);
    if (!seed)
        return -ENOMEM;
    seed->task = walk.task;
    seed->uses = SLC_USES_ALL;
    return 0;
}

/* ---- all of it ---- */

int slc_parse_line(struct wetdbg_criterion *criterion)
{
    struct place place = {0};
    uint64_t *pcs = NULL;
    size_t pc_count = 0;
    wetdbg_time time;
    int err = parse_place(criterion, &place);

    if (err)
        return err;
    err = find_instance(criterion->wet, &place, &pcs, &pc_count, &time);
    if (!err)
        err = place.variable ? seed_variable(criterion, &place, time)
                             : seed_line(criterion, &place, pcs, pc_count, time);
    if (place.variable)
        snprintf(criterion->description, sizeof(criterion->description),
                 "%s before %s:%u at time %llu", place.variable, place.file, place.line,
                 err ? 0 : (unsigned long long)time);
    else
        snprintf(criterion->description, sizeof(criterion->description),
                 "all that %s:%u uses at time %llu", place.file, place.line,
                 err ? 0 : (unsigned long long)time);
    snprintf(criterion->source, sizeof(criterion->source), "what %s:%u did at time %llu",
             place.file, place.line, err ? 0 : (unsigned long long)time);
    if (!place.variable)
        criterion->info.source = criterion->source;
    free(pcs);
    free(place.file);
    return err;
}

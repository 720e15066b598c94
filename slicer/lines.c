/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instances by source line. The key is (file, line); code without line information is put together
 * by function and module. Which line an address belongs to is asked once.
 *
 * Lines stay in the table over a restart with no instances, so that each is announced once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"
#include "slicer/slice.h"

static uint32_t hash_text(uint32_t hash, const char *text)
{
    for (; text && *text; text++)
        hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_line(const struct slc_line *a, const struct slc_line *b)
{
    if (a->line != b->line || !same_text(a->file, b->file))
        return false;
    return a->file || (same_text(a->function, b->function) && same_text(a->module, b->module));
}

static uint32_t *line_slot(const struct slc_slice *slice, const struct slc_line *line)
{
    uint32_t mask = slice->line_hash_capacity - 1;
    uint32_t hash = hash_text(2166136261u ^ line->line * 40503u, line->file);

    if (!line->file)
        hash = hash_text(hash_text(hash, line->function), line->module);
    uint32_t at = (hash ^ hash >> 15) & mask;
    while (slice->line_hash[at] && !same_line(&slice->lines[slice->line_hash[at] - 1], line))
        at = (at + 1) & mask;
    return &slice->line_hash[at];
}

static int grow(struct slc_slice *slice)
{
    uint32_t capacity = slice->line_capacity ? slice->line_capacity * 2 : 256;
    struct slc_line *lines = realloc(slice->lines, capacity * sizeof(*lines));

    if (!lines)
        return -ENOMEM;
    slice->lines = lines;
    slice->line_capacity = capacity;
    uint32_t *hash = calloc((size_t)capacity * 2, sizeof(*hash));
    if (!hash)
        return -ENOMEM;
    free(slice->line_hash);
    slice->line_hash = hash;
    slice->line_hash_capacity = capacity * 2;
    for (uint32_t i = 0; i < slice->line_count; i++)
        *line_slot(slice, &slice->lines[i]) = i + 1;
    return 0;
}

/* The line of an address, with nothing counted. */
static struct slc_line describe(struct slc_slice *slice, uint64_t pc)
{
    struct mdl_model *model = slice->code.model;
    struct slc_line line = {
        .function = "?", .linkage_name = "?", .module = "?", .min_distance = SLC_DISTANCE_UNKNOWN};
    struct mdl_function function;
    struct mdl_module module;
    struct mdl_line source;

    if (mdl_module_at(model, pc, &module) == 0)
        line.module = module.name;
    if (mdl_function_at(model, pc, &function) == 0) {
        line.function = function.name;
        line.linkage_name = function.linkage_name;
    }
    if (mdl_line_of_instruction(model, pc, &source) == 0 && source.file && source.line) {
        line.file = source.file;
        line.line = source.line;
        if (source.function) {
            line.function = source.function;
            line.linkage_name = source.linkage_name;
        }
    }
    return line;
}

static uint32_t find_line(struct slc_slice *slice, uint64_t pc)
{
    struct slc_line line = describe(slice, pc);

    if (slice->line_count == slice->line_capacity && grow(slice))
        return SLC_UNKNOWN;
    uint32_t *slot = line_slot(slice, &line);
    if (!*slot) {
        slice->lines[slice->line_count] = line;
        *slot = ++slice->line_count;
    }
    return *slot - 1;
}

static int announce(struct slc_slice *slice, struct slc_line *line)
{
    struct slc_line copy = *line;

    if (!slice->options.on_line)
        return 0;
    return slice->options.on_line(slice->options.arg, &copy)
               ? wd_fail(-WD_ERR_INTERRUPTED, "the slice was interrupted")
               : 0;
}

int slc_lines_count(struct slc_slice *slice, uint32_t pc_index, wet_time time, uint32_t distance)
{
    struct slc_pc *pc = &slice->code.pcs[pc_index];

    uint32_t known = slice->line_count;
    if (pc->line == SLC_UNKNOWN) {
        pc->line = find_line(slice, pc->pc);
        if (pc->line == SLC_UNKNOWN)
            return -ENOMEM;
    }
    struct slc_line *line = &slice->lines[pc->line];
    bool is_new = line->instances++ == 0;
    if (is_new || time > line->last_time) {
        line->last_time = time;
        line->pc = pc->pc;
    }
    if (is_new || time < line->first_time)
        line->first_time = time;
    if (distance < line->min_distance)
        line->min_distance = distance;
    if (!pc->counted) {
        pc->counted = true;
        line->statements++;
        slice->counts.statements++;
    }
    return slice->line_count > known ? announce(slice, line) : 0;
}

void slc_lines_collect(struct slc_slice *slice)
{
    const struct slc_code *code = &slice->code;

    for (uint32_t i = 0; i < code->node_limit; i++) {
        const struct slc_node *node = code->nodes[i];
        for (uint32_t s = 0; node && node->compiled.ops && s < node->wet->statement_count; s++) {
            const struct slc_op *op = &node->compiled.ops[s];
            if (op->instances == 0)
                continue;
            struct slc_line *line = &slice->lines[code->pcs[op->pc_index].line];
            line->instances += op->instances;
            if (op->first_time < line->first_time)
                line->first_time = op->first_time;
        }
    }
}

void slc_lines_restart(struct slc_slice *slice)
{
    for (uint32_t i = 0; i < slice->line_count; i++) {
        struct slc_line *line = &slice->lines[i];
        line->instances = 0;
        line->statements = 0;
        line->min_distance = SLC_DISTANCE_UNKNOWN;
    }
}

struct sort_key {
    wet_time time;
    uint32_t index;
};

static int most_recent_first(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

int slc_lines_finish(struct slc_slice *slice)
{
    size_t count = 0;
    struct sort_key *keys = malloc(((size_t)slice->line_count + 1) * sizeof(*keys));

    slice->sorted = malloc(((size_t)slice->line_count + 1) * sizeof(*slice->sorted));
    slice->order = malloc(((size_t)slice->line_count + 1) * sizeof(*slice->order));
    if (!keys || !slice->sorted || !slice->order) {
        free(keys);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < slice->line_count; i++)
        if (slice->lines[i].instances)
            keys[count++] = (struct sort_key){slice->lines[i].last_time, i};
    qsort(keys, count, sizeof(*keys), most_recent_first);
    slice->line_count = (uint32_t)slice->line_count;
    slice->counts.lines = slice->counts.functions_without_lines = 0;
    for (size_t i = 0; i < count; i++) {
        slice->order[i] = keys[i].index;
        slice->sorted[i] = slice->lines[keys[i].index];
        if (slice->sorted[i].file)
            slice->counts.lines++;
        else
            slice->counts.functions_without_lines++;
    }
    free(keys);
    return (int)(count > INT32_MAX ? -ENOMEM : 0);
}

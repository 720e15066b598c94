/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instances by source line. The key is (file, line); code without line information is put together
 * by function and module. Which line an address belongs to is asked once in a session.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash.h"
#include "slicer/slice_priv.h"
#include <wetdbg/errors.h>

#define LINES_FIRST 512 /* places of their index, twice as many as there are lines at least */

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

static bool same_line(const struct wetdbg_slice_line *a, const struct wetdbg_slice_line *b)
{
    if (a->line != b->line || !same_text(a->file, b->file))
        return false;
    return a->file || (same_text(a->function, b->function) && same_text(a->module, b->module));
}

static uint32_t *line_slot(const struct slc_code *code, const struct wetdbg_slice_line *line)
{
    uint32_t hash = hash_text(2166136261u ^ line->line * 40503u, line->file);

    assert(code->line_count < code->by_line.capacity);
    if (!line->file)
        hash = hash_text(hash_text(hash, line->function), line->module);
    return wd_index_find(&code->by_line, hash ^ hash >> 15, n, same_line(&code->lines[n], line));
}

/* Makes room for one more line. */
static int grow(struct slc_code *code)
{
    if (wd_grow(code->lines, code->line_capacity, code->line_count + 1))
        return -ENOMEM;
    if (code->line_count * 2 < code->by_line.capacity)
        return 0;
    size_t places = code->by_line.capacity ? code->by_line.capacity * 2 : LINES_FIRST;
    if (wd_index_renew(&code->by_line, places))
        return -ENOMEM;
    for (uint32_t i = 0; i < code->line_count; i++)
        *line_slot(code, &code->lines[i]) = i + 1;
    return 0;
}

/* The line of an address, with nothing counted. */
static struct wetdbg_slice_line describe(struct wetdbg_model *model, uint64_t pc)
{
    struct wetdbg_slice_line line = {.function = "?",
                                     .linkage_name = "?",
                                     .module = "?",
                                     .min_distance = WETDBG_DISTANCE_UNKNOWN};
    struct wetdbg_function function;
    struct wetdbg_module module;
    struct wetdbg_line source;

    if (wetdbg_module_at(model, pc, &module) == 0)
        line.module = module.name;
    if (wetdbg_function_at(model, pc, &function) == 0) {
        line.function = function.name;
        line.linkage_name = function.linkage_name;
    }
    if (wetdbg_line_of_instruction(model, pc, &source) == 0 && source.file && source.line) {
        line.file = source.file;
        line.line = source.line;
        if (source.function) {
            line.function = source.function;
            line.linkage_name = source.linkage_name;
        }
    }
    return line;
}

uint32_t slc_code_line(struct slc_code *code, uint32_t index)
{
    struct slc_pc *pc = &code->pcs[index];

    assert(index < code->pc_count);
    if (pc->line != SLC_UNKNOWN)
        return pc->line;
    struct wetdbg_slice_line line = describe(code->model, pc->pc);
    if (grow(code))
        return SLC_UNKNOWN;
    uint32_t *slot = line_slot(code, &line);
    if (!*slot) {
        code->lines[code->line_count] = line;
        *slot = ++code->line_count;
    }
    pc->line = *slot - 1;
    return pc->line;
}

/* ---- a slice's ---- */

/* Tells of a line that is met for the first time, by its most recent instance. */
static int announce(struct wetdbg_slice *slice, const struct slc_count *count)
{
    uint32_t index = slc_code_line(slice->code, count->pc_index);

    if (index == SLC_UNKNOWN ||
        wd_grow_zeroed(slice->announced, slice->announced_capacity, 1 + index))
        return -ENOMEM;
    if (slice->announced[index])
        return 0;
    slice->announced[index] = true;
    if (!slice->options.on_line)
        return 0;
    struct wetdbg_slice_line line = slice->code->lines[index];
    line.instances = line.statements = 1;
    line.pc = slice->code->pcs[count->pc_index].pc;
    line.first_time = line.last_time = count->last_time;
    line.min_distance = count->min_distance;
    return slice->options.on_line(slice->options.arg, &line)
               ? wetdbg_fail(-WETDBG_ERR_INTERRUPTED, "the slice was interrupted")
               : 0;
}

static void add_count(struct slc_count *total, const struct slc_count *count)
{
    if (total->instances == 0) {
        *total = *count;
        return;
    }
    total->instances += count->instances;
    if (count->first_time < total->first_time)
        total->first_time = count->first_time;
    if (count->last_time > total->last_time)
        total->last_time = count->last_time;
    if (count->min_distance < total->min_distance)
        total->min_distance = count->min_distance;
}

static int latest_first(const void *a, const void *b)
{
    const struct slc_count *x = *(const struct slc_count *const *)a;
    const struct slc_count *y = *(const struct slc_count *const *)b;
    return x->last_time < y->last_time ? 1 : x->last_time > y->last_time ? -1 : 0;
}

int slc_lines_add(struct wetdbg_slice *slice, const struct slc_count *counts, size_t count)
{
    const struct slc_count **met = malloc((count + 1) * sizeof(struct slc_count *));
    size_t met_count = 0;
    int err =
        met ? wd_grow_zeroed(slice->totals, slice->total_capacity, slice->code->pc_count) : -ENOMEM;

    for (size_t i = 0; i < count && !err; i++) {
        struct slc_count *total = &slice->totals[counts[i].pc_index];
        if (total->instances == 0) {
            slice->counts.statements++;
            met[met_count++] = &counts[i];
        }
        add_count(total, &counts[i]);
    }
    if (met)
        qsort(met, met_count, sizeof(struct slc_count *), latest_first);
    for (size_t i = 0; i < met_count && !err; i++)
        err = announce(slice, met[i]);
    free(met);
    return err;
}

void slc_lines_restart(struct wetdbg_slice *slice)
{
    if (slice->totals)
        memset(slice->totals, 0, slice->total_capacity * sizeof(*slice->totals));
}

static void add_to_line(const struct wetdbg_slice *slice, struct wetdbg_slice_line *line,
                        const struct slc_count *total)
{
    if (line->instances == 0 || total->first_time < line->first_time)
        line->first_time = total->first_time;
    if (line->instances == 0 || total->last_time > line->last_time) {
        line->last_time = total->last_time;
        line->pc = slice->code->pcs[total->pc_index].pc;
    }
    if (total->min_distance < line->min_distance)
        line->min_distance = total->min_distance;
    line->instances += total->instances;
    line->statements++;
    line->calls += slice->code->are_calls[total->pc_index];
}

/* All lines that the code knows, with this slice's instances (most have none). */
static struct wetdbg_slice_line *sum_lines(struct wetdbg_slice *slice)
{
    const struct slc_code *code = slice->code;
    struct wetdbg_slice_line *lines = malloc(((size_t)code->line_count + 1) * sizeof(*lines));

    if (!lines)
        return NULL;
    for (uint32_t i = 0; i < code->line_count; i++)
        lines[i] = code->lines[i];
    for (uint32_t i = 0; i < slice->total_capacity; i++)
        if (slice->totals[i].instances)
            add_to_line(slice, &lines[code->pcs[i].line], &slice->totals[i]);
    return lines;
}

struct sort_key {
    wetdbg_time time;
    uint32_t index;
};

static int most_recent_first(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;

    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int earliest_first(const void *a, const void *b)
{
    const struct sort_key *x = a, *y = b;

    if (x->time != y->time)
        return x->time < y->time ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

int slc_lines_finish(struct wetdbg_slice *slice)
{
    uint32_t line_count = slice->code->line_count;
    size_t count = 0;
    struct sort_key *keys = malloc(((size_t)line_count + 1) * sizeof(*keys));
    struct wetdbg_slice_line *lines = sum_lines(slice);

    for (uint32_t i = 0; keys && lines && i < line_count; i++)
        if (lines[i].instances)
            keys[count++] =
                (struct sort_key){slice->is_forward ? lines[i].first_time : lines[i].last_time, i};
    slice->sorted = malloc((count + 1) * sizeof(*slice->sorted));
    slice->order = malloc((count + 1) * sizeof(*slice->order));
    if (!keys || !lines || !slice->sorted || !slice->order) {
        free(keys);
        free(lines);
        return -ENOMEM;
    }
    qsort(keys, count, sizeof(*keys), slice->is_forward ? earliest_first : most_recent_first);
    slice->counts.lines = slice->counts.functions_without_lines = 0;
    for (size_t i = 0; i < count; i++) {
        slice->order[i] = keys[i].index;
        slice->sorted[i] = lines[keys[i].index];
        if (slice->sorted[i].file)
            slice->counts.lines++;
        else
            slice->counts.functions_without_lines++;
    }
    free(keys);
    free(lines);
    return 0;
}

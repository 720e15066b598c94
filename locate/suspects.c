/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines that ran, by file and line, and what is handed over of each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "locate/locate_priv.h"
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>
#include <wetdbg/model.h>

#define LINES_FIRST 1024 /* places of their index, twice as many as there are lines at least */

/* ---- lines ---- */

static uint32_t hash_line(const char *file, uint32_t line)
{
    uint32_t hash = 2166136261u ^ line * 40503u;

    for (; *file; file++)
        hash = (hash ^ (uint8_t)*file) * 16777619u;
    return hash ^ hash >> 15;
}

static bool is_line(const struct wetdbg_suspect *suspect, const char *file, uint32_t line)
{
    return suspect->line == line && (suspect->file == file || !strcmp(suspect->file, file));
}

static uint32_t *place_of(const struct wetdbg_locate *locate, const char *file, uint32_t line)
{
    return wd_index_find(&locate->by_line, hash_line(file, line), n,
                         is_line(&locate->items[n], file, line));
}

struct wetdbg_suspect *loc_find(const struct wetdbg_locate *locate, const char *file, uint32_t line)
{
    uint32_t n = file ? *place_of(locate, file, line) : 0;

    return n ? &locate->items[n - 1] : NULL;
}

static int make_room(struct wetdbg_locate *locate)
{
    int err = wd_grow(locate->items, locate->capacity, locate->count + 1);

    return err ? err
               : wd_index_room(&locate->by_line, locate->count, LINES_FIRST, n,
                               place_of(locate, locate->items[n].file, locate->items[n].line));
}

int loc_make(struct wetdbg_locate *locate, const struct wetdbg_suspect *suspect,
             struct wetdbg_suspect **out)
{
    *out = loc_find(locate, suspect->file, suspect->line);
    if (*out)
        return 0;
    if (make_room(locate))
        return -ENOMEM;
    locate->items[locate->count] = *suspect;
    *out = &locate->items[locate->count];
    *place_of(locate, suspect->file, suspect->line) = (uint32_t)++locate->count;
    return 0;
}

struct wetdbg_suspect *loc_find_pc(const struct wetdbg_locate *locate, uint64_t pc)
{
    struct wetdbg_line line;

    if (wetdbg_line_of_instruction(wetdbg_get_model(locate->wet), pc, &line))
        return NULL;
    return loc_find(locate, line.file, line.line);
}

/* Adds an instruction's line. */
static int add(struct wetdbg_locate *locate, const struct loc_ran *ran)
{
    struct wetdbg_model *model = wetdbg_get_model(locate->wet);
    struct wetdbg_function function;
    struct wetdbg_suspect *suspect;
    struct wetdbg_line line;

    if (wetdbg_line_of_instruction(model, ran->pc, &line) || !line.file || !line.line ||
        loc_is_system(line.file))
        return 0;
    struct wetdbg_suspect found = {
        .file = line.file, .line = line.line, .function = line.function, .pc = ran->pc};
    if (!found.function)
        found.function = wetdbg_function_at(model, ran->pc, &function) ? "?" : function.name;
    int err = loc_make(locate, &found, &suspect);
    if (err)
        return err;
    suspect->evidence.doing |= ran->doing;
    if (suspect->evidence.executions < ran->executions)
        suspect->evidence.executions = ran->executions;
    return 0;
}

static int find_lines(struct wetdbg_locate *locate)
{
    struct loc_ran *ran;
    size_t count;
    int err = loc_ran_list(locate->wet, &ran, &count);

    if (err)
        return err;
    err = make_room(locate);
    for (size_t i = 0; i < count && !err; i++)
        err = add(locate, &ran[i]);
    free(ran);
    if (!err && !locate->count)
        err = wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                          "%s has no source lines: without debug information (-g) there is nothing "
                          "to suspect",
                          wetdbg_get_info(locate->wet)->program
                              ? wetdbg_get_info(locate->wet)->program
                              : "the program");
    return err;
}

int wetdbg_locate_new(struct wetdbg *wet, struct wetdbg_locate **out)
{
    struct wetdbg_locate *locate = calloc(1, sizeof(*locate));

    if (!locate)
        return -ENOMEM;
    locate->wet = wet;
    int err = find_lines(locate);
    if (err) {
        wetdbg_locate_free(locate);
        return err;
    }
    *out = locate;
    return 0;
}

void wetdbg_locate_free(struct wetdbg_locate *locate)
{
    if (!locate)
        return;
    wd_index_fini(&locate->by_line);
    free(locate->items);
    free(locate->sorted);
    free(locate);
}

void wetdbg_locate_set_tests(struct wetdbg_locate *locate,
                             bool (*is_tests)(void *arg, const char *file), void *arg)
{
    size_t count = 0;

    for (size_t i = 0; i < locate->count; i++) {
        struct wetdbg_suspect *suspect = &locate->items[i];
        suspect->evidence.in_test = is_tests(arg, suspect->file);
        count += suspect->evidence.in_test;
    }
    locate->is_tested = count < locate->count;
}

size_t wetdbg_locate_executed(const struct wetdbg_locate *locate)
{
    return locate->count;
}

/* ---- slices ---- */

/* A line that a slice has as the nearest in own code. */
struct near {
    struct wetdbg_suspect *suspect;
    const struct wetdbg_slice_line *line;
};

static int nearest_first(const void *left, const void *right)
{
    const struct wetdbg_slice_line *a = ((const struct near *)left)->line;
    const struct wetdbg_slice_line *b = ((const struct near *)right)->line;

    if (a->min_distance != b->min_distance)
        return a->min_distance < b->min_distance ? -1 : 1;
    return a->last_time > b->last_time ? -1 : a->last_time < b->last_time;
}

static void take_line(const struct near *near, uint32_t place)
{
    struct wetdbg_evidence *evidence = &near->suspect->evidence;
    const struct wetdbg_slice_line *line = near->line;

    near->suspect->pc = line->pc;
    evidence->in_slice = true;
    evidence->only_calls = wetdbg_slice_line_only_calls(line);
    evidence->distance = line->min_distance;
    evidence->instances = line->instances;
    evidence->last = line->last_time;
    evidence->place = place;
}

static int take_full(struct wetdbg_locate *locate, const struct wetdbg_slice *slice)
{
    size_t count, found = 0;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);
    struct near *list = calloc(count + 1, sizeof(*list));

    if (!list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_suspect *suspect = loc_find(locate, lines[i].file, lines[i].line);
        if (suspect && lines[i].min_distance != WETDBG_DISTANCE_UNKNOWN)
            list[found++] = (struct near){suspect, &lines[i]};
    }
    qsort(list, found, sizeof(*list), nearest_first);
    for (size_t i = 0; i < found; i++)
        take_line(&list[i], (uint32_t)i + 1);
    locate->slice_lines = (uint32_t)found;
    free(list);
    return 0;
}

static int take_decisions(struct wetdbg_locate *locate, const struct wetdbg_slice *slice)
{
    struct wetdbg_decision *decisions;
    size_t count;
    int err = wetdbg_slice_decisions(slice, 0, &decisions, &count);

    if (err)
        return err;
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_suspect *suspect = loc_find_pc(locate, decisions[i].instance.pc);
        if (suspect && !suspect->evidence.decision)
            suspect->evidence.decision = ++locate->decisions;
    }
    free(decisions);
    return 0;
}

static void take_membership(struct wetdbg_locate *locate, enum wetdbg_slice_kinds kinds,
                            const struct wetdbg_slice *slice)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++) {
        struct wetdbg_suspect *suspect = loc_find(locate, lines[i].file, lines[i].line);
        if (suspect && kinds == WETDBG_SLICE_DATA)
            suspect->evidence.in_data = true;
        if (suspect && kinds == WETDBG_SLICE_THIN)
            suspect->evidence.in_thin = true;
    }
}

int wetdbg_locate_take_slice(struct wetdbg_locate *locate, enum wetdbg_slice_kinds kinds,
                             const struct wetdbg_slice *slice)
{
    if (kinds == WETDBG_SLICE_DATA || kinds == WETDBG_SLICE_THIN) {
        take_membership(locate, kinds, slice);
        return 0;
    }
    if (kinds != WETDBG_SLICE_FULL)
        return -EINVAL;
    int err = take_decisions(locate, slice);
    return err ? err : take_full(locate, slice);
}

/* ---- passing runs ---- */

/* What of their own lines the passing run executed, too. */
static int count_executed(struct wetdbg_locate *locate, struct wetdbg *other)
{
    struct wetdbg_model *model = wetdbg_get_model(other);
    bool *is_executed = calloc(locate->count + 1, sizeof(*is_executed));
    struct loc_ran *ran = NULL;
    size_t count = 0;
    int err = is_executed ? loc_ran_list(other, &ran, &count) : -ENOMEM;

    for (size_t i = 0; i < count && !err; i++) {
        struct wetdbg_line line;
        struct wetdbg_suspect *suspect = wetdbg_line_of_instruction(model, ran[i].pc, &line) == 0
                                             ? loc_find(locate, line.file, line.line)
                                             : NULL;
        if (suspect)
            is_executed[suspect - locate->items] = true;
    }
    for (size_t i = 0; i < locate->count && !err; i++)
        locate->items[i].evidence.executed += is_executed[i];
    free(ran);
    free(is_executed);
    return err;
}

static void take_against(struct wetdbg_locate *locate, const struct wetdbg_slice *slice,
                         const struct wetdbg_against *against)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    for (size_t i = 0; i < count; i++) {
        struct wetdbg_suspect *suspect = loc_find(locate, lines[i].file, lines[i].line);
        if (!suspect)
            continue;
        suspect->evidence.executed = against[i].executed;
        suspect->evidence.sliced = against[i].sliced;
        suspect->evidence.values = against[i].values;
        suspect->evidence.new_values = against[i].new_values;
    }
}

int wetdbg_locate_take_passing(struct wetdbg_locate *locate, const struct wetdbg_slice *slice,
                               const struct wetdbg_passing *passing, size_t count,
                               bool (*is_unwanted)(void *arg), void *arg)
{
    struct wetdbg_against *against;
    int err = wetdbg_slice_hold_against(slice, passing, count, is_unwanted, arg, &against);

    if (err)
        return err;
    for (size_t i = 0; i < locate->count; i++)
        locate->items[i].evidence.executed = locate->items[i].evidence.sliced = 0;
    for (size_t i = 0; i < count && !err; i++)
        err = count_executed(locate, passing[i].wet);
    if (!err) {
        take_against(locate, slice, against);
        locate->passing = (uint32_t)count;
    }
    free(against);
    return err;
}

/* ---- confidence, switches, implicit dependences ---- */

int wetdbg_locate_take_prune(struct wetdbg_locate *locate, const struct wetdbg_prune *prune)
{
    size_t count;
    const struct wetdbg_prune_line *lines = wetdbg_prune_lines(prune, &count);

    locate->judged = locate->sure = 0;
    for (size_t i = 0; i < locate->count; i++)
        locate->items[i].evidence.is_judged = false;
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_suspect *suspect = loc_find(locate, lines[i].line->file, lines[i].line->line);
        if (!suspect || !lines[i].looked)
            continue;
        suspect->evidence.is_judged = true;
        suspect->evidence.confidence = lines[i].confidence;
        locate->judged++;
        locate->sure += lines[i].confidence >= 1;
    }
    locate->is_pruned = true;
    return 0;
}

static void take_switch(struct wetdbg_locate *locate, const struct wetdbg_candidate *change,
                        const struct wetdbg_finding *finding)
{
    struct wetdbg_suspect *suspect = loc_find_pc(locate, change->pc);
    struct wetdbg_evidence *evidence = suspect ? &suspect->evidence : NULL;

    if (!evidence || (evidence->is_switched && evidence->verdict >= finding->verdict))
        return;
    evidence->is_switched = true;
    evidence->verdict = finding->verdict;
    evidence->change = *change;
    evidence->trial = finding->trial.position;
}

int wetdbg_locate_take_findings(struct wetdbg_locate *locate,
                                const struct wetdbg_search_result *result)
{
    for (size_t i = 0; i < result->count; i++)
        for (unsigned k = 0; k < result->findings[i].trial.count; k++)
            take_switch(locate, &result->findings[i].trial.switches[k], &result->findings[i]);
    return 0;
}

static uint64_t repairs_of(const struct wetdbg_replacement_counts *counts)
{
    return counts->verdicts[WETDBG_VERDICT_NO_CRASH] + counts->verdicts[WETDBG_VERDICT_PREFIX] +
           counts->verdicts[WETDBG_VERDICT_EXACT];
}

/* Several lines of the slice may be one of the suspects: code that is in two functions. */
static void take_counts(struct wetdbg_evidence *evidence,
                        const struct wetdbg_replacement_counts *counts)
{
    evidence->replaced += counts->tried;
    evidence->repaired_exactly += counts->verdicts[WETDBG_VERDICT_EXACT];
    evidence->repaired += repairs_of(counts);
}

int wetdbg_locate_take_replacements(struct wetdbg_locate *locate, const struct wetdbg_slice *slice,
                                    const struct wetdbg_replacement_result *result)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(slice, &count);

    locate->most_repaired = 0;
    for (size_t i = 0; i < locate->count; i++) {
        struct wetdbg_evidence *evidence = &locate->items[i].evidence;
        evidence->replaced = evidence->repaired_exactly = evidence->repaired = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct wetdbg_suspect *suspect =
            lines[i].file ? loc_find(locate, lines[i].file, lines[i].line) : NULL;
        if (!suspect)
            continue;
        take_counts(&suspect->evidence, &result->lines[i]);
        if (suspect->evidence.repaired > locate->most_repaired)
            locate->most_repaired = suspect->evidence.repaired;
    }
    for (size_t i = result->count; i-- > 0;) { /* the best of a line comes last */
        const struct wetdbg_slice_line *line = &lines[result->items[i].line];
        struct wetdbg_suspect *suspect = loc_find(locate, line->file, line->line);
        if (suspect)
            suspect->evidence.repair = result->items[i];
    }
    return 0;
}

int wetdbg_locate_take_mutants(struct wetdbg_locate *locate,
                               const struct wetdbg_mutant_result *result)
{
    locate->most_mutated = 0;
    for (size_t i = 0; i < locate->count; i++) {
        struct wetdbg_evidence *evidence = &locate->items[i].evidence;
        evidence->mutated = evidence->mutated_exactly = evidence->mutated_well = 0;
        evidence->mutated_here = evidence->mutated_safely = 0;
    }
    for (size_t i = 0; i < result->count; i++) {
        struct wetdbg_suspect *suspect = loc_find_pc(locate, result->items[i].pc);
        struct wetdbg_evidence *evidence = suspect ? &suspect->evidence : NULL;
        if (!suspect)
            continue;
        const struct wetdbg_mutant *mutant = &result->items[i];
        evidence->mutated++;
        evidence->mutated_here += mutant->effect == WETDBG_EFFECT_HERE;
        if (i >= result->repairing)
            continue;
        bool is_exact = mutant->verdict == WETDBG_VERDICT_EXACT && !mutant->broken;
        bool is_better = evidence->mutant.broken && !mutant->broken;
        evidence->mutated_exactly += is_exact;
        evidence->mutated_safely += is_exact && mutant->held;
        if (!evidence->mutated_well++ || is_better)
            evidence->mutant = *mutant; /* the best of them come first */
        if (locate->most_mutated < evidence->mutated_well)
            locate->most_mutated = evidence->mutated_well;
    }
    return 0;
}

int wetdbg_locate_take_implicit(struct wetdbg_locate *locate,
                                const struct wetdbg_implicit_result *result)
{
    for (size_t i = 0; i < result->count; i++) {
        struct wetdbg_suspect *suspect = loc_find_pc(locate, result->items[i].proof.pc);
        if (!suspect)
            continue;
        suspect->evidence.implied++;
        suspect->evidence.is_strong |= result->items[i].is_strong;
    }
    return 0;
}

/* ---- the list ---- */

static int most_suspicious_first(const void *left, const void *right)
{
    const struct wetdbg_suspect *a = left, *b = right;

    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    if (a->evidence.place != b->evidence.place)
        return a->evidence.place - 1 < b->evidence.place - 1 ? -1 : 1;
    int order = strcmp(a->file, b->file);
    return order ? order : a->line < b->line ? -1 : a->line > b->line;
}

int wetdbg_locate_suspects(struct wetdbg_locate *locate, const struct wetdbg_suspect **suspects,
                           size_t *count)
{
    struct wetdbg_suspect *sorted = malloc((locate->count + 1) * sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    memcpy(sorted, locate->items, locate->count * sizeof(*sorted));
    if (loc_scores_make(locate, sorted, locate->count)) {
        free(sorted);
        return -ENOMEM;
    }
    for (size_t i = 0; i < locate->count; i++)
        loc_reasons(locate, &sorted[i]);
    qsort(sorted, locate->count, sizeof(*sorted), most_suspicious_first);
    for (size_t i = 0; i < locate->count; i++) {
        sorted[i].rank = (uint32_t)i + 1;
        loc_find(locate, sorted[i].file, sorted[i].line)->rank = sorted[i].rank;
    }
    free(locate->sorted);
    locate->sorted = sorted;
    *suspects = sorted;
    *count = locate->count;
    return 0;
}

uint32_t wetdbg_locate_rank(void *locate, uint64_t pc)
{
    const struct wetdbg_suspect *suspect = loc_find_pc(locate, pc);

    return suspect && suspect->rank ? suspect->rank - 1 : UINT32_MAX;
}

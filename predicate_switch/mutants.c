/* SPDX-License-Identifier: GPL-3.0-or-later */
/* <wetdbg/mutate.h>: own instructions that ran, each with the time of its first execution; their
 * mutations, in the order in which they should be tried; and the runs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/clock.h"
#include "predicate_switch/batches.h"
#include "predicate_switch/caves.h"
#include "predicate_switch/insertions.h"
#include "predicate_switch/mutations.h"
#include "predicate_switch/ran_code.h"
#include <wetdbg/errors.h>
#include <wetdbg/model.h>
#include <wetdbg/mutate.h>

#define LISTED_MAX (1u << 20)
#define WINDOW     256u /* mutants that are tried before the others are sorted anew */
#define WINDOWS    16u  /* as many of them in one, at most */
#define JUDGED     3u   /* of a line that tell how much of the output depends on it */
#define HERE       8u   /* sooner where they change what is wrong */
#define NOWHERE    4u   /* later where they change nothing */

const char *wetdbg_mutation_name(enum wetdbg_mutation mutation)
{
    static const char *const names[] = {[WETDBG_MUTATION_COMPARISON] = "comparison",
                                        [WETDBG_MUTATION_ALWAYS] = "always",
                                        [WETDBG_MUTATION_NEVER] = "never",
                                        [WETDBG_MUTATION_CONSTANT] = "constant",
                                        [WETDBG_MUTATION_OPERATOR] = "operator",
                                        [WETDBG_MUTATION_EXTENSION] = "extension",
                                        [WETDBG_MUTATION_VARIABLE] = "variable",
                                        [WETDBG_MUTATION_MEMBER] = "member",
                                        [WETDBG_MUTATION_LEFT_OUT] = "left-out",
                                        [WETDBG_MUTATION_VALUE] = "value",
                                        [WETDBG_MUTATION_SWAPPED] = "swapped",
                                        [WETDBG_MUTATION_ZERO] = "zero",
                                        [WETDBG_MUTATION_COUNT] = "count"};
    return mutation < sizeof(names) / sizeof(*names) ? names[mutation] : "?";
}

struct listed {
    struct wetdbg_mutant mutant;
    unsigned round;
    uint64_t turn;
};

/* What the mutants of a line did that were tried. */
struct tried {
    uint32_t count, none, here; /* of them: without effect, with one where the output is wrong */
};

struct mutating {
    struct wetdbg *wet;
    struct wetdbg_trials *trials;
    const struct wetdbg_mutant_options *options;
    struct wetdbg_mutant_result *result;
    struct psw_ran *ran;
    size_t ran_count;
    struct psw_variable *variables; /* of one function */
    size_t variable_count, variable_capacity;
    struct psw_caves *caves;
    struct listed *list;
    size_t count, capacity, item_capacity;
    int err;             /* of the list: 0 or -ENOMEM */
    size_t window;       /* where in the list that begins which is tried now */
    struct tried *lines; /* by rank */
    double began;
};

static bool is_interrupted(const struct mutating *work)
{
    return work->options->interrupted && *work->options->interrupted;
}

/* ---- what to try ---- */

/* A line that is suspected more has its unlikely mutants tried before another one's likely ones:
 * both count, as factors. */
static uint64_t turn_of(uint32_t rank, unsigned round)
{
    static const unsigned factors[] = {1, 2, 2, 24};
    return ((uint64_t)rank + 8) * factors[round < 3 ? round : 3] * HERE;
}

/* A mutant of an instruction, for the caller to fill. NULL: there are too many, or no memory
 * (work->err). */
static struct wetdbg_mutant *list_add(struct mutating *work, const struct psw_ran *ran,
                                      uint32_t rank, unsigned round)
{
    if (work->count >= LISTED_MAX || work->err)
        return NULL;
    work->err = wd_grow(work->list, work->capacity, work->count + 1);
    if (work->err)
        return NULL;
    struct listed *item = &work->list[work->count++];
    *item = (struct listed){
        .mutant = {.pc = ran->pc, .time = ran->time, .length = ran->length, .rank = rank},
        .round = round};
    memcpy(item->mutant.code, ran->code, ran->length);
    return &item->mutant;
}

static void mutations_list(struct mutating *work, const struct psw_ran *ran, uint32_t rank)
{
    struct psw_mutation found[PSW_MUTATIONS_MAX];
    unsigned count = psw_mutations_of(ran->code, ran->length, ran->pc, work->variables,
                                      work->variable_count, found);
    for (unsigned i = 0; i < count; i++) {
        struct wetdbg_mutant *made = list_add(work, ran, rank, found[i].round);
        if (!made)
            return;
        made->mutation = found[i].kind;
        made->offset = found[i].offset;
        made->size = found[i].size;
        made->was = found[i].was;
        made->is = found[i].is;
        memcpy(made->bytes, found[i].bytes, sizeof(found[i].bytes));
    }
}

/* ---- what is put in ---- */

static void insertion_list(struct mutating *work, const struct psw_ran *ran, uint32_t rank,
                           uint64_t cave, const struct psw_insertion *insertion)
{
    struct psw_cave_code code;
    if (!psw_cave_make(work->caves, ran->pc, insertion->before, insertion->before_size,
                       insertion->after, insertion->after_size, &code))
        return;
    struct wetdbg_mutant *made = list_add(work, ran, rank, insertion->round);
    if (!made)
        return;
    made->mutation = insertion->kind;
    made->was = insertion->was;
    made->is = insertion->is;
    made->place = insertion->place;
    made->size = sizeof(code.jump);
    memcpy(made->bytes, code.jump, sizeof(code.jump));
    made->cave = cave;
    made->cave_size = code.size;
    memcpy(made->cave_bytes, code.bytes, sizeof(code.bytes));
}

static void values_list(struct mutating *work, const struct psw_ran *ran, uint32_t rank)
{
    struct psw_insertion found[PSW_OF_VALUE_MAX];
    unsigned count = psw_insertions_of_value(ran->code, ran->length, found);
    uint64_t cave = count ? psw_caves_at(work->caves, ran->pc) : 0;
    for (unsigned i = 0; i < count && cave; i++)
        insertion_list(work, ran, rank, cave, &found[i]);
}

static void statements_list(struct mutating *work, const struct psw_places *places,
                            const struct psw_ran *ran, uint32_t rank)
{
    struct psw_insertion found[PSW_OF_PLACE_MAX];
    uint64_t cave = places->count ? psw_caves_at(work->caves, ran->pc) : 0;
    for (unsigned k = 0; k < places->count && cave; k++) {
        unsigned count = psw_insertions_of_place(&places->items[k], cave, found);
        for (unsigned i = 0; i < count; i++)
            insertion_list(work, ran, rank, cave, &found[i]);
    }
}

/* Whether a line begins with an instruction: what is before it is of another one, or did not
 * run. */
static bool begins_line(const struct mutating *work, size_t from, size_t i)
{
    struct wetdbg_model *model = wetdbg_get_model(work->wet);
    const struct psw_ran *ran = &work->ran[i], *before = i > from ? ran - 1 : NULL;
    struct wetdbg_line line, other;
    if (!before || before->pc + before->length != ran->pc)
        return true;
    return !wetdbg_line_of_instruction(model, ran->pc, &line) &&
           (wetdbg_line_of_instruction(model, before->pc, &other) || other.line != line.line ||
            other.file != line.file);
}

/* ---- functions ---- */

static int variable_take(struct mutating *work, const struct psw_variable *variable)
{
    for (size_t i = 0; i < work->variable_count; i++)
        if (!memcmp(&work->variables[i], variable, sizeof(*variable)))
            return 0;
    if (wd_grow(work->variables, work->variable_capacity, work->variable_count + 1))
        return -ENOMEM;
    work->variables[work->variable_count++] = *variable;
    return 0;
}

static int variables_find(struct mutating *work, size_t from, size_t to)
{
    work->variable_count = 0;
    for (size_t i = from; i < to; i++) {
        struct psw_variable variable;
        memset(&variable, 0, sizeof(variable));
        if (psw_mutation_variable(work->ran[i].code, work->ran[i].length, work->ran[i].pc,
                                  &variable) &&
            variable_take(work, &variable))
            return -ENOMEM;
    }
    return 0;
}

static int caves_prepare(struct mutating *work, const struct wetdbg_function *function, size_t from,
                         size_t to)
{
    int err = psw_caves_function(work->caves, function);
    for (size_t i = from; i < to && !err; i++)
        if (work->ran[i].begins)
            psw_caves_target(work->caves, work->ran[i].pc);
    return err;
}

static void instruction_list(struct mutating *work, const struct psw_places *places, size_t from,
                             size_t i, bool is_in_function)
{
    const struct wetdbg_mutant_options *options = work->options;
    const struct psw_ran *ran = &work->ran[i];
    uint32_t rank = options->rank ? options->rank(options->rank_arg, ran->pc) : 0;
    if (rank == UINT32_MAX || (options->until && ran->time >= options->until))
        return;
    mutations_list(work, ran, rank);
    if (!is_in_function)
        return;
    values_list(work, ran, rank);
    if (begins_line(work, from, i))
        statements_list(work, places, ran, rank);
}

/* Of the instructions of one function; NULL: nobody knows of which one. */
static int function_list(struct mutating *work, const struct wetdbg_function *function, size_t from,
                         size_t to)
{
    struct psw_places places = {0};
    int err = variables_find(work, from, to);
    for (size_t i = from; i < to; i++)
        psw_places_look(&places, work->ran[i].code, work->ran[i].length, work->ran[i].pc);
    if (!err && function)
        err = caves_prepare(work, function, from, to);
    for (size_t i = from; i < to && !err; i++) {
        instruction_list(work, &places, from, i, function != NULL);
        err = work->err;
    }
    return err;
}

/* All of them is an order: two of one instruction differ in bytes. */
static int by_turn(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    if (a->mutant.rank != b->mutant.rank)
        return a->mutant.rank < b->mutant.rank ? -1 : 1;
    if (a->mutant.pc != b->mutant.pc)
        return a->mutant.pc < b->mutant.pc ? -1 : 1;
    if (a->mutant.mutation != b->mutant.mutation)
        return a->mutant.mutation < b->mutant.mutation ? -1 : 1;
    if (a->mutant.offset != b->mutant.offset)
        return a->mutant.offset < b->mutant.offset ? -1 : 1;
    int order = memcmp(a->mutant.bytes, b->mutant.bytes, sizeof(a->mutant.bytes));
    return order ? order
                 : memcmp(a->mutant.cave_bytes, b->mutant.cave_bytes, sizeof(a->mutant.cave_bytes));
}

static int lines_make(struct mutating *work)
{
    uint32_t most = 0;
    for (size_t i = 0; i < work->count; i++)
        if (work->list[i].mutant.rank > most)
            most = work->list[i].mutant.rank;
    work->lines = calloc((size_t)most + 1, sizeof(*work->lines));
    return work->lines ? 0 : -ENOMEM;
}

static int list_make(struct mutating *work)
{
    struct wetdbg_model *model = wetdbg_get_model(work->wet);
    struct wetdbg_function function;
    int err = 0;
    for (size_t from = 0, to; from < work->ran_count && !err; from = to) {
        bool is_known = wetdbg_function_at(model, work->ran[from].pc, &function) == 0;
        for (to = from + 1; to < work->ran_count && is_known && work->ran[to].pc < function.end;
             to++)
            ;
        err = function_list(work, is_known ? &function : NULL, from, to);
    }
    work->result->listed = work->count;
    return err ? err : lines_make(work);
}

/* ---- runs ---- */

static void plan_make(void *arg, size_t index, struct psw_plan *plan)
{
    const struct mutating *work = arg;
    const struct wetdbg_mutant *mutant = &work->list[work->window + index].mutant;
    *plan =
        (struct psw_plan){.change = {.kind = PSW_SET, .time = mutant->time},
                          .writes = {{.address = mutant->pc + mutant->offset, .size = mutant->size},
                                     {.address = mutant->cave, .size = mutant->cave_size}}};
    memcpy(plan->writes[0].bytes, mutant->bytes, sizeof(mutant->bytes));
    memcpy(plan->writes[1].bytes, mutant->cave_bytes, sizeof(mutant->cave_bytes));
}

static int answer_take(void *arg, size_t index, const struct wetdbg_trial_answer *answer)
{
    struct mutating *work = arg;
    struct wetdbg_mutant_result *result = work->result;
    if (wd_grow(result->items, work->item_capacity, result->count + 1))
        return -ENOMEM;
    const struct wetdbg_mutant *mutant = &work->list[work->window + index].mutant;
    struct tried *line = &work->lines[mutant->rank];
    line->count++;
    line->none += answer->effect == WETDBG_EFFECT_NONE;
    line->here += answer->effect == WETDBG_EFFECT_HERE;
    result->items[result->count] = *mutant;
    result->items[result->count].effect = answer->effect;
    result->items[result->count++].verdict = answer->verdict;
    result->unresolved += answer->verdict == WETDBG_VERDICT_UNRESOLVED;
    result->repairing += answer->verdict >= WETDBG_VERDICT_NO_CRASH;
    return 0;
}

/* The mutants of a line whose first ones changed what is wrong, and nothing before it, come
 * sooner, and those of a line that had no effect later. */
static uint64_t turn_now(const struct mutating *work, const struct listed *item)
{
    const struct tried *line = &work->lines[item->mutant.rank];
    uint64_t turn = turn_of(item->mutant.rank, item->round);
    if (line->count < JUDGED)
        return turn;
    if (line->here)
        return turn / HERE;
    return line->none == line->count ? turn * NOWHERE : turn;
}

static void rest_sort(struct mutating *work)
{
    struct listed *rest = work->list + work->window;
    size_t count = work->count - work->window;
    for (size_t i = 0; i < count; i++)
        rest[i].turn = turn_now(work, &rest[i]);
    qsort(rest, count, sizeof(*rest), by_turn);
}

static void progress_tell(void *arg, uint64_t tried, uint64_t listed)
{
    struct mutating *work = arg;
    (void)listed;
    if (work->options->progress)
        work->options->progress(work->options->arg, work->window + tried, work->count);
}

/* Tries the next ones of the list. Whether there is time for more. */
static int window_run(struct mutating *work, size_t count, bool *goes_on)
{
    const struct wetdbg_mutant_options *options = work->options;
    uint64_t left = options->budget_trials - work->window;
    struct psw_batches batches = {
        .trials = work->trials,
        .count = options->budget_trials && left < count ? left : count,
        .plan = plan_make,
        .answered = answer_take,
        .arg = work,
        .deadline = options->budget_seconds > 0 ? work->began + options->budget_seconds : 0,
        .interrupted = options->interrupted,
        .progress = progress_tell,
        .progress_arg = work};
    int err = psw_batches_run(&batches);
    work->window += batches.tried;
    work->result->is_interrupted = batches.is_interrupted;
    *goes_on = !err && batches.tried == count && work->window < work->count;
    return err;
}

static int runs_make(struct mutating *work)
{
    bool goes_on = work->count > 0;
    int err = 0;
    for (size_t window = WINDOW; goes_on && !err;
         window += window < WINDOW * WINDOWS ? WINDOW : 0) {
        size_t left = work->count - work->window;
        rest_sort(work);
        err = window_run(work, left < window ? left : window, &goes_on);
    }
    return err;
}

/* ---- answers ---- */

/* Of a line what changes its own code comes before what puts some in. */
static int by_worth(const void *left, const void *right)
{
    const struct wetdbg_mutant *a = left, *b = right;
    if (a->verdict != b->verdict)
        return a->verdict > b->verdict ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if ((a->cave_size > 0) != (b->cave_size > 0))
        return a->cave_size ? 1 : -1;
    if (a->pc != b->pc)
        return a->pc < b->pc ? -1 : 1;
    if (a->mutation != b->mutation)
        return a->mutation < b->mutation ? -1 : 1;
    int order = memcmp(a->bytes, b->bytes, sizeof(a->bytes));
    return order ? order : memcmp(a->cave_bytes, b->cave_bytes, sizeof(a->cave_bytes));
}

void wetdbg_mutant_result_fini(struct wetdbg_mutant_result *result)
{
    free(result->items);
    *result = (struct wetdbg_mutant_result){0};
}

int wetdbg_mutants_find(struct wetdbg_trials *trials, const struct wetdbg_mutant_options *options,
                        struct wetdbg_mutant_result *result)
{
    struct mutating work = {.wet = trials->wet,
                            .trials = trials,
                            .options = options,
                            .result = result,
                            .began = wd_seconds()};
    *result = (struct wetdbg_mutant_result){0};
    int err = psw_ran_find(work.wet, options->interrupted, &work.ran, &work.ran_count);
    if (!err && work.ran_count)
        err = psw_caves_open(work.wet, wetdbg_get_info(work.wet)->last_time, &work.caves);
    if (!err)
        err = list_make(&work);
    if (!err)
        err = runs_make(&work);
    if (err == -WETDBG_ERR_INTERRUPTED && is_interrupted(&work)) {
        result->is_interrupted = true;
        err = 0;
    }
    if (result->count)
        qsort(result->items, result->count, sizeof(*result->items), by_worth);
    result->seconds = wd_seconds() - work.began;
    free(work.ran);
    free(work.variables);
    psw_caves_close(work.caves);
    free(work.list);
    free(work.lines);
    if (err)
        wetdbg_mutant_result_fini(result);
    return err;
}

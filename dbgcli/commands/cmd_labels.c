/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `labels`: a small function's run with the labels that Whole Execution Traces have in the
 * literature (X. Zhang, R. Gupta, MICRO 2004): on each statement the timestamps of its executions
 * and the values that it made, on each dependence pairs of timestamps. A statement is a source line
 * here, and time counts the executions of the function's lines from 1.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/sorted.h"
#include <wetdbg/errors.h>
#include <wetdbg/walk.h>

#define INSTRUCTIONS_MAX 4000 /* a slice is made for each */

static const struct cli_option options[] = {{0}};

const struct cli_syntax cli_cmd_labels_syntax = {
    .example = "labels main",
    .usage = "FUNCTION",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .details =
        "The run of a small function as in the literature: each line with its timestamps and the\n"
        "values that it stored, and each dependence with pairs of timestamps, of the definition\n"
        "and of the use. Time is counted in executed lines of the function here. What other\n"
        "functions did in between is left out.",
};

/* An execution of a line. */
struct execution {
    uint32_t line;
    uint64_t pc; /* where it began */
    wetdbg_time first;
    bool has_value;
    int64_t value; /* that it stored last */
};

/* An instruction of the function that was executed. */
struct step {
    wetdbg_time time;
    size_t execution; /* index; its timestamp is one more */
};

struct edge {
    uint32_t to, from; /* lines: of the use, of the definition */
    enum wetdbg_edge kind;
    size_t definition, use; /* timestamps */
};

struct labels {
    struct cli_session *session;
    struct wetdbg_function function;
    struct execution *executions;
    size_t execution_count;
    struct step *steps; /* by time */
    size_t step_count;
    struct edge *edges;
    size_t edge_count;
    uint64_t last_pc;
    size_t now; /* the execution that is looked at */
};

/* ---- executions ---- */

static void add_step(struct labels *labels, wetdbg_time time, uint64_t pc)
{
    struct wetdbg_line line;
    struct execution *last =
        labels->execution_count ? &labels->executions[labels->execution_count - 1] : NULL;
    if (wetdbg_line_of_instruction(labels->session->model, pc, &line) || !line.line)
        return;
    if (!last || last->line != line.line || pc <= labels->last_pc) {
        labels->executions = cli_realloc(labels->executions, labels->execution_count + 1,
                                         sizeof(*labels->executions));
        labels->executions[labels->execution_count++] =
            (struct execution){.line = line.line, .pc = pc, .first = time};
    }
    labels->last_pc = pc;
    labels->steps = cli_realloc(labels->steps, labels->step_count + 1, sizeof(*labels->steps));
    labels->steps[labels->step_count++] = (struct step){time, labels->execution_count - 1};
}

static bool is_unwanted(void *arg)
{
    (void)arg;
    return cli_interrupt_is_pending();
}

static int walk_function(struct labels *labels, struct wetdbg_walk *walk)
{
    int moved = wetdbg_walk_is_end(walk) ? 0 : 1;
    while (moved == 1) {
        if (wetdbg_walk_here(walk)->function != labels->function.start) {
            moved = wetdbg_walk_next_node(walk, NULL);
            continue;
        }
        if (labels->step_count == INSTRUCTIONS_MAX)
            return wetdbg_fail(-WETDBG_ERR_USAGE,
                               "labels: %s executed more than %d instructions; this is for small "
                               "functions",
                               labels->function.name, INSTRUCTIONS_MAX);
        add_step(labels, wetdbg_walk_time(walk), wetdbg_walk_pc(walk));
        moved = wetdbg_walk_next(walk, NULL);
    }
    return moved;
}

static int find_executions(struct labels *labels)
{
    struct cli_session *session = labels->session;
    struct wetdbg_walk *walk;
    size_t count;
    const struct wetdbg_thread *threads = wetdbg_threads(session->wet, &count);
    int err = wetdbg_walk_open(session->wet, &threads[0], session->info->first_time, &walk);
    if (err)
        return err;
    wetdbg_walk_watch(walk, is_unwanted, NULL);
    err = walk_function(labels, walk);
    wetdbg_walk_close(walk);
    if (!err && !labels->step_count)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "%s did not run in the first thread, or has no source lines",
                          labels->function.name);
    return err;
}

struct step_key {
    const struct step *steps;
    wetdbg_time time;
};

static bool is_step_before(const void *arg, size_t i)
{
    const struct step_key *key = arg;
    return key->steps[i].time < key->time;
}

static const struct step *step_at(const struct labels *labels, wetdbg_time time)
{
    const struct step_key key = {labels->steps, time};
    size_t at = cli_sorted_find(labels->step_count, is_step_before, &key);
    bool is_there = at < labels->step_count && labels->steps[at].time == time;
    return is_there ? &labels->steps[at] : NULL;
}

/* ---- values ---- */

static int64_t number_of(const struct wetdbg_effect *effect)
{
    uint64_t value = 0;
    unsigned unused = 64 - 8 * (unsigned)effect->size;
    memcpy(&value, effect->after, effect->size);
    return (int64_t)(value << unused) >> unused;
}

static int take_effect(void *arg, const struct wetdbg_effect *effect)
{
    struct labels *labels = arg;
    const struct step *step = effect->pc ? step_at(labels, effect->time) : NULL;
    if (!step || effect->reg >= 0 || !effect->after || !effect->size || effect->size > 8)
        return 0;
    int64_t value = number_of(effect);
    if (effect->size == 8 && value >> 32 && !(value >> 47))
        return 0; /* an address: a pointer, or where a call returns to */
    labels->executions[step->execution].value = value;
    labels->executions[step->execution].has_value = true;
    return 0;
}

static int find_values(struct labels *labels)
{
    struct wetdbg *wet = labels->session->wet;
    uint64_t k = wetdbg_interval_at(wet, labels->steps[0].time);
    uint64_t last = wetdbg_interval_at(wet, labels->steps[labels->step_count - 1].time);
    struct wetdbg_effects *effects = NULL;
    int err = wetdbg_effects_open(wet, &effects);
    for (; !err && k <= last; k++)
        err = wetdbg_effects_each(effects, k, false, take_effect, labels);
    wetdbg_effects_close(effects);
    return err;
}

/* ---- dependences ---- */

/* Those that an instruction has of itself: they lie one edge away from it. */
static int take_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct labels *labels = arg;
    const struct step *step = instance->distance == 1 ? step_at(labels, instance->time) : NULL;
    if (!step || step->execution == labels->now)
        return 0;
    labels->edges = cli_realloc(labels->edges, labels->edge_count + 1, sizeof(*labels->edges));
    labels->edges[labels->edge_count++] = (struct edge){
        labels->executions[labels->now].line, labels->executions[step->execution].line,
        instance->edge, step->execution + 1, labels->now + 1};
    return 0;
}

static int find_edges_of(struct labels *labels, const struct step *step)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL, .record_parents = true};
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice = NULL;
    int err = wetdbg_criterion_of_instance(labels->session->wet, step->time, &criterion);
    if (err)
        return err;
    labels->now = step->execution;
    err = cli_slice_run(labels->session, criterion, &how, false, NULL, &slice);
    if (!err)
        err = wetdbg_slice_each_instance(slice, NULL, 0, take_instance, labels);
    wetdbg_slice_free(slice);
    wetdbg_criterion_free(criterion);
    return err;
}

#define COMPARE(a, b)                                                                              \
    if ((a) != (b))                                                                                \
    return (a) < (b) ? -1 : 1

static int by_lines(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    COMPARE(x->to, y->to);
    COMPARE(x->from, y->from);
    COMPARE(x->kind, y->kind);
    COMPARE(x->definition, y->definition);
    COMPARE(x->use, y->use);
    return 0;
}

static int find_edges(struct labels *labels)
{
    size_t kept = 0;
    int err = 0;
    for (size_t i = 0; i < labels->step_count && !err; i++)
        err = find_edges_of(labels, &labels->steps[i]);
    if (labels->edge_count)
        qsort(labels->edges, labels->edge_count, sizeof(*labels->edges), by_lines);
    for (size_t i = 0; i < labels->edge_count; i++)
        if (!kept || by_lines(&labels->edges[kept - 1], &labels->edges[i]) != 0)
            labels->edges[kept++] = labels->edges[i];
    labels->edge_count = kept;
    return err;
}

/* ---- showing them ---- */

/* The least line above one, or 0. */
static uint32_t next_line(const struct labels *labels, uint32_t line)
{
    uint32_t next = 0;
    for (size_t i = 0; i < labels->execution_count; i++) {
        uint32_t other = labels->executions[i].line;
        if (other > line && (!next || other < next))
            next = other;
    }
    return next;
}

static const struct execution *first_of(const struct labels *labels, uint32_t line)
{
    const struct execution *execution = labels->executions;
    while (execution->line != line)
        execution++;
    return execution;
}

static const char *text_of(const struct labels *labels, uint32_t line)
{
    struct cli_place place;
    cli_place_of_pc(labels->session, first_of(labels, line)->pc, &place);
    return place.text;
}

static void print_line(const struct labels *labels, uint32_t line)
{
    struct cli_out *out = labels->session->out;
    const char *comma = "";
    bool has_values = false;
    fprintf(out->stream, "%5" PRIu32 "  ", line);
    cli_out_text(out, text_of(labels, line));
    fputs("\n       time   <", out->stream);
    for (size_t i = 0; i < labels->execution_count; i++)
        if (labels->executions[i].line == line) {
            fprintf(out->stream, "%s%zu", comma, i + 1);
            comma = ", ";
            has_values = has_values || labels->executions[i].has_value;
        }
    fputs(has_values ? ">\n       value  <" : ">\n", out->stream);
    comma = "";
    for (size_t i = 0; has_values && i < labels->execution_count; i++) {
        const struct execution *execution = &labels->executions[i];
        if (execution->line != line)
            continue;
        if (execution->has_value)
            fprintf(out->stream, "%s%" PRId64, comma, execution->value);
        else
            fprintf(out->stream, "%s-", comma);
        comma = ", ";
    }
    if (has_values)
        fputs(">\n", out->stream);
}

static bool is_same_edge(const struct edge *a, const struct edge *b)
{
    return a->to == b->to && a->from == b->from && a->kind == b->kind;
}

static void print_text(const struct labels *labels)
{
    FILE *to = labels->session->out->stream;
    fprintf(to, "%s: %zu executions of lines\n", labels->function.name, labels->execution_count);
    for (uint32_t line = next_line(labels, 0); line; line = next_line(labels, line))
        print_line(labels, line);
    fputs("dependences, with (time of the definition, time of the use):\n", to);
    for (size_t i = 0; i < labels->edge_count; i++) {
        const struct edge *edge = &labels->edges[i];
        bool is_first = !i || !is_same_edge(edge, edge - 1);
        bool is_last = i + 1 == labels->edge_count || !is_same_edge(edge, edge + 1);
        if (is_first)
            fprintf(to, "  %" PRIu32 " <- %" PRIu32 "  %s  <", edge->to, edge->from,
                    wetdbg_edge_name(edge->kind));
        fprintf(to, "%s(%zu, %zu)%s", is_first ? "" : ", ", edge->definition, edge->use,
                is_last ? ">\n" : "");
    }
}

static json_t *json_of_line(const struct labels *labels, uint32_t line)
{
    json_t *row = json_object(), *stamps = json_array(), *times = json_array(),
           *values = json_array();
    for (size_t i = 0; i < labels->execution_count; i++) {
        const struct execution *execution = &labels->executions[i];
        if (execution->line != line)
            continue;
        cli_json_append(stamps, cli_json_count(i + 1));
        cli_json_append(times, cli_json_count(execution->first));
        cli_json_append(values,
                        execution->has_value ? json_integer(execution->value) : json_null());
    }
    cli_json_set(row, "line", json_integer(line));
    cli_json_set(row, "text", cli_json_text(text_of(labels, line)));
    cli_json_set(row, "timestamps", stamps);
    cli_json_set(row, "times", times);
    cli_json_set(row, "values", values);
    return row;
}

static json_t *json_of_edges(const struct labels *labels)
{
    json_t *edges = json_array(), *pairs = NULL;
    for (size_t i = 0; i < labels->edge_count; i++) {
        const struct edge *edge = &labels->edges[i];
        if (!i || !is_same_edge(edge, edge - 1)) {
            json_t *row = json_object();
            pairs = json_array();
            cli_json_set(row, "use", json_integer(edge->to));
            cli_json_set(row, "definition", json_integer(edge->from));
            cli_json_set(row, "kind", cli_json_text(wetdbg_edge_name(edge->kind)));
            cli_json_set(row, "pairs", pairs);
            cli_json_append(edges, row);
        }
        json_t *pair = json_array();
        cli_json_append(pair, cli_json_count(edge->definition));
        cli_json_append(pair, cli_json_count(edge->use));
        cli_json_append(pairs, pair);
    }
    return edges;
}

static void print_json(const struct labels *labels)
{
    json_t *object = cli_json_object("wetdbg.labels/1"), *lines = json_array();
    cli_json_set(object, "function", cli_json_text(labels->function.name));
    for (uint32_t line = next_line(labels, 0); line; line = next_line(labels, line))
        cli_json_append(lines, json_of_line(labels, line));
    cli_json_set(object, "lines", lines);
    cli_json_set(object, "dependences", json_of_edges(labels));
    cli_out_json(labels->session->out, object);
}

/* ---- the command ---- */

static int find_function(struct labels *labels, const char *name)
{
    struct wetdbg_function *functions;
    size_t count, i = 0;
    int err = wetdbg_functions_named(labels->session->model, name, &functions, &count);
    if (err)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "labels: there is no function %s", name);
    while (i + 1 < count && functions[i].flags & (WETDBG_FUNCTION_PLT | WETDBG_FUNCTION_COLD))
        i++;
    labels->function = functions[i];
    free(functions);
    return 0;
}

int cli_cmd_labels(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct labels labels = {.session = repl->session};
    (void)format;
    int err = find_function(&labels, args->operands[0]);
    if (!err)
        err = find_executions(&labels);
    if (!err)
        err = find_values(&labels);
    if (!err)
        err = find_edges(&labels);
    if (!err && repl->out->json)
        print_json(&labels);
    else if (!err)
        print_text(&labels);
    free(labels.executions);
    free(labels.steps);
    free(labels.edges);
    return err;
}

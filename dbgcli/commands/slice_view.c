/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/rest.h"
#include "dbgcli/commands/slice_against.h"
#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/commands/slice_implied.h"
#include "dbgcli/commands/slice_threads.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

/* ---- which lines ---- */

enum part { OWN, CALLER, OTHER };

static enum part part_of(const struct cli_slice_view *view, const struct wetdbg_slice_line *line)
{
    if (!cli_slice_line_is_readable(view->session, line))
        return OTHER;
    return wetdbg_slice_line_only_calls(line) ? CALLER : OWN;
}

/* Puts the lines of some parts behind those that are there, in their order. */
static void add_lines(struct cli_slice_view *view, const unsigned char *parts, unsigned which)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->lines[i].file && which & 1u << parts[i])
            view->order[view->order_count++] = i;
}

static void choose_lines(struct cli_slice_view *view)
{
    unsigned char *parts = cli_malloc(view->count + 1);
    size_t counts[3] = {0};
    view->order = cli_realloc(NULL, view->count + 1, sizeof(*view->order));
    for (size_t i = 0; i < view->count; i++) {
        parts[i] = (unsigned char)part_of(view, &view->lines[i]);
        counts[parts[i]]++;
    }
    bool shows_callers = view->shows_all || !counts[OWN];
    add_lines(view, parts, shows_callers ? 1u << OWN | 1u << CALLER : 1u << OWN);
    cli_nearness_sort(view->near, view->lines, view->order, view->order_count);
    if (view->shows_all)
        add_lines(view, parts, 1u << OTHER);
    cli_against_sort(view->against, view->order, view->order_count);
    view->callers = shows_callers ? 0 : counts[CALLER];
    free(parts);
}

int cli_slice_view_limit(struct cli_slice_view *view, const struct cli_args *args)
{
    return cli_args_number(args, "limit", view->session->out->json ? 0 : CLI_SLICE_LINES,
                           &view->limit);
}

int cli_slice_view_open(struct cli_slice_view *view, const struct wetdbg_slice *slice)
{
    view->slice = slice;
    view->lines = wetdbg_slice_lines(slice, &view->count);
    view->order_count = 0;
    choose_lines(view);
    return cli_slice_threads_make(view->session, slice, &view->threads);
}

void cli_slice_view_close(struct cli_slice_view *view)
{
    cli_slice_threads_free(view->threads);
    free(view->order);
    view->threads = NULL;
    view->order = NULL;
}

/* ---- names of files ---- */

/* A file's name as short as tells it apart: files whose base names are equal need more of their
 * paths. */
static const char *short_name(const struct wetdbg_slice_line *lines, size_t count, const char *file)
{
    const char *name = cli_base_name(file);
    for (size_t i = 0; i < count; i++) {
        const char *other = lines[i].file;
        if (!other || other == file || strcmp(other, file) == 0)
            continue;
        if (strcmp(cli_base_name(other), cli_base_name(file)) == 0)
            return file;
    }
    return name;
}

struct names {
    const char *file; /* of the last question: neighbours mostly share it */
    const char *name;
};

static const char *name_of(struct names *names, const struct wetdbg_slice_line *lines, size_t count,
                           const char *file)
{
    if (names->file != file) {
        names->file = file;
        names->name = short_name(lines, count, file);
    }
    return names->name;
}

/* ---- instances of a line ---- */

/* The instances of one instruction, of which one is shown: the nearest or, if that is not known,
 * the latest. */
struct range {
    struct wetdbg_slice_instance best;
    uint64_t instances;
    wetdbg_time first, last;
};

struct instance_walk {
    const struct cli_slice_view *view;
    struct cli_out *out;
    json_t *array; /* NULL: text */
    uint64_t shown;
    struct range *ranges; /* of text that folds */
    size_t range_count;
};

static json_t *json_of_instance(const struct cli_session *session,
                                const struct wetdbg_slice_instance *instance)
{
    bool has_distance = instance->distance != WETDBG_DISTANCE_UNKNOWN;
    json_t *row = json_object();
    cli_json_set(row, "time", cli_json_count(instance->time));
    cli_json_set(row, "pc", cli_json_address(instance->pc));
    cli_json_set(row, "distance", has_distance ? json_integer(instance->distance) : json_null());
    cli_json_set(row, "edge",
                 cli_json_text(has_distance ? wetdbg_edge_name(instance->edge) : NULL));
    cli_json_set(row, "user", instance->parent ? cli_json_count(instance->parent) : json_null());
    cli_thread_to_json_at(row, session, instance->time);
    return row;
}

static void print_instance(const struct cli_session *session,
                           const struct wetdbg_slice_instance *instance)
{
    FILE *to = session->out->stream;
    bool has_distance = instance->distance != WETDBG_DISTANCE_UNKNOWN;
    fprintf(to, "      time %-12" PRIu64 " 0x%-14" PRIx64, instance->time, instance->pc);
    if (has_distance && instance->parent)
        fprintf(to, " %s of time %" PRIu64 ", distance %" PRIu32, wetdbg_edge_name(instance->edge),
                instance->parent, instance->distance);
    else if (has_distance)
        fprintf(to, " %s", wetdbg_edge_name(instance->edge));
    cli_thread_print_at(session, instance->time);
}

static int show_instance(void *context, const struct wetdbg_slice_instance *instance)
{
    struct instance_walk *walk = context;
    if ((walk->view->limit && walk->shown == walk->view->limit) || cli_out_is_gone(walk->out))
        return 1;
    walk->shown++;
    if (walk->array) {
        cli_json_append(walk->array, json_of_instance(walk->view->session, instance));
        return 0;
    }
    print_instance(walk->view->session, instance);
    putc('\n', walk->out->stream);
    return 0;
}

/* Adds an instance to its instruction's. A line has few instructions. */
static int fold_instance(void *context, const struct wetdbg_slice_instance *instance)
{
    struct instance_walk *walk = context;
    size_t i = 0;
    while (i < walk->range_count && walk->ranges[i].best.pc != instance->pc)
        i++;
    if (i == walk->range_count) {
        walk->ranges = cli_realloc(walk->ranges, i + 1, sizeof(*walk->ranges));
        walk->ranges[i] = (struct range){*instance, 0, instance->time, instance->time};
        walk->range_count++;
    }
    struct range *range = &walk->ranges[i];
    range->instances++;
    if (instance->distance < range->best.distance)
        range->best = *instance;
    range->first = instance->time < range->first ? instance->time : range->first;
    range->last = instance->time > range->last ? instance->time : range->last;
    return cli_out_is_gone(walk->out);
}

static void print_range(const struct cli_session *session, const struct range *range)
{
    print_instance(session, &range->best);
    if (range->instances > 1)
        fprintf(session->out->stream, "  x%" PRIu64 ", times %" PRIu64 " to %" PRIu64,
                range->instances, range->first, range->last);
    putc('\n', session->out->stream);
}

static int print_folded(const struct cli_slice_view *view, size_t index)
{
    struct instance_walk walk = {.view = view, .out = view->session->out};
    int result = wetdbg_slice_each_line_instance(view->slice, index, fold_instance, &walk);
    for (size_t i = 0; i < walk.range_count && result >= 0; i++)
        print_range(view->session, &walk.ranges[i]);
    free(walk.ranges);
    return result < 0 ? result : 0;
}

static int show_instances(const struct cli_slice_view *view, size_t index, json_t *array)
{
    struct instance_walk walk = {.view = view, .out = view->session->out, .array = array};
    if (!array && !view->unfolds)
        return print_folded(view, index);
    int result = wetdbg_slice_each_line_instance(view->slice, index, show_instance, &walk);
    if (result < 0)
        return result;
    if (!array && view->limit && walk.shown == view->limit &&
        view->lines[index].instances > view->limit)
        fprintf(walk.out->stream, "      (%" PRIu64 " more)\n",
                view->lines[index].instances - view->limit);
    return 0;
}

/* ---- text ---- */

static void print_line(const struct cli_slice_view *view, struct names *names, size_t index,
                       int width)
{
    struct cli_out *out = view->session->out;
    const struct wetdbg_slice_line *line = &view->lines[index];
    const char *text = cli_source_text(view->session, line->file, line->line, line->pc);
    char *where = cli_asprintf("%s:%" PRIu32, name_of(names, view->lines, view->count, line->file),
                               line->line);
    fputs(cli_against_mark(view->against, index), out->stream);
    cli_out_styled(out, CLI_STYLE_FILE, where);
    fprintf(out->stream, "%*s  ", width - (int)strlen(where), "");
    cli_out_styled(out, CLI_STYLE_FUNCTION, line->function);
    fprintf(out->stream, "  x%" PRIu64, line->instances);
    cli_against_print_score(view->against, out, index);
    cli_slice_threads_print(out, view->threads, index);
    if (cli_implied_has_line(view->plain, line))
        fputs("  implicit", out->stream);
    if (view->is_shared && view->is_shared(view->shared_arg, line)) {
        fputs("  ", out->stream);
        cli_out_text(out, view->shared_text);
    }
    fputs("  | ", out->stream);
    cli_out_text(out, text);
    putc('\n', out->stream);
    free(where);
}

static int where_width(const struct cli_slice_view *view, size_t begin, size_t end)
{
    struct names names = {0};
    size_t width = 0;
    for (size_t i = begin; i < end; i++) {
        const struct wetdbg_slice_line *line = &view->lines[view->order[i]];
        int length = snprintf(NULL, 0, "%s:%" PRIu32,
                              name_of(&names, view->lines, view->count, line->file), line->line);
        if (length > 0 && (size_t)length > width && length <= 40)
            width = (size_t)length;
    }
    return (int)width;
}

/* Keeps the lines from `begin` on for `more`, in columns as far as one page goes. */
static void keep_rest(const struct cli_slice_view *view, size_t begin)
{
    struct names names = {0};
    int width = 0;
    cli_rest_begin(view->session);
    if (view->rest_title) {
        cli_out_text(view->session->out, view->rest_title);
        fputs(", further:\n", view->session->out->stream);
    }
    for (size_t i = begin; i < view->order_count; i++) {
        if ((i - begin) % CLI_SLICE_LINES == 0) {
            size_t left = view->order_count - i;
            width = where_width(view, i, i + (left < CLI_SLICE_LINES ? left : CLI_SLICE_LINES));
        }
        print_line(view, &names, view->order[i], width);
        cli_rest_end_line(view->session);
    }
    cli_rest_end(view->session);
}

/* Prints the first lines, at most the limit, and says how many are left. */
static int print_lines(const struct cli_slice_view *view)
{
    struct cli_out *out = view->session->out;
    struct names names = {0};
    size_t end =
        view->limit && view->limit < view->order_count ? (size_t)view->limit : view->order_count;
    int width = where_width(view, 0, end), err = 0;
    cli_against_print_head(view->against, out);
    for (size_t i = 0; i < end && !err && !cli_out_is_gone(out); i++) {
        print_line(view, &names, view->order[i], width);
        if (view->has_instances)
            err = show_instances(view, view->order[i], NULL);
    }
    if (err || end == view->order_count)
        return err;
    if (view->rest_hint) {
        fprintf(out->stream, "(%zu more; %s)\n", view->order_count - end, view->rest_hint);
        return 0;
    }
    fprintf(out->stream, "(%zu more; 'more' shows the next, --limit 0 shows all)\n",
            view->order_count - end);
    keep_rest(view, end);
    return 0;
}

int cli_slice_view_print(struct cli_slice_view *view)
{
    if (!view->rest_title)
        cli_rest_free(view->session);
    int err = print_lines(view);
    if (err || view->has_lines_only)
        return err;
    if (view->callers)
        fprintf(view->session->out->stream,
                "(left out: %zu line%s that only called what is in the slice; --all shows %s)\n",
                view->callers, view->callers == 1 ? "" : "s", view->callers == 1 ? "it" : "them");
    cli_slice_groups_print(view->session, view->lines, view->count, view->shows_all);
    return 0;
}

/* ---- JSON ---- */

static json_t *json_of_line(const struct cli_slice_view *view, size_t index)
{
    const struct wetdbg_slice_line *line = &view->lines[index];
    json_t *row = json_object();
    cli_json_set(row, "file", cli_json_text(line->file));
    cli_json_set(row, "line", line->file ? json_integer(line->line) : json_null());
    cli_json_set(row, "function", cli_json_text(line->function));
    cli_json_set(row, "linkage_name", cli_json_text(line->linkage_name));
    cli_json_set(row, "module", cli_json_text(line->module));
    cli_json_set(row, "instances", cli_json_count(line->instances));
    cli_json_set(row, "statements", json_integer(line->statements));
    cli_json_set(row, "only_calls", json_boolean(wetdbg_slice_line_only_calls(line)));
    cli_json_set(row, "distance",
                 line->min_distance == WETDBG_DISTANCE_UNKNOWN ? json_null()
                                                               : json_integer(line->min_distance));
    cli_json_set(row, "first_time", cli_json_count(line->first_time));
    cli_json_set(row, "last_time", cli_json_count(line->last_time));
    cli_slice_threads_to_json(row, view->threads, index);
    if (view->plain)
        cli_json_set(row, "implicit", json_boolean(cli_implied_has_line(view->plain, line)));
    if (view->is_shared)
        cli_json_set(row, "in_other", json_boolean(view->is_shared(view->shared_arg, line)));
    cli_against_line_to_json(view->against, index, row);
    cli_json_set(row, "text",
                 cli_json_text(cli_source_text(view->session, line->file, line->line, line->pc)));
    return row;
}

int cli_slice_view_to_json(const struct cli_slice_view *view, json_t *object)
{
    json_t *lines = json_array();
    json_t *others = json_array();
    uint64_t shown = 0;
    int err = 0;
    cli_against_to_json(view->against, object);
    for (size_t n = 0; n < view->count && !err; n++) {
        size_t i = cli_against_line(view->against, n);
        bool has_source = view->lines[i].file != NULL;
        if (has_source && view->limit && shown == view->limit)
            continue;
        shown += has_source;
        json_t *row = json_of_line(view, i);
        if (view->has_instances) {
            json_t *times = json_array();
            err = show_instances(view, i, times);
            cli_json_set(row, "times", times);
        }
        cli_json_append(has_source ? lines : others, row);
    }
    cli_json_set(object, "lines", lines);
    cli_json_set(object, "without_lines", others);
    return err;
}

void cli_slice_counts_print(FILE *to, const struct wetdbg_slice_counts *counts)
{
    fprintf(to, "%" PRIu64 " instance%s of %" PRIu64 " instruction%s in %" PRIu64 " line%s",
            counts->instances, counts->instances == 1 ? "" : "s", counts->statements,
            counts->statements == 1 ? "" : "s", counts->lines, counts->lines == 1 ? "" : "s");
}

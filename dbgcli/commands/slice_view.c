/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slice_against.h"
#include "dbgcli/commands/slice_groups.h"
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
    return line->calls && line->calls == line->statements ? CALLER : OWN;
}

/* Puts the lines of some parts behind those that are there, in their order. */
static void add_lines(struct cli_slice_view *view, const unsigned char *parts, unsigned which)
{
    for (size_t i = 0; i < view->count; i++)
        if (view->lines[i].file && which & 1u << parts[i])
            view->order[view->order_count++] = i;
}

/* ---- nearest first ---- */

static int by_line(const void *left, const void *right)
{
    const struct wetdbg_slice_line *a = left, *b = right;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->file == b->file ? 0 : strcmp(a->file, b->file);
}

/* The lines of a first look that have source, to be searched; to be freed. */
static struct wetdbg_slice_line *sort_look(const struct wetdbg_slice *look, size_t *count)
{
    size_t all, kept = 0;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(look, &all);
    struct wetdbg_slice_line *sorted = cli_realloc(NULL, all + 1, sizeof(*sorted));
    for (size_t i = 0; i < all; i++)
        if (lines[i].file)
            sorted[kept++] = lines[i];
    qsort(sorted, kept, sizeof(*sorted), by_line);
    *count = kept;
    return sorted;
}

struct near {
    uint32_t distance;
    size_t index;
};

static int nearest_first(const void *left, const void *right)
{
    const struct near *a = left, *b = right;
    if (a->distance != b->distance)
        return a->distance < b->distance ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* Sorts the lines to be shown by their distances, those without behind the others. */
static void sort_lines(struct cli_slice_view *view)
{
    size_t look_count;
    struct wetdbg_slice_line *look = sort_look(view->look, &look_count);
    struct near *list = cli_realloc(NULL, view->order_count + 1, sizeof(*list));
    for (size_t i = 0; i < view->order_count; i++) {
        const struct wetdbg_slice_line *line = &view->lines[view->order[i]];
        const struct wetdbg_slice_line *found =
            bsearch(line, look, look_count, sizeof(*look), by_line);
        list[i] =
            (struct near){found ? found->min_distance : WETDBG_DISTANCE_UNKNOWN, view->order[i]};
    }
    qsort(list, view->order_count, sizeof(*list), nearest_first);
    for (size_t i = 0; i < view->order_count; i++)
        view->order[i] = list[i].index;
    free(list);
    free(look);
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
    if (view->look)
        sort_lines(view);
    if (view->shows_all)
        add_lines(view, parts, 1u << OTHER);
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
    view->order_count = view->shown = 0;
    choose_lines(view);
    return cli_slice_threads_make(view->session, slice, &view->threads);
}

/* Keeps what was not shown; the slice goes. */
static void keep_rest(struct cli_slice_view *view)
{
    struct cli_slice_view *rest = cli_malloc(sizeof(*rest));
    struct wetdbg_slice_line *lines = cli_realloc(NULL, view->count, sizeof(*lines));
    memcpy(lines, view->lines, view->count * sizeof(*lines));
    *rest = *view;
    rest->slice = rest->look = NULL;
    rest->has_instances = false;
    rest->lines = lines;
    cli_slice_rest_free(view->session);
    view->session->rest = rest;
    view->threads = NULL;
    view->order = NULL;
}

void cli_slice_view_close(struct cli_slice_view *view)
{
    if (view->keeps_rest && view->shown && view->shown < view->order_count)
        keep_rest(view);
    cli_slice_threads_free(view->threads);
    free(view->order);
    view->threads = NULL;
    view->order = NULL;
}

void cli_slice_rest_free(struct cli_session *session)
{
    struct cli_slice_view *rest = session->rest;
    if (!rest)
        return;
    cli_slice_threads_free(rest->threads);
    free(rest->order);
    free((void *)rest->lines);
    free(rest);
    session->rest = NULL;
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
    fputs(cli_out_style(out, CLI_STYLE_BOLD), out->stream);
    cli_out_text(out, where);
    fputs(cli_out_style(out, CLI_STYLE_NONE), out->stream);
    fprintf(out->stream, "%*s  ", width - (int)strlen(where), "");
    cli_out_text(out, line->function);
    fprintf(out->stream, "  x%" PRIu64, line->instances);
    cli_against_print_score(view->against, out, index);
    cli_slice_threads_print(out, view->threads, index);
    if (view->is_shared && view->is_shared(view->shared_arg, line)) {
        fputs("  ", out->stream);
        cli_out_text(out, view->shared_text);
    }
    fputs("  | ", out->stream);
    cli_out_text(out, text);
    putc('\n', out->stream);
    free(where);
}

#define GROUPS_SHOWN 10 /* unless all are asked for */

static void print_groups(const struct cli_slice_view *view)
{
    struct cli_out *out = view->session->out;
    struct cli_slice_group *groups;
    size_t count, shown;
    cli_slice_groups_make(view->session, view->lines, view->count, &groups, &count);
    shown = view->shows_all || count < GROUPS_SHOWN ? count : GROUPS_SHOWN;
    if (count)
        fputs("libraries, and code whose source is not here, by function:\n", out->stream);
    for (size_t i = 0; i < shown && !cli_out_is_gone(out); i++) {
        fprintf(out->stream, "  %s", cli_out_style(out, CLI_STYLE_DIM));
        if (strcmp(groups[i].module, "?") == 0) {
            fputs("code in no file", out->stream);
        } else {
            cli_out_text(out, groups[i].module);
            fputs("  ", out->stream);
            cli_out_text(out, groups[i].function);
        }
        fprintf(out->stream, "  x%" PRIu64 "%s\n", groups[i].instances,
                cli_out_style(out, CLI_STYLE_NONE));
    }
    if (shown < count)
        fprintf(out->stream, "  (%zu more; --all shows them and their lines)\n", count - shown);
    free(groups);
}

static int where_width(const struct cli_slice_view *view, size_t end)
{
    struct names names = {0};
    size_t width = 0;
    for (size_t i = view->shown; i < end; i++) {
        const struct wetdbg_slice_line *line = &view->lines[view->order[i]];
        int length = snprintf(NULL, 0, "%s:%" PRIu32,
                              name_of(&names, view->lines, view->count, line->file), line->line);
        if (length > 0 && (size_t)length > width && length <= 40)
            width = (size_t)length;
    }
    return (int)width;
}

/* Prints the next lines, at most the limit, and says how many are left. */
static int print_lines(struct cli_slice_view *view)
{
    struct cli_out *out = view->session->out;
    struct names names = {0};
    cli_against_print_head(view->shown ? NULL : view->against, out);
    size_t left = view->order_count - view->shown;
    size_t end = view->shown + (view->limit && view->limit < left ? (size_t)view->limit : left);
    int width = where_width(view, end), err = 0;
    for (; view->shown < end && !err && !cli_out_is_gone(out); view->shown++) {
        print_line(view, &names, view->order[view->shown], width);
        if (view->has_instances)
            err = show_instances(view, view->order[view->shown], NULL);
    }
    left = view->order_count - end;
    if (left && !err)
        fprintf(out->stream, "(%zu more; %s--limit 0 shows all)\n", left,
                view->keeps_rest ? "'more' shows the next, " : "");
    return err;
}

int cli_slice_view_print(struct cli_slice_view *view)
{
    cli_slice_rest_free(view->session);
    int err = print_lines(view);
    if (err)
        return err;
    if (view->callers)
        fprintf(view->session->out->stream,
                "(left out: %zu line%s that only called what is in the slice; --all shows %s)\n",
                view->callers, view->callers == 1 ? "" : "s", view->callers == 1 ? "it" : "them");
    print_groups(view);
    return 0;
}

int cli_slice_rest_print(struct cli_session *session, uint64_t limit)
{
    struct cli_slice_view *rest = session->rest;
    if (!rest)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "more: no slice has lines that were not shown");
    rest->limit = limit;
    int err = print_lines(rest);
    if (rest->shown == rest->order_count)
        cli_slice_rest_free(session);
    return err;
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
    cli_json_set(row, "distance",
                 line->min_distance == WETDBG_DISTANCE_UNKNOWN ? json_null()
                                                               : json_integer(line->min_distance));
    cli_json_set(row, "first_time", cli_json_count(line->first_time));
    cli_json_set(row, "last_time", cli_json_count(line->last_time));
    cli_slice_threads_to_json(row, view->threads, index);
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

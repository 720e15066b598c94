/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slice_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/commands/slice_threads.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"

int cli_slice_view_open(struct cli_slice_view *view, const struct wetdbg_slice *slice)
{
    view->slice = slice;
    view->lines = wetdbg_slice_lines(slice, &view->count);
    return cli_slice_threads_make(view->session, slice, &view->threads);
}

void cli_slice_view_close(struct cli_slice_view *view)
{
    cli_slice_threads_free(view->threads);
    view->threads = NULL;
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

struct instance_walk {
    const struct cli_session *session;
    struct cli_out *out;
    json_t *array; /* NULL: text */
    uint64_t limit, shown;
};

static int show_instance(void *context, const struct wetdbg_slice_instance *instance)
{
    struct instance_walk *walk = context;
    bool has_distance = instance->distance != WETDBG_DISTANCE_UNKNOWN;
    if ((walk->limit && walk->shown == walk->limit) || cli_out_is_gone(walk->out))
        return 1;
    walk->shown++;
    if (walk->array) {
        json_t *row = json_object();
        cli_json_set(row, "time", cli_json_count(instance->time));
        cli_json_set(row, "pc", cli_json_address(instance->pc));
        cli_json_set(row, "distance",
                     has_distance ? json_integer(instance->distance) : json_null());
        cli_json_set(row, "edge",
                     cli_json_text(has_distance ? wetdbg_edge_name(instance->edge) : NULL));
        cli_json_set(row, "user",
                     instance->parent ? cli_json_count(instance->parent) : json_null());
        cli_thread_to_json_at(row, walk->session, instance->time);
        cli_json_append(walk->array, row);
        return 0;
    }
    fprintf(walk->out->stream, "      time %-12" PRIu64 " 0x%-14" PRIx64, instance->time,
            instance->pc);
    if (has_distance && instance->parent)
        fprintf(walk->out->stream, " %s of time %" PRIu64 ", distance %" PRIu32,
                wetdbg_edge_name(instance->edge), instance->parent, instance->distance);
    else if (has_distance)
        fprintf(walk->out->stream, " %s", wetdbg_edge_name(instance->edge));
    cli_thread_print_at(walk->session, instance->time);
    putc('\n', walk->out->stream);
    return 0;
}

static int show_instances(const struct cli_slice_view *view, size_t index, json_t *array)
{
    struct instance_walk walk = {view->session, view->session->out, array, view->limit, 0};
    int result = wetdbg_slice_each_line_instance(view->slice, index, show_instance, &walk);
    if (result < 0)
        return result;
    if (!array && walk.limit && walk.shown == walk.limit &&
        view->lines[index].instances > walk.limit)
        fprintf(walk.out->stream, "      (%" PRIu64 " more)\n",
                view->lines[index].instances - walk.limit);
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
    fputs(cli_out_style(out, CLI_STYLE_BOLD), out->stream);
    cli_out_text(out, where);
    fputs(cli_out_style(out, CLI_STYLE_NONE), out->stream);
    fprintf(out->stream, "%*s  ", width - (int)strlen(where), "");
    cli_out_text(out, line->function);
    fprintf(out->stream, "  x%" PRIu64, line->instances);
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
        fputs("code whose source is not here, by function:\n", out->stream);
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

static bool is_shown(const struct cli_slice_view *view, const struct wetdbg_slice_line *line)
{
    if (view->shows_all)
        return line->file != NULL;
    return cli_slice_line_is_readable(view->session, line);
}

static int where_width(const struct cli_slice_view *view)
{
    struct names names = {0};
    size_t width = 0;
    for (size_t i = 0; i < view->count; i++) {
        const char *file = view->lines[i].file;
        if (!is_shown(view, &view->lines[i]))
            continue;
        int length = snprintf(NULL, 0, "%s:%" PRIu32,
                              name_of(&names, view->lines, view->count, file), view->lines[i].line);
        if (length > 0 && (size_t)length > width && length <= 40)
            width = (size_t)length;
    }
    return (int)width;
}

static int print_lines(const struct cli_slice_view *view)
{
    struct cli_out *out = view->session->out;
    struct names names = {0};
    int width = where_width(view);
    uint64_t shown = 0, left = 0;
    for (size_t i = 0; i < view->count && !cli_out_is_gone(out); i++) {
        if (!is_shown(view, &view->lines[i]))
            continue;
        if (view->limit && shown == view->limit) {
            left++;
            continue;
        }
        print_line(view, &names, i, width);
        shown++;
        int err = view->has_instances ? show_instances(view, i, NULL) : 0;
        if (err)
            return err;
    }
    if (left)
        fprintf(out->stream, "(%" PRIu64 " more; --limit 0 shows all)\n", left);
    return 0;
}

int cli_slice_view_print(const struct cli_slice_view *view)
{
    int err = print_lines(view);
    if (!err)
        print_groups(view);
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
    for (size_t i = 0; i < view->count && !err; i++) {
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

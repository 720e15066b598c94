/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `slice`: what led to a criterion, by source line or by instance, as text or as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/commands/slice_initials.h"
#include "dbgcli/commands/slice_reached.h"
#include "dbgcli/commands/slice_threads.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/nav/thread.h"
#include <wetdbg/errors.h>

static const struct cli_option options[] = {
    {"data", 0, NULL, "no control dependence"},
    {"control", 0, NULL, "control dependence only"},
    {"thin", 0, NULL, "what computed the values only: no control, no addresses"},
    {"instances", 0, NULL, "under each line, its instances: time, distance, dependence"},
    {"limit", 0, "N", "at most N lines, and at most N instances of each; 0: all (the default)"},
    {"all", 0, NULL, "every line, also of libraries whose source is not here"},
    {"from-write", 0, NULL,
     "of output, from the call that wrote it; else from its buffer's filling"},
    {"no-exits", 0, NULL, "what decided not to exit, abort or longjmp controls nothing"},
    {"no-bypass", 0, NULL, "show the saving and restoring of registers around calls too"},
    {"loader", 0, NULL, "follow the dynamic linker too, which is passed by otherwise"},
    {0},
};

const struct cli_syntax cli_cmd_slice_syntax = {
    .example = "slice backward --data output:28",
    .usage =
        "backward|forward [--data|--control|--thin] CRITERION [--instances] [--limit N] [--all]",
    .options = options,
    .operands_min = 1,
    .operands_max = 2,
    .details =
        "Backward: which executed instructions made a value what it is, by source line, most\n"
        "recent first. Forward: which ones depend on it, earliest first, and what of the output\n"
        "they came to. CRITERION is one of\n"
        "  crash                       what the signal that ended the run was due to\n"
        "  exit                        the exit status\n"
        "  output[:FD]:OFFSET[+LEN]    bytes that were written (see 'output'), from where the\n"
        "                              program put them into the buffer that was written\n"
        "  output:PATH:OFFSET[+LEN]    bytes of a file that the program wrote, as it left it\n"
        "  output[:FD|:PATH]:end       why there was no more of it\n"
        "  input[:FD|:PATH]:OFFSET[+LEN]  bytes that were read, from descriptor 0 by default\n"
        "  argv:N, env:NAME            an argument, a variable of the environment;\n"
        "                              :OFFSET[+LEN] behind it for bytes of it\n"
        "  FILE:LINE[#K][:VARIABLE]    a variable just before a line ran the K-th time, or all\n"
        "                              that the line used; without #K, the last time\n"
        "  FUNCTION[#K]                its K-th call: why it was called, and its arguments\n"
        "  VARIABLE[@TIME]             a variable, member or element as 'print' takes it\n"
        "  *ADDRESS[+LEN][@TIME]       bytes of memory just before TIME; without @TIME, now\n"
        "  $REGISTER[@TIME]            a register, a part of one ($ah, $xmm3) or a flag ($zf)",
};

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
        cli_json_set(row, "edge", cli_json_text(wetdbg_edge_name(instance->edge)));
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

struct view {
    struct cli_session *session;
    const struct wetdbg_slice *slice;
    struct cli_slice_threads *threads; /* NULL: there is one only */
    const struct wetdbg_slice_line *lines;
    size_t count;
    uint64_t limit;
    bool has_instances;
    bool shows_all;
};

static int show_instances(const struct view *view, size_t index, json_t *array)
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

static void print_line(const struct view *view, struct names *names, size_t index, int width)
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
    fputs("  | ", out->stream);
    cli_out_text(out, text);
    putc('\n', out->stream);
    free(where);
}

#define GROUPS_SHOWN 10 /* unless all are asked for */

static void print_groups(const struct view *view)
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

static bool is_shown(const struct view *view, const struct wetdbg_slice_line *line)
{
    if (view->shows_all)
        return line->file != NULL;
    return cli_slice_line_is_readable(view->session, line);
}

static int where_width(const struct view *view)
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

static int print_lines(const struct view *view)
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

static int print_text(const struct view *view, const struct wetdbg_criterion_info *info)
{
    struct cli_out *out = view->session->out;
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    bool is_forward = view->session->is_forward;
    cli_out_text(out, is_forward ? info->source : info->description);
    if (info->written && !is_forward)
        fprintf(out->stream,
                "\n(from there to the write at time %" PRIu64 " it is one step, %" PRIu64
                " instructions; --from-write follows it)",
                info->written, info->written - info->born.time);
    fprintf(out->stream,
            "\n%s %sslice: %" PRIu64 " instances of %" PRIu64 " instructions in %" PRIu64
            " lines (%.2f s)\n",
            cli_kinds_name(view->session->kinds), is_forward ? "forward " : "", counts->instances,
            counts->statements, counts->lines, counts->seconds);
    if (counts->unknown_calls)
        fprintf(out->stream,
                "(approximate: what %" PRIu64 " system call%s read is not known, no signature)\n",
                counts->unknown_calls, counts->unknown_calls == 1 ? "" : "s");
    int err = print_lines(view);
    if (err)
        return err;
    print_groups(view);
    if (is_forward)
        cli_slice_reached_print(view->session, view->slice, view->shows_all);
    else
        cli_slice_initials_print(view->session, view->slice, view->shows_all);
    cli_uncertain_print(view->session, info->time);
    return 0;
}

/* ---- JSON ---- */

static json_t *json_of_line(const struct view *view, size_t index)
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
    cli_json_set(row, "text",
                 cli_json_text(cli_source_text(view->session, line->file, line->line, line->pc)));
    return row;
}

/* Where output was put into its buffer, if the slice begins there. */
static json_t *json_of_birth(const struct view *view, const struct wetdbg_criterion_info *info)
{
    struct cli_place place;
    if (!info->written)
        return json_null();
    json_t *object = json_object();
    cli_json_set(object, "time", cli_json_count(info->born.time));
    cli_place_of_pc(view->session, info->born.pc, &place);
    place.file = info->born.file;
    place.line = info->born.line;
    place.function = info->born.function;
    place.text = cli_source_text(view->session, place.file, place.line, place.pc);
    cli_place_to_json(object, &place);
    cli_json_set(object, "written", cli_json_count(info->written));
    return object;
}

static int print_json(const struct view *view, const struct wetdbg_criterion_info *info)
{
    const struct wetdbg_slice_counts *counts = wetdbg_slice_get_counts(view->slice);
    json_t *object = cli_json_object("wetdbg.slice/1");
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
    cli_json_set(object, "criterion", cli_json_text(info->text));
    cli_json_set(object, "description",
                 cli_json_text(view->session->is_forward ? info->source : info->description));
    cli_json_set(object, "time", cli_json_count(info->time));
    cli_thread_to_json_at(object, view->session, info->time);
    cli_uncertain_to_json(object, view->session, info->time);
    cli_json_set(object, "birth", json_of_birth(view, info));
    cli_json_set(object, "direction",
                 cli_json_text(view->session->is_forward ? "forward" : "backward"));
    cli_json_set(object, "kinds", cli_json_text(cli_kinds_name(view->session->kinds)));
    cli_json_set(object, "instances", cli_json_count(counts->instances));
    cli_json_set(object, "statements", cli_json_count(counts->statements));
    cli_json_set(object, "line_count", cli_json_count(counts->lines));
    cli_json_set(object, "unknown_calls", cli_json_count(counts->unknown_calls));
    cli_json_set(object, "seconds", json_real(counts->seconds));
    cli_json_set(object, "lines", lines);
    cli_json_set(object, "without_lines", others);
    cli_json_set(object, "initials", cli_slice_initials_json(view->session, view->slice));
    cli_json_set(object, "start", cli_slice_start_json(view->session, view->slice));
    if (view->session->is_forward)
        cli_slice_reached_to_json(object, view->slice);
    if (err)
        json_decref(object);
    else
        cli_out_json(view->session->out, object);
    return err;
}

/* ---- the command ---- */

static int parse_operands(const struct cli_args *args, const char **criterion, bool *is_forward)
{
    static const char *const directions[] = {"backward", "forward"};
    const char *first = args->operands[0];
    size_t length = strlen(first), i = 0;
    while (i < 2 && strncmp(directions[i], first, length) != 0)
        i++;
    if (args->operand_count == 1 && i < 2)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "slice: of what? usage: slice %s",
                           cli_cmd_slice_syntax.usage);
    if (args->operand_count == 2 && i == 2)
        return wetdbg_fail(-WETDBG_ERR_USAGE,
                           "slice: '%s' is no direction; there are 'backward' and 'forward'",
                           first);
    *is_forward = i == 1 && args->operand_count == 2;
    *criterion = args->operands[args->operand_count - 1];
    return 0;
}

int cli_cmd_slice(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct wetdbg_slice_options how = {
        .record_parents = cli_args_has(args, "instances"),
        .no_exits = cli_args_has(args, "no-exits"),
        .no_bypass = cli_args_has(args, "no-bypass"),
        .loader = cli_args_has(args, "loader"),
    };
    struct view view = {
        .session = session,
        .has_instances = how.record_parents,
        .shows_all = cli_args_has(args, "all"),
    };
    struct wetdbg_criterion *criterion;
    struct wetdbg_slice *slice;
    const char *text = NULL;
    bool is_forward = false;
    (void)format;
    int err = parse_operands(args, &text, &is_forward);
    if (!err)
        err = cli_kinds_from(args, &how.kinds);
    if (!err)
        err = cli_args_number(args, "limit", 0, &view.limit);
    if (!err)
        err = cli_slice_criterion(session, text, cli_args_has(args, "from-write"), &criterion);
    if (err)
        return err;
    err = cli_slice_run(session, criterion, &how, is_forward, true, &slice);
    if (err) {
        wetdbg_criterion_free(criterion);
        return err;
    }
    cli_slice_remember(session, criterion, &how, is_forward, NULL);
    view.slice = slice;
    view.lines = wetdbg_slice_lines(slice, &view.count);
    const struct wetdbg_criterion_info *info = wetdbg_criterion_get_info(criterion);
    err = cli_slice_threads_make(session, slice, &view.threads);
    if (!err)
        err = repl->out->json ? print_json(&view, info) : print_text(&view, info);
    cli_slice_threads_free(view.threads);
    if (how.record_parents && !how.no_bypass && !how.loader)
        session->slice = slice;
    else
        wetdbg_slice_free(slice);
    return err;
}

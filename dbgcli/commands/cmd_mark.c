/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `mark`: says of a line or an instance that it is right or wrong; the next round of `prune` begins
 * from there. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/args.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/pruning.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/errors.h>

#define LIMIT_DEFAULT 40

static const struct cli_option options[] = {
    {"limit", 0, "N", "at most N lines (40); 0: all"},
    {"all", 0, NULL, "every line, also of libraries, and what only called others"},
    {0},
};

const struct cli_syntax cli_cmd_mark_syntax = {
    .example = "mark good sum.c:12",
    .usage = "[good|bad FILE:LINE|FILE:LINE#K|TIME | clear] [--limit N] [--all]",
    .options = options,
    .next = "more",
    .operands_max = 2,
    .details = "Says what you found out about a line of the slice, in all of its instances there "
               "(of a bad\n"
               "one: in the nearest), in the K-th, or about the instruction at a time: 'good', it "
               "computed\n"
               "what it should; 'bad', it did not. Then prunes once more. Of a bad one what went "
               "into it is\n"
               "sliced from now on. Without operands the marks are listed; 'clear' forgets them.",
};

/* ---- which instances ---- */

struct gathering {
    struct cli_mark *mark;
    uint32_t least; /* distance */
    wetdbg_time nearest;
};

static void add_time(struct cli_mark *mark, wetdbg_time time)
{
    if (mark->count == mark->capacity) {
        mark->capacity = mark->capacity ? 2 * mark->capacity : 8;
        mark->times = cli_realloc(mark->times, mark->capacity, sizeof(*mark->times));
    }
    mark->times[mark->count++] = time;
}

static int gather_instance(void *arg, const struct wetdbg_slice_instance *instance)
{
    struct gathering *gathering = arg;
    if (!gathering->nearest || instance->distance < gathering->least) {
        gathering->nearest = instance->time;
        gathering->least = instance->distance;
    }
    add_time(gathering->mark, instance->time);
    return 0;
}

static bool is_line(const struct wetdbg_slice_line *row, const char *file, uint32_t line)
{
    size_t length = strlen(file);
    if (!row->file || row->line != line || strlen(row->file) < length)
        return false;
    const char *end = row->file + strlen(row->file) - length;
    return strcmp(end, file) == 0 && (end == row->file || end[-1] == '/');
}

static int not_in_slice(const struct cli_session *session, const char *what)
{
    return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                       "%s is not in the slice of %s: a mark there tells nothing about it", what,
                       wetdbg_criterion_get_info(session->criterion)->text);
}

/* All of a line's instances in the slice. */
static int find_line(struct cli_session *session, struct cli_mark *mark, wetdbg_time *nearest)
{
    struct gathering gathering = {.mark = mark};
    char *file;
    uint32_t line;
    size_t count;
    int err = cli_line_parse(mark->text, &file, &line);
    if (err)
        return err;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(session->slice, &count);
    for (size_t i = 0; i < count && !err; i++)
        if (is_line(&lines[i], file, line))
            err = wetdbg_slice_each_line_instance(session->slice, i, gather_instance, &gathering);
    free(file);
    *nearest = gathering.nearest;
    return err || mark->count ? err : not_in_slice(session, mark->text);
}

/* The instructions of one instance of a line that are in the slice. */
static int find_instance(struct cli_session *session, struct cli_mark *mark, wetdbg_time *nearest)
{
    wetdbg_time *times;
    size_t count;
    int err = cli_slice_times(session, mark->text, &times, &count);
    if (err)
        return err;
    for (size_t i = 0; i < count; i++)
        if (wetdbg_slice_contains_time(session->slice, times[i])) {
            *nearest = *nearest ? *nearest : times[i];
            add_time(mark, times[i]);
        }
    free(times);
    return mark->count ? 0 : not_in_slice(session, mark->text);
}

static int find_times(struct cli_session *session, struct cli_mark *mark, wetdbg_time *nearest)
{
    *nearest = 0;
    if (strchr(mark->text, '#'))
        return find_instance(session, mark, nearest);
    if (strchr(mark->text, ':'))
        return find_line(session, mark, nearest);
    int err = cli_time_parse(session, mark->text, nearest);
    if (err)
        return err;
    if (!wetdbg_slice_contains_time(session->slice, *nearest))
        return not_in_slice(session, mark->text);
    add_time(mark, *nearest);
    return 0;
}

/* ---- the command ---- */

static void free_mark(struct cli_mark *mark)
{
    free(mark->text);
    free(mark->times);
}

static void clear(struct cli_pruning *pruning)
{
    while (pruning->mark_count)
        free_mark(&pruning->marks[--pruning->mark_count]);
}

static int list(struct cli_session *session)
{
    const struct cli_pruning *pruning = cli_pruning_of(session);
    struct cli_out *out = session->out;
    if (out->json) {
        json_t *object = cli_json_object("wetdbg.marks/1");
        cli_json_set(object, "marks", cli_marks_to_json(pruning));
        cli_out_json(out, object);
        return 0;
    }
    for (size_t i = 0; i < pruning->mark_count; i++) {
        const struct cli_mark *mark = &pruning->marks[i];
        fprintf(out->stream, "%s  ", mark->is_good ? "good" : "bad ");
        cli_out_text(out, mark->text);
        fprintf(out->stream, "  x%zu\n", mark->count);
    }
    if (!pruning->mark_count)
        fputs("nothing is marked\n", out->stream);
    return 0;
}

/* What went into the instance is what is looked for from now on. */
static int move_back(struct cli_session *session, wetdbg_time time)
{
    struct wetdbg_criterion *criterion;
    int err = wetdbg_criterion_of_instance(session->wet, time, &criterion);
    if (err)
        return err;
    cli_pruning_add_wrong(session->pruning, session->criterion);
    session->criterion = NULL;
    cli_slice_remember(
        session, criterion,
        &(struct wetdbg_slice_options){.kinds = WETDBG_SLICE_FULL, .no_exits = session->no_exits},
        false, NULL);
    cli_pruning_settle(session); /* what was right still is */
    return 0;
}

static int add_mark(struct cli_session *session, const char *text, bool is_good)
{
    struct cli_pruning *pruning = session->pruning;
    struct cli_mark mark = {.is_good = is_good, .text = cli_strdup(text)};
    wetdbg_time nearest;
    int err = find_times(session, &mark, &nearest);
    if (!err && !is_good) {
        if (!strchr(text, '#')) { /* of a line only the nearest instance is meant */
            mark.times[0] = nearest;
            mark.count = 1;
        }
        err = move_back(session, nearest);
    }
    if (err) {
        free_mark(&mark);
        return err;
    }
    pruning->marks = cli_realloc(pruning->marks, pruning->mark_count + 1, sizeof(mark));
    pruning->marks[pruning->mark_count++] = mark;
    return 0;
}

int cli_cmd_mark(struct cli_repl *repl, const struct cli_args *args, const char *format)
{
    struct cli_session *session = repl->session;
    struct cli_prune_view view = {.shows_all = cli_args_has(args, "all"), .judge = CLI_PRUNE_JUDGE};
    const char *verdict = args->operand_count ? args->operands[0] : NULL;
    (void)format;
    int err = cli_args_number(args, "limit", repl->out->json ? 0 : LIMIT_DEFAULT, &view.limit);
    if (err || !verdict)
        return err ? err : list(session);
    if (args->operand_count == 1 && strcmp(verdict, "clear") == 0) {
        clear(cli_pruning_of(session));
        return list(session);
    }
    bool is_good = strcmp(verdict, "good") == 0;
    if (args->operand_count != 2 || (!is_good && strcmp(verdict, "bad") != 0))
        return wetdbg_fail(-WETDBG_ERR_USAGE, "mark: usage: mark %s", cli_cmd_mark_syntax.usage);
    err = cli_prune_begin(session);
    if (!err)
        err = cli_slice_need(session, WETDBG_SLICE_FULL);
    if (!err)
        err = add_mark(session, args->operands[1], is_good);
    return err ? err : cli_prune_round(session, &view);
}

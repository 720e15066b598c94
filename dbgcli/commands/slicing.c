/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/slicing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/slice_groups.h"
#include "dbgcli/commands/slice_implied.h"
#include "dbgcli/meter.h"
#include "dbgcli/nav/place.h"
#include "dbgcli/screen.h"
#include "dbgcli/seconds.h"
#include <wetdbg/errors.h>

#define PATIENCE_SECONDS  0.1 /* before lines of a slice in progress are shown */
#define EARLY_LINES       40  /* shown before the slice is complete */
#define LOOK_INSTRUCTIONS (UINT64_C(1) << 19)
#define LONG_INSTRUCTIONS (UINT64_C(1) << 25) /* behind a first look, for which nobody need wait */

int cli_kinds_from(const struct cli_args *args, enum wetdbg_slice_kinds *kinds)
{
    static const struct {
        const char *option;
        enum wetdbg_slice_kinds kinds;
    } rows[] = {
        {"data", WETDBG_SLICE_DATA},
        {"thin", WETDBG_SLICE_THIN},
        {"control", WETDBG_SLICE_CONTROL},
    };
    unsigned given = 0;
    *kinds = WETDBG_SLICE_FULL;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (cli_args_has(args, rows[i].option)) {
            *kinds = rows[i].kinds;
            given++;
        }
    if (given > 1)
        return wetdbg_fail(-WETDBG_ERR_USAGE, "%s: --data, --control and --thin exclude each other",
                           args->name);
    return 0;
}

const char *cli_kinds_name(enum wetdbg_slice_kinds kinds)
{
    static const char *const names[] = {
        [WETDBG_SLICE_FULL] = "full",
        [WETDBG_SLICE_DATA] = "data",
        [WETDBG_SLICE_THIN] = "thin",
        [WETDBG_SLICE_CONTROL] = "control",
    };
    return names[kinds];
}

static int read_time(void *arg, const char *text, wetdbg_time *time)
{
    return cli_time_parse(arg, text, time);
}

int cli_criterion_parse(struct cli_session *session, const char *text, bool from_write,
                        struct wetdbg_criterion **out)
{
    struct wetdbg_standpoint from = {
        .now = session->time,
        .read_time = read_time,
        .arg = session,
        .from_write = from_write,
        .session = session->slices,
    };
    return wetdbg_criterion_parse(session->wet, text, &from, out);
}

/* ---- while it runs ---- */

struct watch {
    struct cli_session *session;
    struct cli_meter meter;
    double start; /* cli_seconds() */
    double until; /* when it is to be ended; 0: never */
    unsigned line_count;
    struct wetdbg_slice_line lines[EARLY_LINES]; /* strings are the model's */
    const struct wetdbg_slice *look; /* that they are from; NULL: none, or all is on the screen */
};

/* Shows what the first look has: lines, and what has none by function. */
static void print_look(struct watch *watch)
{
    struct cli_out *out = watch->session->out;
    size_t count;
    const struct wetdbg_slice_line *all = wetdbg_slice_lines(watch->look, &count);
    fprintf(out->stream, "%s, while the slice is being completed:\n",
            watch->line_count ? "the nearest lines" : "what is nearest");
    for (unsigned i = 0; i < watch->line_count; i++) {
        const struct wetdbg_slice_line *line = &watch->lines[i];
        struct cli_place place = {.module = line->module, .file = line->file, .line = line->line};
        place.text = cli_source_text(watch->session, line->file, line->line, line->pc);
        fputs("  ", out->stream);
        cli_place_print(out, &place);
        fputs("  ", out->stream);
        cli_out_text(out, line->function);
        fputs("  | ", out->stream);
        cli_out_text(out, place.text);
        putc('\n', out->stream);
    }
    if (!watch->line_count)
        cli_slice_groups_print(watch->session, all, count, false);
    watch->look = NULL;
    fflush(out->stream);
    cli_screen_show(out->screen);
}

/* Shows progress, and says whether to end: the slicer's own loops see an interrupt here. */
static int on_progress(void *arg, uint64_t scanned, uint64_t total)
{
    struct watch *watch = arg;
    if (watch->look && cli_seconds() - watch->start >= PATIENCE_SECONDS)
        print_look(watch);
    int end = cli_meter_update(&watch->meter, scanned, total);
    return watch->until > 0 && cli_seconds() > watch->until ? 1 : end;
}

static int run(struct watch *watch, const struct wetdbg_criterion *criterion,
               const struct wetdbg_slice_options *how, bool is_forward, struct wetdbg_slice **slice)
{
    struct cli_session *session = watch->session;
    struct wetdbg_slice_options options = *how;
    options.session = session->slices;
    options.progress = on_progress;
    options.arg = watch;
    watch->start = cli_seconds();
    cli_meter_begin(&watch->meter, session->out, is_forward ? "looking ahead" : "looking back");
    int result = (is_forward ? wetdbg_slice_forward
                             : wetdbg_slice_backward)(session->wet, criterion, &options, slice);
    cli_meter_end(&watch->meter);
    if (result == -WETDBG_ERR_INTERRUPTED)
        wetdbg_fail(result, "interrupted");
    return result;
}

static int by_distance(const void *left, const void *right)
{
    const struct wetdbg_slice_line *a = left, *b = right;
    if (a->min_distance != b->min_distance)
        return a->min_distance < b->min_distance ? -1 : 1;
    return a->last_time > b->last_time ? -1 : a->last_time < b->last_time;
}

/* Notes the nearest lines of a first look. */
static void note_lines(struct watch *watch, const struct wetdbg_slice *look)
{
    size_t count;
    const struct wetdbg_slice_line *lines = wetdbg_slice_lines(look, &count);
    struct wetdbg_slice_line *sorted = cli_realloc(NULL, count + 1, sizeof(*sorted));
    memcpy(sorted, lines, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), by_distance);
    for (size_t i = 0; i < count && watch->line_count < EARLY_LINES; i++)
        if (cli_slice_line_is_readable(watch->session, &sorted[i]))
            watch->lines[watch->line_count++] = sorted[i];
    free(sorted);
}

/* Whether a slice takes its time once the first look is there. */
static bool is_long(const struct cli_session *session, const struct wetdbg_slice *look,
                    bool is_forward)
{
    wetdbg_time to = wetdbg_slice_get_counts(look)->looked_to;
    if (!to)
        return false;
    return (is_forward ? session->info->last_time - to : to - session->info->first_time) >=
           LONG_INSTRUCTIONS;
}

int cli_slice_run(struct cli_session *session, const struct wetdbg_criterion *criterion,
                  const struct wetdbg_slice_options *how, bool is_forward,
                  const struct wetdbg_slice *look, struct wetdbg_slice **slice)
{
    struct watch watch = {.session = session};
    if (look && session->out->screen) {
        note_lines(&watch, look);
        watch.look = look;
        if (is_long(session, look, is_forward))
            print_look(&watch);
    }
    return run(&watch, criterion, how, is_forward, slice);
}

int cli_slice_run_until(struct cli_session *session, const struct wetdbg_criterion *criterion,
                        const struct wetdbg_slice_options *how, double until,
                        struct wetdbg_slice **slice)
{
    struct watch watch = {.session = session, .until = until};
    return run(&watch, criterion, how, false, slice);
}

int cli_slice_look(struct cli_session *session, const struct wetdbg_criterion *criterion,
                   const struct wetdbg_slice_options *how, bool is_forward,
                   struct wetdbg_slice **look)
{
    struct wetdbg_slice_options options = *how;
    options.record_parents = options.copies_are_near = true;
    options.look = LOOK_INSTRUCTIONS;
    return cli_slice_run(session, criterion, &options, is_forward, NULL, look);
}

int cli_slice_of_set(struct cli_session *session, const struct wetdbg_set *set,
                     struct wetdbg_slice **slice)
{
    struct watch watch = {.session = session};
    const struct wetdbg_slice_options options = {
        .session = session->slices, .progress = on_progress, .arg = &watch};
    watch.start = cli_seconds();
    cli_meter_begin(&watch.meter, session->out, "looking for lines");
    int result = wetdbg_slice_of_set(set, &options, slice);
    cli_meter_end(&watch.meter);
    if (result == -WETDBG_ERR_INTERRUPTED)
        wetdbg_fail(result, "interrupted");
    return result;
}

void cli_slice_remember(struct cli_session *session, struct wetdbg_criterion *criterion,
                        const struct wetdbg_slice_options *how, bool is_forward,
                        struct wetdbg_slice *slice)
{
    wetdbg_slice_free(session->slice);
    wetdbg_criterion_free(session->criterion);
    cli_implied_free(session->implied);
    session->implied = NULL;
    session->criterion = criterion;
    session->kinds = how->kinds;
    session->no_exits = how->no_exits;
    session->is_forward = is_forward;
    session->slice = slice;
}

int cli_slice_need(struct cli_session *session, enum wetdbg_slice_kinds kinds)
{
    struct wetdbg_slice_options how = {
        .kinds = kinds, .no_exits = session->no_exits, .record_parents = true};
    struct wetdbg_slice *slice;
    if (session->implied && kinds == WETDBG_SLICE_FULL)
        cli_implied_follow(session->implied, &how);
    if (session->slice && kinds == session->kinds)
        return 0;
    int err = cli_slice_run(session, session->criterion, &how, session->is_forward, NULL, &slice);
    if (err)
        return err;
    wetdbg_slice_free(session->slice);
    session->slice = slice;
    session->kinds = kinds;
    return 0;
}

int cli_origin_run(struct cli_session *session, const struct wetdbg_criterion *criterion,
                   bool no_bypass, struct wetdbg_origin **origin)
{
    struct watch watch = {.session = session};
    struct wetdbg_slice_options options = {
        .no_bypass = no_bypass, .progress = on_progress, .arg = &watch};
    watch.start = cli_seconds();
    cli_meter_begin(&watch.meter, session->out, "looking back");
    int result = wetdbg_origin(session->wet, criterion, &options, origin);
    cli_meter_end(&watch.meter);
    if (result == -WETDBG_ERR_INTERRUPTED)
        wetdbg_fail(result, "interrupted");
    return result;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_chop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/chop.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/commands/slicing.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/verbs/build_run.h"
#include "dbgcli/verbs/dd_source.h"
#include <wetdbg/errors.h>
#include <wetdbg/record.h>

/* A run that is recorded and opened. */
struct case_run {
    struct wetdbg_dd_recording *recording;
    const struct wetdbg_dd_recorded *recorded;
    struct cli_session session;
};

struct chopping {
    struct cli_app *app;
    const struct cli_dd_go_on *go_on;
    struct wetdbg_dd_options *how;
    const struct wetdbg_dd_result *found;
    struct case_run fail;
    struct cli_dd_sources sources;
    struct wetdbg_criterion *criteria[CLI_DD_SOURCES_MAX];
    size_t criterion_count;
    struct wetdbg_criterion *target;
    struct cli_chop chop;
};

/* ---- the run ---- */

static int record(struct wetdbg_dd_options *how, const struct wetdbg_dd_bytes *input,
                  const struct wetdbg_dd_place *place, struct case_run *run)
{
    cli_interrupt_catch_all();
    int err = wetdbg_dd_record(how, input, place, &run->recording);
    int number = cli_interrupt_signal();
    cli_interrupt_release();
    if (err == -WETDBG_ERR_INTERRUPTED && number != SIGINT)
        wetdbg_die_of(number);
    if (!err)
        run->recorded = wetdbg_dd_recording_get(run->recording);
    return err;
}

static int open_run(struct cli_app *app, struct case_run *run)
{
    struct wetdbg_build_options how = {0};
    char *path;
    double seconds;
    int err = cli_build_wet(run->recorded->trace_dir, &how, &path, &seconds);
    if (err)
        return err;
    err = cli_session_open(&run->session, app->out, path);
    free(path);
    if (!err && wetdbg_is_trusted(run->recorded->trace_dir))
        wetdbg_trust(run->session.wet);
    return err;
}

static void case_close(struct case_run *run, bool is_kept)
{
    cli_session_close(&run->session);
    wetdbg_dd_recording_close(run->recording, is_kept);
    run->recording = NULL;
}

/* ---- what failed ---- */

/* By the oracle, or as the user says; to be freed. NULL, with a sentence, if only the oracle knows. */
static char *target_text(const struct chopping *self)
{
    const struct wetdbg_dd_recorded *run = self->fail.recorded;
    if (self->go_on->target)
        return cli_strdup(self->go_on->target);
    if (self->how->oracle == WETDBG_DD_EXPECT)
        return cli_asprintf("output:%" PRIu64, self->found->wrong_offset);
    if (self->how->oracle != WETDBG_DD_COMMAND || run->signal)
        return cli_strdup("crash");
    if (run->exit_status)
        return cli_strdup("exit");
    wetdbg_fail(
        -WETDBG_ERR_NOT_FOUND,
        "only the oracle knows what is wrong: name it, as for 'slice' (--target=output:28)");
    return NULL;
}

static int find_target(struct chopping *self)
{
    const struct wetdbg_dd_recorded *run = self->fail.recorded;
    bool is_crash = self->how->oracle <= WETDBG_DD_ANY_CRASH;
    if (!run->fails && !(is_crash && run->exit_status))
        return wetdbg_fail(
            -WETDBG_ERR_NOT_FOUND,
            "the program did not fail when it was recorded: it exited with status %d",
            run->exit_status);
    char *text = target_text(self);
    if (!text)
        return -WETDBG_ERR_NOT_FOUND;
    int err = cli_slice_criterion(&self->fail.session, text, false, &self->target);
    free(text);
    return err;
}

/* ---- what made it fail ---- */

/* What of the difference the run took in; without any of it, the sentence of the first that it did not. */
static int find_sources(struct chopping *self)
{
    int err = 0, missed = 0;
    cli_dd_sources_make(self->how, self->found, self->fail.recorded->input, &self->sources);
    if (!self->sources.count)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "what makes the difference is missing from the failing input, so that "
                           "nothing in its run can be sliced from there");
    for (size_t i = self->sources.count; i-- > 0 && !err;) {
        struct wetdbg_criterion *criterion;
        err = cli_criterion_parse(&self->fail.session, self->sources.texts[i], false, &criterion);
        if (!err)
            self->criteria[self->criterion_count++] = criterion;
        missed = err == -WETDBG_ERR_NOT_FOUND ? err : missed;
        err = err == -WETDBG_ERR_NOT_FOUND ? 0 : err;
    }
    return !err && !self->criterion_count ? missed : err;
}

/* ---- both together ---- */

/* By data alone, which is the smaller one; with control only if that leads nowhere. */
static int make_chop(struct chopping *self)
{
    static const enum wetdbg_slice_kinds kinds[] = {WETDBG_SLICE_DATA, WETDBG_SLICE_FULL};
    int err = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++) {
        cli_chop_fini(&self->chop);
        self->chop.session = &self->fail.session;
        self->chop.target = self->target;
        self->chop.kinds = kinds[i];
        err = cli_chop_make(&self->chop, self->criteria, self->criterion_count);
        if (!err && wetdbg_set_count(self->chop.both))
            break;
    }
    return err;
}

static int find_chop(struct chopping *self)
{
    const struct wetdbg_dd_place place = {self->go_on->dir, !self->go_on->is_kept};
    int err = record(self->how, &self->found->fail, &place, &self->fail);
    if (!err)
        err = open_run(self->app, &self->fail);
    if (!err)
        err = find_target(self);
    if (!err)
        err = find_sources(self);
    return err ? err : make_chop(self);
}

/* ---- the answer ---- */

/* How `wetdbg replay` is told: by the name alone where it looks by itself. */
static const char *name_for_replay(const struct chopping *self)
{
    const char *path = self->fail.recorded->trace_dir, *slash = strrchr(path, '/');
    return self->go_on->dir || !slash ? path : slash + 1;
}

static void print_sources(const struct chopping *self)
{
    struct cli_out *out = self->app->out;
    cli_dd_offsets_print(out, self->how, self->found);
    for (size_t i = 0; i < self->criterion_count; i++) {
        cli_out_text(
            out, wetdbg_criterion_get_info(self->criteria[self->criterion_count - 1 - i])->source);
        putc('\n', out->stream);
    }
    if (self->sources.left_out)
        fprintf(out->stream, "(%zu more places are left out)\n", self->sources.left_out);
    fputs("-> ", out->stream);
    cli_out_text(out, wetdbg_criterion_get_info(self->target)->description);
    putc('\n', out->stream);
}

static void print_next(const struct chopping *self)
{
    struct cli_out *out = self->app->out;
    const char *source =
        self->criterion_count ? wetdbg_criterion_get_info(self->chop.source)->text : NULL;
    fputs("next:\n  wetdbg replay ", out->stream);
    cli_out_text(out, name_for_replay(self));
    if (self->target && source) {
        fputs(" -e 'chop ", out->stream);
        cli_out_text(out, source);
        putc(' ', out->stream);
        cli_out_text(out, wetdbg_criterion_get_info(self->target)->text);
        putc('\'', out->stream);
    }
    putc('\n', out->stream);
}

static int print_text(struct chopping *self, int err)
{
    struct cli_out *out = self->app->out;
    struct cli_slice_view view = {.session = &self->fail.session};
    bool has_chop = !err;
    fputs("\nfailure-inducing chop:\n", out->stream);
    if (has_chop) {
        print_sources(self);
        err = cli_chop_print(&self->chop, &view);
    }
    if (err) {
        fputs("none: ", out->stream);
        cli_out_text(out, wetdbg_error(err));
        putc('\n', out->stream);
    }
    if (self->fail.recorded && self->go_on->is_kept)
        print_next(self);
    return 0;
}

static json_t *sources_json(const struct chopping *self)
{
    json_t *list = json_array();
    for (size_t i = 0; i < self->sources.count; i++)
        cli_json_append(list, cli_json_text(self->sources.texts[i]));
    return list;
}

/* The chop's lines are a member of the answer itself, all else about it of an object. */
static int add_json(struct chopping *self, json_t *object, int err)
{
    struct cli_slice_view view = {.session = &self->fail.session};
    json_t *info = json_object(), *lines = NULL;
    bool has_target = !err;
    cli_json_set(info, "sources", sources_json(self));
    cli_json_set(info, "target",
                 has_target ? cli_json_text(wetdbg_criterion_get_info(self->target)->text)
                            : json_null());
    if (!err)
        err = cli_chop_to_json(&self->chop, &view, info);
    lines = err ? NULL : json_incref(json_object_get(info, "lines"));
    json_object_del(info, "lines");
    cli_json_set(object, "chop", lines ? lines : json_null());
    cli_json_set(object, "chop_info", info);
    cli_json_set(object, "no_chop_because", err ? cli_json_text(wetdbg_error(err)) : json_null());
    cli_json_set(object, "recording",
                 self->fail.recorded && self->go_on->is_kept
                     ? cli_json_text(self->fail.recorded->trace_dir)
                     : json_null());
    return 0;
}

int cli_dd_chop(struct cli_app *app, const struct cli_dd_go_on *go_on,
                struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found, json_t *object)
{
    struct chopping self = {.app = app, .go_on = go_on, .how = how, .found = found};
    int err = find_chop(&self);
    bool is_interrupted = err == -WETDBG_ERR_INTERRUPTED;
    if (!is_interrupted)
        err = object ? add_json(&self, object, err) : print_text(&self, err);
    cli_chop_fini(&self.chop);
    for (size_t i = 0; i < self.criterion_count; i++)
        wetdbg_criterion_free(self.criteria[i]);
    wetdbg_criterion_free(self.target);
    cli_dd_sources_free(&self.sources);
    case_close(&self.fail, go_on->is_kept && !is_interrupted);
    return err;
}

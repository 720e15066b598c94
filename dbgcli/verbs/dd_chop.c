/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_chop.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/alloc.h"
#include "dbgcli/commands/chop.h"
#include "dbgcli/commands/origin_place.h"
#include "dbgcli/verbs/dd_absence.h"
#include "dbgcli/verbs/dd_answer.h"
#include "dbgcli/verbs/dd_case.h"
#include "dbgcli/verbs/dd_difference.h"
#include <wetdbg/errors.h>

struct chopping {
    struct cli_app *app;
    const struct cli_dd_go_on *go_on;
    struct wetdbg_dd_options *how;
    const struct wetdbg_dd_result *found;
    struct cli_dd_case fail;
    struct cli_dd_absence absence;
    bool is_absence; /* the failing input has nothing of the difference */
    struct wetdbg_criterion *target;
    const char *because; /* in words, why that is the target; NULL: it was said */
    struct cli_chop chop;
};

/* ---- what failed ---- */

static int nobody_knows(struct chopping *self)
{
    char *example = cli_dd_target_example(&self->fail.session, false);
    int err = wetdbg_fail(
        -WETDBG_ERR_NOT_FOUND,
        "only the oracle knows what is wrong: name it, as for 'slice' (--target=%s), or give a "
        "passing input, too (--pass=FILE), whose output is compared then",
        example);
    free(example);
    return err;
}

/* The failing run's output says it, where it parts from that of the passing one. */
static int find_difference(struct chopping *self, char **text)
{
    if (!self->how->pass)
        return nobody_knows(self);
    int err = cli_dd_absence_open(self->app, self->how, self->found, &self->absence);
    if (!err)
        err = cli_dd_difference(&self->fail.session, &self->absence.pass.session, text,
                                &self->because);
    cli_session_catch(&self->fail.session);
    return err;
}

/* By the oracle, or as the user says; to be freed. */
static int target_text(struct chopping *self, char **text)
{
    const struct wetdbg_dd_recorded *run = self->fail.recorded;
    *text = NULL;
    if (self->go_on->target)
        *text = cli_strdup(self->go_on->target);
    else if (self->how->oracle == WETDBG_DD_EXPECT)
        *text = cli_asprintf("output:%" PRIu64, self->found->wrong_offset);
    else if (self->how->oracle != WETDBG_DD_COMMAND || run->signal)
        *text = cli_strdup("crash");
    else if (run->exit_status)
        *text = cli_strdup("exit");
    return *text ? 0 : find_difference(self, text);
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
    char *text;
    int err = target_text(self, &text);
    if (err)
        return err;
    err = cli_slice_criterion(&self->fail.session, text, false, &self->target);
    free(text);
    return err;
}

/* ---- what led there ---- */

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
        err = cli_chop_make(&self->chop, self->fail.sources, self->fail.source_count);
        if (!err && wetdbg_set_count(self->chop.both))
            break;
    }
    return err;
}

static int find_chop(struct chopping *self)
{
    const struct wetdbg_dd_place place = {self->go_on->dir, !self->go_on->is_kept};
    int err = cli_dd_case_open(self->app, self->how, &self->found->fail, &place, &self->fail);
    if (!err)
        err = find_target(self);
    if (!err)
        err = cli_dd_case_find_sources(&self->fail, self->how, self->found, true);
    if (err)
        return err;
    if (self->fail.texts.count)
        return make_chop(self);
    self->is_absence = true;
    self->chop.target = self->target;
    return cli_dd_absence_chop(self->app, &self->fail, self->how, self->found, &self->absence,
                               &self->chop);
}

/* ---- the answer ---- */

/* How `wetdbg replay` is told: by the name alone where it looks by itself. */
static const char *name_for_replay(const struct chopping *self)
{
    const char *path = self->fail.recorded->trace_dir, *slash = strrchr(path, '/');
    return self->go_on->dir || !slash ? path : slash + 1;
}

static void print_sources(const struct chopping *self, const struct cli_dd_case *run)
{
    struct cli_out *out = self->app->out;
    for (size_t i = run->source_count; i-- > 0;) {
        cli_out_text(out, wetdbg_criterion_get_info(run->sources[i])->source);
        putc('\n', out->stream);
    }
    if (run->texts.left_out)
        fprintf(out->stream, "(%zu more places are left out)\n", run->texts.left_out);
}

static void print_ends(struct chopping *self)
{
    struct cli_out *out = self->app->out;
    if (!self->is_absence) {
        cli_dd_offsets_print(out, self->how, self->found);
        print_sources(self, &self->fail);
    } else {
        cli_dd_absence_print(&self->absence, &self->fail);
        if (self->absence.decision)
            print_sources(self, &self->absence.pass);
    }
    fputs("-> ", out->stream);
    cli_out_text(out, wetdbg_criterion_get_info(self->chop.target)->description);
    putc('\n', out->stream);
    if (self->because)
        fprintf(out->stream, "(%s)\n", self->because);
}

static void print_next(const struct chopping *self)
{
    struct cli_out *out = self->app->out;
    const char *target = self->target ? wetdbg_criterion_get_info(self->target)->text : NULL;
    size_t count = self->fail.source_count; /* the first one is the last */
    const char *source =
        count ? wetdbg_criterion_get_info(self->fail.sources[count - 1])->text : NULL;
    fputs("next:\n  wetdbg replay", out->stream);
    cli_dd_print_word(out, name_for_replay(self));
    if (target) {
        char *command = source ? cli_asprintf("chop %s %s", source, target)
                               : cli_asprintf("slice backward %s", target);
        fputs(" -e", out->stream);
        cli_dd_print_word(out, command);
        free(command);
    }
    putc('\n', out->stream);
}

static int print_text(struct chopping *self, int err)
{
    struct cli_out *out = self->app->out;
    bool has_next = self->fail.recorded && self->go_on->is_kept;
    struct cli_slice_view view = {
        .session = self->chop.session,
        .limit = CLI_SLICE_LINES,
        .rest_hint = has_next ? "the command below shows them, --json has all" : "--json has all",
    };
    fputs("\nfailure-inducing chop:\n", out->stream);
    if (!err) {
        print_ends(self);
        err = cli_chop_print(&self->chop, &view, NULL);
    }
    if (err) {
        fputs("none: ", out->stream);
        cli_out_text(out, wetdbg_error(err));
        putc('\n', out->stream);
    }
    if (has_next)
        print_next(self);
    return 0;
}

static json_t *sources_json(const struct cli_dd_sources *sources)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sources->count; i++)
        cli_json_append(list, cli_json_text(sources->texts[i]));
    return list;
}

/* The chop's lines are a member of the answer itself, all else about it of an object. */
static int add_json(struct chopping *self, json_t *object, int err)
{
    struct cli_slice_view view = {.session = self->chop.session};
    json_t *info = json_object(), *lines = NULL;
    cli_json_set(info, "sources", sources_json(&self->fail.texts));
    cli_json_set(info, "target",
                 self->target ? cli_json_text(wetdbg_criterion_get_info(self->target)->text)
                              : json_null());
    cli_json_set(info, "target_because", cli_json_text(self->because));
    cli_json_set(info, "absence",
                 self->is_absence ? cli_dd_absence_json(&self->absence, &self->fail) : json_null());
    if (!err)
        err = cli_chop_to_json(&self->chop, &view, NULL, info);
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
    wetdbg_criterion_free(self.target);
    cli_dd_absence_fini(&self.absence);
    cli_dd_case_close(&self.fail, go_on->is_kept && !is_interrupted);
    return err;
}

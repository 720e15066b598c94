/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/verbs/dd_absence.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dbgcli/commands/slicing.h"
#include "dbgcli/interrupt.h"
#include "dbgcli/nav/place.h"
#include <wetdbg/decisions.h>
#include <wetdbg/errors.h>
#include <wetdbg/spectrum.h>

static bool is_interrupted(void *arg)
{
    (void)arg;
    return cli_interrupt_is_pending();
}

/* ---- in the failing run ---- */

/* What of the passing run depends on what the failing one lacks. */
static int find_causes(struct cli_dd_absence *absence, struct wetdbg_set **causes)
{
    struct cli_session *session = &absence->pass.session;
    int err = 0;
    *causes = NULL;
    for (size_t i = 0; i < absence->pass.source_count && !err; i++) {
        const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL};
        struct wetdbg_slice *slice;
        struct wetdbg_set *set = NULL, *joined;
        err = cli_slice_run(session, absence->pass.sources[i], &how, true, NULL, &slice);
        if (err == -WETDBG_ERR_NOT_FOUND) {
            err = 0;
            continue;
        }
        if (!err) {
            err = wetdbg_set_of_slice(slice, &set);
            wetdbg_slice_free(slice);
        }
        if (err || !*causes) {
            *causes = err ? *causes : set;
            continue;
        }
        err = wetdbg_set_combine(*causes, WETDBG_SET_OR, set, &joined);
        wetdbg_set_free(set);
        if (!err) {
            wetdbg_set_free(*causes);
            *causes = joined;
        }
    }
    return err;
}

static int chop_of_branch(struct cli_dd_case *fail, struct cli_dd_absence *absence,
                          struct cli_chop *chop)
{
    struct wetdbg_set *causes;
    int err = find_causes(absence, &causes);
    if (!err)
        err = wetdbg_find_parting(fail->session.wet, absence->pass.session.wet, causes,
                                  is_interrupted, NULL, &absence->parting);
    wetdbg_set_free(causes);
    if (err)
        return err;
    absence->has_parting = true;
    err = wetdbg_criterion_of_instance(fail->session.wet, absence->parting.time, &absence->branch);
    if (err)
        return err;
    chop->session = &fail->session;
    chop->kinds = WETDBG_SLICE_FULL; /* of a branch nothing comes but control */
    return cli_chop_make(chop, &absence->branch, 1);
}

/* ---- in the passing run ---- */

/* The branch that was decided for the failure, in the failing run. */
static int find_decision(struct cli_dd_case *fail, const struct wetdbg_criterion *target,
                         uint64_t *pc)
{
    const struct wetdbg_slice_options how = {.kinds = WETDBG_SLICE_FULL, .record_parents = true};
    struct wetdbg_decision *decisions = NULL;
    struct wetdbg_slice *slice;
    size_t count = 0;
    int err = cli_slice_run(&fail->session, target, &how, false, NULL, &slice);
    if (err)
        return err;
    err = wetdbg_slice_decisions(slice, 1, &decisions, &count);
    if (!err && !count)
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no branch of the program decided on the failure");
    if (!err)
        *pc = decisions[0].instance.pc;
    free(decisions);
    wetdbg_slice_free(slice);
    return err;
}

static int chop_of_passing(struct cli_dd_case *fail, struct cli_dd_absence *absence,
                           struct cli_chop *chop)
{
    static const enum wetdbg_slice_kinds kinds[] = {WETDBG_SLICE_DATA, WETDBG_SLICE_FULL};
    struct cli_session *session = &absence->pass.session;
    wetdbg_time time;
    uint64_t pc;
    int err = find_decision(fail, chop->target, &pc);
    if (!err && wetdbg_pc_in_other(fail->session.wet, pc, session->wet, &pc))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "what decided on the failure is in code that the passing run has not");
    if (!err && wetdbg_find_instance(session->wet, &pc, 1, -1, &time))
        err = wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                          "what decided on the failure never ran in the passing run");
    if (!err)
        err = wetdbg_criterion_of_instance(session->wet, time, &absence->decision);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds) && !err; i++) {
        cli_chop_fini(chop);
        chop->session = session;
        chop->target = absence->decision;
        chop->kinds = kinds[i];
        err = cli_chop_make(chop, absence->pass.sources, absence->pass.source_count);
        if (!err && wetdbg_set_count(chop->both))
            break;
    }
    return err;
}

/* ---- both ---- */

int cli_dd_absence_open(struct cli_app *app, const struct wetdbg_dd_options *how,
                        const struct wetdbg_dd_result *found, struct cli_dd_absence *absence)
{
    const struct wetdbg_dd_place place = {.is_temporary = true};
    return absence->pass.recording
               ? 0
               : cli_dd_case_open(app, how, &found->pass, &place, &absence->pass);
}

int cli_dd_absence_chop(struct cli_app *app, struct cli_dd_case *fail,
                        const struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found,
                        struct cli_dd_absence *absence, struct cli_chop *chop)
{
    int err = cli_dd_absence_open(app, how, found, absence);
    if (!err)
        err = cli_dd_case_find_sources(&absence->pass, how, found, false);
    if (err)
        return err;
    err = chop_of_branch(fail, absence, chop);
    bool has_chop = !err && wetdbg_set_count(chop->both);
    if (has_chop || (err && err != -WETDBG_ERR_NOT_FOUND))
        return err;
    return chop_of_passing(fail, absence, chop);
}

void cli_dd_absence_fini(struct cli_dd_absence *absence)
{
    wetdbg_criterion_free(absence->branch);
    wetdbg_criterion_free(absence->decision);
    absence->branch = absence->decision = NULL;
    cli_dd_case_close(&absence->pass, false);
}

/* ---- in words ---- */

void cli_dd_absence_print(const struct cli_dd_absence *absence, struct cli_dd_case *fail)
{
    struct cli_out *out = fail->session.out;
    struct cli_place place;
    for (size_t i = 0; i < absence->pass.texts.count; i++) {
        fputs(i ? ", " : "missing: ", out->stream);
        cli_out_text(out, absence->pass.texts.texts[i]);
    }
    fputs(absence->pass.texts.count ? " of the minimal passing input\n" : "", out->stream);
    if (absence->has_parting) {
        cli_place_of_pc(&fail->session, absence->parting.pc, &place);
        fputs("the runs part at ", out->stream);
        cli_place_print_exact(&fail->session, &place);
        fprintf(out->stream, " (time %" PRIu64 ", in the passing run %" PRIu64 ")%s",
                absence->parting.time, absence->parting.other_time,
                absence->parting.is_cause ? "" : ", but not because of that");
        if (place.text) {
            fputs("  | ", out->stream);
            cli_out_text(out, place.text);
        }
        putc('\n', out->stream);
    }
    if (absence->decision)
        fputs("from there nothing leads to the failure: what did not run is to blame. In the "
              "passing run:\n",
              out->stream);
}

json_t *cli_dd_absence_json(const struct cli_dd_absence *absence, struct cli_dd_case *fail)
{
    json_t *object = json_object(), *missing = json_array();
    struct cli_place place;
    for (size_t i = 0; i < absence->pass.texts.count; i++)
        cli_json_append(missing, cli_json_text(absence->pass.texts.texts[i]));
    cli_json_set(object, "missing", missing);
    json_t *parting = json_null();
    if (absence->has_parting) {
        parting = json_object();
        cli_place_of_pc(&fail->session, absence->parting.pc, &place);
        cli_place_to_json(parting, &place);
        cli_json_set(parting, "time", cli_json_count(absence->parting.time));
        cli_json_set(parting, "pass_time", cli_json_count(absence->parting.other_time));
        cli_json_set(parting, "is_cause", json_boolean(absence->parting.is_cause));
    }
    cli_json_set(object, "parting", parting);
    cli_json_set(object, "chop_of", cli_json_text(absence->decision ? "pass" : "fail"));
    return object;
}

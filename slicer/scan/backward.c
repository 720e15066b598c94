/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Backward slices: passes until nothing that a pass took for granted was wrong.
 *
 * A pass takes for granted that pops restore what was pushed, and that the model knows where
 * indirect jumps go (it is told what the file has of them). What it finds out otherwise is known to
 * the next pass. Each pass only adds to what is known, so that two are nearly always enough; a run
 * that keeps refuting is stopped by treating all pops as loads.
 */
#include <errno.h>
#include <stdlib.h>

#include "common/clock.h"
#include "slicer/scan/implied.h"
#include "slicer/scan/loader.h"
#include "slicer/scan/stretch.h"
#include "slicer/slice_session.h"
#include <wetdbg/errors.h>

#define BYPASS_PASSES_MAX 6
#define PASSES_MAX        32

static void free_tasks(struct slc_scan *scan)
{
    for (unsigned i = 0; i < EVQ_TASKS_MAX; i++) {
        if (scan->tasks[i]) {
            slc_loader_flush(scan->tasks[i]);
            slc_frames_fini(&scan->tasks[i]->frames);
            slc_regs_fini(&scan->tasks[i]->regs);
            free(scan->tasks[i]->carried);
            slc_call_bytes_fini(&scan->tasks[i]->wrote);
        }
        free(scan->tasks[i]);
        scan->tasks[i] = NULL;
    }
}

static void set_kinds(struct slc_scan *scan, enum wetdbg_slice_kinds kinds)
{
    scan->follows_data = kinds != WETDBG_SLICE_CONTROL;
    scan->follows_address = kinds == WETDBG_SLICE_FULL || kinds == WETDBG_SLICE_DATA;
    scan->follows_control = kinds == WETDBG_SLICE_FULL || kinds == WETDBG_SLICE_CONTROL;
    scan->tracks_frames = scan->follows_control;
    for (size_t i = 0; i < scan->criterion->seed_count; i++)
        if (scan->criterion->seeds[i].force != SLC_FORCE_NOT)
            scan->tracks_frames = true;
}

static int run_pass(struct slc_scan *scan)
{
    int err = slc_memory_init(&scan->memory, scan->slice->options.record_parents);

    if (!err && slc_stretch_is_kept(scan))
        slc_memory_log(&scan->memory);
    scan->seed_at = 0;
    scan->is_stale = false;
    scan->landings_asked = 0;
    scan->slice->counts.passes++;
    if (!err)
        err = slc_scan_run(scan);
    slc_memory_fini(&scan->memory);
    slc_held_fini(&scan->held);
    free_tasks(scan);
    return err;
}

static int run_passes(struct slc_scan *scan)
{
    int err = run_pass(scan);

    while (!err && (scan->is_stale || slc_bypass_has_failed(&scan->bypass)) &&
           scan->slice->counts.passes < PASSES_MAX) {
        if (scan->slice->counts.passes >= BYPASS_PASSES_MAX)
            scan->slice->options.no_bypass = scan->bypasses_nothing = true;
        slc_bypass_restart(&scan->bypass);
        err = slc_session_refuse(scan->slice->session, scan->follows_loader, scan->bypass.refused,
                                 scan->bypass.refused_count);
        if (err)
            break;
        if (scan->is_stale)
            slc_code_forget(scan->code);
        slc_slice_restart(scan->slice);
        err = run_pass(scan);
    }
    return err;
}

int wetdbg_slice_backward(struct wetdbg *wet, const struct wetdbg_criterion *criterion,
                          const struct wetdbg_slice_options *options, struct wetdbg_slice **out)
{
    struct slc_arrival arrival = {.is_fit = false};
    struct slc_implicit implicit;
    struct slc_scan scan = {.wet = wet, .criterion = &implicit.criterion, .arrival = &arrival};
    double began = wd_seconds();

    if (criterion->seed_count == 0)
        return wetdbg_fail(-EINVAL, "the criterion names nothing");
    int err = slc_implicit_init(&implicit, criterion, options);
    if (!err && !(scan.slice = slc_slice_new(wet, options)))
        err = -ENOMEM;
    if (err) {
        slc_implicit_fini(&implicit);
        return err;
    }
    scan.slice->options.implicit = NULL;
    scan.slice->options.implicit_count = 0;
    scan.code = scan.slice->code;
    set_kinds(&scan, options->kinds);
    scan.join_mask = scan.code->has_memos ? scan.slice->session->join_mask : 0;
    scan.follows_loader =
        options->loader || slc_code_is_loader(scan.code, wetdbg_criterion_get_info(criterion)->pc);
    const struct slc_refusals *known = &scan.slice->session->refusals[scan.follows_loader];
    err = slc_bypass_know(&scan.bypass, known->pops, known->count);
    if (!err && scan.tracks_frames)
        err = slc_session_tell_jumps(scan.slice->session);
    if (!err)
        err = run_passes(&scan);
    if (!err)
        err = slc_slice_finish(scan.slice);
    slc_bypass_fini(&scan.bypass);
    slc_arrival_free(&arrival);
    slc_implicit_fini(&implicit);
    free(scan.hits.runs);
    if (err) {
        wetdbg_slice_free(scan.slice);
        return err;
    }
    scan.slice->counts.seconds = wd_seconds() - began;
    scan.slice->options.no_bypass = options->no_bypass;
    *out = scan.slice;
    return 0;
}

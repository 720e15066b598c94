/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/reached.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "slicer/channels/channels.h"
#include <wetdbg/errors.h>

int slc_reached_init(struct slc_forward *fwd, struct wetdbg_criterion **crash)
{
    const struct wetdbg_info *info = wetdbg_get_info(fwd->wet);
    int err = slc_session_channels(fwd->slice->session, &fwd->channels);

    *crash = NULL;
    if (err || info->signal == 0 || info->signal_time == 0)
        return err;
    err = wetdbg_criterion_parse(fwd->wet, "crash", NULL, crash);
    if (err == -WETDBG_ERR_NOT_FOUND) /* of a signal from elsewhere */
        err = 0;
    if (!err && *crash)
        fwd->probes = (*crash)->seeds;
    fwd->probe_count = *crash ? (*crash)->seed_count : 0;
    return err;
}

void slc_reached_restart(struct slc_forward *fwd)
{
    fwd->output_at = 0;
    fwd->probe_left = fwd->probe_count;
    fwd->slice->reached_count = 0;
    fwd->slice->reaches_crash = false;
}

/* ---- the crash ---- */

/* What a seed of the crash sees of the source: *seen. */
static int probe(struct slc_forward *fwd, struct slc_fwd_task *task, const struct slc_seed *seed,
                 uint32_t pc_index, const struct ins_info *info, struct slc_sight *seen)
{
    struct slc_sight sight = slc_no_sight();
    struct slc_want control;
    int err = slc_fwd_control(fwd, task, pc_index, &control);

    for (unsigned edge = 0; edge < 3; edge++)
        if (edge != WETDBG_EDGE_ADDRESS || fwd->follows_address || seed->is_fault)
            slc_see_registers(&task->regs, &seed->regs[edge], 0, (enum wetdbg_edge)edge, &sight);
    for (size_t p = 0; p < seed->place_count; p++)
        slc_see_memory(&fwd->memory, seed->places[p].address, seed->places[p].size_bytes,
                       WETDBG_EDGE_VALUE, &sight);
    for (unsigned f = 0; info && f < info->flow_count && seed->uses == SLC_USES_BRANCH; f++)
        if (info->flows[f].kinds & INS_FLOW_BRANCH)
            slc_see_registers(&task->regs, &info->flows[f].value_uses, info->flows[f].halves,
                              WETDBG_EDGE_VALUE, &sight);
    slc_see(&sight, &control, WETDBG_EDGE_CONTROL, INS_LOC_COUNT, 0);
    fwd->slice->reaches_crash |= sight.best.distance != SLC_NOT_WANTED;
    *seen = sight;
    return err;
}

/* The instruction that faulted is an instance of the slice if it would have used something of the
 * source. */
static int probe_fault(struct slc_forward *fwd, struct slc_fwd_task *task,
                       const struct slc_seed *seed, uint32_t pc_index)
{
    struct slc_sight sight;
    int err = probe(fwd, task, seed, pc_index, NULL, &sight);

    if (err || sight.best.distance == SLC_NOT_WANTED)
        return err;
    return slc_slice_add_fault(fwd->slice, seed->time, seed->pc, seed->task, &sight.best,
                               sight.address);
}

/* ---- output ---- */

/* Names the file that a call put something into, if it has a path, and it is known where. */
static void name_file(struct slc_forward *fwd, const struct slc_transfer *transfer,
                      uint64_t skipped, struct wetdbg_slice_reached *piece)
{
    struct slc_files *files = slc_channels_files(fwd->channels);

    if (transfer->file == SLC_NO_FILE || transfer->offset == SLC_OFFSET_UNKNOWN ||
        slc_files_get(files, transfer->file)->kind != SLC_FILE_PATH)
        return;
    piece->path = slc_files_name(files, transfer->file);
    piece->path_offset = piece->path ? transfer->offset + skipped : 0;
}

/* Whether a piece goes on where another one ends. */
static bool goes_on(const struct wetdbg_slice_reached *last,
                    const struct wetdbg_slice_reached *piece)
{
    return last->fd == piece->fd && last->is_control == piece->is_control &&
           last->offset + last->size == piece->offset && last->path == piece->path &&
           (!piece->path || last->path_offset + last->size == piece->path_offset);
}

/* Adds `size` bytes of what a call put out, behind the first `skipped` ones. */
static int add_reached(struct slc_forward *fwd, uint32_t call, uint64_t skipped, uint64_t size,
                       bool is_control)
{
    struct wetdbg_slice *slice = fwd->slice;
    const struct slc_transfer *transfer = slc_channels_call(fwd->channels, call);
    struct wetdbg_slice_reached piece = {
        .fd = transfer->fd,
        .offset = slc_channels_put_out(fwd->channels, call) + skipped,
        .size = size,
        .is_control = is_control,
    };

    name_file(fwd, transfer, skipped, &piece);
    if (slice->reached_count && goes_on(&slice->reached[slice->reached_count - 1], &piece)) {
        slice->reached[slice->reached_count - 1].size += size;
        return 0;
    }
    if (wd_grow(slice->reached, slice->reached_capacity, slice->reached_count + 1))
        return -ENOMEM;
    slice->reached[slice->reached_count++] = piece;
    return 0;
}

/* Marked bytes of a buffer that a call puts out behind the first `skipped` ones; if something
 * marked let the call run, all others, too. */
static int pass_span(struct slc_forward *fwd, uint32_t call, uint64_t skipped,
                     const struct slc_span *span, bool is_let)
{
    uint64_t at = span->address, end = span->address + span->size;
    int err = 0;

    while (at < end && !err) {
        uint64_t first = at, run;
        bool is_marked = slc_memory_next(&fwd->memory, &first, end);
        if (!is_marked)
            first = end;
        if (is_let && first > at)
            err = add_reached(fwd, call, skipped + (at - span->address), first - at, true);
        for (run = first; run < end; run++) {
            uint64_t byte = run;
            if (!slc_memory_next(&fwd->memory, &byte, run + 1))
                break;
        }
        if (run > first && !err)
            err = add_reached(fwd, call, skipped + (first - span->address), run - first, false);
        at = run > first ? run : end;
    }
    return err;
}

static int pass_output(struct slc_forward *fwd, uint32_t call, bool is_let)
{
    const struct slc_transfer *transfer = slc_channels_call(fwd->channels, call);
    struct slc_buffers buffers;
    uint64_t skipped = 0;

    if (transfer->kind == SLC_TRANSFER_PASS)
        return is_let ? add_reached(fwd, call, 0, transfer->size, true) : 0;
    if (!is_let && !fwd->memory.word_count)
        return 0;
    int err = slc_channels_buffers(fwd->channels, call, &buffers);
    for (size_t i = 0; i < buffers.count && !err; i++) {
        err = pass_span(fwd, call, skipped, &buffers.spans[i], is_let);
        skipped += buffers.spans[i].size;
    }
    return err;
}

int slc_reached_passed(struct slc_forward *fwd, uint32_t call, uint64_t first, uint64_t size)
{
    return add_reached(fwd, call, first, size, false);
}

/* When the crash is looked at next. */
static wetdbg_time next_probe(const struct slc_forward *fwd)
{
    const struct slc_seed *seed = fwd->probe_left ? &fwd->probes[fwd->probe_left - 1] : NULL;
    return seed && !seed->is_fault ? seed->time : UINT64_MAX;
}

/* When something is put out next, `from` or later; UINT64_MAX: never. */
static wetdbg_time next_output(struct slc_forward *fwd, wetdbg_time from)
{
    const struct slc_transfer *transfer;

    while ((transfer = slc_channels_call(fwd->channels, fwd->output_at)) &&
           (transfer->time < from || !slc_transfer_is_output(transfer)))
        fwd->output_at++;
    return transfer ? transfer->time : UINT64_MAX;
}

wetdbg_time slc_reached_next(struct slc_forward *fwd, wetdbg_time from)
{
    wetdbg_time time = next_probe(fwd), output = next_output(fwd, from);

    return output < time ? output : time;
}

int slc_reached_pass(struct slc_forward *fwd, struct slc_fwd_task *task,
                     const struct slc_node *node, uint32_t statement, wetdbg_time time)
{
    const struct ins_info *info = node->wet->statements[statement].info;
    struct slc_want control = slc_no_want();
    struct slc_sight sight;
    int err = 0;

    while (next_probe(fwd) <= time && !err) {
        const struct slc_seed *seed = &fwd->probes[--fwd->probe_left];
        if (seed->time == time)
            err = probe(fwd, task, seed, node->pc_index[statement], info, &sight);
    }
    if (err || info->klass != INS_SYSCALL || (node->is_loader && !fwd->follows_loader))
        return err;
    if (next_output(fwd, time) == time)
        err = slc_fwd_control(fwd, task, node->pc_index[statement], &control);
    for (; !err && next_output(fwd, time) == time; fwd->output_at++)
        err = pass_output(fwd, fwd->output_at, control.distance != SLC_NOT_WANTED);
    return err;
}

int slc_reached_end(struct slc_forward *fwd)
{
    int err = 0;

    while (fwd->probe_left && !err) {
        const struct slc_seed *seed = &fwd->probes[--fwd->probe_left];
        struct slc_fwd_task *task = seed->task < EVQ_TASKS_MAX ? fwd->tasks[seed->task] : NULL;
        uint32_t pc_index = slc_code_pc(fwd->code, seed->pc);
        if (pc_index == SLC_UNKNOWN)
            return -ENOMEM;
        if (seed->is_fault && task)
            err = probe_fault(fwd, task, seed, pc_index);
    }
    return err;
}

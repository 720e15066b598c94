/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/crossing.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "slicer/forward/forward_memo.h"
#include "slicer/forward/reached.h"
#include "slicer/scan/footprint.h"

#define FRAMES_MAX 4096  /* deeper stacks are not copied for each part */
#define KEPT_MAX   65536 /* branches of them */
#define PARTS_BITS 5     /* parts of a stretch are at most so much smaller */

void slc_crossing_fini(struct slc_crossing *crossing)
{
    slc_approach_fini(&crossing->approach);
    *crossing = (struct slc_crossing){.part = NULL};
}

bool slc_crossing_is_kept(const struct slc_forward *fwd)
{
    return fwd->slice->options.session && !fwd->look_end && fwd->code->has_memos &&
           fwd->follows_data && fwd->follows_address && fwd->follows_control &&
           !fwd->slice->options.record_parents;
}

static uint32_t mode_of(const struct slc_forward *fwd)
{
    return (uint32_t)fwd->follows_loader | (uint32_t)fwd->slice->options.no_bypass << 1 |
           (uint32_t)fwd->code->no_exits << 2;
}

/* ---- parts ---- */

static wetdbg_time time_of(const struct slc_forward *fwd, size_t exec)
{
    const struct wet_interval *interval = fwd->interval;

    return interval->first_time +
           (exec < interval->exec_count ? interval->execs[exec].time_off : interval->instructions);
}

static size_t number_of(const struct slc_forward *fwd, size_t exec)
{
    return fwd->interval->execs[exec].time_off >> fwd->slice->session->stretch_bits;
}

/* Whether a part may begin with an execution: a stretch does, or something happened since the one
 * before began. Events up to it have been passed. */
static bool is_border(const struct slc_forward *fwd, size_t e)
{
    const struct wet_event *events = fwd->interval->events;

    return e == 0 || number_of(fwd, e - 1) != number_of(fwd, e) ||
           (fwd->event_at && events[fwd->event_at - 1].time >= time_of(fwd, e - 1));
}

/* The end of the executions from `e` on in one stretch up to the one in or after which something
 * happens; that one by itself if it is `e`. */
static size_t part_end(const struct slc_forward *fwd, size_t e)
{
    const struct wet_interval *interval = fwd->interval;
    size_t number = number_of(fwd, e);
    size_t end = wd_bisect(e, interval->exec_count, i, number_of(fwd, i) == number);

    if (fwd->event_at == interval->event_count)
        return end;
    wetdbg_time time = interval->events[fwd->event_at].time;
    size_t at = wd_bisect(e, end, i, time_of(fwd, i) <= time); /* behind the execution */
    if (at < end || time < time_of(fwd, end))
        end = at > e + 1 ? at - 1 : e + 1;
    return end;
}

/* ---- how a pass comes ---- */

static int add_registers(struct slc_approach *approach, const struct slc_fwd_task *task,
                         const struct slc_needs *needs)
{
    const struct slc_regs *regs = &task->regs;
    int err = 0;

    for (unsigned l = ins_regset_next(&needs->uses, 0); l < INS_LOC_COUNT && !err;
         l = ins_regset_next(&needs->uses, l + 1)) {
        uint64_t bits = (uint64_t)ins_regset_has(&regs->address, l) << 32;
        bool is_narrow = ins_regset_has(&regs->narrow, l);
        if (ins_regset_has(&regs->value, l))
            bits |= is_narrow ? slc_regs_narrow_mask(regs, l) : UINT32_MAX;
        err = slc_mark_list_add(&approach->marks, SLC_MARK_KEY(SLC_MARK_REGISTER, l), bits);
    }
    bool is_marked = task->last_mark.distance != SLC_NOT_WANTED;
    return err ? err
               : slc_mark_list_add(&approach->marks, SLC_MARK_KEY(SLC_MARK_REGISTER, INS_LOC_COUNT),
                                   is_marked);
}

/* Notes of saved registers that may be taken: those of slots that are needed whole. */
static int add_saves(struct slc_approach *approach, const struct slc_forward *fwd,
                     const struct slc_needs *needs)
{
    int err = 0;

    for (size_t p = 0; p < needs->page_count && fwd->memory.slot_count && !err; p++) {
        const struct slc_needs_page *own = &needs->pages[p];
        const struct slc_page *page = slc_page_find(&fwd->memory, own->number);
        size_t at = own->first;
        for (uint64_t left = page ? own->groups : 0; left; left &= left - 1, at++) {
            unsigned group = (unsigned)__builtin_ctzll(left), slots = slc_page_slots(page, group);
            slots = slots ? slots & slc_mask_whole_slots(needs->words[at].needed) : 0;
            for (; slots && !err; slots &= slots - 1) {
                unsigned s = (unsigned)__builtin_ctz(slots);
                const struct slc_save *save =
                    slc_saves_at(&fwd->saves, own->number * SLC_PAGE_BYTES + 64 * group + 8 * s);
                err = slc_mark_list_add(&approach->marks, SLC_MARK_KEY(SLC_MARK_SAVE, at * 8 + s),
                                        save ? slc_save_word(save) : 0);
            }
        }
    }
    return err;
}

static int add_memory(struct slc_approach *approach, const struct slc_memory *memory,
                      const struct slc_needs *needs)
{
    int err = 0;

    for (size_t p = 0; p < needs->page_count && memory->word_count && !err; p++) {
        const struct slc_needs_page *own = &needs->pages[p];
        const struct slc_page *page = slc_page_find(memory, own->number);
        size_t at = own->first;
        for (uint64_t left = page ? own->groups : 0; left && !err; left &= left - 1, at++) {
            uint64_t bits = page->bytes[__builtin_ctzll(left)] & needs->words[at].needed;
            if (bits)
                err = slc_mark_list_add(&approach->marks, SLC_MARK_KEY(SLC_MARK_MEMORY, at), bits);
        }
    }
    return err;
}

static int compare_cells(const void *a, const void *b)
{
    uint32_t x = ((const struct slc_cell_copy *)a)->branch;
    uint32_t y = ((const struct slc_cell_copy *)b)->branch;
    return x < y ? -1 : x > y;
}

/* The frames, from the top down. */
static int add_frames(struct slc_approach *approach, struct slc_branches *branches)
{
    struct slc_branches_copy *copy = &approach->frames;
    int err = slc_branches_save(branches, 0, 0, copy);
    struct slc_cell_copy *cells = copy->cells + copy->cell_count;

    for (size_t depth = 0; depth < copy->count && !err; depth++) {
        const struct slc_call_copy *call = &copy->calls[copy->count - 1 - depth];
        uint64_t first = (uint64_t)depth << 32;
        cells -= call->cell_count;
        if (call->cell_count)
            qsort(cells, call->cell_count, sizeof(*cells), compare_cells);
        err = slc_mark_list_add(&approach->marks, SLC_MARK_KEY(SLC_MARK_FRAME, first),
                                (call->is_marked ? SLC_FRAME_MAKER : 0u) |
                                    (call->is_live ? SLC_FRAME_LIVE : 0u));
        for (size_t i = 0; i < call->cell_count && !err; i++)
            err = slc_mark_list_add(&approach->marks,
                                    SLC_MARK_KEY(SLC_MARK_FRAME, first + 1 + cells[i].branch),
                                    cells[i].is_marked);
    }
    return err;
}

static int approach_make(struct slc_forward *fwd, struct slc_fwd_task *task,
                         const struct slc_needs *needs, struct slc_approach *approach)
{
    approach->marks.count = 0;
    approach->last = task->last;
    int err = add_registers(approach, task, needs);
    if (!err)
        err = add_saves(approach, fwd, needs);
    if (!err)
        err = add_memory(approach, &fwd->memory, needs);
    return err ? err : add_frames(approach, &task->branches);
}

/* ---- as another pass did ---- */

/* Gives what the part writes the marks that it had afterwards. */
static int take_memory(struct slc_memory *memory, const struct slc_needs *needs,
                       const struct slc_mark_list *after)
{
    const struct slc_mark *mark = after->list, *end = after->list + after->count;

    for (size_t p = 0; p < needs->page_count; p++) {
        const struct slc_needs_page *own = &needs->pages[p];
        size_t at = own->first, last = at + (size_t)__builtin_popcountll(own->groups);
        struct slc_page *page = slc_page_find(memory, own->number);
        if (!page && mark < end && mark->key < last)
            page = slc_memory_page(memory, own->number);
        if (!page && mark < end && mark->key < last)
            return -ENOMEM;
        for (uint64_t left = page ? own->groups : 0; left; left &= left - 1, at++) {
            unsigned group = (unsigned)__builtin_ctzll(left);
            uint64_t *word = &page->bytes[group], was = *word;
            *word = was & ~needs->words[at].written;
            if (mark < end && mark->key == at)
                *word |= mark++->bits;
            memory->word_count += (uint64_t)(*word != 0) - (uint64_t)(was != 0);
            if (slc_page_slots(page, group))
                slc_saves_end_among(memory, page, group, needs->words[at].written);
        }
    }
    return 0;
}

static int take_saves(struct slc_forward *fwd, const struct slc_outcome *outcome)
{
    int err = 0;

    for (size_t i = 0; i < outcome->save_count && !err; i++) {
        const struct slc_save_copy *save = &outcome->saves[i];
        err =
            slc_saves_put(&fwd->saves, &fwd->memory, save->task, save->reg, save->slot, save->word);
    }
    return err;
}

static int take_members(struct slc_forward *fwd, const struct slc_crossing *crossing,
                        const struct slc_outcome *outcome)
{
    uint32_t first = fwd->interval->execs[crossing->first].time_off;
    int err = 0;

    if (outcome->bits && !fwd->bits)
        err = slc_slice_make_bits(fwd->slice, fwd->interval, &fwd->bits);
    for (size_t i = 0; i < outcome->bit_words && outcome->bits && !err; i++)
        fwd->bits[first / 64 + i] |= outcome->bits[i];
    for (size_t i = 0; i < outcome->count_count; i++)
        fwd->slice->counts.instances += outcome->counts[i].instances;
    return err ? err : slc_lines_add(fwd->slice, outcome->counts, outcome->count_count);
}

static int take(struct slc_forward *fwd, struct slc_fwd_task *task,
                const struct slc_crossing *crossing, struct slc_passage *passage)
{
    const struct slc_needs *needs = crossing->part->needs;
    const struct slc_outcome *outcome = &passage->outcome;
    int err = take_memory(&fwd->memory, needs, &outcome->memory);

    if (!err)
        err = take_saves(fwd, outcome);
    if (!err)
        err = slc_branches_take(&task->branches, passage->depth, outcome->is_remade,
                                &outcome->frames);
    if (!err)
        err = take_members(fwd, crossing, outcome);
    slc_regs_remove(&task->regs, &needs->defines);
    slc_regs_join(&task->regs, &outcome->regs);
    if (passage->is_bottom && outcome->bottom_time >= time_of(fwd, crossing->first) &&
        outcome->bottom_time < time_of(fwd, crossing->end)) {
        task->branches.bottom_time = outcome->bottom_time;
        task->branches.is_bottom_caller = outcome->is_bottom_caller;
    }
    task->last = outcome->last;
    task->last_time = outcome->last_time;
    task->last_slot = outcome->last_slot;
    task->last_mark = outcome->is_last_marked ? slc_some_want : slc_no_want();
    fwd->slice->counts.scanned += time_of(fwd, crossing->end) - time_of(fwd, crossing->first);
    fwd->passages->taken++;
    slc_passage_touch(fwd->passages, passage);
    return err;
}

/* ---- coming to a part ---- */

/* Whether nothing but instructions happens there. */
static bool is_quiet(struct slc_forward *fwd, size_t first, size_t end)
{
    wetdbg_time last = time_of(fwd, end) - 1;

    return (fwd->event_at == fwd->interval->event_count ||
            fwd->interval->events[fwd->event_at].time > last) &&
           (fwd->start_at == fwd->start_count || fwd->starts[fwd->start_at].time > last) &&
           slc_reached_next(fwd, time_of(fwd, first)) > last;
}

static bool is_long(const struct slc_forward *fwd, size_t first, size_t end)
{
    return time_of(fwd, end) - time_of(fwd, first) >
           UINT64_C(1) << fwd->slice->session->stretch_bits >> PARTS_BITS;
}

/* Finds the part that lies ahead, NULL if it is not to be kept. 0 or an error. */
static int find_part(struct slc_forward *fwd, struct slc_crossing *crossing,
                     const struct slc_fwd_task *task)
{
    const struct wet_interval *interval = fwd->interval;
    size_t first = crossing->first, end = crossing->end;
    size_t count = (interval->instructions >> fwd->slice->session->stretch_bits) + 1;

    crossing->part = NULL;
    if (!is_long(fwd, first, end) || !is_quiet(fwd, first, end) || !task->last ||
        (!fwd->follows_loader && (task->last->is_loader || task->bracket)) ||
        task->branches.count > FRAMES_MAX || task->branches.kept_count > KEPT_MAX ||
        time_of(fwd, end) > interval->first_time + interval->instructions)
        return 0;
    struct slc_part *part =
        slc_part_of(fwd->passages, interval, first, end, number_of(fwd, first), count);
    if (!part)
        return -ENOMEM;
    if (!part->visits++) /* what is never asked again needs not be kept */
        return 0;
    int err = slc_part_describe(part, fwd->code, interval);
    if (err || part->has_turns || (part->has_loader && !fwd->follows_loader))
        return err;
    int result = slc_part_prepare(fwd->passages, part, fwd->code, interval);
    crossing->part = result > 0 ? part : NULL;
    return result < 0 ? result : 0;
}

/* Begins to watch what passing the part does. */
static int watch(struct slc_forward *fwd, struct slc_fwd_task *task, struct slc_crossing *crossing)
{
    struct slc_branches *branches = &task->branches;

    crossing->is_watched = true;
    crossing->serial = branches->serial;
    branches->lowest = branches->count - 1;
    branches->has_jumped = false;
    slc_fwd_memos_collect(fwd);
    return slc_slice_collect(fwd->slice);
}

int slc_cross(struct slc_forward *fwd, struct slc_crossing *crossing, wetdbg_time from, size_t *e)
{
    int err = 0;
    struct slc_fwd_task *task = slc_fwd_task(fwd, fwd->interval->execs[*e].task, &err);

    crossing->end = part_end(fwd, *e);
    crossing->first = *e;
    if (!task || time_of(fwd, *e) <= from || !is_border(fwd, *e) ||
        (err = find_part(fwd, crossing, task)) || !crossing->part)
        return err;
    err = approach_make(fwd, task, crossing->part->needs, &crossing->approach);
    if (err)
        return err;
    struct slc_passage *passage =
        slc_passage_find(crossing->part, mode_of(fwd), &crossing->approach);
    if (!passage)
        return watch(fwd, task, crossing);
    *e = crossing->end;
    return take(fwd, task, crossing, passage);
}

/* ---- what was done ---- */

static int list_memory(const struct slc_forward *fwd, const struct slc_needs *needs,
                       struct slc_outcome *outcome)
{
    int err = 0;

    for (size_t p = 0; p < needs->page_count && !err; p++) {
        const struct slc_needs_page *own = &needs->pages[p];
        const struct slc_page *page = slc_page_find(&fwd->memory, own->number);
        size_t at = own->first;
        for (uint64_t left = page ? own->groups : 0; left && !err; left &= left - 1, at++)
            err = slc_mark_list_add(&outcome->memory, at,
                                    page->bytes[__builtin_ctzll(left)] & needs->words[at].written);
    }
    return err;
}

/* Adds the notes of one word of the needs; those of slots that were written. */
static int list_slots(const struct slc_forward *fwd, struct slc_outcome *outcome, size_t *capacity,
                      uint64_t address, unsigned slots, size_t at)
{
    for (; slots; slots &= slots - 1) {
        uint64_t slot = address + 8 * (unsigned)__builtin_ctz(slots);
        const struct slc_save *save = slc_saves_at(&fwd->saves, slot);
        if (!save)
            continue;
        if (wd_grow(outcome->saves, *capacity, outcome->save_count + 1))
            return -ENOMEM;
        outcome->saves[outcome->save_count++] =
            (struct slc_save_copy){slot, save->task, save->reg, slc_save_word(save), (uint32_t)at};
    }
    return 0;
}

static int list_saves(const struct slc_forward *fwd, const struct slc_needs *needs,
                      struct slc_outcome *outcome)
{
    size_t capacity = 0;
    int err = 0;

    for (size_t p = 0; p < needs->page_count && fwd->memory.slot_count && !err; p++) {
        const struct slc_needs_page *own = &needs->pages[p];
        const struct slc_page *page = slc_page_find(&fwd->memory, own->number);
        size_t at = own->first;
        for (uint64_t left = page ? own->groups : 0; left && !err; left &= left - 1, at++) {
            unsigned group = (unsigned)__builtin_ctzll(left), slots = slc_page_slots(page, group);
            if (slots)
                err = list_slots(fwd, outcome, &capacity, own->number * SLC_PAGE_BYTES + 64 * group,
                                 slots & slc_mask_slots(needs->words[at].written), at);
        }
    }
    return err;
}

/* The part's members in the interval's bitmap. */
static int list_bits(const struct slc_forward *fwd, const struct slc_crossing *crossing,
                     struct slc_outcome *outcome)
{
    uint64_t first = fwd->interval->execs[crossing->first].time_off, any = 0;
    uint64_t end = time_of(fwd, crossing->end) - fwd->interval->first_time;

    assert(first < end && end <= fwd->interval->instructions);
    outcome->bit_words = (size_t)((end - 1) / 64 - first / 64 + 1);
    if (!fwd->bits)
        return 0;
    outcome->bits = malloc(outcome->bit_words * sizeof(*outcome->bits));
    if (!outcome->bits)
        return -ENOMEM;
    memcpy(outcome->bits, fwd->bits + first / 64, outcome->bit_words * sizeof(*outcome->bits));
    outcome->bits[0] &= UINT64_MAX << (first % 64);
    outcome->bits[outcome->bit_words - 1] &= UINT64_MAX >> (63 - (end - 1) % 64);
    for (size_t i = 0; i < outcome->bit_words; i++)
        any |= outcome->bits[i];
    if (!any) {
        free(outcome->bits);
        outcome->bits = NULL;
    }
    return 0;
}

static int list_counts(const struct slc_code *code, struct slc_outcome *outcome)
{
    outcome->counts = malloc((code->counted_count + 1) * sizeof(*outcome->counts));
    if (!outcome->counts)
        return -ENOMEM;
    for (uint32_t i = 0; i < code->counted_count; i++)
        outcome->counts[outcome->count_count++] = code->pcs[code->counted[i]].tally;
    return 0;
}

/* What passing the part has done; not if a handler's frame was in it, or jumps left frames. 1, 0 or
 * -ENOMEM. */
static int outcome_make(struct slc_forward *fwd, struct slc_fwd_task *task,
                        const struct slc_crossing *crossing, struct slc_outcome *outcome)
{
    const struct slc_needs *needs = crossing->part->needs;
    struct slc_branches *branches = &task->branches;
    size_t lowest = branches->lowest;
    int err = slc_branches_save(branches, lowest, time_of(fwd, crossing->first), &outcome->frames);

    if (err)
        return err;
    outcome->is_remade = branches->frames[lowest].serial > crossing->serial;
    outcome->bottom_time = branches->bottom_time;
    outcome->is_bottom_caller = branches->is_bottom_caller;
    for (size_t i = 0; i < outcome->frames.count; i++)
        if (outcome->frames.calls[i].is_signal)
            return 0;
    outcome->regs = task->regs;
    slc_regs_keep(&outcome->regs, &needs->defines);
    outcome->last = task->last;
    outcome->last_time = task->last_time;
    outcome->last_slot = task->last_slot;
    outcome->is_last_marked = task->last_mark.distance != SLC_NOT_WANTED;
    err = err ? err : list_memory(fwd, needs, outcome);
    err = err ? err : list_saves(fwd, needs, outcome);
    err = err ? err : list_bits(fwd, crossing, outcome);
    err = err ? err : list_counts(fwd->code, outcome);
    return err ? err : 1;
}

int slc_crossing_end(struct slc_forward *fwd, struct slc_crossing *crossing)
{
    struct slc_outcome outcome = {.bits = NULL};
    uint32_t number = fwd->interval->execs[crossing->first].task;
    struct slc_fwd_task *task = fwd->tasks[number];

    if (!crossing->is_watched)
        return 0;
    crossing->is_watched = false;
    slc_fwd_memos_collect(fwd);
    if (!fwd->is_stale && !task->branches.has_jumped && !task->bracket) {
        slc_code_collect(fwd->code);
        size_t depth = crossing->approach.frames.count - task->branches.lowest;
        int result = outcome_make(fwd, task, crossing, &outcome);
        if (result > 0)
            result = slc_passage_keep(fwd->passages, crossing->part, mode_of(fwd),
                                      &crossing->approach, depth, &outcome);
        else
            slc_outcome_fini(&outcome);
        if (result < 0)
            return result;
    }
    slc_part_leave(crossing->part);
    return slc_slice_collect(fwd->slice);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/stretch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define FRAMES_MAX 4096 /* deeper stacks are not copied for each stretch */
#define SAVED_MAX  4096

/* ---- which stretches ---- */

bool slc_stretch_is_kept(const struct slc_scan *scan)
{
    return scan->slice->options.session && scan->follows_data && scan->follows_address &&
           scan->follows_control && !scan->slice->options.record_parents;
}

static uint32_t mode_of(const struct slc_scan *scan)
{
    return (uint32_t)scan->follows_loader | (uint32_t)scan->slice->options.no_bypass << 1 |
           (uint32_t)scan->bypasses_nothing << 2 | (uint32_t)scan->code->no_exits << 3;
}

/* ---- arriving ---- */

void slc_arrival_free(struct slc_arrival *arrival)
{
    slc_frames_copy_free(&arrival->frames);
    free(arrival->saved);
    free(arrival->words.words);
    *arrival = (struct slc_arrival){0};
}

static bool is_plain(const struct slc_scan *scan, const struct slc_reach *reach,
                     const struct slc_task *task)
{
    const struct wet_interval *interval = scan->interval;
    wetdbg_time first = interval->first_time + interval->execs[reach->first].time_off;

    if (scan->event_at && interval->events[scan->event_at - 1].time >= first)
        return false;
    if (scan->seed_at < scan->criterion->seed_count &&
        scan->criterion->seeds[scan->seed_at].time >= first)
        return false;
    return task->pending.distance == SLC_NOT_WANTED && !task->aside &&
           task->frames.count <= FRAMES_MAX && scan->bypass.count <= SAVED_MAX;
}

/* Fills `arrival`, except for whether it is fit and its words. Wants of registers that the stretch
 * does not define wait in it, so that those that the stretch adds can be told; of memory they are
 * hidden. 1, or 0 if it cannot be copied, or -ENOMEM. */
static int arrive(struct slc_scan *scan, struct slc_task *task, const struct slc_station *station,
                  struct slc_arrival *arrival)
{
    const struct slc_bypass *bypass = &scan->bypass;

    if (wd_grow(arrival->saved, arrival->saved_capacity, bypass->count))
        return -ENOMEM;
    if (bypass->count)
        memcpy(arrival->saved, bypass->saved, bypass->count * sizeof(*bypass->saved));
    arrival->saved_count = bypass->count;
    arrival->passed = task->regs;
    slc_regs_remove(&arrival->passed, &station->defs);
    slc_regs_keep(&task->regs, &station->defs);
    arrival->regs = task->regs;
    arrival->next = task->next;
    arrival->initial_count = scan->slice->initial_count;
    arrival->refused_count = bypass->refused_count;
    arrival->landings_asked = scan->landings_asked;
    task->frames.lowest = task->frames.count - 1;
    slc_change_begin(&scan->memory, station->footprint);
    return slc_frames_save(&task->frames, 0, &arrival->frames);
}

/* ---- taking over ---- */

static bool is_same_saved(const struct slc_saved *a, const struct slc_saved *b)
{
    return a->slot == b->slot && a->task == b->task && a->reg == b->reg && a->values == b->values &&
           a->addresses == b->addresses;
}

static size_t find_saved(const struct slc_saved *saved, size_t count, uint64_t slot)
{
    while (count && saved[count - 1].slot != slot)
        count--;
    return count; /* index + 1 */
}

static bool has_saved(const struct slc_bypass *bypass, const struct slc_stretch *stretch)
{
    for (size_t i = 0; i < stretch->saved_before_count; i++) {
        const struct slc_saved *kept = &stretch->saved_before[i];
        size_t at = find_saved(bypass->saved, bypass->count, kept->slot);
        if (!at || !is_same_saved(&bypass->saved[at - 1], kept))
            return false;
    }
    return true;
}

static bool is_match(const struct slc_scan *scan, const struct slc_task *task, uint32_t number,
                     const struct slc_word_list *words, const struct slc_stretch *stretch)
{
    return stretch->mode == mode_of(scan) && stretch->task == number &&
           stretch->next_before == task->next &&
           slc_regs_is_same(&stretch->regs_before, &task->regs, &stretch->station->defs) &&
           slc_frames_match(&task->frames, &stretch->frames_before, stretch->lowest) &&
           slc_change_fits(&stretch->memory, words) && has_saved(&scan->bypass, stretch);
}

static int take_saved(struct slc_bypass *bypass, const struct slc_stretch *stretch)
{
    for (size_t i = 0; i < stretch->saved_before_count; i++) {
        size_t at = find_saved(bypass->saved, bypass->count, stretch->saved_before[i].slot);
        memmove(&bypass->saved[at - 1], &bypass->saved[at],
                (bypass->count - at) * sizeof(*bypass->saved));
        bypass->count--;
    }
    for (size_t i = 0; i < stretch->saved_after_count; i++) {
        struct slc_saved *saved = slc_bypass_saved_new(bypass);
        if (!saved)
            return -ENOMEM;
        *saved = stretch->saved_after[i];
    }
    return 0;
}

static int take_members(struct slc_scan *scan, const struct slc_reach *reach,
                        const struct slc_stretch *stretch)
{
    uint32_t first = scan->interval->execs[reach->first].time_off;
    int err = 0;

    if (stretch->bits && !scan->bits)
        err = slc_slice_make_bits(scan->slice, scan->interval, &scan->bits);
    for (size_t i = 0; i < stretch->bit_words && stretch->bits && !err; i++)
        scan->bits[first / 64 + i] |= stretch->bits[i];
    for (size_t i = 0; i < stretch->count_count; i++)
        scan->slice->counts.instances += stretch->counts[i].instances;
    return err ? err : slc_lines_add(scan->slice, stretch->counts, stretch->count_count);
}

static int take(struct slc_scan *scan, const struct slc_reach *reach, struct slc_task *task,
                struct slc_stretch *stretch)
{
    int err = slc_change_apply(&stretch->memory, stretch->station->footprint, &scan->memory);

    if (!err)
        err = take_saved(&scan->bypass, stretch);
    if (!err)
        err = slc_frames_replace(&task->frames, scan->code->classes,
                                 stretch->frames_before.count - stretch->lowest,
                                 &stretch->frames_after);
    if (!err)
        err = take_members(scan, reach, stretch);
    slc_regs_remove(&task->regs, &stretch->station->defs);
    slc_regs_join(&task->regs, &stretch->regs_after);
    task->next = stretch->next_after;
    scan->slice->counts.scanned +=
        slc_reach_end(scan, reach) - scan->interval->execs[reach->first].time_off;
    scan->slice->session->taken++;
    slc_station_touch(scan->slice->session, stretch);
    return err ? err : 1;
}

int slc_stretch_take(struct slc_scan *scan, const struct slc_reach *reach,
                     struct slc_arrival *arrival)
{
    uint32_t number = scan->interval->execs[reach->end - 1].task;
    int err = 0;
    struct slc_task *task = slc_scan_task(scan, number, &err);

    assert(reach->first < reach->end && reach->end <= scan->interval->exec_count);
    arrival->is_fit = false;
    arrival->station = NULL;
    arrival->passed = (struct slc_regs){.wants = NULL};
    if (!task)
        return err;
    if (reach->has_events || !is_plain(scan, reach, task))
        return 0;
    struct wetdbg_slice_session *session = scan->slice->session;
    const struct wet_interval *interval = scan->interval;
    struct slc_station *station = slc_station_of(session, interval, reach);
    if (!station || slc_station_describe(station, scan->code, interval))
        return -ENOMEM;
    if (station->has_turns || (station->has_loader && !scan->follows_loader))
        return 0;
    int result = slc_station_prepare(session, station, scan->code, interval);
    if (result <= 0)
        return result;
    if (slc_words_list(&scan->memory, station->footprint, &arrival->words))
        return -ENOMEM;
    for (struct slc_stretch *stretch = station->first; stretch; stretch = stretch->next)
        if (is_match(scan, task, number, &arrival->words, stretch))
            return take(scan, reach, task, stretch);
    arrival->station = station;
    result = arrive(scan, task, station, arrival);
    arrival->is_fit = result > 0;
    return result < 0 ? result : 0;
}

/* ---- keeping ---- */

static void *copy_of(const void *list, size_t bytes, bool *is_short)
{
    void *copy = malloc(bytes + 1);

    if (copy && bytes)
        memcpy(copy, list, bytes);
    *is_short |= !copy;
    return copy;
}

/* Saved registers that wait in the footprint, and did not do so both before and after. */
static struct slc_saved *saved_in(const struct slc_footprint *footprint,
                                  const struct slc_saved *saved, size_t count,
                                  const struct slc_saved *others, size_t other_count, size_t *kept,
                                  bool *is_short)
{
    struct slc_saved *list = malloc((count + 1) * sizeof(*list));

    *kept = 0;
    *is_short |= !list;
    for (size_t i = 0; i < count && list; i++) {
        if (!slc_footprint_has_slot(footprint, saved[i].slot))
            continue;
        size_t at = find_saved(others, other_count, saved[i].slot);
        if (!at || others[at - 1].pop_time != saved[i].pop_time)
            list[(*kept)++] = saved[i];
    }
    return list;
}

/* Keeps the stretch's members of the interval's bitmap; only words that are wholly of the stretch
 * are kept. */
static void keep_bits(struct slc_stretch *stretch, const struct slc_scan *scan, uint64_t first,
                      uint64_t end, bool *is_short)
{
    uint64_t any = 0;

    assert(first < end && end <= scan->interval->instructions);
    stretch->bit_words = (size_t)((end - 1) / 64 - first / 64 + 1);
    if (!scan->bits)
        return;
    stretch->bits = copy_of(scan->bits + first / 64, stretch->bit_words * 8, is_short);
    if (!stretch->bits)
        return;
    stretch->bits[0] &= UINT64_MAX << (first % 64);
    stretch->bits[stretch->bit_words - 1] &= UINT64_MAX >> (63 - (end - 1) % 64);
    for (size_t i = 0; i < stretch->bit_words; i++)
        any |= stretch->bits[i];
    if (any)
        return;
    free(stretch->bits);
    stretch->bits = NULL;
}

static void keep_counts(struct slc_stretch *stretch, const struct slc_code *code, bool *is_short)
{
    stretch->counts = malloc((code->counted_count + 1) * sizeof(*stretch->counts));
    *is_short |= !stretch->counts;
    for (uint32_t i = 0; i < code->counted_count && stretch->counts; i++)
        stretch->counts[stretch->count_count++] = code->pcs[code->counted[i]].tally;
}

static void keep_tasks(struct slc_stretch *stretch, const struct slc_task *task,
                       const struct slc_arrival *arrival, bool *is_short)
{
    struct slc_frames_copy *before = &stretch->frames_before;

    stretch->regs_before = arrival->regs;
    stretch->regs_after = task->regs;
    stretch->next_before = arrival->next;
    stretch->next_after = task->next;
    stretch->lowest = task->frames.lowest;
    *before = arrival->frames;
    before->frames = copy_of(before->frames, before->count * sizeof(*before->frames), is_short);
    before->classes =
        copy_of(before->classes, before->class_count * sizeof(*before->classes), is_short);
    *is_short |= slc_frames_save(&task->frames, stretch->lowest, &stretch->frames_after) <= 0;
}

static void keep_saved(struct slc_stretch *stretch, const struct slc_footprint *footprint,
                       const struct slc_bypass *bypass, const struct slc_arrival *arrival,
                       bool *is_short)
{
    stretch->saved_before = saved_in(footprint, arrival->saved, arrival->saved_count, bypass->saved,
                                     bypass->count, &stretch->saved_before_count, is_short);
    stretch->saved_after = saved_in(footprint, bypass->saved, bypass->count, arrival->saved,
                                    arrival->saved_count, &stretch->saved_after_count, is_short);
}

static uint64_t bytes_of(const struct slc_stretch *stretch)
{
    return sizeof(*stretch) + slc_change_bytes(&stretch->memory) +
           stretch->count_count * sizeof(*stretch->counts) +
           (stretch->bits ? stretch->bit_words * 8 : 0) +
           (stretch->frames_before.count + stretch->frames_after.count) *
               sizeof(struct slc_frame_copy) +
           (stretch->frames_before.class_count + stretch->frames_after.class_count) * 4 +
           (stretch->saved_before_count + stretch->saved_after_count) * sizeof(struct slc_saved);
}

static struct slc_stretch *stretch_make(struct slc_scan *scan, const struct slc_reach *reach,
                                        const struct slc_task *task,
                                        const struct slc_arrival *arrival)
{
    const struct slc_footprint *footprint = arrival->station->footprint;
    struct slc_stretch *stretch = calloc(1, sizeof(*stretch));
    bool is_short = false;

    assert(arrival->station && arrival->station->footprint);
    if (!stretch)
        return NULL;
    stretch->interval = scan->interval->index;
    stretch->mode = mode_of(scan);
    stretch->task = scan->interval->execs[reach->first].task;
    keep_tasks(stretch, task, arrival, &is_short);
    keep_saved(stretch, footprint, &scan->bypass, arrival, &is_short);
    is_short |= slc_change_make(&stretch->memory, &scan->memory, footprint, &arrival->words) != 0;
    keep_counts(stretch, scan->code, &is_short);
    keep_bits(stretch, scan, scan->interval->execs[reach->first].time_off,
              slc_reach_end(scan, reach), &is_short);
    stretch->bytes = bytes_of(stretch);
    if (!is_short)
        return stretch;
    slc_stretch_free(stretch);
    return NULL;
}

int slc_stretch_keep(struct slc_scan *scan, const struct slc_reach *reach,
                     struct slc_arrival *arrival)
{
    uint32_t number = scan->interval->execs[reach->end - 1].task;
    struct slc_task *task = scan->tasks[number];
    bool is_fit = arrival->is_fit && !scan->memory.is_blurred && !scan->is_stale && !task->aside &&
                  task->pending.distance == SLC_NOT_WANTED &&
                  scan->slice->initial_count == arrival->initial_count &&
                  scan->bypass.refused_count == arrival->refused_count &&
                  scan->landings_asked == arrival->landings_asked;

    slc_code_collect(scan->code);
    if (is_fit) {
        struct slc_stretch *stretch = stretch_make(scan, reach, task, arrival);
        if (stretch)
            slc_station_keep(scan->slice->session, arrival->station, stretch);
    }
    if (arrival->station)
        slc_station_leave(arrival->station);
    slc_memory_unhide(&scan->memory);
    slc_regs_join(&task->regs, &arrival->passed);
    return slc_slice_collect(scan->slice);
}

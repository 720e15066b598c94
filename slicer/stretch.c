/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/stretch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 4096 /* deeper stacks are not copied for each stretch */
#define SAVED_MAX  4096

/* What happened to a page; its words are in the stretch's `words` from `first` on. */
struct page_change {
    uint64_t number;
    uint64_t looked; /* words that had to be as they were ... */
    uint64_t added;  /* ... and others of which bytes are wanted besides */
    size_t first;
};

struct word_change {
    uint64_t before, after; /* of added words: what was added */
    uint8_t slots_before, slots_after;
};

struct slc_stretch {
    struct slc_stretch *next, **link; /* of the same place */
    struct slc_stretch *newer, *older;
    uint64_t bytes;    /* that it takes */
    uint64_t interval; /* place */
    uint32_t mode, task;
    struct slc_regs regs_before, regs_after;
    const struct slc_node *next_before, *next_after;
    struct slc_frames_copy frames_before, frames_after;
    size_t
        lowest; /* of frames_before: the first that played a part; those of frames_after begin there */
    struct slc_saved *saved_before, *saved_after;
    size_t saved_before_count, saved_after_count;
    struct page_change *pages;
    size_t page_count;
    struct word_change *words;
    size_t word_count;
    struct slc_count *counts;
    size_t count_count;
    uint64_t *bits; /* of the words that hold its members, NULL if it has none */
    size_t bit_words;
};

/* ---- places ---- */

bool slc_stretch_is_kept(const struct slc_scan *scan)
{
    return scan->slice->options.session && scan->follows_data && scan->follows_address &&
           scan->follows_control && !scan->slice->options.record_parents;
}

static uint32_t mode_of(const struct slc_scan *scan)
{
    return (uint32_t)scan->follows_loader | (uint32_t)scan->slice->options.no_bypass << 1;
}

static uint32_t number_of(const struct slc_scan *scan, size_t exec)
{
    return scan->interval->execs[exec].time_off >> scan->slice->session->stretch_bits;
}

struct slc_reach slc_stretch_before(const struct slc_scan *scan, size_t end)
{
    struct slc_reach reach = {.end = end, .number = number_of(scan, end - 1)};
    size_t low = 0, high = end - 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (number_of(scan, middle) >= reach.number)
            high = middle;
        else
            low = middle + 1;
    }
    reach.first = low;
    return reach;
}

/* The session's place for a stretch; NULL if memory is short. */
static struct slc_station *place_of(const struct slc_scan *scan, const struct slc_reach *reach)
{
    struct slc_session *session = scan->slice->session;
    uint64_t k = scan->interval->index;
    size_t count = (scan->interval->instructions >> session->stretch_bits) + 1;

    if (!session->places)
        session->places = calloc(session->interval_count + 1, sizeof(struct slc_station *));
    if (!session->places || reach->number >= count)
        return NULL;
    if (!session->places[k])
        session->places[k] = calloc(count, sizeof(struct slc_station));
    return session->places[k] ? &session->places[k][reach->number] : NULL;
}

/* Finds out which registers a stretch defines. 0 or -ENOMEM. */
static int place_describe(struct slc_scan *scan, const struct slc_reach *reach,
                          struct slc_station *place)
{
    struct ins_regset defs = {0};

    for (size_t i = reach->first; i < reach->end; i++) {
        const struct slc_node *node = slc_code_node(scan->code, scan->interval->execs[i].node);
        if (!node)
            return -ENOMEM;
        ins_regset_join(&defs, &node->defs);
        place->has_loader |= node->is_loader;
        place->has_turns |=
            scan->interval->execs[i].task != scan->interval->execs[reach->first].task;
    }
    place->defs = defs;
    place->is_described = true;
    return 0;
}

/* ---- by last use ---- */

static void stretch_unlink(struct slc_session *session, struct slc_stretch *stretch)
{
    *(stretch->newer ? &stretch->newer->older : &session->newest) = stretch->older;
    *(stretch->older ? &stretch->older->newer : &session->oldest) = stretch->newer;
}

static void stretch_link(struct slc_session *session, struct slc_stretch *stretch)
{
    stretch->newer = NULL;
    stretch->older = session->newest;
    *(session->newest ? &session->newest->newer : &session->oldest) = stretch;
    session->newest = stretch;
}

static void stretch_free(struct slc_stretch *stretch)
{
    slc_frames_copy_free(&stretch->frames_before);
    slc_frames_copy_free(&stretch->frames_after);
    free(stretch->saved_before);
    free(stretch->saved_after);
    free(stretch->pages);
    free(stretch->words);
    free(stretch->counts);
    free(stretch->bits);
    free(stretch);
}

static void stretch_drop(struct slc_session *session, struct slc_stretch *stretch)
{
    stretch_unlink(session, stretch);
    session->stretch_bytes -= stretch->bytes;
    *stretch->link = stretch->next;
    if (stretch->next)
        stretch->next->link = stretch->link;
    stretch_free(stretch);
}

void slc_stretches_forget(struct slc_session *session, uint64_t interval)
{
    for (struct slc_stretch *stretch = session->newest, *older; stretch; stretch = older) {
        older = stretch->older;
        if (interval == UINT64_MAX || stretch->interval == interval)
            stretch_drop(session, stretch);
    }
}

/* ---- arriving ---- */

void slc_arrival_free(struct slc_arrival *arrival)
{
    slc_frames_copy_free(&arrival->frames);
    free(arrival->saved);
    *arrival = (struct slc_arrival){0};
}

static bool is_plain(const struct slc_scan *scan, const struct slc_reach *reach,
                     const struct slc_task *task)
{
    const struct wet_interval *interval = scan->interval;
    wet_time first = interval->first_time + interval->execs[reach->first].time_off;

    if (scan->event_at && interval->events[scan->event_at - 1].time >= first)
        return false;
    if (scan->seed_at < scan->criterion->seed_count &&
        scan->criterion->seeds[scan->seed_at].time >= first)
        return false;
    return task->pending.distance == SLC_NOT_WANTED && !task->aside &&
           task->frames.count <= FRAMES_MAX && scan->bypass.count <= SAVED_MAX;
}

/* Fills `arrival`, except for whether it is fit. Wants of registers that the stretch does not define
 * wait in it, so that those that the stretch adds can be told. 1, or 0 if it cannot be copied, or
 * -ENOMEM. */
static int arrive(struct slc_scan *scan, struct slc_task *task, const struct slc_station *place,
                  struct slc_arrival *arrival)
{
    const struct slc_bypass *bypass = &scan->bypass;

    if (bypass->count > arrival->saved_capacity) {
        size_t capacity = bypass->count * 2;
        struct slc_saved *grown = realloc(arrival->saved, capacity * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        arrival->saved = grown;
        arrival->saved_capacity = capacity;
    }
    if (bypass->count)
        memcpy(arrival->saved, bypass->saved, bypass->count * sizeof(*bypass->saved));
    arrival->saved_count = bypass->count;
    arrival->passed = task->regs;
    slc_regs_remove(&arrival->passed, &place->defs);
    slc_regs_keep(&task->regs, &place->defs);
    arrival->regs = task->regs;
    arrival->next = task->next;
    arrival->initial_count = scan->slice->initial_count;
    arrival->refused_count = bypass->refused_count;
    task->frames.lowest = task->frames.count - 1;
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

static bool has_words(const struct slc_stretch *stretch, const struct page_change *change,
                      const struct slc_page *page)
{
    const struct word_change *word = stretch->words + change->first;

    for (uint64_t left = change->looked; left; left &= left - 1, word++) {
        unsigned group = (unsigned)__builtin_ctzll(left);
        if (!page ? word->before || word->slots_before
                  : page->bytes[group] != word->before ||
                        slc_page_slots(page, group) != word->slots_before)
            return false;
    }
    return true;
}

static bool has_memory(const struct slc_scan *scan, const struct slc_stretch *stretch)
{
    for (size_t i = 0; i < stretch->page_count; i++)
        if (!has_words(stretch, &stretch->pages[i],
                       slc_page_find(&scan->memory, stretch->pages[i].number)))
            return false;
    for (size_t i = 0; i < stretch->saved_before_count; i++) {
        const struct slc_saved *kept = &stretch->saved_before[i];
        size_t at = find_saved(scan->bypass.saved, scan->bypass.count, kept->slot);
        if (!at || !is_same_saved(&scan->bypass.saved[at - 1], kept))
            return false;
    }
    return true;
}

static bool is_match(const struct slc_scan *scan, const struct slc_task *task, uint32_t number,
                     const struct slc_station *place, const struct slc_stretch *stretch)
{
    return stretch->mode == mode_of(scan) && stretch->task == number &&
           stretch->next_before == task->next &&
           slc_regs_is_same(&stretch->regs_before, &task->regs, &place->defs) &&
           slc_frames_match(&task->frames, &stretch->frames_before, stretch->lowest) &&
           has_memory(scan, stretch);
}

static void set_word(struct slc_memory *memory, struct slc_page *page, unsigned group,
                     const struct word_change *word)
{
    uint64_t *slots = &page->slots[group / 8];
    unsigned shift = group % 8 * 8;

    memory->word_count += (word->after != 0) - (page->bytes[group] != 0);
    memory->slot_count += (uint64_t)__builtin_popcount(word->slots_after);
    memory->slot_count -= (uint64_t)__builtin_popcount(slc_page_slots(page, group));
    page->bytes[group] = word->after;
    *slots = (*slots & ~(UINT64_C(0xff) << shift)) | (uint64_t)word->slots_after << shift;
}

static int take_memory(struct slc_scan *scan, const struct slc_stretch *stretch)
{
    struct slc_memory *memory = &scan->memory;

    for (size_t i = 0; i < stretch->page_count; i++) {
        const struct page_change *change = &stretch->pages[i];
        const struct word_change *word = stretch->words + change->first;
        struct slc_page *page = slc_memory_page(memory, change->number);
        if (!page)
            return -ENOMEM;
        for (uint64_t left = change->looked; left; left &= left - 1, word++)
            set_word(memory, page, (unsigned)__builtin_ctzll(left), word);
        for (uint64_t left = change->added; left; left &= left - 1, word++) {
            uint64_t *bytes = &page->bytes[__builtin_ctzll(left)];
            memory->word_count += *bytes == 0;
            *bytes |= word->after;
        }
    }
    return 0;
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
    int error = 0;

    if (stretch->bits && !scan->bits)
        error = slc_slice_make_bits(scan->slice, scan->interval, &scan->bits);
    for (size_t i = 0; i < stretch->bit_words && stretch->bits && !error; i++)
        scan->bits[first / 64 + i] |= stretch->bits[i];
    for (size_t i = 0; i < stretch->count_count; i++)
        scan->slice->counts.instances += stretch->counts[i].instances;
    return error ? error : slc_lines_add(scan->slice, stretch->counts, stretch->count_count);
}

/* The time that the stretch ends, from the interval's start. */
static uint64_t end_of(const struct slc_scan *scan, const struct slc_reach *reach)
{
    return reach->end < scan->interval->exec_count ? scan->interval->execs[reach->end].time_off
                                                   : scan->interval->instructions;
}

static int take(struct slc_scan *scan, const struct slc_reach *reach, struct slc_task *task,
                const struct slc_station *place, struct slc_stretch *stretch)
{
    int error = take_memory(scan, stretch);

    if (!error)
        error = take_saved(&scan->bypass, stretch);
    if (!error)
        error = slc_frames_replace(&task->frames, scan->code->classes,
                                   stretch->frames_before.count - stretch->lowest,
                                   &stretch->frames_after);
    if (!error)
        error = take_members(scan, reach, stretch);
    slc_regs_remove(&task->regs, &place->defs);
    slc_regs_join(&task->regs, &stretch->regs_after);
    task->next = stretch->next_after;
    scan->slice->counts.scanned +=
        end_of(scan, reach) - scan->interval->execs[reach->first].time_off;
    scan->slice->session->taken++;
    stretch_unlink(scan->slice->session, stretch);
    stretch_link(scan->slice->session, stretch);
    return error ? error : 1;
}

int slc_stretch_take(struct slc_scan *scan, const struct slc_reach *reach,
                     struct slc_arrival *arrival)
{
    uint32_t number = scan->interval->execs[reach->end - 1].task;
    int error = 0;
    struct slc_task *task = slc_scan_task(scan, number, &error);

    arrival->is_fit = false;
    arrival->passed = (struct slc_regs){.wants = NULL};
    if (!task)
        return error;
    slc_memory_log_clear(&scan->memory);
    if (!is_plain(scan, reach, task))
        return 0;
    struct slc_station *place = place_of(scan, reach);
    if (!place || (!place->is_described && place_describe(scan, reach, place)))
        return -ENOMEM;
    if (place->has_turns || (place->has_loader && !scan->follows_loader))
        return 0;
    for (struct slc_stretch *stretch = place->first; stretch; stretch = stretch->next)
        if (is_match(scan, task, number, place, stretch))
            return take(scan, reach, task, place, stretch);
    int result = arrive(scan, task, place, arrival);
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

static void keep_page(struct slc_stretch *stretch, const struct slc_log *log)
{
    const struct slc_page *page = log->page;
    struct page_change change = {page->number, page->looked, page->noted & ~page->looked,
                                 stretch->word_count};

    for (uint64_t left = change.looked; left; left &= left - 1) {
        unsigned group = (unsigned)__builtin_ctzll(left);
        stretch->words[stretch->word_count++] =
            (struct word_change){log->before[group], page->bytes[group], log->slots_before[group],
                                 (uint8_t)slc_page_slots(page, group)};
    }
    for (uint64_t left = change.added; left; left &= left - 1)
        stretch->words[stretch->word_count++] =
            (struct word_change){.after = log->added[__builtin_ctzll(left)]};
    stretch->pages[stretch->page_count++] = change;
}

static void keep_memory(struct slc_stretch *stretch, const struct slc_memory *memory,
                        bool *is_short)
{
    size_t pages = 0, words = 0;

    for (const struct slc_log *log = memory->logs; log; log = log->next) {
        pages++;
        words += (size_t)__builtin_popcountll(log->page->looked | log->page->noted);
    }
    stretch->pages = malloc((pages + 1) * sizeof(*stretch->pages));
    stretch->words = malloc((words + 1) * sizeof(*stretch->words));
    if (!stretch->pages || !stretch->words) {
        *is_short = true;
        return;
    }
    for (const struct slc_log *log = memory->logs; log; log = log->next)
        keep_page(stretch, log);
}

/* Saved registers whose slots somebody looked at. */
static struct slc_saved *looked_saved(const struct slc_memory *memory,
                                      const struct slc_saved *saved, size_t count, size_t *kept,
                                      bool *is_short)
{
    struct slc_saved *list = malloc((count + 1) * sizeof(*list));

    *kept = 0;
    *is_short |= !list;
    for (size_t i = 0; i < count && list; i++) {
        const struct slc_page *page = slc_page_find(memory, saved[i].slot >> SLC_PAGE_BITS);
        if (page && page->looked >> (saved[i].slot % SLC_PAGE_BYTES / 64) & 1)
            list[(*kept)++] = saved[i];
    }
    return list;
}

/* Its members of the interval's bitmap: only whole ones are in its words. */
static void keep_bits(struct slc_stretch *stretch, const struct slc_scan *scan, uint64_t first,
                      uint64_t end, bool *is_short)
{
    uint64_t any = 0;

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

static struct slc_stretch *stretch_make(struct slc_scan *scan, const struct slc_reach *reach,
                                        const struct slc_task *task,
                                        const struct slc_arrival *arrival)
{
    struct slc_stretch *stretch = calloc(1, sizeof(*stretch));
    bool is_short = false;

    if (!stretch)
        return NULL;
    stretch->interval = scan->interval->index;
    stretch->mode = mode_of(scan);
    stretch->task = scan->interval->execs[reach->first].task;
    stretch->regs_before = arrival->regs;
    stretch->regs_after = task->regs;
    stretch->next_before = arrival->next;
    stretch->next_after = task->next;
    stretch->lowest = task->frames.lowest;
    struct slc_frames_copy *before = &stretch->frames_before;
    *before = arrival->frames;
    before->frames = copy_of(before->frames, before->count * sizeof(*before->frames), &is_short);
    before->classes =
        copy_of(before->classes, before->class_count * sizeof(*before->classes), &is_short);
    is_short |= slc_frames_save(&task->frames, stretch->lowest, &stretch->frames_after) <= 0;
    stretch->saved_before = looked_saved(&scan->memory, arrival->saved, arrival->saved_count,
                                         &stretch->saved_before_count, &is_short);
    stretch->saved_after = looked_saved(&scan->memory, scan->bypass.saved, scan->bypass.count,
                                        &stretch->saved_after_count, &is_short);
    keep_memory(stretch, &scan->memory, &is_short);
    keep_counts(stretch, scan->code, &is_short);
    keep_bits(stretch, scan, scan->interval->execs[reach->first].time_off, end_of(scan, reach),
              &is_short);
    if (!is_short)
        return stretch;
    stretch_free(stretch);
    return NULL;
}

static uint64_t bytes_of(const struct slc_stretch *stretch)
{
    return sizeof(*stretch) + stretch->page_count * sizeof(*stretch->pages) +
           stretch->word_count * sizeof(*stretch->words) +
           stretch->count_count * sizeof(*stretch->counts) +
           (stretch->bits ? stretch->bit_words * 8 : 0) +
           (stretch->frames_before.count + stretch->frames_after.count) *
               sizeof(struct slc_frame_copy) +
           (stretch->frames_before.class_count + stretch->frames_after.class_count) * 4 +
           (stretch->saved_before_count + stretch->saved_after_count) * sizeof(struct slc_saved);
}

static void stretch_keep(struct slc_session *session, struct slc_stretch **list,
                         struct slc_stretch *stretch)
{
    unsigned count = 0;
    struct slc_stretch *stalest = NULL;

    for (struct slc_stretch *other = *list; other; other = other->next, count++)
        stalest = other;
    if (count >= SLC_STRETCHES_MAX)
        stretch_drop(session, stalest);
    stretch->bytes = bytes_of(stretch);
    stretch->next = *list;
    stretch->link = list;
    if (*list)
        (*list)->link = &stretch->next;
    *list = stretch;
    stretch_link(session, stretch);
    session->stretch_bytes += stretch->bytes;
    while (session->stretch_bytes > SLC_STRETCH_BYTES && session->oldest != stretch)
        stretch_drop(session, session->oldest);
}

int slc_stretch_keep(struct slc_scan *scan, const struct slc_reach *reach,
                     struct slc_arrival *arrival)
{
    uint32_t number = scan->interval->execs[reach->end - 1].task;
    struct slc_task *task = scan->tasks[number];
    struct slc_station *place = place_of(scan, reach);
    bool is_fit = arrival->is_fit && place && !scan->memory.is_blurred && !scan->is_stale &&
                  !task->aside && task->pending.distance == SLC_NOT_WANTED &&
                  scan->slice->initial_count == arrival->initial_count &&
                  scan->bypass.refused_count == arrival->refused_count;

    slc_code_collect(scan->code);
    if (is_fit) {
        struct slc_stretch *stretch = stretch_make(scan, reach, task, arrival);
        if (stretch)
            stretch_keep(scan->slice->session, &place->first, stretch);
    }
    slc_regs_join(&task->regs, &arrival->passed);
    return slc_slice_collect(scan->slice);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/scan/change.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/checked.h"

static struct slc_word *word_new(struct slc_word_list *list)
{
    if (wd_grow(list->words, list->capacity, list->count + 1))
        return NULL;
    return &list->words[list->count++];
}

/* Lists the words of which bytes are wanted: of their masks' bytes, or of all. */
static int list_words(const struct slc_memory *memory, const struct slc_footprint *footprint,
                      bool is_all, struct slc_word_list *list)
{
    list->count = 0;
    for (size_t p = 0; p < footprint->page_count; p++) {
        const struct slc_footprint_page *own = &footprint->pages[p];
        const struct slc_page *page = slc_page_find(memory, own->number);
        const uint64_t *mask = footprint->masks + own->first;
        for (uint64_t left = page ? own->groups : 0; left; left &= left - 1, mask++) {
            unsigned group = (unsigned)__builtin_ctzll(left);
            unsigned slots = slc_page_slots(page, group);
            uint64_t bytes = page->bytes[group] & (is_all ? UINT64_MAX : *mask);
            slots = slots ? slots & slc_mask_slots(*mask) : 0;
            if (!bytes && !slots)
                continue;
            struct slc_word *word = word_new(list);
            if (!word)
                return -ENOMEM;
            *word = (struct slc_word){bytes, (uint32_t)p, (uint16_t)group, (uint16_t)slots};
        }
    }
    return 0;
}

int slc_words_list(const struct slc_memory *memory, const struct slc_footprint *footprint,
                   struct slc_word_list *list)
{
    assert(!memory->is_hiding);
    return list_words(memory, footprint, false, list);
}

void slc_change_begin(struct slc_memory *memory, const struct slc_footprint *footprint)
{
    assert(memory->is_logged && !memory->is_hiding && !memory->logs);
    for (size_t p = 0; p < footprint->page_count; p++) {
        const struct slc_footprint_page *own = &footprint->pages[p];
        struct slc_page *page = slc_page_find(memory, own->number);
        const uint64_t *mask = footprint->masks + own->first;
        for (uint64_t left = page ? own->groups : 0; left; left &= left - 1, mask++)
            slc_memory_hide(memory, page, (unsigned)__builtin_ctzll(left), *mask);
    }
    memory->is_hiding = true;
}

/* ---- making ---- */

static void keep_addition(struct slc_change *change, const struct slc_footprint *footprint,
                          const struct slc_page *page)
{
    struct slc_addition addition = {page->number, 0, change->added_count};
    uint64_t others = page->hidden & ~slc_footprint_groups(footprint, page->number);

    for (uint64_t left = others; left; left &= left - 1) {
        unsigned group = (unsigned)__builtin_ctzll(left);
        if (!page->bytes[group])
            continue;
        addition.groups |= UINT64_C(1) << group;
        change->added[change->added_count++] = page->bytes[group];
    }
    if (addition.groups)
        change->additions[change->addition_count++] = addition;
}

/* Keeps which bytes outside the footprint became wanted. */
static int keep_additions(struct slc_change *change, const struct slc_memory *memory,
                          const struct slc_footprint *footprint)
{
    size_t pages = 0, words = 0;

    for (const struct slc_log *log = memory->logs; log; log = log->next) {
        pages++;
        words += (size_t)__builtin_popcountll(log->page->hidden &
                                              ~slc_footprint_groups(footprint, log->page->number));
    }
    change->additions = malloc((pages + 1) * sizeof(*change->additions));
    change->added = malloc((words + 1) * sizeof(*change->added));
    if (!change->additions || !change->added)
        return -ENOMEM;
    for (const struct slc_log *log = memory->logs; log; log = log->next)
        keep_addition(change, footprint, log->page);
    return 0;
}

int slc_change_make(struct slc_change *change, const struct slc_memory *memory,
                    const struct slc_footprint *footprint, const struct slc_word_list *before)
{
    assert(memory->is_hiding && !change->before.words && !change->added);
    change->before.words = malloc((before->count + 1) * sizeof(*before->words));
    if (!change->before.words)
        return -ENOMEM;
    change->before.count = change->before.capacity = before->count;
    if (before->count)
        memcpy(change->before.words, before->words, before->count * sizeof(*before->words));
    int err = list_words(memory, footprint, true, &change->after);
    return err ? err : keep_additions(change, memory, footprint);
}

void slc_change_fini(struct slc_change *change)
{
    free(change->before.words);
    free(change->after.words);
    free(change->additions);
    free(change->added);
    *change = (struct slc_change){0};
}

uint64_t slc_change_bytes(const struct slc_change *change)
{
    return (change->before.capacity + change->after.capacity) * sizeof(struct slc_word) +
           change->addition_count * sizeof(*change->additions) +
           change->added_count * sizeof(*change->added);
}

/* ---- doing it again ---- */

bool slc_change_fits(const struct slc_change *change, const struct slc_word_list *words)
{
    const struct slc_word_list *before = &change->before;

    return before->count == words->count &&
           (words->count == 0 ||
            memcmp(before->words, words->words, words->count * sizeof(*words->words)) == 0);
}

static void change_word(struct slc_memory *memory, struct slc_page *page, unsigned group,
                        uint64_t dropped, uint64_t added)
{
    uint64_t *word = &page->bytes[group], after = (*word & ~dropped) | added;

    assert(memory->word_count || !*word);
    memory->word_count += (after != 0) - (uint64_t)(*word != 0);
    *word = after;
}

static void change_slots(struct slc_memory *memory, struct slc_page *page, unsigned group,
                         unsigned dropped, unsigned added)
{
    uint64_t *slots = &page->slots[group / 8];
    unsigned shift = group % 8 * 8;

    assert((*slots >> shift & dropped) == dropped);
    assert(!(*slots >> shift & ~dropped & added));
    *slots = (*slots & ~((uint64_t)dropped << shift)) | (uint64_t)added << shift;
    memory->slot_count += (uint64_t)__builtin_popcount(added);
    memory->slot_count -= (uint64_t)__builtin_popcount(dropped);
}

static uint64_t mask_of(const struct slc_footprint *footprint, const struct slc_word *word)
{
    const struct slc_footprint_page *page = &footprint->pages[word->page];
    uint64_t below = page->groups & ((UINT64_C(1) << word->group) - 1);

    assert(page->groups >> word->group & 1);
    return footprint->masks[page->first + (size_t)__builtin_popcountll(below)];
}

/* Takes words away, or adds them. */
static int take_words(struct slc_memory *memory, const struct slc_footprint *footprint,
                      const struct slc_word_list *list, bool is_added)
{
    struct slc_page *page = NULL;

    for (size_t i = 0; i < list->count; i++) {
        const struct slc_word *word = &list->words[i];
        uint64_t number = footprint->pages[word->page].number;
        if (!page || page->number != number)
            page = slc_memory_page(memory, number);
        if (!page)
            return -ENOMEM;
        change_word(memory, page, word->group, is_added ? 0 : mask_of(footprint, word),
                    is_added ? word->bytes : 0);
        if (word->slots)
            change_slots(memory, page, word->group, is_added ? 0 : word->slots,
                         is_added ? word->slots : 0);
    }
    return 0;
}

int slc_change_apply(const struct slc_change *change, const struct slc_footprint *footprint,
                     struct slc_memory *memory)
{
    int err = take_words(memory, footprint, &change->before, false);

    if (!err)
        err = take_words(memory, footprint, &change->after, true);
    for (size_t i = 0; i < change->addition_count && !err; i++) {
        const struct slc_addition *addition = &change->additions[i];
        const uint64_t *added = change->added + addition->first;
        struct slc_page *page = slc_memory_page(memory, addition->number);
        if (!page)
            return -ENOMEM;
        for (uint64_t left = addition->groups; left; left &= left - 1, added++)
            change_word(memory, page, (unsigned)__builtin_ctzll(left), 0, *added);
    }
    return err;
}

/* ---- what is trusted ---- */

static int words_validate(const struct slc_word_list *list, const struct slc_footprint *footprint,
                          bool is_masked)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct slc_word *word = &list->words[i], *last = word - 1;
        if (word->page >= footprint->page_count || word->group >= SLC_PAGE_BYTES / 64 ||
            !(footprint->pages[word->page].groups >> word->group & 1))
            return wd_fail_defect("word %zu of a change is not in the footprint", i);
        if (i &&
            (last->page > word->page || (last->page == word->page && last->group >= word->group)))
            return wd_fail_defect("word %zu of a change is not sorted", i);
        uint64_t mask = mask_of(footprint, word);
        if ((!word->bytes && !word->slots) || (is_masked && word->bytes & ~mask) ||
            word->slots & ~slc_mask_slots(mask))
            return wd_fail_defect("word %zu of a change wants nothing, or what the stretch leaves",
                                  i);
    }
    return 0;
}

int slc_change_validate(const struct slc_change *change, const struct slc_footprint *footprint)
{
    size_t words = 0;
    int err = words_validate(&change->before, footprint, true);

    if (!err)
        err = words_validate(&change->after, footprint, false);
    for (size_t i = 0; i < change->addition_count && !err; i++) {
        const struct slc_addition *addition = &change->additions[i];
        if (addition->first != words || !addition->groups ||
            addition->groups & slc_footprint_groups(footprint, addition->number))
            return wd_fail_defect("addition %zu of a change lies in the footprint, or is none", i);
        words += (size_t)__builtin_popcountll(addition->groups);
    }
    if (!err && words != change->added_count)
        return wd_fail_defect("a change adds %zu words, and not %zu", change->added_count, words);
    return err;
}

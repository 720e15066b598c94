/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Labels have 32 bits, runs more executions. When the numbers are used up, those that some register
 * or byte still has as its label become 1, 2, ... in their order, a table says what they stand for,
 * and numbers go on behind them. Which ones those are is a bitmap, that is: as many bits as there
 * are numbers.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "wet/depend/depend_priv.h"
#include <wetdbg/errors.h>

#define WORDS_PER_RANK 8

struct live {
    uint64_t *bits;  /* bit n: label n is somewhere */
    uint32_t *ranks; /* for each WORDS_PER_RANK words: how many bits are set before them */
    uint64_t count;
};

static void bits_mark(void *arg, uint32_t *labels, size_t count)
{
    struct live *live = arg;

    for (size_t i = 0; i < count; i++)
        if (labels[i] && labels[i] != DEP_MIXED)
            live->bits[labels[i] / 64] |= UINT64_C(1) << labels[i] % 64;
}

static void labels_change(void *arg, uint32_t *labels, size_t count)
{
    const struct live *live = arg;

    for (size_t i = 0; i < count; i++) {
        uint32_t word = labels[i] / 64, rank;
        if (labels[i] == 0 || labels[i] == DEP_MIXED)
            continue;
        rank = live->ranks[word / WORDS_PER_RANK];
        for (uint32_t w = word / WORDS_PER_RANK * WORDS_PER_RANK; w < word; w++)
            rank += (uint32_t)__builtin_popcountll(live->bits[w]);
        rank += (uint32_t)__builtin_popcountll(live->bits[word] &
                                               ((UINT64_C(1) << labels[i] % 64) - 1));
        labels[i] = rank + 1;
    }
}

static void each_label(struct dep_finder *finder,
                       void (*fn)(void *arg, uint32_t *labels, size_t count), struct live *live)
{
    for (unsigned t = 0; t < EVQ_TASKS_MAX; t++)
        if (finder->tasks[t])
            fn(live, finder->tasks[t]->last, DEP_PLACES);
    dep_shadow_each(&finder->machine->shadow, fn, live);
}

static void ranks_count(struct live *live, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        if (w % WORDS_PER_RANK == 0)
            live->ranks[w / WORDS_PER_RANK] = (uint32_t)live->count;
        live->count += (uint64_t)__builtin_popcountll(live->bits[w]);
    }
}

/* What the new labels stand for. */
static uint64_t *numbers_list(const struct dep_finder *finder, const struct live *live,
                              size_t words)
{
    struct wet_label_block block = {
        .base = finder->base, .old = finder->old, .old_count = finder->old_count};
    uint64_t *old = malloc((live->count + 1) * sizeof(*old)), *out = old;

    for (size_t w = 0; old && w < words; w++)
        for (uint64_t left = live->bits[w]; left; left &= left - 1)
            *out++ = wet_label_number(&block, (uint32_t)(w * 64 + (unsigned)__builtin_ctzll(left)));
    return old;
}

static int live_renumber(struct dep_finder *finder, struct live *live, size_t words)
{
    each_label(finder, bits_mark, live);
    ranks_count(live, words);
    assert(live->count <= finder->number);
    if (live->count > finder->number_max / 2)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "what %llu executions defined is still there: more than can be numbered",
                           (unsigned long long)live->count);
    uint64_t *old = numbers_list(finder, live, words);
    if (!old)
        return -ENOMEM;
    each_label(finder, labels_change, live);
    free(finder->old);
    finder->old = old;
    finder->old_count = (uint32_t)live->count;
    finder->base += finder->number - finder->old_count;
    finder->number = finder->old_count;
    return 0;
}

int dep_renumber(struct dep_finder *finder)
{
    size_t words = ((size_t)finder->number / 64 / WORDS_PER_RANK + 1) * WORDS_PER_RANK;
    struct live live = {.bits = calloc(words, sizeof(*live.bits)),
                        .ranks = calloc(words / WORDS_PER_RANK, sizeof(*live.ranks))};
    int err = live.bits && live.ranks ? live_renumber(finder, &live, words) : -ENOMEM;

    assert(finder->machine->out == finder->words);
    free(live.bits);
    free(live.ranks);
    return err;
}

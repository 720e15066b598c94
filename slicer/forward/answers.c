/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/answers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct slc_answer {
    struct wetdbg_slice *slice;
    uint64_t bytes, used; /* when it was asked for last */
    enum wetdbg_criterion_kind kind;
    uint64_t pc;
    struct slc_seed *seeds;
    size_t seed_count;
};

struct slc_answers {
    struct slc_answer list[SLC_ANSWERS_MAX];
    size_t count;
    uint64_t bytes, clock;
};

/* ---- sources ---- */

static bool is_same_place(const struct slc_place *a, const struct slc_place *b)
{
    return a->address == b->address && a->size_bytes == b->size_bytes && a->edge == b->edge &&
           a->is_after == b->is_after;
}

static bool is_same_seed(const struct slc_seed *a, const struct slc_seed *b)
{
    bool is_same = a->time == b->time && a->pc == b->pc && a->task == b->task &&
                   a->is_fault == b->is_fault && a->uses == b->uses && a->force == b->force &&
                   a->register_bytes == b->register_bytes && a->place_count == b->place_count &&
                   a->maker == b->maker && a->passed.call == b->passed.call &&
                   a->passed.offset == b->passed.offset && a->passed.size == b->passed.size &&
                   memcmp(a->regs, b->regs, sizeof(a->regs)) == 0;

    for (size_t i = 0; i < a->place_count && is_same; i++)
        is_same = is_same_place(&a->places[i], &b->places[i]);
    return is_same;
}

static bool is_same_source(const struct slc_answer *answer, const struct wetdbg_criterion *source)
{
    bool is_same = answer->kind == source->info.kind && answer->pc == source->info.pc &&
                   answer->seed_count == source->seed_count;

    for (size_t i = 0; i < source->seed_count && is_same; i++)
        is_same = is_same_seed(&answer->seeds[i], &source->seeds[i]);
    return is_same;
}

static bool is_same_kind(const struct wetdbg_slice_options *a, const struct wetdbg_slice_options *b)
{
    return a->kinds == b->kinds && a->record_parents == b->record_parents &&
           a->no_exits == b->no_exits && a->no_bypass == b->no_bypass && a->loader == b->loader &&
           a->copies_are_near == b->copies_are_near && a->look == b->look;
}

static void seeds_free(struct slc_answer *answer)
{
    for (size_t i = 0; i < answer->seed_count; i++)
        free(answer->seeds[i].places);
    free(answer->seeds);
}

static int seeds_copy(struct slc_answer *answer, const struct wetdbg_criterion *source)
{
    answer->seeds = calloc(source->seed_count + 1, sizeof(*answer->seeds));
    if (!answer->seeds)
        return -ENOMEM;
    for (; answer->seed_count < source->seed_count; answer->seed_count++) {
        const struct slc_seed *seed = &source->seeds[answer->seed_count];
        struct slc_place *places = malloc((seed->place_count + 1) * sizeof(*places));
        if (!places)
            return -ENOMEM;
        if (seed->place_count)
            memcpy(places, seed->places, seed->place_count * sizeof(*places));
        answer->seeds[answer->seed_count] = *seed;
        answer->seeds[answer->seed_count].places = places;
    }
    return 0;
}

/* ---- what is kept ---- */

static uint64_t bytes_of(const struct wetdbg_slice *slice)
{
    uint64_t bytes = sizeof(*slice) + slice->total_capacity * sizeof(*slice->totals) +
                     slice->reached_capacity * sizeof(*slice->reached) +
                     slice->calls.capacity * sizeof(*slice->calls.list);

    for (uint64_t k = 0; k < slice->share_count; k++) {
        const struct slc_share *share = &slice->shares[k];
        bytes += sizeof(*share) + (share->bits ? share->instructions / 8 : 0) +
                 share->member_capacity * sizeof(*share->members);
    }
    return bytes;
}

/* Gives one up. */
static void drop(struct slc_answers *answers, size_t at)
{
    struct slc_answer answer = answers->list[at];

    answers->list[at] = answers->list[--answers->count];
    answers->bytes -= answer.bytes;
    seeds_free(&answer);
    slc_slice_release(answer.slice);
}

static void make_room(struct slc_answers *answers, uint64_t bytes)
{
    while (answers->count &&
           (answers->count == SLC_ANSWERS_MAX || answers->bytes + bytes > SLC_ANSWER_BYTES)) {
        size_t oldest = 0;
        for (size_t i = 1; i < answers->count; i++)
            if (answers->list[i].used < answers->list[oldest].used)
                oldest = i;
        drop(answers, oldest);
    }
}

struct wetdbg_slice *slc_answer_find(struct wetdbg_slice_session *session,
                                     const struct wetdbg_criterion *source,
                                     const struct wetdbg_slice_options *options)
{
    struct slc_answers *answers = session->answers;

    for (size_t i = 0; answers && i < answers->count; i++) {
        struct slc_answer *answer = &answers->list[i];
        if (!is_same_kind(&answer->slice->options, options) || !is_same_source(answer, source))
            continue;
        answer->used = ++answers->clock;
        slc_slice_hold(answer->slice);
        return answer->slice;
    }
    return NULL;
}

int slc_answer_keep(struct wetdbg_slice *slice, const struct wetdbg_criterion *source)
{
    struct wetdbg_slice_session *session = slice->session;
    struct slc_answer answer = {
        .slice = slice, .bytes = bytes_of(slice), .kind = source->info.kind, .pc = source->info.pc};

    if (answer.bytes > SLC_ANSWER_BYTES)
        return 0;
    if (!session->answers && !(session->answers = calloc(1, sizeof(*session->answers))))
        return -ENOMEM;
    if (seeds_copy(&answer, source)) {
        seeds_free(&answer);
        return -ENOMEM;
    }
    make_room(session->answers, answer.bytes);
    answer.used = ++session->answers->clock;
    session->answers->list[session->answers->count++] = answer;
    session->answers->bytes += answer.bytes;
    slice->is_kept = true;
    return 0;
}

void slc_answers_free(struct wetdbg_slice_session *session)
{
    struct slc_answers *answers = session->answers;

    while (answers && answers->count)
        drop(answers, answers->count - 1);
    free(answers);
    session->answers = NULL;
}

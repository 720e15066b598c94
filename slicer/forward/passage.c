/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slicer/forward/passage.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/checked.h"

/* ---- parts ---- */

static struct slc_part_row *row_of(struct slc_passages *passages, uint64_t interval, size_t count)
{
    if (!passages->rows)
        passages->rows = calloc(passages->interval_count + 1, sizeof(*passages->rows));
    if (!passages->rows)
        return NULL;
    struct slc_part_row **row = &passages->rows[interval];
    if (!*row) {
        *row = calloc(1, sizeof(**row) + count * sizeof(struct slc_part *));
        if (*row)
            (*row)->count = count;
    }
    return *row;
}

struct slc_part *slc_part_of(struct slc_passages *passages, const struct wet_interval *interval,
                             size_t first, size_t end, size_t number, size_t count)
{
    assert(first < end && interval->index < passages->interval_count && number < count);
    struct slc_part_row *row = row_of(passages, interval->index, count);
    if (!row || number >= row->count)
        return NULL;
    struct slc_part **list = &row->at[number], *part = *list;
    while (part && (part->first_exec != first || part->end_exec != end))
        part = part->more;
    if (!part && (part = calloc(1, sizeof(*part)))) {
        part->first_exec = first;
        part->end_exec = end;
        part->more = *list;
        *list = part;
    }
    return part;
}

int slc_part_describe(struct slc_part *part, struct slc_code *code,
                      const struct wet_interval *interval)
{
    uint32_t task = interval->execs[part->first_exec].task;

    assert(part->end_exec <= interval->exec_count);
    if (part->is_described)
        return 0;
    for (size_t i = part->first_exec; i < part->end_exec; i++) {
        const struct slc_node *node = slc_code_node(code, interval->execs[i].node);
        if (!node)
            return -ENOMEM;
        part->has_loader |= node->is_loader;
        part->has_turns |= interval->execs[i].task != task;
    }
    part->is_described = true;
    return 0;
}

int slc_part_prepare(struct slc_passages *passages, struct slc_part *part, struct slc_code *code,
                     const struct wet_interval *interval)
{
    if (part->is_large)
        return 0;
    if (part->needs)
        return 1;
    int result = slc_needs_make(&passages->maker, code, interval, part->first_exec, part->end_exec,
                                &part->needs);
    part->is_large = result == 0;
    return result;
}

void slc_part_leave(struct slc_part *part)
{
    if (part->first)
        return;
    slc_needs_free(part->needs);
    part->needs = NULL;
}

/* ---- by last use ---- */

static void unlink_passage(struct slc_passages *passages, struct slc_passage *passage)
{
    *(passage->newer ? &passage->newer->older : &passages->newest) = passage->older;
    *(passage->older ? &passage->older->newer : &passages->oldest) = passage->newer;
}

static void link_passage(struct slc_passages *passages, struct slc_passage *passage)
{
    passage->newer = NULL;
    passage->older = passages->newest;
    *(passages->newest ? &passages->newest->newer : &passages->oldest) = passage;
    passages->newest = passage;
}

void slc_passage_touch(struct slc_passages *passages, struct slc_passage *passage)
{
    unlink_passage(passages, passage);
    link_passage(passages, passage);
}

void slc_approach_fini(struct slc_approach *approach)
{
    free(approach->marks.list);
    slc_branches_copy_free(&approach->frames);
    *approach = (struct slc_approach){0};
}

void slc_outcome_fini(struct slc_outcome *outcome)
{
    free(outcome->memory.list);
    free(outcome->saves);
    slc_branches_copy_free(&outcome->frames);
    free(outcome->counts);
    free(outcome->bits);
    *outcome = (struct slc_outcome){.bits = NULL};
}

static void passage_free(struct slc_passage *passage)
{
    slc_outcome_fini(&passage->outcome);
    free(passage->frames);
    free(passage->most.list);
    for (unsigned i = 0; i < passage->least_count; i++)
        free(passage->least[i].list);
    free(passage);
}

static void drop(struct slc_passages *passages, struct slc_passage *passage)
{
    struct slc_part *part = passage->part;

    assert(passages->bytes >= passage->bytes && *passage->link == passage);
    unlink_passage(passages, passage);
    passages->bytes -= passage->bytes;
    *passage->link = passage->next;
    if (passage->next)
        passage->next->link = passage->link;
    passage_free(passage);
    if (!part->first)
        passages->bytes -= slc_needs_bytes(part->needs);
    slc_part_leave(part);
}

/* ---- all of a session ---- */

struct slc_passages *slc_passages_of(struct wetdbg_slice_session *session)
{
    if (!session->passages && (session->passages = calloc(1, sizeof(*session->passages))))
        session->passages->interval_count = session->interval_count;
    return session->passages;
}

void slc_passages_forget(struct slc_passages *passages, unsigned code)
{
    while (passages && passages->newest)
        drop(passages, passages->newest);
    if (passages)
        slc_branch_ids_fini(&passages->ids[code]);
}

static void row_free(struct slc_part_row *row)
{
    for (size_t i = 0; row && i < row->count; i++)
        while (row->at[i]) {
            struct slc_part *part = row->at[i];
            row->at[i] = part->more;
            slc_needs_free(part->needs);
            free(part);
        }
    free(row);
}

void slc_passages_free(struct slc_passages *passages)
{
    if (!passages)
        return;
    for (unsigned i = 0; i < SLC_SESSION_CODES; i++)
        slc_passages_forget(passages, i);
    for (uint64_t k = 0; passages->rows && k < passages->interval_count; k++)
        row_free(passages->rows[k]);
    free(passages->rows);
    slc_needs_maker_fini(&passages->maker);
    free(passages);
}

/* ---- finding ---- */

static struct slc_mark_list marks_down_to(const struct slc_approach *approach, size_t depth)
{
    return slc_mark_list_below(&approach->marks,
                               SLC_MARK_KEY(SLC_MARK_FRAME, (uint64_t)depth << 32));
}

/* Whether the topmost frames are those that a passage touches. */
static bool has_frames(const struct slc_passage *passage, const struct slc_branches_copy *frames)
{
    const struct slc_call_copy *own = passage->frames;

    if (frames->count < passage->depth || passage->is_bottom != (frames->count == passage->depth))
        return false;
    const struct slc_call_copy *calls = frames->calls + (frames->count - passage->depth);
    for (size_t i = 0; i < passage->depth; i++)
        if (calls[i].slot != own[i].slot || calls[i].is_signal)
            return false;
    return true;
}

static bool is_alike(const struct slc_passage *passage, uint32_t mode,
                     const struct slc_approach *approach)
{
    return passage->mode == mode && passage->last == approach->last &&
           has_frames(passage, &approach->frames);
}

struct slc_passage *slc_passage_find(const struct slc_part *part, uint32_t mode,
                                     const struct slc_approach *approach)
{
    for (struct slc_passage *passage = part->first; passage; passage = passage->next) {
        if (!is_alike(passage, mode, approach))
            continue;
        const struct slc_mark_list marks = marks_down_to(approach, passage->depth);
        if (!slc_mark_list_is_within(&marks, &passage->most))
            continue;
        for (unsigned i = 0; i < passage->least_count; i++)
            if (slc_mark_list_is_within(&passage->least[i], &marks))
                return passage;
    }
    return NULL;
}

/* ---- keeping ---- */

static bool has_same_frames(const struct slc_outcome *a, const struct slc_outcome *b)
{
    const struct slc_branches_copy *x = &a->frames, *y = &b->frames;

    if (x->count != y->count || x->cell_count != y->cell_count || a->is_remade != b->is_remade)
        return false;
    for (size_t i = 0; i < x->count; i++) {
        const struct slc_call_copy *own = &x->calls[i], *other = &y->calls[i];
        bool is_new = i || a->is_remade; /* else its maker is not of the part's doing */
        if (own->slot != other->slot || own->is_live != other->is_live ||
            own->cell_count != other->cell_count ||
            (is_new && (own->is_marked != other->is_marked || own->function != other->function)))
            return false;
    }
    for (size_t i = 0; i < x->cell_count; i++)
        if (x->cells[i].branch != y->cells[i].branch || x->cells[i].time != y->cells[i].time ||
            x->cells[i].is_marked != y->cells[i].is_marked)
            return false;
    return true;
}

static bool has_same_saves(const struct slc_outcome *a, const struct slc_outcome *b)
{
    if (a->save_count != b->save_count)
        return false;
    for (size_t i = 0; i < a->save_count; i++)
        if (a->saves[i].slot != b->saves[i].slot || a->saves[i].task != b->saves[i].task ||
            a->saves[i].reg != b->saves[i].reg || a->saves[i].word != b->saves[i].word)
            return false;
    return true;
}

static bool is_same_outcome(const struct slc_needs *needs, const struct slc_outcome *a,
                            const struct slc_outcome *b)
{
    assert(a->bit_words == b->bit_words);
    return a->last == b->last && a->last_time == b->last_time && a->last_slot == b->last_slot &&
           a->is_last_marked == b->is_last_marked && !a->bits == !b->bits &&
           slc_regs_is_same(&a->regs, &b->regs, &needs->defines) &&
           slc_mark_list_is_same(&a->memory, &b->memory) && has_same_saves(a, b) &&
           has_same_frames(a, b) &&
           (!a->bits || memcmp(a->bits, b->bits, a->bit_words * sizeof(*a->bits)) == 0);
}

static uint64_t bytes_of(const struct slc_passage *passage)
{
    const struct slc_outcome *outcome = &passage->outcome;
    size_t marks = passage->most.capacity + outcome->memory.capacity;

    for (unsigned i = 0; i < passage->least_count; i++)
        marks += passage->least[i].capacity;
    return sizeof(*passage) + marks * sizeof(struct slc_mark) +
           (passage->depth + outcome->frames.capacity) * sizeof(struct slc_call_copy) +
           outcome->frames.cell_capacity * sizeof(struct slc_cell_copy) +
           outcome->save_count * sizeof(*outcome->saves) +
           outcome->count_count * sizeof(*outcome->counts) +
           (outcome->bits ? outcome->bit_words * sizeof(*outcome->bits) : 0);
}

static void count_bytes(struct slc_passages *passages, struct slc_passage *passage)
{
    passages->bytes -= passage->bytes;
    passage->bytes = bytes_of(passage);
    passages->bytes += passage->bytes;
}

/* Marks led to what the passage did: it takes the place of least ones that have them all. */
static int add_least(struct slc_passage *passage, const struct slc_mark_list *marks)
{
    struct slc_mark_list copy = {.list = NULL};
    unsigned at = passage->least_count;

    for (unsigned i = 0; i < passage->least_count; i++) {
        if (slc_mark_list_is_within(&passage->least[i], marks))
            return 0;
        if (at == passage->least_count && slc_mark_list_is_within(marks, &passage->least[i]))
            at = i;
    }
    if (slc_mark_list_copy(&copy, marks))
        return -ENOMEM;
    if (at == SLC_PASSAGE_LEASTS)
        at = passage->least_next++ % SLC_PASSAGE_LEASTS;
    if (at < passage->least_count)
        free(passage->least[at].list);
    else
        passage->least_count++;
    passage->least[at] = copy;
    return 0;
}

static struct slc_passage *passage_make(struct slc_part *part, uint32_t mode,
                                        const struct slc_approach *approach, size_t depth,
                                        struct slc_outcome *outcome)
{
    const struct slc_mark_list marks = marks_down_to(approach, depth);
    struct slc_passage *passage = calloc(1, sizeof(*passage));

    if (!passage)
        return NULL;
    passage->part = part;
    passage->mode = mode;
    passage->last = approach->last;
    passage->depth = depth;
    passage->is_bottom = approach->frames.count == depth;
    passage->frames = malloc(depth * sizeof(*passage->frames));
    if (!passage->frames || slc_mark_list_copy(&passage->most, &marks) ||
        add_least(passage, &marks)) {
        passage_free(passage);
        return NULL;
    }
    memcpy(passage->frames, approach->frames.calls + (approach->frames.count - depth),
           depth * sizeof(*passage->frames));
    passage->outcome = *outcome;
    *outcome = (struct slc_outcome){.bits = NULL};
    return passage;
}

static void make_room(struct slc_passages *passages, struct slc_passage *kept)
{
    struct slc_passage *stalest = NULL;
    unsigned count = 0;

    for (struct slc_passage *other = kept->part->first; other; other = other->next, count++)
        stalest = other;
    if (count > SLC_PASSAGES_MAX && stalest != kept)
        drop(passages, stalest);
    while (passages->bytes > SLC_PASSAGE_BYTES && passages->oldest != kept)
        drop(passages, passages->oldest);
}

static void link_part(struct slc_passage *passage)
{
    struct slc_part *part = passage->part;

    passage->next = part->first;
    passage->link = &part->first;
    if (part->first)
        part->first->link = &passage->next;
    part->first = passage;
}

int slc_passage_keep(struct slc_passages *passages, struct slc_part *part, uint32_t mode,
                     const struct slc_approach *approach, size_t depth, struct slc_outcome *outcome)
{
    const struct slc_mark_list marks = marks_down_to(approach, depth);
    struct slc_passage *passage = part->first;
    int err = 0;

    assert(part->needs && depth && depth <= approach->frames.count);
    while (passage && !(is_alike(passage, mode, approach) && passage->depth == depth &&
                        is_same_outcome(part->needs, &passage->outcome, outcome)))
        passage = passage->next;
    if (passage) {
        err = slc_mark_list_join(&passage->most, &marks);
        if (!err)
            err = add_least(passage, &marks);
        slc_passage_touch(passages, passage);
    } else {
        passage = passage_make(part, mode, approach, depth, outcome);
        if (passage && !part->first)
            passages->bytes += slc_needs_bytes(part->needs);
        if (passage) {
            link_part(passage);
            link_passage(passages, passage);
        }
    }
    slc_outcome_fini(outcome);
    if (!passage)
        return -ENOMEM;
    count_bytes(passages, passage);
    make_room(passages, passage);
    return err;
}

/* ---- what is trusted ---- */

static int passage_validate(const struct slc_passage *passage)
{
    const struct slc_part *part = passage->part;

    if (!part || !part->needs || !passage->depth || !passage->outcome.frames.count)
        return wd_fail_defect("a passage has no part, or one without needs, or no frames");
    if (!passage->least_count)
        return wd_fail_defect("a passage has no least marks");
    for (unsigned i = 0; i < passage->least_count; i++)
        if (!slc_mark_list_is_within(&passage->least[i], &passage->most))
            return wd_fail_defect("least marks %u of a passage are more than its most", i);
    for (size_t i = 0; i < passage->outcome.memory.count; i++) {
        const struct slc_mark *mark = &passage->outcome.memory.list[i];
        if (mark->key >= part->needs->word_count ||
            mark->bits & ~part->needs->words[mark->key].written)
            return wd_fail_defect("a passage marks what its part does not write");
    }
    return slc_regs_validate(&passage->outcome.regs);
}

int slc_passages_validate(const struct slc_passages *passages)
{
    const struct slc_passage *newer = NULL;
    uint64_t bytes = 0;
    int err = 0;

    for (const struct slc_passage *passage = passages->newest; passage && !err;
         newer = passage, passage = passage->older) {
        if (passage->newer != newer || *passage->link != passage ||
            (passage->next && passage->next->link != &passage->next))
            return wd_fail_defect("a passage is not in its lists");
        err = passage_validate(passage);
        bytes += passage->bytes;
        if (!err && passage->part->first == passage)
            bytes += slc_needs_bytes(passage->part->needs);
    }
    if (!err && passages->oldest != newer)
        return wd_fail_defect("the oldest passage is not the last one");
    if (!err && bytes != passages->bytes)
        return wd_fail_defect("passages have %llu bytes, and %llu were counted",
                              (unsigned long long)bytes, (unsigned long long)passages->bytes);
    return err;
}

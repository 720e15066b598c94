/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What forward passes of a session did in parts of the run, kept for later ones.
 *
 * What a pass does is to follow edges that the run alone has: what it finds from two sets of marks
 * together is what it finds from the one and from the other. So if passes that came with the marks
 * A and with B, A among B, did the same, each one does that comes with marks between these. A
 * *passage* is what was done in one part, with the *most* marks that led to it, all that did put
 * together, and the *least* ones, a few sets of them.
 *
 * Marks that the part does not need (slicer/forward/needs.h) are left out. Kept are full slices
 * without parents, and parts in which nothing happens but instructions of one thread.
 */
#ifndef SLICER_FORWARD_PASSAGE_H
#define SLICER_FORWARD_PASSAGE_H

#include "slicer/forward/branches.h"
#include "slicer/forward/mark_list.h"
#include "slicer/forward/needs.h"
#include "slicer/slice_session.h"

#define SLC_PASSAGE_LEASTS 4                     /* sets of least marks */
#define SLC_PASSAGES_MAX   16                    /* of one part */
#define SLC_PASSAGE_BYTES  (UINT64_C(512) << 20) /* ... of all */

/* Keys of marks; keys of frames, which need not all be looked at, come last. */
enum slc_mark_kind {
    SLC_MARK_REGISTER, /* location; INS_LOC_COUNT: what the last instruction lets run */
    SLC_MARK_SAVE,     /* slc_save_word() of a slot: word of the needs, slot in it */
    SLC_MARK_MEMORY,   /* word of the needs */
    SLC_MARK_FRAME,    /* frame from the top, and in it 0: enum slc_frame_mark, or 1 + branch */
};
#define SLC_MARK_KEY(kind, number) ((uint64_t)(kind) << 60 | (number))

enum slc_frame_mark {
    SLC_FRAME_MAKER = 1, /* its maker is marked */
    SLC_FRAME_LIVE = 2,
};

/* A saved register's note. */
struct slc_save_copy {
    uint64_t slot;
    uint32_t task, reg, word;
    uint32_t at; /* word of the needs */
};

/* How a pass comes to a part. Embedded by its holder; all zero at first. */
struct slc_approach {
    struct slc_mark_list marks;
    struct slc_branches_copy frames; /* all of the task's */
    const struct slc_node *last;     /* that the task ran last */
};
void slc_approach_fini(struct slc_approach *approach);

/* What a pass did in a part. */
struct slc_outcome {
    struct slc_regs regs; /* of what the part defines */
    struct slc_mark_list memory;
    struct slc_save_copy *saves;
    size_t save_count;
    struct slc_branches_copy frames; /* from the lowest that it touched */
    bool is_remade;                  /* the lowest one was made anew */
    wetdbg_time bottom_time;         /* as struct slc_branches says */
    bool is_bottom_caller;
    bool is_last_marked;
    const struct slc_node *last;
    wetdbg_time last_time;
    uint64_t last_slot;
    struct slc_count *counts;
    size_t count_count;
    uint64_t *bits; /* of the words that hold its members, NULL if it has none */
    size_t bit_words;
};

struct slc_part;

struct slc_passage {
    struct slc_passage *next, **link; /* of the same part, the latest one first */
    struct slc_passage *newer, *older;
    struct slc_part *part;
    uint64_t bytes; /* that it takes */
    uint32_t mode;
    const struct slc_node *last;  /* before the part */
    struct slc_call_copy *frames; /* that it touches, from below up */
    size_t depth;                 /* as many */
    bool is_bottom;               /* the lowest one has none below it */
    struct slc_mark_list most, least[SLC_PASSAGE_LEASTS];
    unsigned least_count, least_next; /* the one that goes next */
    struct slc_outcome outcome;
};

/* A part of the run: executions [first_exec, end_exec) of an interval. */
struct slc_part {
    struct slc_part *more; /* of the same number */
    size_t first_exec, end_exec;
    unsigned visits;
    struct slc_passage *first;
    struct slc_needs *needs; /* NULL until they are asked for, or nothing is kept any more */
    bool is_described, has_loader, has_turns;
    bool is_large; /* too much for needs */
};

/* What a session keeps. */
struct slc_passages {
    uint64_t interval_count;
    struct slc_part_row {
        size_t count;
        struct slc_part *at[];
    } * *rows; /* by interval; NULL where no pass was */
    struct slc_needs_maker maker;
    struct slc_passage *newest, *oldest; /* by last use */
    uint64_t bytes;
    uint64_t taken; /* passages that were taken over, ever */
    struct slc_branch_ids ids[SLC_SESSION_CODES];
};

/* The session's, made when it has none; NULL if memory is short. */
struct slc_passages *slc_passages_of(struct wetdbg_slice_session *session);
void slc_passages_free(struct slc_passages *passages);

/* Control classes of a code are others now; NULL is fine. */
void slc_passages_forget(struct slc_passages *passages, unsigned code);

/* The part of some executions, of stretch `number` of the interval's `count`; NULL if memory is
 * short. */
struct slc_part *slc_part_of(struct slc_passages *passages, const struct wet_interval *interval,
                             size_t first, size_t end, size_t number, size_t count);

/* Finds out what a part's executions are. 0 or -ENOMEM. */
int slc_part_describe(struct slc_part *part, struct slc_code *code,
                      const struct wet_interval *interval);

/* Finds what they need, too: 1; 0 if that is too much, or -ENOMEM. */
int slc_part_prepare(struct slc_passages *passages, struct slc_part *part, struct slc_code *code,
                     const struct wet_interval *interval);

/* Frees the needs if nothing is kept there. */
void slc_part_leave(struct slc_part *part);

/* The passage that a pass makes which comes so, or NULL. */
struct slc_passage *slc_passage_find(const struct slc_part *part, uint32_t mode,
                                     const struct slc_approach *approach);

/*
 * Keeps what a pass did that came so, and touched `depth` frames. What is in *outcome is taken
 * over, or freed. 0 or -ENOMEM.
 */
int slc_passage_keep(struct slc_passages *passages, struct slc_part *part, uint32_t mode,
                     const struct slc_approach *approach, size_t depth,
                     struct slc_outcome *outcome);
void slc_passage_touch(struct slc_passages *passages, struct slc_passage *passage);

void slc_outcome_fini(struct slc_outcome *outcome);

/* All passages, each in the lists of its part and of last use, its least marks among its most, and
 * their bytes together. 0, or what is wrong. */
int slc_passages_validate(const struct slc_passages *passages);

#endif

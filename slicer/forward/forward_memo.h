/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an execution of a node does to a forward pass, found out once for each way it can go.
 *
 * Which of its instructions are in the slice, and what they leave marked, is a function of a few
 * words: the marks of the registers that it uses before it defines them, the marked bytes of each
 * of its loads, which of its control classes are marked, what the notes of its pops say, what its
 * cmovs took, by what bytes were chosen, and how its loads lie to stores of its own before them.
 * Where all of it is marked by control, pushes and pops are all that matters. These words are the
 * *key* of a memo. The first execution with a key is passed instruction by instruction and writes
 * down what it did; later ones do the same with a few bit operations. A session keeps memos, as
 * those of backward scans
 * (slicer/scan/memo.h).
 */
#ifndef SLICER_FORWARD_FORWARD_MEMO_H
#define SLICER_FORWARD_FORWARD_MEMO_H

#include "slicer/forward/forward.h"
#include "slicer/forward/glance.h"

#define SLC_FWD_STEPS_MAX 32
#define SLC_FWD_ODD_MAX   8
#define SLC_FWD_PICKS_MAX 32 /* slots by which bytes are chosen */
#define SLC_FWD_KEY_MAX                                                                            \
    (2 + 12 + SLC_FWD_ODD_MAX + SLC_GLANCE_LOADS_MAX + SLC_GLANCE_PAIRS_MAX / 8 +                  \
     SLC_GLANCE_POPS_MAX + SLC_GLANCE_PUSHES_MAX + SLC_FWD_PICKS_MAX)

/* What an execution does to memory, in order. */
struct slc_fwd_step {
    uint64_t bytes; /* of a store: marked ones; of a push: slc_save_word() */
    uint16_t slot;
    uint8_t size;
    int8_t reg; /* that is pushed with a note; -1: a store */
};

struct slc_fwd_key {
    unsigned count;
    uint64_t words[SLC_FWD_KEY_MAX];
};

/* The lists lie behind the structure, in one allocation: registers, steps, odd pieces, key. */
struct slc_fwd_memo {
    struct slc_fwd_memo *next; /* of the same node, lately used ones first */
    struct slc_fwd_memo *next_used;
    const struct slc_node *node;
    uint64_t members; /* bit s: statement s is in the slice */
    uint64_t hits;    /* since its counts were collected */
    wetdbg_time first_time, last_time;
    uint8_t step_count, odd_count, key_count;
    bool is_parent; /* what the last instruction lets run is marked */
    uint64_t lists[];
};

/* What is written down of an execution that is passed instruction by instruction. */
struct slc_fwd_draft {
    bool is_void; /* there was too much */
    uint64_t members;
    unsigned step_count;
    struct slc_fwd_step steps[SLC_FWD_STEPS_MAX];
};

static inline void slc_fwd_draft_step(struct slc_fwd_draft *draft, struct slc_fwd_step step)
{
    if (draft->step_count == SLC_FWD_STEPS_MAX)
        draft->is_void = true;
    else
        draft->steps[draft->step_count++] = step;
}

/* The key of an execution of a node whose glance is_fit; `lets`: bit c: control class c is marked.
 * False if none tells what it does. */
bool slc_fwd_key(const struct slc_forward *fwd, const struct slc_fwd_task *task,
                 const struct slc_glance *glance, const struct slc_node *node,
                 const struct wet_exec *exec, unsigned lets, struct slc_fwd_key *key);

/* Whether all of an execution is marked by control, so that little else matters; and nothing at
 * all. */
static inline bool slc_fwd_is_whole(const struct slc_glance *glance, unsigned lets)
{
    return lets && lets == glance->all_lets && !glance->has_rest;
}
static inline bool slc_fwd_is_only_whole(const struct slc_glance *glance, unsigned lets)
{
    return slc_fwd_is_whole(glance, lets) && !glance->push_count && !glance->pop_count;
}

/* The memo of a key; NULL if there is none. */
struct slc_fwd_memo *slc_fwd_memo_find(struct slc_glance *glance, const struct slc_fwd_key *key);

/* Does what the memo says. 0 or -ENOMEM. */
int slc_fwd_memo_apply(struct slc_forward *fwd, struct slc_fwd_task *task,
                       const struct slc_glance *glance, const struct wet_exec *exec,
                       struct slc_fwd_memo *memo);

/* Keeps what a draft says that an execution did, which has left the registers so. 0 or -ENOMEM. */
int slc_fwd_memo_keep(struct slc_glance *glance, const struct slc_node *node,
                      const struct slc_regs *regs, const struct slc_fwd_key *key,
                      const struct slc_fwd_draft *draft, bool is_parent);

/* Counts what memos did since the last time. */
void slc_fwd_memos_collect(struct slc_forward *fwd);

void slc_fwd_memos_free(struct slc_fwd_memo *first);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an execution of a node does to a scan, found out once for each way it can go.
 *
 * Scanned backward, an execution takes places from the wanted ones and adds others. Which ones, and
 * which of its instructions are in the slice, is a function of a few words: the wanted registers
 * among those that the node defines (and which bytes of those that are not wanted whole), the
 * wanted bytes of each of its stores, whether a control
 * dependence led to its last instruction. These words are the *key* of a memo. The first execution
 * with a key is followed instruction by instruction and writes down what it did; later ones
 * do the same with a few bit operations. Nodes have one to three keys mostly.
 *
 * Addresses are not in the key, so that one thing more has to be the same: which operands overlap
 * (a load makes bytes wanted that an earlier store of the node wrote). Pairs of operands for which
 * that matters, and of which the code does not tell, are compared at each execution.
 */
#ifndef SLICER_MEMO_H
#define SLICER_MEMO_H

#include "slicer/slicer.h"

#define SLC_MEMO_STORES_MAX 16
#define SLC_MEMO_STEPS_MAX  64
#define SLC_MEMO_CLASS_MAX  8
#define SLC_MEMO_NARROW_MAX 8
#define SLC_MEMO_KEY_MAX    (1 + 8 + SLC_MEMO_STORES_MAX + SLC_MEMO_NARROW_MAX)

struct slc_node;
struct slc_scan;
struct slc_task;

/* In the order of a scan: bytes of an operand become wanted, or (a store's) are no longer. */
struct slc_step {
    uint64_t mask;
    uint16_t slot;
    uint8_t statement;
    bool is_store;
};

/* Bytes of a store and of another operand, later in the node. */
struct slc_meeting {
    uint16_t store_slot, slot;
    uint8_t store_bytes, bytes;
    int8_t distance; /* of the other one from the store */
    bool is_overlap;
};

struct slc_memo {
    struct slc_memo *next; /* of the same node */
    struct slc_memo *next_used;
    const struct slc_node *node;
    uint64_t members; /* bit s: statement s is in the slice */
    uint64_t hits;    /* since its counts were collected */
    wet_time first_time, last_time;
    /* Registers that are wanted before, of those that the node defines and those that it uses;
     * besides these, bytes of pieces (narrow_count of them behind the key, each as in the key). */
    struct ins_regset value, address;
    uint8_t step_count, meeting_count, class_count, narrow_count;
    uint16_t key_count;
    struct slc_step *steps;
    struct slc_meeting *meetings;
    uint32_t classes[SLC_MEMO_CLASS_MAX]; /* control classes that its members wait for */
    uint64_t key[];
};

/* Embedded in its node. */
struct slc_memos {
    struct slc_memo *first; /* lately used ones first */
    uint32_t count;
    bool is_fit;   /* the node has nothing but plain instructions */
    uint8_t words; /* of register sets that it touches: 1 or 4 */
};

/* What is written down. */
struct slc_draft {
    bool is_void; /* something was met that no key tells */
    uint64_t members;
    unsigned step_count, class_count;
    struct slc_step steps[SLC_MEMO_STEPS_MAX];
    uint32_t classes[SLC_MEMO_CLASS_MAX];
};

static inline void slc_draft_step(struct slc_draft *draft, uint32_t statement, unsigned slot,
                                  uint64_t mask, bool is_store)
{
    if (draft->step_count == SLC_MEMO_STEPS_MAX) {
        draft->is_void = true;
        return;
    }
    draft->steps[draft->step_count++] =
        (struct slc_step){mask, (uint16_t)slot, (uint8_t)statement, is_store};
}

/* For a node whose statements are compiled. */
void slc_memos_init(struct slc_node *node);
void slc_memos_free(struct slc_memos *memos);

/*
 * A whole execution in which nothing happens but instructions: see slc_fast_exec(), which it uses.
 * What scan->hits holds is the last instruction's, and is gone afterwards. 0 or an error.
 */
int slc_memo_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  struct slc_node *node);

#endif

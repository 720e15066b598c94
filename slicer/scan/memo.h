/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an execution of a node does to a scan, found out once for each way it can go.
 *
 * Scanned backward, an execution takes places from the wanted ones and adds others. Which ones, and
 * which of its instructions are in the slice, is a function of a few words: the wanted registers
 * among those that the node defines (and which bytes of those that are not wanted whole), the
 * wanted bytes of each of its stores, what of a saved register waits for a push of it, whether a
 * control dependence led to its last instruction. These words are the *key* of a memo. The first
 * execution with a key is followed instruction by instruction and writes down what it did; later
 * ones do the same with a few bit operations. Nodes have one to three keys mostly.
 *
 * Addresses are not in the key, so that one thing more has to be the same: which operands overlap
 * (a load makes bytes wanted that an earlier store of the node wrote). Pairs of operands for which
 * that matters, and of which the code does not tell, are compared at each execution. So is which
 * operands those cmovs took that define something wanted, what chose where something wanted
 * was taken by a mask or by indices, and whether
 * pops can be passed by (slicer/scan/bypass.h) as they were.
 */
#ifndef SLICER_SCAN_MEMO_H
#define SLICER_SCAN_MEMO_H

#include "slicer/slicer.h"

#define SLC_MEMO_STORES_MAX 16
#define SLC_MEMO_STEPS_MAX  64
#define SLC_MEMO_CLASS_MAX  16
#define SLC_MEMO_ODD_MAX    8
#define SLC_MEMO_PICKS_MAX  32
#define SLC_MEMO_LINE       64 /* bytes that memos are aligned to */
#define SLC_MEMO_KEY_MAX    (1 + 12 + 2 * SLC_MEMO_STORES_MAX + SLC_MEMO_ODD_MAX)

struct slc_node;
struct slc_scan;
struct slc_task;
struct slc_regs;

enum slc_step_kind {
    SLC_STEP_WANT, /* bytes of an operand become wanted */
    SLC_STEP_DROP, /* ... of a store are no longer */
    SLC_STEP_POP,  /* a register's wants begin to wait; mask is slc_saved_word() */
    SLC_STEP_PUSH, /* ... end to */
};

/* In the order of a scan. */
struct slc_step {
    uint64_t mask;
    uint16_t slot;
    uint8_t statement;
    uint8_t kind;
};

/* Bytes of a store and of another operand, later in the node. */
struct slc_meeting {
    uint16_t store_slot, slot;
    uint8_t store_bytes, bytes;
    int8_t distance; /* of the other one from the store */
    bool is_overlap;
};

/* What chose: bits of a word of an execution's slots. */
struct slc_memo_pick {
    uint64_t value, mask;
    uint16_t slot;
};

/* Registers that become wanted, of 64 locations: as values whole or the lower half, as
 * addresses. */
struct slc_memo_word {
    uint64_t value, half, address;
};

/* What one way through a node does to a scan. The lists lie behind the structure, in one
 * allocation. */
struct slc_memo {
    struct slc_memo *next; /* of the same node */
    uint64_t members;      /* bit s: statement s is in the slice */
    uint64_t hits;         /* since its counts were collected */
    uint64_t choices,
        chosen; /* cmovs that mattered, as bits of their statements, and what they did */
    wetdbg_time first_time, last_time;
    struct slc_memo *next_used;
    const struct slc_node *node;
    uint8_t step_count, meeting_count, class_count, odd_count, pop_count, pick_count;
    const struct slc_memo_word *words; /* as many as the node's memos.words */
    const struct slc_step *steps;
    const struct slc_memo_pick *picks;
    const struct slc_meeting *meetings;
    const uint64_t *odd;     /* pieces of which other bytes become wanted, as in the key */
    const uint32_t *classes; /* control classes that its members wait for */
    uint64_t key[];
};

/* Embedded in its node. */
struct slc_memos {
    struct slc_memo *first; /* lately used ones first */
    uint32_t count;
    bool is_fit;      /* the node has nothing but plain instructions */
    uint8_t words;    /* of register sets that it touches: 1 or 4 */
    bool has_choices; /* as the node's compiled.choice_count, which lies farther off */
};

/* What is written down. */
struct slc_draft {
    bool is_void; /* something was met that no key tells */
    uint64_t members;
    uint64_t choices; /* bit s: what statement s, a cmov, took mattered */
    unsigned step_count, class_count, pick_count;
    struct slc_step steps[SLC_MEMO_STEPS_MAX];
    struct slc_memo_pick picks[SLC_MEMO_PICKS_MAX];
    uint32_t classes[SLC_MEMO_CLASS_MAX];
};

static inline void slc_draft_step(struct slc_draft *draft, uint32_t statement, unsigned slot,
                                  uint64_t mask, enum slc_step_kind kind)
{
    if (draft->step_count == SLC_MEMO_STEPS_MAX) {
        draft->is_void = true;
        return;
    }
    draft->steps[draft->step_count++] =
        (struct slc_step){mask, (uint16_t)slot, (uint8_t)statement, (uint8_t)kind};
}

/* For a node whose statements are compiled. */
void slc_memos_init(struct slc_node *node);
void slc_memos_free(struct slc_memos *memos);

/*
 * Passes a whole execution in which nothing happens but instructions: see slc_fast_exec(), which it
 * uses. `is_control`: a control dependence led to its last instruction; scan->hits need not say so,
 * and may still do afterwards. 0 or an error.
 */
int slc_memo_exec(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  struct slc_node *node, bool is_control);

/* ---- slicer/scan/memo_make.c ---- */

/* Whether bytes [a, a + a_bytes) and [b, b + b_bytes) have some in common. */
static inline bool slc_overlaps(uint64_t a, unsigned a_bytes, uint64_t b, unsigned b_bytes)
{
    return b - a < a_bytes || a - b < b_bytes;
}

/* Appends the pieces of `set` (of so many words) that are wanted in odd parts; returns how many
 * there are, of which at most SLC_MEMO_ODD_MAX are appended. */
unsigned slc_memo_odd(const struct slc_regs *regs, const uint64_t *set, unsigned words,
                      uint64_t *list);

/* The key of an execution. */
struct slc_memo_key {
    unsigned count;
    uint32_t met; /* bit i: something of store i is wanted, or waits */
    uint64_t words[SLC_MEMO_KEY_MAX];
};

/* Follows an execution instruction by instruction (scan->hits as for slc_fast_exec()), and keeps
 * what that did, if it can be told by the key. 0 or an error. */
int slc_memo_make(struct slc_scan *scan, struct slc_task *task, const struct wet_exec *exec,
                  struct slc_node *node, const struct slc_memo_key *key);

/* Members, steps and meetings are of the memo's node, classes exist. 0, or what is wrong. */
int slc_memo_validate(const struct slc_memo *memo, uint32_t class_count);

#endif

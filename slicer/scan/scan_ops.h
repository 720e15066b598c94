/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions compiled for a scan that keeps no users: what decides whether an instance is in the
 * slice, and what it wants then, as a few words each. Bits of word i are locations 64 i..64 i + 63;
 * general registers, flags and xmm0 are all in word 0, so that most instructions are *narrow*.
 */
#ifndef SLICER_SCAN_SCAN_OPS_H
#define SLICER_SCAN_SCAN_OPS_H

#include "slicer/pieces.h"
#include "slicer/slicer.h"

/* A flow. */
struct slc_way {
    struct {
        uint64_t value_hits; /* wanted as a value: the flow is */
        uint64_t address_hits;
        uint64_t uses;
        uint64_t address_uses;
    } word[4];
    uint16_t halves; /* general registers of which it uses the lower half; not in `uses` */
    uint8_t loads;   /* memory operands that it uses whole */
    bool has_store;  /* it writes the instruction's store */
    bool is_branch;  /* followed where a control dependence led here */
    bool is_move;    /* it passes on bytes: */
    bool is_pick;    /* ... those that a selector chose, of what it may use; `move` says where to */
    struct slc_move move;
};

enum slc_op_flag {
    SLC_OP_HARD = 1, /* not compiled: for slc_follow() */
    SLC_OP_STORE = 2,
    SLC_OP_NARROW = 4,
    SLC_OP_BRANCH = 8, /* a way is a branch */
};

/* A statement of a node. */
struct slc_op {
    struct {
        uint64_t touches; /* what its ways may define */
        uint64_t defines; /* for sure */
    } word[4];
    const struct slc_way *ways;
    uint8_t way_count;
    uint8_t flags;         /* enum slc_op_flag */
    int8_t pushed, popped; /* see slc_pushed_register() */
    uint16_t slot;         /* of its first memory operand */
    uint16_t store_slot;
    uint8_t store_bytes;   /* up to 64 */
    uint8_t load_bytes[4]; /* of each operand, up to 64 */
    uint8_t taken, kept;   /* of a cmov: bit f: flow f, if it took its operand; if it did not */
    uint16_t choice_slot;  /* ... that says which */
    const struct ins_info *pick; /* NULL unless a way is_pick */
    struct slc_op *tops; /* of what names st(i): eight, by TOP; this one has all they have */
    uint16_t top_slot;   /* ... that has TOP, of which the code tells TOP here */
    uint32_t klass;      /* control class, or SLC_UNKNOWN */
    uint32_t pc_index;   /* in code's pcs */
};

/* A cmov. */
struct slc_choice {
    uint32_t statement;
    uint16_t slot;
};

struct slc_op_list {
    struct slc_op *ops;
    struct slc_way *ways;
    struct slc_choice *choices;
    uint32_t choice_count;
    uint32_t pick_slots; /* of all picks, and of what tells TOP */
};

#define SLC_TOP_BITS 0x3800u /* of a slot that has TOP */

/* The op of an execution. */
static inline struct slc_op *slc_op_settled(struct slc_op *op, const uint64_t *slots)
{
    return op->tops ? &op->tops[slots[op->choice_slot] >> 11 & 7] : op;
}

/* The flows of an execution that may apply, as bits. */
static inline unsigned slc_op_flows(const struct slc_op *op, const uint64_t *slots)
{
    if (!op->taken)
        return UINT32_MAX;
    return slots[op->choice_slot] & 1 ? ~(unsigned)op->kept : ~(unsigned)op->taken;
}

/* The slots that an op's pick chose by: the first of op->pick->choice.slots. */
static inline unsigned slc_op_pick_slot(const struct slc_op *op)
{
    return op->slot + op->pick->mem_count;
}

/* What the cmovs of an execution did: bit s: that of statement s, below 64, took its operand. */
static inline uint64_t slc_op_list_chosen(const struct slc_op_list *list, const uint64_t *slots)
{
    uint64_t chosen = 0;

    for (uint32_t i = 0; i < list->choice_count; i++)
        chosen |= (slots[list->choices[i].slot] & 1) << (list->choices[i].statement % 64);
    return chosen;
}

/* Compiles a node's statements; to be freed with slc_op_list_free(). 0 or -ENOMEM. */
int slc_op_list_make(struct slc_op_list *list, const struct wet_node *node, bool follows_address);
void slc_op_list_free(struct slc_op_list *list);

#endif

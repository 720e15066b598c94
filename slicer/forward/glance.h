/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a glance at an execution needs to tell that nothing of the source meets it: the registers
 * that its node touches at all, its memory operands, its control classes. And what memos of the
 * node (slicer/forward/forward_memo.h) are about. Kept with the node.
 */
#ifndef SLICER_FORWARD_GLANCE_H
#define SLICER_FORWARD_GLANCE_H

#include "slicer/scan/code_summary.h"

struct slc_touched {
    uint16_t slot;
    uint8_t bytes; /* up to 64 */
};

#define SLC_GLANCE_LOADS_MAX   24
#define SLC_GLANCE_PAIRS_MAX   64
#define SLC_GLANCE_POPS_MAX    8
#define SLC_GLANCE_PUSHES_MAX  8
#define SLC_GLANCE_CLASSES_MAX 16

/* A store, and a load of a later instruction. */
struct slc_operands {
    struct slc_touched store, load;
    bool is_pop;
};

/* A pop of a saved register. */
struct slc_popping {
    uint32_t statement;
    uint16_t slot;
};

struct slc_fwd_memo;

struct slc_glance {
    struct ins_regset touches; /* registers that are read or defined */
    bool is_plain;             /* all instructions are compiled */
    uint16_t operand_count, class_count;
    uint32_t *classes; /* distinct ones of its instructions; NULL until they are asked for */
    /* Of memos: */
    bool is_fit;            /* it can have some */
    bool has_rest;          /* what it perhaps defines may keep marks though all of it is marked */
    unsigned all_lets;      /* bit c: class c, the last one also for all beyond */
    uint8_t words;          /* of register sets that it touches: 1 or 4 */
    struct ins_regset uses; /* registers whose marks before it matter */
    struct ins_regset defines; /* that it defines, or perhaps does */
    uint8_t load_count, pair_count, pop_count, push_count, memo_count;
    uint8_t pushed[SLC_GLANCE_PUSHES_MAX]; /* saved registers that are pushed */
    struct slc_touched *loads;
    struct slc_operands *pairs;
    struct slc_popping *pops;
    struct slc_fwd_memo *memos;
    struct slc_fwd_memo *whole; /* where all of it is marked, and that is all that matters */
    struct slc_touched operands[];
};

/* To be freed by slc_glance_free(); NULL if memory is short. For a node that is compiled. */
struct slc_glance *slc_glance_make(const struct slc_node *node);
void slc_glance_free(struct slc_glance *glance);

/* Finds the classes. 0 or -ENOMEM. */
int slc_glance_classes(struct slc_glance *glance, struct slc_code *code, struct slc_node *node);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dependences of a whole run, found in one pass forward while it is replayed.
 *
 * Each execution of a node (wet/intervals.h) gets a number, from 1 in order of time; so does each
 * recorded event (a system call defines its result and what the kernel wrote). A *label* is the
 * number of the execution that defined what another one used; 0: nothing in the run did. Together
 * with the node's static code it names the instruction: within a node the last definition counts.
 * (Zhang & Gupta, MICRO 2004, section 2: edges labelled with pairs of timestamps; here the user's
 * is implied by the order.)
 *
 * What an execution used, in this order:
 *  1. the *inputs* of its node: the register pieces that it reads before it writes them, grouped so
 *     that the pieces of one group always have the same definition. One label each.
 *  2. its memory operands that are read, instruction by instruction. One label if all bytes have
 *     the same, else WET_LABEL_RUNS, the number of runs, and for each run its label and its bytes.
 *     A definition earlier in the same execution has that execution's number.
 * Registers used inside a node where they were defined need no label, nor do control dependences:
 * both follow from the code, the order of executions and the call stack.
 *
 * A place that an instruction may leave as it was (INS may_defs) counts as used and defined.
 * Threads share memory and have registers of their own.
 */
#ifndef WET_DEPEND_DEPEND_H
#define WET_DEPEND_DEPEND_H

#include <signal.h>
#include <stdint.h>

#include "recorder/feed/feed.h"
#include "recorder/insn/insn.h"

#define WET_LABEL_RUNS UINT32_MAX

/* What the labels of a node's executions belong to. */
struct wet_label_node {
    uint64_t pc;
    const uint8_t
        *code; /* of its instructions; bytes that are none count as one each, and as no operands */
    uint32_t code_bytes;
    uint32_t statement_count;
    uint32_t input_count;
    const struct ins_regset *inputs; /* in the order of their labels */
};

/*
 * A piece of the run in which executions follow each other without an event between them.
 *
 * Labels are numbers of 32 bits. In a run of more executions than that some stand for others: what
 * a label means is asked for with wet_label_number().
 */
struct wet_label_block {
    uint64_t first;                            /* number of its first execution */
    uint64_t executions;                       /* whose numbers are consecutive */
    const struct wet_label_node *const *nodes; /* by id */
    const uint32_t *words;                     /* for each execution its node's id and its labels */
    size_t word_count;
    uint64_t base;       /* what labels of the current span of numbers lack */
    const uint64_t *old; /* the numbers that labels 1 to old_count stand for */
    uint32_t old_count;
};

/* The number that a label of this block stands for; not for WET_LABEL_RUNS. */
static inline uint64_t wet_label_number(const struct wet_label_block *block, uint32_t label)
{
    if (label == 0)
        return 0;
    return label <= block->old_count ? block->old[label - 1] : block->base + label;
}

struct wet_depend_options {
    /* Gets every block, in order of time, on a thread of its own; valid during the call. Non-zero
     * ends the pass and is returned. NULL: blocks are made and thrown away. */
    int (*labels)(void *arg, const struct wet_label_block *block);
    void *arg;
    const volatile sig_atomic_t *interrupted; /* may be NULL */
    uint32_t number_max; /* labels are at most this much; 0: as large as they can be */
};

struct wet_depend_result {
    uint64_t instructions;
    uint64_t executions;
    uint64_t register_labels;
    uint64_t memory_labels; /* operands read */
    uint64_t split_labels;  /* of these: those whose bytes have several definitions */
    double seconds;
};

/*
 * Replays `feed` (at its beginning) to its end and finds all labels. Memory: as much as the program
 * touched, four times that in addition where it stores single bytes. Errors: those of
 * rep_engine_run(); -ENOMEM; -WETDBG_ERR_MACHINE where no memory can be made executable;
 * -WETDBG_ERR_UNSUPPORTED if more than 2^31 executions have defined something that is still there.
 */
int wet_find_dependences(struct rep_feed *feed, const struct wet_depend_options *options,
                         struct wet_depend_result *result);

#endif

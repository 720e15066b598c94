/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dependences of a whole run, found in one pass forward while it is replayed.
 *
 * Each execution of a node (wet/wet.h) gets a number, from 1 in order of time; so does each recorded
 * event (a system call defines its result and what the kernel wrote). A *label* is the number of the execution
 * that defined what another one used; 0: nothing in the run did. Together with the node's static
 * code it names the instruction: within a node the last definition counts. (Zhang & Gupta, MICRO
 * 2004, section 2: edges labelled with pairs of timestamps; here the user's is implied by the order.)
 *
 * What an execution used, in this order:
 *  1. the *inputs* of its node: the register pieces that it reads before it writes them, grouped so
 *     that the pieces of one group always have the same definition. One label each.
 *  2. its memory operands that are read, instruction by instruction. One label if all bytes have the
 *     same, else WET_LABEL_RUNS, the number of runs, and for each run its label and its bytes.
 *     A definition earlier in the same execution has that execution's number.
 * Registers used inside a node where they were defined need no label, nor do control dependences: both
 * follow from the code, the order of executions and the call stack.
 *
 * A place that an instruction may leave as it was (INS may_defs) counts as used and defined. Threads
 * share memory and have registers of their own.
 */
#ifndef WET_DEPEND_DEPEND_H
#define WET_DEPEND_DEPEND_H

#include <signal.h>
#include <stdint.h>

#include "recorder/insn/insn.h"
#include "recorder/replay/feed.h"

#define WET_LABEL_RUNS UINT32_MAX

/* What the labels of a node's executions belong to. */
struct wet_label_node {
    uint64_t pc;
    const struct ins_info *infos; /* one per instruction */
    uint32_t statement_count;
    uint32_t input_count;
    const struct ins_regset *inputs; /* in the order of their labels */
};

/* A piece of the run. Events have numbers too, so those of executions have gaps. */
struct wet_label_block {
    const uint32_t *numbers;                   /* of each execution */
    const struct wet_label_node *const *nodes; /* of each execution */
    size_t executions;
    const uint32_t *labels; /* of all of them, one after the other */
    size_t label_count;
};

struct wet_depend_options {
    /* Gets every block, in order of time, on a thread of its own; valid during the call. Non-zero ends
     * the pass and is returned. NULL: labels are found and thrown away. */
    int (*labels)(void *arg, const struct wet_label_block *block);
    void *arg;
    const volatile sig_atomic_t *interrupted; /* may be NULL */
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
 * Replays `feed` (at its beginning) to its end and finds all labels. Memory: four times what the
 * program touched. Errors: those of rep_engine_run(); -ENOMEM; -WD_ERR_UNSUPPORTED for a run of more than 2^32 - 2
 * executions.
 */
int wet_find_dependences(struct rep_feed *feed, const struct wet_depend_options *options,
                         struct wet_depend_result *result);

#endif

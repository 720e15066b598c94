/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One instruction of the pass by which confidence is found: takes the pins off what it defined,
 * judges by them how sure its own value is, and pins what it used.
 *
 * X. Zhang, N. Gupta, R. Gupta, Pruning dynamic slices with confidence, PLDI 2006; there consumers
 * are inverted by profiled pairs of operands and results, here they are computed once more with
 * other operands.
 */
#ifndef SLICER_CONFIDENCE_EVIDENCE_H
#define SLICER_CONFIDENCE_EVIDENCE_H

#include "slicer/confidence/pins.h"
#include "slicer/confidence/ranges.h"
#include "slicer/confidence/values.h"

#define SLC_FLAG_PINS_MAX 8

/* Flags that decided something that is known to be right. */
struct slc_flag_pin {
    struct slc_outcome outcome;
    bool varies; /* it turned out both ways in this run */
};

/* What is pinned in the registers of a task. */
struct slc_pinned_task {
    slc_pin spots[SLC_SPOT_COUNT];
    struct ins_regset pinned; /* locations that may have pins */
    struct ins_regset live;   /* that a later instruction reads */
    struct slc_flag_pin flags[SLC_FLAG_PINS_MAX];
    unsigned flag_count;
};

/* The pass, as an instruction sees it. */
struct slc_stepping {
    struct slc_pins *pins;
    struct slc_ranges *ranges;
    struct slc_values *values;
    /* instances whose operands nothing is said about, because they cannot be computed again */
    uint64_t unjudged;
};

/* An instance. */
struct slc_instance {
    const struct wet_statement *statement;
    const uint64_t *slots; /* of its execution */
    wetdbg_time time;
    uint32_t task;
    uint64_t next_pc; /* where its task went after it; 0: not known */
    bool is_guard;    /* it let something run that is known to be right */
    bool is_right;    /* somebody has said that it did what it should */
    bool is_loader;   /* it is the dynamic linker's */
};

/* What came of it. */
struct slc_verdict {
    bool is_pinned;    /* correct outputs say something about it */
    bool is_neutral;   /* it has no value of its own: a call, a jump */
    double confidence; /* 0 to 1 */
};

/* 0 or an error of the wet. */
int slc_step(struct slc_stepping *stepping, struct slc_pinned_task *task,
             const struct slc_instance *instance, struct slc_verdict *verdict);

/* Pins bytes of a location, all of them, as exact. */
void slc_pin_location(struct slc_stepping *stepping, struct slc_pinned_task *task,
                      unsigned location, uint64_t bytes);

/* Forgets all pins of a task's registers: something happened to it that is no instruction. */
void slc_forget_registers(struct slc_stepping *stepping, struct slc_pinned_task *task);

/* What the instruction does to what is live: looked at backward. */
void slc_pass_liveness(struct ins_regset *live, const struct ins_info *info);

#endif

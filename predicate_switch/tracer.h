/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs that went on differently, gone over once more from their entries to see which way a thread
 * took, and what it found somewhere on it. In one process for all runs, which keeps what it has
 * translated; no file is written.
 */
#ifndef PREDICATE_SWITCH_TRACER_H
#define PREDICATE_SWITCH_TRACER_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/event/queue.h"
#include <wetdbg/walk.h>

struct psw_tracer;

/* `wet` lives longer. No process is there yet. -ENOMEM. */
int psw_tracer_new(struct wetdbg *wet, struct psw_tracer **out);
void psw_tracer_free(struct psw_tracer *tracer); /* NULL is fine */

/*
 * Takes a run: its entries from the first instruction to EVQ_END, which are borrowed until the next
 * one is taken. 0, or errors of making a process.
 */
int psw_tracer_take(struct psw_tracer *tracer, const struct wd_buf *entries);

/* ---- a thread's way ----
 * As walks are (<wetdbg/walk.h>), but forwards only, and from the run's code as it is cut here.
 * Functions that move it give 1, 0 at the thread's end, or an error of replay, after which only
 * psw_tracer_free() is allowed. */

/* Stands before the first instruction at `time` or later of the thread that is in slot `task` then,
 * or at its end. 0 or an error. */
int psw_way_begin(struct psw_tracer *tracer, uint64_t time, uint32_t task);

struct psw_way_node {
    enum wetdbg_transfer transfer;
    uint64_t end; /* the address behind its last instruction */
};

bool psw_way_is_end(const struct psw_tracer *tracer);
uint64_t psw_way_time(const struct psw_tracer *tracer);
uint64_t psw_way_pc(const struct psw_tracer *tracer);
const struct psw_way_node *psw_way_here(const struct psw_tracer *tracer);
uint32_t psw_way_left(const struct psw_tracer *tracer);
uint64_t psw_way_slot(const struct psw_tracer *tracer);

int psw_way_next(struct psw_tracer *tracer);
int psw_way_next_node(struct psw_tracer *tracer, int *change);
void psw_way_to_last(struct psw_tracer *tracer);

/* ---- a state ----
 * Nothing of a way is there any more when a state has been asked for. */

struct psw_machine {
    struct evq_regs regs;
    const uint8_t *xsave; /* borrowed until the tracer is asked for something else */
    size_t xsave_bytes;
};

/* Goes to where the instruction at `time` is about to run. 0, or an error of replay;
 * -WETDBG_ERR_NOT_FOUND, without a sentence, if the run does not stand still there. */
int psw_tracer_go_to(struct psw_tracer *tracer, uint64_t time, struct psw_machine *machine);

/* Reads memory there: how many bytes in a row could be read goes to *done. */
int psw_tracer_read(struct psw_tracer *tracer, uint64_t address, void *bytes, size_t count,
                    size_t *done);

#endif

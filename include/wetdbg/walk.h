/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk over the instructions that one thread executed, either way. No state is opened for it, so
 * that millions of calls can be passed over in a moment.
 *
 * A walk stands *before* an instruction of its thread, in a *node*: code that runs straight
 * through, of which only the last instruction leads elsewhere. Calls and returns are known by the
 * address of the return address on the stack, their *slot*: it names a function's frame from its
 * call to its return.
 *
 * Functions that move a walk give 1; 0 if there is nothing in that direction, and then it stands at
 * the thread's end, or before its first instruction; or an error: of memory, of a .wet file whose
 * intervals cannot be run again, or -WETDBG_ERR_INTERRUPTED if whoever watches the walk wants it to
 * end. So all nodes of a thread, for a walk that is not at its end, are
 *
 *     do
 *         use(wetdbg_walk_here(walk));
 *     while ((result = wetdbg_walk_next_node(walk, NULL)) == 1);
 */
#ifndef WETDBG_WALK_H
#define WETDBG_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

/* How the last instruction of a node leads to what comes next. */
enum wetdbg_transfer {
    WETDBG_TRANSFER_NONE, /* to the instruction behind it */
    WETDBG_TRANSFER_BRANCH,
    WETDBG_TRANSFER_JUMP,
    WETDBG_TRANSFER_INDIRECT_JUMP,
    /* Direct or not; the node after it, if no signal handler came between, is the callee's, or a
     * stub's. */
    WETDBG_TRANSFER_CALL,
    WETDBG_TRANSFER_RETURN,
    WETDBG_TRANSFER_SYSCALL,
    WETDBG_TRANSFER_OTHER, /* traps, and instructions whose results come from outside */
};

struct wetdbg_walk_node {
    enum wetdbg_transfer transfer;
    bool is_entry;        /* it begins at a function's first instruction */
    bool is_of_line;      /* all of it is code of one source line: */
    uint32_t line;        /* ... of `file` */
    uint32_t count;       /* instructions */
    uint64_t end;         /* the address behind its last one: where a call returns to */
    uint64_t function;    /* where its function starts; 0: unknown */
    const char *file;     /* the model's */
    const char *inlined;  /* innermost inlined function there, the model's */
    size_t inlined_count; /* functions there: inlined ones, and the one that they are a part of */
};

struct wetdbg_walk;

/*
 * Stands before the thread's first instruction at `time` or later, or at its end. 0 or an error.
 * *out is for wetdbg_walk_close(), before the wet is closed.
 */
int wetdbg_walk_open(struct wetdbg *wet, const struct wetdbg_thread *thread, wetdbg_time time,
                     struct wetdbg_walk **out);
void wetdbg_walk_close(struct wetdbg_walk *walk); /* NULL is fine */

/* From now on `is_unwanted` is asked once for each interval whether to give up. */
void wetdbg_walk_watch(struct wetdbg_walk *walk, bool (*is_unwanted)(void *arg), void *arg);

/* ---- where it stands ---- */

/* Behind the thread's last instruction. What follows is asked of a walk that is not. */
bool wetdbg_walk_is_end(const struct wetdbg_walk *walk);
wetdbg_time wetdbg_walk_time(const struct wetdbg_walk *walk);
uint64_t wetdbg_walk_pc(struct wetdbg_walk *walk);

/* The node that it stands in. Borrowed until the walk is closed. */
const struct wetdbg_walk_node *wetdbg_walk_here(struct wetdbg_walk *walk);

/* How many instructions of its node come after the one that it stands before. */
uint32_t wetdbg_walk_left(struct wetdbg_walk *walk);

/* The stack slot of the call or return that its node ends with. */
uint64_t wetdbg_walk_slot(struct wetdbg_walk *walk);

/* The interval that it stands in, by number; the time of that one's first instruction. */
uint64_t wetdbg_walk_interval(const struct wetdbg_walk *walk);
wetdbg_time wetdbg_walk_interval_time(const struct wetdbg_walk *walk);

const struct wetdbg_thread *wetdbg_walk_thread(const struct wetdbg_walk *walk);

/* The times between which the thread's instructions lie, as far as the file holds them. */
wetdbg_time wetdbg_walk_first_time(const struct wetdbg_walk *walk);
wetdbg_time wetdbg_walk_last_time(const struct wetdbg_walk *walk);

/* The stack pointer at the begin of the signal handler that it met last; 0: none so far. */
uint64_t wetdbg_walk_handler_stack(const struct wetdbg_walk *walk);

/* ---- moving ---- */

/*
 * Goes to the thread's next (earlier) instruction. *change, unless NULL, is how many signal
 * handlers began in between less those that ended, in order of time.
 */
int wetdbg_walk_next(struct wetdbg_walk *walk, int *change);
int wetdbg_walk_previous(struct wetdbg_walk *walk, int *change);

/* Goes over whole executions of nodes, standing before the first (the last) instruction of one. */
int wetdbg_walk_next_node(struct wetdbg_walk *walk, int *change);
int wetdbg_walk_previous_node(struct wetdbg_walk *walk, int *change);

/* Goes before the last (first) instruction of its node. */
void wetdbg_walk_to_last(struct wetdbg_walk *walk);
void wetdbg_walk_to_first(struct wetdbg_walk *walk);

/* Behind the thread's last instruction. */
void wetdbg_walk_to_end(struct wetdbg_walk *walk);

/* Goes to the thread's first instruction at `time` or later. 0, perhaps at its end, or an error. */
int wetdbg_walk_seek(struct wetdbg_walk *walk, wetdbg_time time);

/* Goes to the thread's last instruction at `time` or earlier. 0 if there is none: it stands at the
 * first one. */
int wetdbg_walk_seek_back(struct wetdbg_walk *walk, wetdbg_time time);

/*
 * The node right before the one that it stands in, if the thread ran that within the interval with
 * nobody in between and no signal handler in the whole interval; else NULL. Moves nothing.
 */
const struct wetdbg_walk_node *wetdbg_walk_before(struct wetdbg_walk *walk);

WETDBG_END

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk over the instructions that one thread executed, either way, interval by interval. What is
 * looked at are the arrays of struct wet_interval: no state is opened, so that millions of calls can
 * be passed over in a moment.
 *
 * A walk stands *before* an instruction of its thread. Calls and returns are known by the address of the
 * return address on the stack, their *slot*: it names a function's frame from its call to its return.
 */
#ifndef DBGCLI_NAV_WALK_H
#define DBGCLI_NAV_WALK_H

#include <stdbool.h>

#include "wet/intervals.h"
#include <wetdbg/model.h>

/* What a walk needs to know of a node; made when it is first met. */
struct cli_walk_node {
    bool is_known;
    bool is_entry;       /* it begins at a function's first instruction */
    bool is_of_line;     /* all of it is code of one source line: */
    uint8_t klass;       /* enum ins_class of its last instruction: only that one leaves it */
    uint16_t slot;       /* of a call or return: where in the execution's slots its stack slot is */
    uint32_t line;       /* ... of `file` */
    uint32_t count;      /* instructions */
    uint64_t function;   /* where its function starts; 0: unknown */
    const char *file;    /* the model's */
    const char *inlined; /* innermost inlined function there, the model's */
    const struct wet_node *node;
};

/* A signal handler's begin (+1) or end (-1), after instruction `time`. */
struct cli_walk_mark {
    wetdbg_time time;
    int change;
    uint64_t stack; /* rsp at the handler's begin */
};

struct cli_walk {
    struct wetdbg *wet;
    struct wetdbg_model *model;
    const struct wetdbg_thread *thread;
    wetdbg_time first, last; /* times between which the thread's instructions lie */
    const struct wet_interval *interval;
    size_t exec;        /* of `interval`; exec_count and is_end: behind the last one */
    uint32_t statement; /* of its node */
    bool is_end;
    bool is_start;               /* a step back from the thread's first instruction was refused */
    struct cli_walk_node *nodes; /* by id */
    uint32_t node_limit;
    struct cli_walk_mark *marks; /* of the interval and the thread, by time */
    size_t mark_count;
    uint64_t handler_stack;             /* rsp at the begin of the handler that was met last */
    bool (*is_unwanted)(void *context); /* asked once for each interval: give up? May be NULL */
    void *context;
};

/*
 * Stands before the thread's first instruction at `time` or later; is_end if there is none. 0, and
 * cli_walk_fini() is due; or an error of wet_interval_get().
 */
int cli_walk_init(struct cli_walk *walk, struct wetdbg *wet, const struct wetdbg_thread *thread,
                  wetdbg_time time);
void cli_walk_fini(struct cli_walk *walk);

/* Goes to the thread's first instruction at `time` or later. */
int cli_walk_seek(struct cli_walk *walk, wetdbg_time time);

/* Goes to its last instruction at `time` or earlier. 1; 0 if there is none: it stands at the first. */
int cli_walk_seek_back(struct cli_walk *walk, wetdbg_time time);

/* Whether an event calls a signal handler whose return address, `address`, lies at `slot`. */
bool cli_walk_calls_handler(const struct wet_event *event, uint64_t slot, uint64_t address);

/* Where it stands; not at the end. */
wetdbg_time cli_walk_time(const struct cli_walk *walk);
uint64_t cli_walk_pc(struct cli_walk *walk);
const struct wet_statement *cli_walk_statement(struct cli_walk *walk);

/* The node that it stands in; NULL where memory is short. Borrowed until the walk ends. */
const struct cli_walk_node *cli_walk_here(struct cli_walk *walk);
const struct cli_walk_node *cli_walk_node(struct cli_walk *walk, uint32_t id);

/* The stack slot of the call or return that it stands before (its statement is the node's last). */
uint64_t cli_walk_slot(struct cli_walk *walk);
bool cli_walk_is_last(struct cli_walk *walk);

/*
 * To the thread's next (earlier) instruction. *change, unless NULL, is how many signal handlers began
 * in between less those that ended, in order of time. 1; 0 at the end (start); or an error.
 */
int cli_walk_next(struct cli_walk *walk, int *change);
int cli_walk_previous(struct cli_walk *walk, int *change);

/* The same for whole executions of nodes, standing before the first (the last) instruction of one. */
int cli_walk_next_node(struct cli_walk *walk, int *change);
int cli_walk_previous_node(struct cli_walk *walk, int *change);

/* Times of interval k: of its first instruction, and of the next one's. */
wetdbg_time cli_walk_interval_start(struct wetdbg *wet, uint64_t k);

static inline bool cli_walk_is_call(const struct cli_walk_node *node)
{
    return node->klass == INS_CALL || node->klass == INS_CALL_INDIRECT;
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a run stops: breakpoints, watchpoints and catchpoints, with conditions, ignore counts and
 * hit counts as a debugger has them, forward and backward. They are answered from the trace:
 * intervals in which nothing of a breakpoint ran, or nothing wrote to a watched line, are not run
 * again.
 *
 * A *stop* is a state of the run: the time at which a debugger would stand. Of code it is that of
 * the instruction, which has not run yet. Of a write, a read or a system call's end it is, forward,
 * the time behind the instruction, and backward the instruction's own: what it did is then undone.
 */
#ifndef WETDBG_BREAKS_H
#define WETDBG_BREAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <wetdbg/api.h>
#include <wetdbg/model.h>
#include <wetdbg/wet.h>

WETDBG_BEGIN

enum wetdbg_break_kind {
    WETDBG_BREAK_CODE,         /* an instruction at one of `pcs` is about to run */
    WETDBG_BREAK_WATCH,        /* bytes of `range` are given other values */
    WETDBG_BREAK_READ_WATCH,   /* an instruction reads some of `range` */
    WETDBG_BREAK_ACCESS_WATCH, /* reads or writes some of it, the same values too */
    WETDBG_BREAK_CATCH,        /* an event that `takes` wants */
};

/* What made a break stop. */
struct wetdbg_stop {
    wetdbg_time time;                   /* of the state to stand at */
    wetdbg_time at;                     /* of the instruction that did it, or that is about to */
    uint64_t pc;                        /* its address; 0: the kernel did it */
    int64_t syscall;                    /* number of the call that the kernel did it for; or -1 */
    const struct wetdbg_thread *thread; /* that runs it; NULL: nobody does */
    enum wetdbg_event_kind event;       /* of WETDBG_BREAK_CATCH, with the number of the call or */
    int number;                         /* ... signal */
    bool is_read;                       /* of an access: it reads */
    /* The watched bytes lie in a stack frame that ends here (forward: its function has just
     * returned; backward: it is about to be called). Nothing of `range` after that is theirs. */
    bool is_scope_end;
};

/* Whether a condition holds at a stop, of which `state` is the state: 1, 0, or a negative error,
 * which ends the search and is returned. It may ask for other states, not run another search. */
typedef int (*wetdbg_condition_fn)(void *arg, const struct wetdbg_stop *stop,
                                   struct wetdbg_state *state);

/* Whether a catchpoint wants an event: a system call's begin or end, a fault or a signal. Its
 * registers are not told. */
typedef bool (*wetdbg_catch_fn)(void *arg, const struct wetdbg_event *event);

/* One of them; the holder's, as is what it points to. All zero where nothing is said. */
struct wetdbg_break {
    enum wetdbg_break_kind kind;
    bool is_enabled;
    const uint64_t *pcs; /* of code: distinct */
    size_t pc_count;
    struct wetdbg_range range; /* of watchpoints */
    /* A watched range that lies in a stack frame: where that frame's return address is, the code of
     * its function, and a time at which it is there. frame_slot 0: it lies in none. */
    uint64_t frame_slot;
    struct wetdbg_range frame_function;
    wetdbg_time frame_time;
    wetdbg_catch_fn takes;              /* of catchpoints */
    const struct wetdbg_thread *thread; /* only what this one does; NULL: any */
    wetdbg_condition_fn holds;          /* NULL: without a condition */
    void *arg;                          /* of `takes` and `holds` */

    /* Counted on by the search: */
    uint64_t ignore; /* so many more hits do not stop */
    uint64_t hits;   /* so often its condition held, and was ignored or not */
    /* ... and set by it: */
    bool is_hit; /* it stopped the last search */
    struct wetdbg_stop stop;
    /* Known of the frame so far: it is there from the instruction behind the first time to the
     * second one, and not before (after) if the flag says so. To be left alone. */
    wetdbg_time frame_from, frame_to;
    bool has_frame_start, has_frame_end;
};

/* What searches keep between them. */
struct wetdbg_breaks;

/* *out is for wetdbg_breaks_close(), before the wet is closed. 0 or -ENOMEM. */
int wetdbg_breaks_open(struct wetdbg *wet, struct wetdbg_breaks **out);
void wetdbg_breaks_close(struct wetdbg_breaks *breaks); /* NULL is fine */

/* From now on `is_unwanted` is asked whether to give up, once for each interval that is looked at,
 * of which `now` is the first time. */
void wetdbg_breaks_watch(struct wetdbg_breaks *breaks,
                         bool (*is_unwanted)(void *arg, wetdbg_time now), void *arg);

/*
 * Goes from the state at `from` forward (backward) to the first stop behind (before) it, not beyond
 * the state at `to`. 1, with *time and what it says in the breaks that stop there, all that are
 * enabled at once; 0 if there is none, and then hits were counted all the same. Errors: of running
 * an interval, of conditions, -ENOMEM, -WETDBG_ERR_INTERRUPTED.
 *
 * Without conditions and threads intervals are passed over by the counts of the trace alone, so
 * that the millionth hit costs what the first one does.
 */
int wetdbg_breaks_find(struct wetdbg_breaks *breaks, struct wetdbg_break *const *list, size_t count,
                       wetdbg_time from, wetdbg_time to, bool is_back, wetdbg_time *time);

WETDBG_END

#endif

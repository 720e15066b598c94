/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files of this folder share. */
#ifndef BREAKS_BREAKS_PRIV_H
#define BREAKS_BREAKS_PRIV_H

#include <wetdbg/breaks.h>
#include <wetdbg/writes.h>

/* What may stop: its condition has not been asked yet. */
struct brk_candidate {
    struct wetdbg_stop stop;
    uint32_t index; /* of the break in the search's list */
    bool is_maybe;  /* it may have written nothing */
    bool holds;     /* once it has been judged */
};

/* An event that catchpoints can be set on. */
struct brk_event {
    struct wetdbg_event is; /* without registers */
    wetdbg_time state;      /* at which it stops */
};

struct wetdbg_breaks {
    struct wetdbg *wet;
    struct wetdbg_write_finder *writes, *reads; /* NULL until needed */
    struct brk_event *events;                   /* by time; read when first needed */
    size_t event_count, event_capacity;
    bool has_events;
    struct brk_candidate *items; /* of the piece at work, by state */
    size_t count, capacity;
    bool (*is_unwanted)(void *arg, wetdbg_time now); /* may be NULL */
    void *arg;
};

/* A search, and the piece of it that is being looked at: states low..high, all of one interval. */
struct brk_search {
    struct wetdbg_breaks *breaks;
    struct wetdbg_break *const *list;
    size_t count;
    bool is_back;
    uint64_t k;
    wetdbg_time low, high;
    bool is_whole; /* all states of the interval */
};

/* -WETDBG_ERR_INTERRUPTED, in a sentence, if the search is to end. */
int brk_check(struct wetdbg_breaks *breaks, uint64_t k);

/* Fills breaks->items for the piece, by state; or passes the piece over, counting. 0 or an
 * error. */
int brk_gather(struct brk_search *search);

/* Goes through what was gathered, in the search's direction. 1 and *time: it stops there; 0: it
 * does not; or an error. */
int brk_judge(struct brk_search *search, wetdbg_time *time);

/* Finds out how long the frame of a watchpoint is there, as far as instructions from..to
 * concern. */
int brk_frame_learn(struct wetdbg_breaks *breaks, struct wetdbg_break *is, wetdbg_time from,
                    wetdbg_time to);

/* wetdbg_writes_each(), with a finder that is opened when first needed. */
int brk_writes_each(struct wetdbg_breaks *breaks, uint64_t k, const struct wetdbg_range *range,
                    wetdbg_time from, wetdbg_time to, bool with_returns, wetdbg_write_fn fn,
                    void *arg);

static inline uint64_t brk_size(const struct wetdbg_range *range)
{
    return range->end - range->start;
}

#endif

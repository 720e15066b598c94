/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Intervals that have been run again: made by whoever owns the engine, kept by the caller's thread.
 *
 *   interval.c   the cache, and what callers ask
 *   unpack.c     from the event ring to arrays
 *   worker.c     the thread that runs an interval while the caller looks at another one
 */
#ifndef WET_QUERY_INTERVAL_H
#define WET_QUERY_INTERVAL_H

#include <pthread.h>

#include "common/buf.h"
#include "recorder/agent/agent.h"
#include "wet/intervals.h"
#include "wet/query/keep.h"

/* Memory that grows, and is used again. All zero: none. */
struct wet_area {
    uint8_t *data;
    size_t bytes;
};

struct wet_arrays {
    struct wet_area execs, slots;
};

struct wet_cached {
    struct wet_kept kept;
    struct wet_interval is;
    struct wet_arrays *arrays;
    size_t slot_count;
    struct wd_buf events, entries;
};

/* How often an interval was run again, and what it takes: the same each time. */
struct wet_size {
    uint32_t execs, slots;
    uint32_t times;
};

/* How the slots of a fragment's executions come from its records, four at a time; `more` of a slot
 * without a word has the record's first word taken off. */
struct wet_expansion {
    struct wet_expansion *next;
    uint32_t slot_count, group_count;
    bool is_near; /* no word is beyond the record's fourth */
    struct {
        uint64_t more[4];
        uint32_t word[4], halves[4][2]; /* which word, and which half words those are */
    } groups[];
};

/* What unpacking a ring needs of one of the engine's fragments. */
struct wet_fragment {
    uint32_t word; /* of its records (agt_ring_word); 0: not looked up yet */
    uint32_t node;
    const struct wet_expansion *expansion; /* NULL: each slot has its word */
};

/* What is known of all fragments, by the engine's fragment id. */
struct wet_fragments {
    struct wet_expansion *expansions;
    struct wet_fragment by_id[AGT_COUNT_MAX];
};

void wet_fragments_free(struct wet_fragments *fragments);

/* Runs interval k again. By the engine's owner. Errors are those of wet_interval_get(). */
int wet_interval_make(struct wetdbg *wet, uint64_t k, struct wet_cached **out);
void wet_cached_free(struct wetdbg *wet, struct wet_cached *cached);

void wet_arrays_free(struct wet_arrays *arrays);

/*
 * What all who walk an interval trust: executions follow each other without a gap in time and in
 * slots, and end with it; nodes exist; events are ordered, of this interval, and know the execution
 * before them. 0, or what is wrong. For wd_checked() and tests.
 */
int wet_interval_validate(struct wetdbg *wet, const struct wet_interval *interval,
                          size_t slot_count);

/* ---- unpack.c ---- */

/* An interval whose arrays are being made. */
struct wet_unpacking {
    struct wetdbg *wet;
    struct wet_cached *cached;
    size_t events_done;
    size_t exec_count, slot_count;
    uint64_t time; /* instructions so far */
};

struct wet_part;

/*
 * Appends the executions of a part of the run. The events in it are in `cached`; `ring_at` has for
 * each of the interval's how far its part of the ring was filled. -WETDBG_ERR_DIVERGED, -ENOMEM...
 */
int wet_unpack(struct wet_unpacking *unpacking, const struct wet_part *from,
               const uint64_t *ring_at);

/* Makes room for at least that many. */
int wet_arrays_reserve(struct wet_arrays *arrays, size_t execs, size_t slots);

/* ---- worker.c ---- */

enum wet_worker_state { WET_WORKER_IDLE, WET_WORKER_BUSY, WET_WORKER_DONE };

/*
 * While it is busy the engine, the space and the table of fragments belong to it, otherwise to the
 * caller's thread; the lock hands them over.
 */
struct wet_worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_running; /* the thread exists */
    bool quit;
    enum wet_worker_state state;
    uint64_t k;
    struct wet_cached *result; /* of DONE; NULL: it failed */
};

int wet_worker_init(struct wet_worker *worker);
/* Ends the worker's thread; what it made is freed. */
void wet_worker_fini(struct wetdbg *wet);

/* Has the worker run interval k, if it is idle. */
void wet_worker_ask(struct wetdbg *wet, uint64_t k);
/* Waits until the engine belongs to the caller, who gets what was made, to keep or to free: NULL
 * if there is nothing. */
struct wet_cached *wet_worker_settle(struct wetdbg *wet);
/* wet_worker_settle() without waiting. */
struct wet_cached *wet_worker_poll(struct wetdbg *wet);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the queries have worked out and keep, within a budget of bytes: intervals that were run
 * again, and the tables of counts and of written lines. The one that was not used for the longest
 * time goes first; what somebody holds stays, and so does the latest: the budget is no limit, and
 * nothing fails for it.
 */
#ifndef WET_QUERY_KEEP_H
#define WET_QUERY_KEEP_H

#include <stdint.h>

#define WET_MEMORY_DEFAULT (2ull << 30)

struct wet_keeper;

/* Embedded in what is kept. All zero: not kept. */
struct wet_kept {
    struct wet_kept *older, *newer; /* a ring around the keeper's `end` */
    struct wet_keeper *keeper;
    uint64_t bytes;
    unsigned users;                                 /* who hold it */
    void (*drop)(void *arg, struct wet_kept *kept); /* frees it; not in the list any more */
};

struct wet_keeper {
    struct wet_kept end; /* end.older: the latest; end.newer: the one to go first */
    uint64_t bytes, budget;
    void *arg; /* for drop() */
};

void wet_keeper_init(struct wet_keeper *keeper, void *arg);
/* Drops everything, held or not. */
void wet_keeper_fini(struct wet_keeper *keeper);

/* Keeps something as the latest; others may go. `drop` is set. */
void wet_keep(struct wet_keeper *keeper, struct wet_kept *kept, uint64_t bytes);
/* Notes that something that is kept has been used. */
void wet_keep_touch(struct wet_kept *kept);
/* Lets go of what is beyond the budget. */
void wet_keep_trim(struct wet_keeper *keeper);

#endif

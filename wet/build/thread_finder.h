/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who ran when: threads, turns and uncertain places, gathered from the entries as they are
 * taken. */
#ifndef WET_BUILD_THREAD_FINDER_H
#define WET_BUILD_THREAD_FINDER_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/feed/feed.h"
#include "wet/trace/records.h"

struct wet_thread_finder {
    struct wd_buf threads;            /* struct wet_thread_record */
    struct wd_buf turns;              /* struct wet_turn_record */
    struct wd_buf ambiguous;          /* struct wet_ambiguous_record */
    uint64_t places;                  /* that were looked for */
    uint64_t assigned;                /* instructions of which the thread is known */
    uint32_t by_slot[EVQ_TASKS_MAX];  /* 1 + thread; 0: none */
    bool in_clone[EVQ_TASKS_MAX];     /* the call has been entered */
    char comm[WET_THREAD_NAME_BYTES]; /* captured for the next entry */
    bool has_comm;
    int pid;
    unsigned forks_left; /* until the run is that of `pid` */
    char first_name[WET_THREAD_NAME_BYTES];
};

void wet_thread_finder_init(struct wet_thread_finder *finder, const struct rep_info *info);
void wet_thread_finder_fini(struct wet_thread_finder *finder);

/* Has to be told of every entry, and before it of what it captured. -ENOMEM. */
int wet_thread_finder_entry(struct wet_thread_finder *finder, const struct evq_entry *entry,
                            uint64_t time);
void wet_thread_finder_captured(struct wet_thread_finder *finder, uint64_t tag, const void *bytes,
                                size_t count);

/* The run ends after `instructions`, while the task in `slot` runs. */
int wet_thread_finder_end(struct wet_thread_finder *finder, uint64_t instructions, uint32_t slot);

#endif

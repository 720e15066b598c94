/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joins feed and engine: what builder and plain replay start from. */
#ifndef RECORDER_REPLAY_START_H
#define RECORDER_REPLAY_START_H

#include "recorder/feed/feed.h"
#include "recorder/replay/engine.h"

/* What an engine for the feed's process is made from, and the arrays that `setup` borrows. */
struct rep_start {
    struct rep_engine_setup setup;
    int *files;
    struct rep_span *spans;
    struct agt_cpuid *cpuid;
};

/* 0 or -ENOMEM; rep_start_fini() is due in either case. The descriptors stay the feed's. */
int rep_start_init(struct rep_start *start, struct rep_feed *feed, enum dbi_mode mode);
void rep_start_fini(struct rep_start *start);

/* An engine for the feed's process in some mode. The feed's files are duplicated into the replayee;
 * its entries are for the caller's rep_source to give. Errors are those of rep_engine_new. */
int rep_engine_from_feed(struct rep_feed *feed, enum dbi_mode mode, struct rep_engine **out);

#endif

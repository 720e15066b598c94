/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joins feed and engine: what builder and plain replay start from. */
#ifndef RECORDER_REPLAY_START_H
#define RECORDER_REPLAY_START_H

#include "recorder/replay/engine.h"
#include "recorder/replay/feed.h"

/* An engine for the feed's process in some mode. The feed's files are duplicated into the replayee;
 * its entries are for the caller's rep_source to give. Errors are those of rep_engine_new. */
int rep_engine_from_feed(struct rep_feed *feed, enum dbi_mode mode, struct rep_engine **out);

#endif

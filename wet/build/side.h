/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Windows of the run side by side.
 *
 *   leader   this process: plain replay, with the builder's tables, views and copy of memory. At
 *            each window's start it forks a process that builds the window.
 *   windows  count, find lines and compress; each writes a part (part.h)
 *   merging  by the leader, in order of time, whenever it comes to a window's start
 *
 * A window ends where the leader says that the next one starts, or the build fails: entries, times,
 * registers and vector state of both are compared. So the file is that of one pass.
 */
#ifndef WET_BUILD_SIDE_H
#define WET_BUILD_SIDE_H

#include "wet/build/builder.h"

/* Whether a build is to go side by side if it can: then its space is private memory. */
bool wet_side_is_wanted(const struct wet_build_options *options);

/*
 * How many intervals a window has. To start one takes a moment, longer with more memory, which has
 * to be worth it; but while the last one is built all other processors have nothing to do.
 */
uint64_t wet_side_intervals(const struct wet_build_options *options, uint64_t memory_bytes);

/*
 * Goes on, from an interval's end on, side by side. *rest: there is no room for more processes; the
 * rest of the run is for the builder to go on with, in one pass. Otherwise nothing is left.
 */
int wet_side_build(struct wet_builder *builder, const struct wet_unfinished *unfinished,
                   bool *rest);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the indirect jumps of a run went: pairs of jump and target, each once.
 *
 * They are kept in the order in which intervals met them, so that a journal needs only what came
 * since its last record; sorted when they are asked for.
 */
#ifndef WET_BUILD_JUMP_FINDER_H
#define WET_BUILD_JUMP_FINDER_H

#include "common/buf.h"
#include "recorder/replay/engine.h"

/* All zero is an empty table. */
struct wet_jump_table {
    struct wd_buf rows;   /* struct wet_jump_record, by interval, of each by jump and target */
    struct wd_buf sorted; /* the same by jump and target, as far as has been asked */
};

void wet_jump_table_fini(struct wet_jump_table *table);

/* Adds what the engine knows and the table does not. -ENOMEM and errors of rep_engine_jumps(). */
int wet_jump_table_take(struct wet_jump_table *table, struct rep_engine *engine);

/* Makes `sorted` all of them. 0 or -ENOMEM. */
int wet_jump_table_sort(struct wet_jump_table *table);

#endif

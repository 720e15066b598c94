/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sections of a .wet file that are about the whole run. */
#ifndef WET_BUILD_FINISH_H
#define WET_BUILD_FINISH_H

#include "recorder/replay/engine.h"
#include "wet/build/build_wet.h"
#include "wet/build/node_table.h"
#include "wet/build/outputs.h"
#include "wet/build/thread_finder.h"
#include "wet/store/store.h"
#include "wet/trace/space.h"

struct wet_finish {
    struct rep_feed *feed;
    const struct wet_space *space;
    const struct wet_output_finder *outputs;
    const struct wet_thread_finder *threads;
    const struct wet_node_table *nodes;
    const struct wd_buf *index; /* struct wet_index_record */
    const struct wd_buf *jumps; /* struct wet_jump_record, sorted */
    const char *fingerprint;
    const struct wet_branch_of *branch; /* NULL: none */
    uint64_t first_time, last_time, entries;
    bool has_end; /* it goes on to the run's end */
    uint64_t signal_time;
    int level;
};

int wet_finish_sections(const struct wet_finish *finish, struct wet_store_writer *store,
                        struct wet_build_result *result);

#endif

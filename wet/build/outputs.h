/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the program's output came from: pairs write-like calls with their results. */
#ifndef WET_BUILD_OUTPUTS_H
#define WET_BUILD_OUTPUTS_H

#include <stdbool.h>

#include "common/buf.h"
#include "recorder/event/queue.h"

struct wet_output_finder {
    struct wd_buf outputs; /* struct wet_output_record */
    struct wd_buf offsets; /* u64 per descriptor: bytes written so far */
    struct {
        uint64_t number, args[3], time;
    } pending[EVQ_TASKS_MAX];
    struct wd_buf captured; /* iovecs of the call that is being finished */
    uint64_t syscalls;
};

void wet_output_finder_fini(struct wet_output_finder *finder);

/* Has to be told of every entry, and before it of what it captured. -ENOMEM. */
int wet_output_finder_entry(struct wet_output_finder *finder, const struct evq_entry *entry,
                            uint64_t time);
int wet_output_finder_captured(struct wet_output_finder *finder, uint64_t tag, const void *bytes,
                               size_t count);

#endif

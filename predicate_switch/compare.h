/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a live run puts out, held against what the recording put out, while it comes. */
#ifndef PREDICATE_SWITCH_COMPARE_H
#define PREDICATE_SWITCH_COMPARE_H

#include "predicate_switch/run.h"
#include "predicate_switch/tell.h"

#define PSW_CURSORS 64

struct psw_compare {
    const struct psw_told *told;
    struct psw_cursor { /* where a descriptor is in what was recorded of it */
        int fd;
        size_t output;   /* the piece that comes next */
        uint64_t within; /* so far into it */
        uint64_t offset; /* in all that was put out there */
    } cursors[PSW_CURSORS];
    unsigned cursor_count;
    wetdbg_time from; /* pieces before were put out by the recording */
    struct psw_difference difference;
};

void psw_compare_begin(struct psw_compare *compare, const struct psw_told *told, wetdbg_time from);
void psw_compare_put(struct psw_compare *compare, int fd, const uint8_t *bytes, uint64_t size);

/* Nothing more comes: what is missing is a difference. */
void psw_compare_end(struct psw_compare *compare);

#endif

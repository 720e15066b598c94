/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stand-in for a wet: runs a program natively under single-stepping and answers the queries of
 * wet/wet.h from what it saw. No recording, no replay, no translator; everything is in memory.
 */
#ifndef TESTS_SLICER_FAKE_WET_H
#define TESTS_SLICER_FAKE_WET_H

#include "wet/wet.h"

#define FAKE_INTERVAL 5000

/* One executed instruction; fake_step(wet, t) has time t. */
struct fake_step {
    const struct ins_info *info;
    uint64_t pc;
    uint64_t rsp;    /* before it */
    size_t slot_off; /* into fake_slots(): as struct wet_statement says for one instruction */
    uint32_t node, statement;
};

/* Runs argv[0] with the file as stdin (NULL: /dev/null). Its standard output is discarded (but
 * known). 0 or -1 with a message on stderr. */
int fake_wet_run(char *const argv[], const char *input, uint64_t max_steps, struct wet **out);

const struct fake_step *fake_step(const struct wet *wet, wet_time time);
const uint64_t *fake_slots(const struct wet *wet);

/* What system call instructions wrote, clipped to what they returned. */
struct fake_write {
    wet_time time;
    uint64_t address, size;
};
const struct fake_write *fake_writes(const struct wet *wet, size_t *count);

#endif

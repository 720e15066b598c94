/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fuzzer's input, see fuzz_rr_trace.c; shared with the tool that makes seeds. */
#ifndef TESTS_RR_TRACE_FUZZ_INPUT_H
#define TESTS_RR_TRACE_FUZZ_INPUT_H

#include "common/buf.h"
#include "recorder/rr_trace/rr_trace.h"

enum fuzz_part {
    FUZZ_VERSION,
    FUZZ_EVENTS,
    FUZZ_MMAPS,
    FUZZ_TASKS,
    FUZZ_DATA,
};
#define FUZZ_PARTS     5
#define FUZZ_ZEROS_MAX (4u << 20)

static const char *const fuzz_part_names[FUZZ_PARTS] = {"version", "events", "mmaps", "tasks",
                                                        "data"};

struct fuzz_input {
    bool in_memory;
    struct rrt_bytes parts[FUZZ_PARTS]; /* data is empty when in memory */
    size_t zero_count;                  /* in memory: the size of data */
};

/* 0, or -1 if there is no whole header. Parts that are too short are cut. */
static inline int fuzz_input_split(const uint8_t *bytes, size_t count, struct fuzz_input *input)
{
    struct wd_view view = wd_view_of(bytes, count);
    const uint8_t *form = wd_view_bytes(&view, 1);
    uint32_t sizes[FUZZ_PARTS];
    for (int i = 0; i < FUZZ_PARTS; i++)
        sizes[i] = wd_view_u32(&view);
    if (view.failed)
        return -1;
    input->in_memory = *form == 0;
    input->zero_count = sizes[FUZZ_DATA] % (FUZZ_ZEROS_MAX + 1);
    if (input->in_memory)
        sizes[FUZZ_DATA] = 0;
    for (int i = 0; i < FUZZ_PARTS; i++) {
        size_t left = count - view.at;
        size_t size = sizes[i] < left ? sizes[i] : left;
        input->parts[i].size_bytes = size;
        input->parts[i].data = wd_view_bytes(&view, size);
    }
    return 0;
}

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events that only recordings with rr's system call buffer have. */
#ifndef TESTS_RR_TRACE_BUFFERED_EVENTS_H
#define TESTS_RR_TRACE_BUFFERED_EVENTS_H

#include "recorder/rr_trace/rr_trace.h"

static const enum rrt_event buffered_events[] = {
    RRT_EVENT_PATCH_SYSCALL,
    RRT_EVENT_SYSCALLBUF_ABORT_COMMIT,
    RRT_EVENT_SYSCALLBUF_RESET,
    RRT_EVENT_SYSCALLBUF_FLUSH,
    RRT_EVENT_PATCH_AFTER_SYSCALL,
    RRT_EVENT_PATCH_VSYSCALL,
    RRT_EVENT_PATCH_TRAPPING_INSTRUCTION,
};

#endif

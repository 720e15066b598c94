/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a replayee may ask of the kernel. It is treated as enemy code: whatever is in it, it can
 * compute, and change its own memory.
 */
#ifndef RECORDER_REPLAY_FILTER_H
#define RECORDER_REPLAY_FILTER_H

#include <stdbool.h>

#include "recorder/agent/agent.h"

/* A seccomp program as the agent installs it. */
struct rep_filter {
    uint32_t count;
    uint64_t code[AGT_BPF_MAX];
};

/*
 * `code_fd` is the first of three descriptors, behind those of the recording's files: the code
 * cache's, and with `probes` the shared memory's and the probes' context. Without, there is no way
 * to another process. -WETDBG_ERR_MACHINE if it cannot be made.
 */
int rep_filter_make(struct rep_filter *filter, uint32_t code_fd, bool probes);

/*
 * For the replayee itself, before the filter above: its copies and their parent-death signals shall
 * wait for the supervisor's word (probe.c). The listener's descriptor, or -errno. Nothing else is
 * refused, so it can be sent on.
 */
int rep_filter_listen(void);

#endif

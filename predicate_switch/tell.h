/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tells the virtual kernel what a recorded run did: the run is replayed once, event by event, so
 * that its memory can be looked at before and after each call.
 */
#ifndef PREDICATE_SWITCH_TELL_H
#define PREDICATE_SWITCH_TELL_H

#include "predicate_switch/kernel/vk.h"
#include "predicate_switch/run.h"
#include "recorder/replay/engine.h"
#include "wet/whole.h"

/* What a descriptor was given by a call of this time: `size` bytes at `off` of psw_told.bytes. */
struct psw_output {
    wetdbg_time time, ended; /* when it came back; VK_NEVER */
    uint32_t task;
    int fd;
    uint64_t off, size;
};

struct psw_told {
    struct vk_history *history; /* finished */
    struct psw_output *outputs; /* in order of `time` */
    size_t output_count;
    struct wd_buf bytes;
    bool rdtscp_leaves_rcx; /* as under a recorder that gives only the counter */
};

/* Replays all of the run, on an engine that has not run yet, or was reset; it stands at the end
 * then. 0 or a negative error; psw_told_fini() is due in either case. */
int psw_tell(struct wetdbg *wet, struct rep_engine *engine, const struct psw_surroundings *where,
             struct psw_told *told);
void psw_told_fini(struct psw_told *told);

#endif

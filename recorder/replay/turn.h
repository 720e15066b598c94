/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What replayee and supervisor tell each other when the turn passes.
 *
 * The mailbox and the context lie in memory that the replayee can write at any moment, also when it
 * is not its turn. So the supervisor reads them once, when it gets the turn, into a struct rep_turn
 * of its own; it looks at nothing else, makes its changes there, and they are written back when it
 * gives the turn away. What it alone decides (below) is written and never read.
 */
#ifndef RECORDER_REPLAY_TURN_H
#define RECORDER_REPLAY_TURN_H

#include "recorder/agent/agent.h"

struct rep_turn {
    /* ---- both ways ---- */
    uint32_t request;
    uint64_t args[6];
    struct agt_fault fault;
    uint64_t gpr[16];
    uint64_t rip, rflags;
    uint64_t fs_base;
    uint64_t gs_base;
    uint64_t r15;
    uint64_t branch;
    uint64_t ticks;
    uint64_t rep_count;
    uint64_t stop_body;
    uint64_t place_meetings, place_misses;
    uint64_t queue_tail_bytes;
    uint64_t seq;
    uint64_t log_bytes;
    uint32_t jump_count;
    uint32_t task;
    /* ---- what the supervisor alone decides ---- */
    uint32_t command;
    uint32_t careful;
    uint32_t is_live;
    uint64_t cargs[4];
    uint64_t limit, time_base;
    uint64_t cut_round;
    uint64_t stop_pc;
    uint64_t queue_head_bytes;
    uint32_t ring_start;
    uint32_t patient; /* agt_wait.patient */
};

/* Reads all of the turn that is not for the supervisor to decide. */
void rep_turn_take(struct rep_turn *turn, const struct agt_ctx *ctx);

/* Writes all of the turn but the request. Who may run is another matter (rep_host_send). */
void rep_turn_give(const struct rep_turn *turn, struct agt_ctx *ctx);

#endif

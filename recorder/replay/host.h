/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The replayee as a process: where it is, how it starts, whose turn it is. */
#ifndef RECORDER_REPLAY_HOST_H
#define RECORDER_REPLAY_HOST_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "recorder/agent/agent.h"
#include "recorder/replay/engine.h"
#include "recorder/replay/turn.h"

struct rep_host {
    pid_t pid;    /* not reaped before rep_host_stop(), so it leads its process group until then */
    int pidfd;    /* by which it gets signals */
    int listener; /* where its attempts to copy itself are told; or -errno: there is none */
    pid_t keeper; /* who ends copies when we are gone (keeper.h); 0: no copy was made yet */
    unsigned strangers;        /* copies that were let through and have not been met */
    uint64_t base;             /* of the agent's area in the replayee */
    uint8_t *shm;              /* here */
    struct agt_ctx *ctx;       /* only host.c looks there */
    struct agt_ctx *probe_ctx; /* takes the context's place in a probe */
    struct rep_turn turn;      /* what it said last, and what it will be told */
    uint32_t xsave_bytes;      /* of a task's vector state */
    int shm_fd, code_fd, probe_fd;
    struct rep_span *spans; /* everything that is taken in the replayee, sorted */
    size_t span_count;
    bool has_wall;
    struct rep_span *programs; /* with a wall: what of that is the program's */
    size_t program_count;
    uint8_t *regions[DBI_REGIONS_MAX];
    uint64_t region_at[DBI_REGIONS_MAX]; /* where they are in the replayee; 0: not there yet */
    struct agt_wait wait;                /* for the supervisor's turn */
    int load_fd;                         /* /proc/loadavg, or negative */
    unsigned processors;
    uint64_t load_next; /* TSC: time to look at it again */
};

/* Starts a replayee up to AGT_REQ_READY. On error nothing is left behind. */
int rep_host_start(struct rep_host *host, const struct rep_engine_setup *setup);
void rep_host_stop(struct rep_host *host);

/* ---- probe.c ---- */

/*
 * A probe is a copy of the replayee as it stands, that may run on while the replayee itself waits.
 * `probe` shares everything with `host` but the process and the context; what the probe counts and
 * logs is its own. It must be stopped before `host` is used again. -WETDBG_ERR_MACHINE also if this
 * machine has no way to watch over copies.
 */
int rep_host_probe_start(struct rep_host *host, struct rep_host *probe,
                         const volatile sig_atomic_t *flag);

/* Likewise a *branch*: it stands where the replayee stands, answers the same commands, and shares
 * all but the context with it. */
int rep_host_branch_start(struct rep_host *host, struct rep_host *branch,
                          const volatile sig_atomic_t *flag);
void rep_host_probe_stop(struct rep_host *probe);

/* In the child: installs the listener and sends it, or why there is none. Whether there is one. */
bool rep_listener_send(int socket);
/* What the child has sent; -errno also if that was nothing. */
int rep_listener_receive(int socket);

/* 0, or -WETDBG_ERR_MACHINE, told: somebody in the host tried to copy itself when nobody had asked
 * for it. */
int rep_listener_check(const struct rep_host *host);

/* ---- host.c ---- */

/* 0; -WETDBG_ERR_MACHINE, told, if the process is dead. */
int rep_host_check(const struct rep_host *host);

/*
 * Gives the turn to the agent, with what host->turn says; waits for its next request, which
 * host->turn then has; or does both. -WETDBG_ERR_MACHINE if the replayee dies,
 * -WETDBG_ERR_INTERRUPTED if *flag is set: always if `at_once`, else only if the replayee takes
 * long. (Who has a question to it that does not run the program wants the answer, even though the
 * run before was interrupted.)
 */
void rep_host_send(struct rep_host *host);
int rep_host_exchange(struct rep_host *host, const volatile sig_atomic_t *flag, bool at_once);
int rep_host_wait(struct rep_host *host, const volatile sig_atomic_t *flag, bool at_once);

/* Copies the indices that translated code has put at AGT_LANES_OFF of the process that runs: a
 * probe has a context of its own. */
void rep_host_lanes(const struct rep_host *host, void *indices, size_t bytes);

/* Room to be found: `bytes` from a multiple of `align` on, and `margin` bytes before and behind in
 * which nothing is. */
struct rep_room {
    uint64_t bytes, align, margin;
};

/* The same for a region of the code cache: alone in its granule if there is a wall. */
uint64_t rep_host_place_region(struct rep_host *host, uint64_t near);

/* Whether [start, +bytes) is user space in which nothing of ours is; and that nothing of ours will
 * be there from now on: 0 or -ENOMEM. */
bool rep_host_is_free(const struct rep_host *host, uint64_t start, uint64_t bytes);
int rep_host_take(struct rep_host *host, uint64_t start, uint64_t end);

/* With a wall: whether memory that the program ever uses is in the granule of `address`, so that
 * nothing of ours is there or ever will be. */
bool rep_host_is_programs(const struct rep_host *host, uint64_t address);

#endif

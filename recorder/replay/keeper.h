/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who ends a replayee's copies when the supervisor is gone. A copy does not inherit the replayee's
 * parent-death signal, and cannot be trusted to set its own. But it cannot leave the replayee's
 * process group either, and a group is killed as one. So a small process joins it, which waits for
 * the supervisor's end: it has one page of code, no writable memory, and no descriptors.
 */
#ifndef RECORDER_REPLAY_KEEPER_H
#define RECORDER_REPLAY_KEEPER_H

#include <sys/types.h>

/* Starts one in `group`, which a child of ours leads that was not reaped. Its id, or a negative
 * error, told. */
pid_t rep_keeper_start(pid_t group);

/* For a child that is about to unmap what glibc has: the kernel shall not write there any more. 0
 * or -errno. */
int rep_rseq_leave(void);

#endif

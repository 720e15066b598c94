/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The way of a child from fork to the agent: what it is given, and what it gives up. */
#ifndef RECORDER_REPLAY_CHILD_H
#define RECORDER_REPLAY_CHILD_H

#include "recorder/replay/filter.h"
#include "recorder/replay/host.h"

/*
 * What the child gets: file n at AGT_FILES_FD_BASE + n, then code, shared memory and probes'
 * context, which stay, then two that go when they have been mapped. It cannot write to any of them
 * but the context (by a mapping): whatever it becomes, the code cache holds what the supervisor put
 * there.
 */
enum {
    REP_GIVEN_CODE,
    REP_GIVEN_SHM,
    REP_GIVEN_PROBE,
    REP_GIVEN_BLOB,
    REP_GIVEN_SHM_WRITABLE,
    REP_GIVEN_COUNT
};

struct rep_given {
    size_t file_count;
    int *fds;   /* files, then REP_GIVEN_* */
    bool *own;  /* opened for this */
    int *moved; /* room for the child */
};

/* `blob`: a file with the agent. 0, or a negative error, told; rep_given_fini() is due in any
 * case. */
int rep_given_make(struct rep_given *given, const struct rep_host *host,
                   const struct rep_engine_setup *setup, int blob);
void rep_given_fini(struct rep_given *given);

/* Lets a child have so many files. 0, or a negative error, told. */
int rep_limit_files(size_t count);

/* In the child of `parent`. The filter is filters[1], which allows copies, if a listener for them
 * could be sent to `socket`; negative: none is wanted. What fails ends the child with an enum
 * agt_status. */
__attribute__((noreturn)) void rep_child_run(const struct rep_host *host,
                                             const struct rep_given *given,
                                             const struct rep_filter filters[2], pid_t parent,
                                             int socket);

/* What a child's exit status means, in words; also for a number that is no enum agt_status. */
const char *rep_child_status_text(int status);

#endif

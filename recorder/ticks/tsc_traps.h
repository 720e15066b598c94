/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * rdtsc and rdtscp of the program, on machines that do not trap them.
 *
 * rr has the kernel make both fault (PR_SET_TSC), executes them itself and keeps the result: else
 * no replay could know it. Some virtual machines take no notice, and let the program read the
 * counter. There the code of the program is altered while it is recorded: each of these
 * instructions begins with a `hlt`, which faults in the same way at the same address. rr looks at
 * the bytes there, and is shown those that were; the recording is as on any other machine. rr's own
 * replay, which needs the same fault at each of them, is helped in the same way.
 *
 * Code of files is looked through when it is mapped, the program's own when it begins, and what is
 * made at run time when it is made executable. What a program writes to pages that can be executed
 * meanwhile is not seen, and such an rdtsc is in no recording: replay says so where it comes. A
 * program that reads its own code finds the `hlt`.
 */
#ifndef RECORDER_TICKS_TSC_TRAPS_H
#define RECORDER_TICKS_TSC_TRAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Finds out whether this machine needs them; until then it does not. Called once, by rr's first
 * thread. */
void tck_tsc_traps_begin(void);

/* A task was given another program, and is stopped. */
void tck_tsc_traps_exec(pid_t tid);

/* A stopped task has perhaps come from a call that mapped code. To be called before it runs on: in
 * a recording when rr is done with the call; in a replay, where rr makes the calls itself and takes
 * back the registers, when the call ends. */
void tck_tsc_traps_call(pid_t tid);

/* rr has read `bytes` of `fd` from `offset` on: where that is memory of a task, it gets what was
 * there. */
void tck_tsc_traps_hide(int fd, int64_t offset, void *bytes, size_t size);

/* To be called before `fd` is closed. */
void tck_tsc_traps_forget(int fd);

#endif

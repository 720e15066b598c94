/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recorded program is a job of the user's shell, though the shell knows wetdbg only. So rr
 * must not be stopped or ended by what is meant for the program, and wetdbg is told when the
 * program stops (it then stops itself, and the shell sees what it would have seen), and which
 * signals rr was sent as well: those went to the whole process group, so that the program has
 * got them already.
 *
 * And what rr 5.6 makes of stop signals needs help. It takes each SIGTSTP, SIGTTIN and SIGTTOU
 * for a stop, but the kernel throws them away in a process group that is orphaned, where nobody
 * could continue the job: such a program would stand still for ever. And it gives up when one of
 * them interrupts a system call; SIGSTOP, whose effect is the same, it can bear.
 */
#ifndef RECORDER_TICKS_JOBS_H
#define RECORDER_TICKS_JOBS_H

#include <sys/types.h>

/* The program's first exec: from now on rr takes no notice of stops and passes signals up. */
void tck_jobs_start(pid_t first);

/* rr lets `tid` run on with this ptrace request. */
void tck_jobs_note_resume(int request, pid_t tid);

/*
 * A task has stopped; `stop` is the signal with its event bits. Returns what rr is to see: `stop`
 * itself; SIGSTOP in its place; or TCK_JOBS_GOES_ON for a signal that the kernel would have thrown
 * away, also because a SIGCONT came after it: the task runs again, as rr let it run last, and rr
 * must see nothing.
 */
int tck_jobs_take_stop(pid_t tid, int stop);
#define TCK_JOBS_GOES_ON (-1)

#endif

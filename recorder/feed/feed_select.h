/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which program of a recording: what a user names, or what is taken when nobody names one.
 *
 * What can be chosen is a *program*: what a process ran between one exec and the next, or its end.
 * A process that forked without exec counts as one program, under the name of the one it was
 * forked from. Programs are numbered in the order in which rrt_processes() lists their processes,
 * and within a process in the order of its execs.
 *
 * The rule for "nobody names one" (rep_default_process):
 *   1. a crash (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGTRAP): the one that made the
 *      whole command fail, else the first one;
 *   2. the first process failed: the process whose failure it passed on (below), or it itself;
 *   3. a process that outlived the first one and exited with a status that is not 0;
 *   4. the first process.
 * Of the process that it says, the last program.
 *
 * A process passed on the failure of a child that ended before it, was started by the same program
 * of it, and either left it the status that shells pass on (the child's own, or 128 + signal), or
 * died by the same signal, or is the child of a program that has one status for all failures of
 * its children (make, xargs and the like). Of several such children, the last to end; and so on
 * from there.
 */
#ifndef RECORDER_FEED_FEED_SELECT_H
#define RECORDER_FEED_FEED_SELECT_H

#include "recorder/rr_trace/rr_trace.h"

/* All zero: the default. */
struct rep_selection {
    int pid;        /* its first thread's id as recorded; 0: not by pid */
    char name[256]; /* a program's file without folders, or argv[0] without; "": not by name */
    unsigned nth;   /* the nth of that name, or process of that pid; 0: there is but one */
};

/* Reads "PID", "PID#N", "NAME" or "NAME#N"; NULL and "" select the default. -WD_ERR_USAGE
 * otherwise. */
int rep_selection_parse(const char *text, struct rep_selection *out);

#define REP_FORKED SIZE_MAX

struct rep_program {
    size_t process; /* index */
    size_t exec;    /* index of the program's exec; REP_FORKED: the process ran none */
};

/*
 * Of a list as rrt_processes() gives it. 0; -WD_ERR_NOT_FOUND if there is no such program, or
 * -WD_ERR_USAGE if there are several, with a sentence that names what there is. A name alone means
 * a process's last program if but one such process has it, whatever else had it for a while.
 */
int rep_selection_find(const struct rrt_process *list, size_t count,
                       const struct rep_selection *which, struct rep_program *out);

/* By which of the four rules. */
enum rep_default_reason {
    REP_DEFAULT_FIRST,
    REP_DEFAULT_CRASH,
    REP_DEFAULT_FAILURE,
    REP_DEFAULT_UNSEEN,
};

/* The index of the default, for count > 0. `reason` may be NULL. */
size_t rep_default_process(const struct rrt_process *list, size_t count,
                           enum rep_default_reason *reason);

/*
 * Writes to `text` what rep_selection_parse() takes for exactly this program: "PID" for a
 * process's last program, "PID#N" where another process had that number, "NAME#N" for a program
 * that another one replaced.
 */
void rep_program_handle(const struct rrt_process *list, size_t count, struct rep_program program,
                        char *text, size_t size_bytes);

/* What it was run as; NULL if nobody knows. Borrowed from the list. */
const struct rrt_exec *rep_program_exec(const struct rrt_process *list, struct rep_program program);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which program of a recording: what a user names, or what is taken when nobody names one.
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

/* Reads "PID", "PID#N", "NAME" or "NAME#N"; NULL and "" select the default. -WETDBG_ERR_USAGE
 * otherwise. */
int rep_selection_parse(const char *text, struct rep_selection *out);

/*
 * Finds the program that is meant in a list as wetdbg_recording_processes() gives it. 0;
 * -WETDBG_ERR_NOT_FOUND if there is no such program, or -WETDBG_ERR_USAGE if there are several,
 * with a sentence that names what there is. A name alone means a process's last program if but one
 * such process has it, whatever else had it for a while.
 */
int rep_selection_find(const struct wetdbg_process *list, size_t count,
                       const struct rep_selection *which, struct wetdbg_program *out);

#endif

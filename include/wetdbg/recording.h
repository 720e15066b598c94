/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looking into a recording of rr's: which processes and programs it holds, and its events as text.
 * Making recordings and finding them is in <wetdbg/record.h>, replaying one in <wetdbg/build.h>.
 *
 * What can be chosen is a *program*: what a process ran between one exec and the next, or its end.
 * A process that forked without exec counts as one program, under the name of the one it was forked
 * from. Programs are numbered in the order in which wetdbg_recording_processes() lists their
 * processes, and within a process in the order of its execs.
 *
 * The rule for "nobody names one" (wetdbg_default_process):
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
 *
 * Everything in a recording is untrusted: damage ends in one sentence (<wetdbg/errors.h>) that
 * names the file and the offset.
 */
#ifndef WETDBG_RECORDING_H
#define WETDBG_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

struct wetdbg_recording;

/*
 * Opens the recording in directory `dir`. On success *out is the caller's, to
 * wetdbg_recording_close(). -WETDBG_ERR_CORRUPT if there is none, or it is damaged, or did not end
 * and has no program's start; -WETDBG_ERR_VERSION if it needs another reader;
 * -WETDBG_ERR_UNSUPPORTED if it is not x86-64 or is still being recorded; an errno if a file cannot
 * be opened or read; -ENOMEM.
 */
int wetdbg_recording_open(const char *dir, struct wetdbg_recording **out);
void wetdbg_recording_close(struct wetdbg_recording *trace); /* NULL is fine */

/*
 * Whether the recording did not end, since rr was killed or could not go on: it then goes up to
 * *last_event, as far as all that belongs to an event is there, and programs are ALIVE at its end.
 * *last_event is set only then.
 */
bool wetdbg_recording_unfinished(const struct wetdbg_recording *trace, uint64_t *last_event);

/* Of a recording that did not end, writes to `text` what people should know: a sentence without a
 * full stop. Returns its length, 0 if the recording ended. */
int wetdbg_recording_notice(const struct wetdbg_recording *trace, char *text, size_t size_bytes);

/* ---- processes ---- */

/* One program that a process became. */
struct wetdbg_exec {
    uint64_t time;
    const char *file;
    const char *const *argv; /* argc strings, then NULL */
    size_t argc;
};

enum wetdbg_process_end {
    WETDBG_PROCESS_ALIVE = 0, /* the recording stops before it ended */
    WETDBG_PROCESS_EXITED = 1,
    WETDBG_PROCESS_SIGNALED = 2, /* by a fatal signal of its own or from outside */
    WETDBG_PROCESS_DETACHED = 3,
};

#define WETDBG_NO_PROCESS SIZE_MAX

struct wetdbg_process {
    int pid;        /* tid of its first task; a number may be used again after its process's end */
    int parent_pid; /* 0: started by the recorder */
    size_t parent;  /* index in the list, below its own; or WETDBG_NO_PROCESS. Who started it: stays
                      * so when that one ends first */
    int clone_flags;               /* of the call that made it; 0: started by the recorder */
    uint64_t start_time, end_time; /* frames; end_time is that of its last frame */
    enum wetdbg_process_end end;
    int wait_status;            /* EXITED, SIGNALED: as from waitpid(2) */
    int fatal_signal;           /* number, or 0 */
    uint64_t fatal_signal_time; /* frame of the signal's arrival, or 0 */
    uint64_t frame_count;
    const int *tids; /* in order of creation; the first is pid */
    size_t tid_count;
    const struct wetdbg_exec *execs;
    size_t exec_count;                   /* 0: forked without exec */
    const struct wetdbg_exec *inherited; /* exec_count 0: what its ancestor ran; or NULL */
};

/* *list is ordered by start, and borrowed until wetdbg_recording_close(). */
int wetdbg_recording_processes(struct wetdbg_recording *trace, const struct wetdbg_process **list,
                               size_t *count);

/* ---- programs ---- */

#define WETDBG_FORKED SIZE_MAX

struct wetdbg_program {
    size_t process; /* index */
    size_t exec;    /* index of the program's exec; WETDBG_FORKED: the process ran none */
};

/* By which of the four rules. */
enum wetdbg_default_reason {
    WETDBG_DEFAULT_FIRST,
    WETDBG_DEFAULT_CRASH,
    WETDBG_DEFAULT_FAILURE,
    WETDBG_DEFAULT_UNSEEN,
};

/* The index of the default, for count > 0. `reason` may be NULL. */
size_t wetdbg_default_process(const struct wetdbg_process *list, size_t count,
                              enum wetdbg_default_reason *reason);

/*
 * Writes to `text` what names exactly this program: "PID" for a
 * process's last program, "PID#N" where another process had that number, "NAME#N" for a program
 * that another one replaced.
 */
void wetdbg_program_handle(const struct wetdbg_process *list, size_t count,
                           struct wetdbg_program program, char *text, size_t size_bytes);

/* What a program was run as; NULL if nobody knows. Borrowed from the list. */
const struct wetdbg_exec *wetdbg_program_exec(const struct wetdbg_process *list,
                                              struct wetdbg_program program);

/* ---- events as text ---- */

enum wetdbg_dump_what {
    WETDBG_DUMP_EVENTS = 1,
    WETDBG_DUMP_MMAPS = 2,
    WETDBG_DUMP_TASKS = 4,
    WETDBG_DUMP_DATA = 8,       /* address and size of each memory record */
    WETDBG_DUMP_REGISTERS = 16, /* with EVENTS: the registers too */
};

/*
 * Writes one line per item to `out`, in recorded order: text for people, or with `json` one
 * object per line. Output errors are left to the caller's ferror(). `what` 0 means EVENTS.
 */
int wetdbg_recording_dump(struct wetdbg_recording *trace, unsigned what, bool json, FILE *out);

WETDBG_END

#endif

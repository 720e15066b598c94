/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Driving the installed rr: recording a program, asking what the machine can do, and looking
 * after the recordings that are there. Reading what a recording contains is rr_trace's business.
 *
 * All functions return 0 or a negative code of <wetdbg/errors.h> and say what went wrong through
 * wetdbg_fail. None writes to standard output or standard error except where its comment says so.
 */
#ifndef WETDBG_RECORD_H
#define WETDBG_RECORD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

/* What `wetdbg record` exits with when it is we that failed, and not the program. */
#define WETDBG_EXIT_FAILED 125

enum wetdbg_ticks {
    WETDBG_TICKS_AUTO,     /* hardware if the machine has it, else software with a line on stderr */
    WETDBG_TICKS_HARDWARE, /* count retired conditional branches with the PMU */
    WETDBG_TICKS_SOFTWARE, /* the preload in rr stands in for the PMU */
};

/* All zero is a good default. Strings are borrowed for the call. */
struct wetdbg_record_options {
    const char *out_dir; /* the trace directory to make; NULL = a new one in rr's place */
    enum wetdbg_ticks ticks;
    bool quiet;    /* no line on stderr about software ticks, or input that was not kept */
    bool wait_all; /* until no process is left; else rr kills those that outlive the program */
    bool chaos;    /* rr draws lots about which thread runs and for how long */
    /* rr makes most system calls by a library in the program and buffers their results, which is
     * faster; the library's own instructions are part of the recording then. */
    bool buffers_calls;
    char *const *environment; /* of the program; NULL: ours */
    /* How many bytes to keep of what standard input, a regular file or a pipe, still holds when the
     * program has ended: for runs that go on differently. A pipe's are read, if nobody else can
     * read them, for 2 s at most. 0: none. */
    uint64_t keep_input;
};

#define WETDBG_KEEP_INPUT (UINT64_C(64) << 20) /* what `wetdbg record` keeps */

struct wetdbg_record_outcome {
    int exit_status; /* of the program; 128 + N if signal N ended it */
    int signal;      /* that ended the program, else 0: pass it to wetdbg_die_of */
    bool is_software_ticks;
    /* SIGHUP, SIGINT, SIGQUIT or SIGTERM came for the program, from a terminal or a process. */
    bool was_told_to_end;
    char *trace_dir; /* absolute; to be freed; never NULL after success */
};

/*
 * Records `argv` (NULL-terminated; argv[0] is looked up in PATH) with rr, and waits for its end.
 *
 * The program has our standard input, output, error, working directory and environment, its
 * exit status comes back unchanged. What rr adds to the environment by itself (LD_PRELOAD of
 * librrpreload.so in front of the user's, RUNNING_UNDER_RR and others) stays. While it runs, this
 * process is what a shell takes for the program: signals that are sent to it go to the program, and
 * it stops when the program does. Not for processes that run several threads.
 *
 * rr is $WETDBG_RR, or `rr` in PATH. rr's warnings and errors go to stderr as they come; its line
 * "Saving execution to trace directory", which it prints on the program's own output when that
 * is a terminal, is dropped (outcome->trace_dir says the same).
 *
 * A negative result means that there is no complete recording: -WETDBG_ERR_NOT_FOUND (no such
 * program), -ENOEXEC, -EISDIR, -WETDBG_ERR_UNSUPPORTED (nothing that could be run and replayed),
 * -EEXIST (out_dir is there already; it is not touched), -EACCES and other errno of the place,
 * -WETDBG_ERR_MACHINE (no rr, no way to count, rr gave up). A directory that rr had already made is
 * removed if the program never started and kept, unfinished, if it did.
 */
int wetdbg_record(const struct wetdbg_record_options *options, char *const argv[],
                  struct wetdbg_record_outcome *outcome);

void wetdbg_record_outcome_fini(struct wetdbg_record_outcome *outcome);

/*
 * Ends this process by `signal` without a core dump, as rr does, so that a shell sees what it
 * would have seen of the program. Returns only if that signal does not end a process.
 */
void wetdbg_die_of(int signal);

/* ---- the machine ---- */

/*
 * Explains on `out` what this machine can do for recording, ending in a verdict line; as one JSON
 * object if `as_json`. Returns 0 if recording is possible in some way, -WETDBG_ERR_MACHINE if not.
 */
int wetdbg_record_check(FILE *out, bool as_json);

/* ---- recordings ---- */

struct wetdbg_recording_entry {
    char *name; /* below the place, or a path */
    char *path;
    struct timespec when; /* when recording ended, or was last seen alive */
    uint64_t size_bytes;  /* on disk; shared hard links counted in full */
    bool is_finished;
    bool is_running; /* some rr holds its lock */
    bool is_software_ticks;
};

/*
 * rr's place for recordings: $_RR_TRACE_DIR; else $XDG_DATA_HOME/rr or ~/.local/share/rr, or
 * ~/.rr if only that exists. To be freed. It need not exist. 0 or -ENOMEM.
 */
int wetdbg_recordings_place(char **path);

/* The recordings in rr's place, oldest first; *entries is to be freed with wetdbg_recordings_free.
 * A place that does not exist holds none. */
int wetdbg_recordings_list(struct wetdbg_recording_entry **entries, size_t *count);
void wetdbg_recordings_free(struct wetdbg_recording_entry *entries, size_t count);

/*
 * Deletes a recording: the files of the directory, and the directory. `name` as for
 * wetdbg_recording_find, except that no recording is implied. Refuses what is not a trace directory
 * (-WETDBG_ERR_USAGE), holds directories of somebody's (-ENOTEMPTY), or is being recorded (-EBUSY).
 */
int wetdbg_recording_remove(const char *name);

/* The newest finished or unfinished recording: latest-trace if that leads somewhere, else the
 * youngest in rr's place. To be freed. -WETDBG_ERR_NOT_FOUND if there is none. */
int wetdbg_recording_newest(char **path);

/*
 * Turns what a user typed into a trace directory's path, to be freed: NULL or "" is the newest;
 * a name without '/' is looked for in rr's place and then here; anything else is a path.
 * -WETDBG_ERR_NOT_FOUND if it is not there, -WETDBG_ERR_USAGE if it is no trace directory,
 * -WETDBG_ERR_CORRUPT if it is the rest of one.
 */
int wetdbg_recording_find(const char *name, char **path);

/* Whether the recording carries the mark of software ticks. An unreadable mark counts as one. */
bool wetdbg_recording_is_software_ticks(const char *trace_dir);

WETDBG_END

#endif

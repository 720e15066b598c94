/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a recording to a Whole Execution Trace: replaying, and where the trace is kept.
 *
 * Functions return 0 or a negative code (<wetdbg/errors.h>).
 */
#ifndef WETDBG_BUILD_H
#define WETDBG_BUILD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <wetdbg/api.h>

WETDBG_BEGIN

struct wetdbg_build_options {
    const char *process; /* "PID[#N]" or "NAME[#N]"; NULL: as <wetdbg/recording.h> says */
    const char *output;  /* FILE.wet; NULL: the default place, see wetdbg_wet_path */
    bool no_trace;       /* replay and verify only */
    /*
     * The part of the run to build: from the moment `from` up to `to`, exclusive. "T": before the
     * instruction with number T; "eN": before the recording's event N; "N%": of all events. NULL:
     * the run's start, its end. Times are those of the whole run.
     */
    const char *from, *to;
    unsigned jobs; /* processors to be used; 0: all */
    /* What buffers may take; 0: 2 GiB. The program's own memory, of which there is a copy, comes on
     * top. */
    uint64_t memory_bytes;
    bool compact; /* a smaller file, slower to build and to ask */
    /* The recording is taken for the user's own. If it is neither (wetdbg_is_trusted), what was
     * recorded runs behind a wall, some tens of percent slower. */
    bool is_trusted;
    const volatile sig_atomic_t *interrupted; /* set by a signal handler; may be NULL */
    /* Told now and then, from the calling thread; may be NULL. */
    void (*progress)(void *arg, uint64_t frames_done, uint64_t frames_total, uint64_t instructions);
    void *progress_arg;
    /* Told in a sentence what the user should know and is no error; may be NULL. */
    void (*notice)(void *arg, const char *sentence);
    void *notice_arg;
};

struct wetdbg_replay_result {
    uint64_t events_checked; /* recorded events taken; all that have registers were compared */
    uint64_t instructions;
    uint64_t nodes; /* 0 with no_trace */
    double seconds;
    bool is_unfinished; /* the recording did not end, and was replayed as far as it goes */
    /* with no_trace: asynchronous events whose place had to be found, and those of them that could
     * have struck elsewhere as well, as far as the recording tells */
    uint64_t asynchronous, ambiguous;
};

/*
 * Replays a recording under translation, checking all registers at every recorded event, and
 * builds its WET unless no_trace is set. *wet_path (may be NULL) becomes the file's path, for the
 * caller to free; NULL with no_trace. Existing files change only on success; but a build that is
 * interrupted or killed leaves *wet_path.part, with which the next one goes on.
 */
int wetdbg_replay(const char *trace_dir, const struct wetdbg_build_options *options,
                  struct wetdbg_replay_result *result, char **wet_path);

/* Whether `wetdbg record` made the recording here, for this user, and nobody else can change it:
 * then the files that wetdbg keeps with it are the user's own, too. */
bool wetdbg_is_trusted(const char *trace_dir);

/*
 * Where the WET of a recording is kept: in the trace directory, or, if that cannot be written,
 * under $XDG_CACHE_HOME/wetdbg. *fresh tells whether a file is there that was built from this
 * very recording by this version. *path is for the caller to free.
 */
int wetdbg_wet_path(const char *trace_dir, const char *process, char **path, bool *fresh);

/* wetdbg_wet_path() for a part of the run, of `options`' process. */
int wetdbg_window_path(const char *trace_dir, const struct wetdbg_build_options *options,
                       char **path, bool *fresh);

const char *wetdbg_version(void);

WETDBG_END

#endif

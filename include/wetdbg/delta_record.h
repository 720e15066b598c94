/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What delta debugging found, recorded: the program runs once more on a minimal input, as the
 * search ran it, and leaves a recording from which a trace can be built, and sliced from the
 * difference to the failure.
 */
#ifndef WETDBG_DELTA_RECORD_H
#define WETDBG_DELTA_RECORD_H

#include <stdbool.h>

#include <wetdbg/api.h>
#include <wetdbg/delta_program.h>

WETDBG_BEGIN

/* All zero: a new directory in rr's place, named after the program. */
struct wetdbg_dd_place {
    const char *dir;   /* the recording's directory, which must not exist yet */
    bool is_temporary; /* one below $TMPDIR or /tmp, if `dir` is NULL */
};

struct wetdbg_dd_recording;

/* Strings live as long as the recording. */
struct wetdbg_dd_recorded {
    const char *trace_dir; /* absolute */
    /* the name of the file (or directory) that the program had as its input; NULL: none had to have
     * a name */
    const char *input;
    const char *scratch; /* the run's own directory, which is gone; the input was there */
    int exit_status;     /* 128 + N if signal N ended it */
    int signal;          /* that ended it, or 0 */
    bool fails; /* by the oracle of the search; of crashes, if any signal ended the first process */
};

/*
 * Records a run on `input`, which is one as in struct wetdbg_dd_result, with the words, the
 * directory, the environment and the limits of `options`. Until wetdbg_dd_recording_close() the
 * recording lives with this process: should it end, in whatever way, a caretaker removes it with
 * all that was put there. -EEXIST if `dir` is there; errors of wetdbg_record(), -WETDBG_ERR_MACHINE
 * if it did not end in time, -WETDBG_ERR_INTERRUPTED; errnos.
 */
int wetdbg_dd_record(const struct wetdbg_dd_options *options, const struct wetdbg_dd_bytes *input,
                     const struct wetdbg_dd_place *place, struct wetdbg_dd_recording **out);

const struct wetdbg_dd_recorded *
wetdbg_dd_recording_get(const struct wetdbg_dd_recording *recording);

/* Keeps the recording, or removes it. NULL is fine. */
void wetdbg_dd_recording_close(struct wetdbg_dd_recording *recording, bool is_kept);

WETDBG_END

#endif

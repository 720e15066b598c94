/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A failure that does not come each time: a program is recorded again and again until a run of it
 * fails, and of all recordings that one is kept. */
#ifndef DBGCLI_VERBS_UNTIL_FAIL_H
#define DBGCLI_VERBS_UNTIL_FAIL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <wetdbg/record.h>

struct cli_until_fail {
    uint64_t runs;   /* that were made */
    bool has_failed; /* the last one: its exit status is not 0, or a signal ended it */
    bool drew_lots;  /* the last one was recorded in chaos mode */
    bool was_told;   /* a signal to this process, or to the job, said that it should end */
    /* Where standard output was when the last run began; -1 where there is no such place. */
    off_t output_begin;
};

/*
 * Records `argv` as wetdbg_record() does, `most` times at most. Each run has standard input from
 * where it was before the first one: what a pipe holds is read to its end first. If the program has
 * several threads or processes, each second run is in chaos mode, or each one with how->chaos.
 * Recordings of runs that did not fail are removed. *outcome is that of the last run, and
 * wetdbg_record_outcome_fini() is due; its trace_dir is NULL if it did not fail. Errors of
 * wetdbg_record(); -errno, explained, if standard input cannot be read again.
 */
int cli_record_until_fail(const struct wetdbg_record_options *how, char *const argv[],
                          uint64_t most, struct wetdbg_record_outcome *outcome,
                          struct cli_until_fail *found);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options that choose how to slice, and running a slice where a person may be waiting. */
#ifndef DBGCLI_COMMANDS_SLICING_H
#define DBGCLI_COMMANDS_SLICING_H

#include "dbgcli/commands/session.h"
#include <wetdbg/origin.h>
#include <wetdbg/set.h>

/* WETDBG_SLICE_FULL unless one of --data, --control, --thin is given; -WETDBG_ERR_USAGE for
 * several. */
int cli_kinds_from(const struct cli_args *args, enum wetdbg_slice_kinds *kinds);

/* Reads a criterion; what has no @TIME means the current time. Errors of wetdbg_criterion_parse()
 * and cli_time_parse(). `from_write` as in struct wetdbg_standpoint. *out is for
 * wetdbg_criterion_free(). */
int cli_criterion_parse(struct cli_session *session, const char *text, bool from_write,
                        struct wetdbg_criterion **out);

/* "full", "data", "thin", "control" */
const char *cli_kinds_name(enum wetdbg_slice_kinds kinds);

/*
 * Slices `criterion` in one direction. A person who waits longer than a moment sees how far it is
 * and, of a first look that way (else NULL), the nearest lines. Errors of wetdbg_slice_backward()
 * and wetdbg_slice_forward().
 */
int cli_slice_run(struct cli_session *session, const struct wetdbg_criterion *criterion,
                  const struct wetdbg_slice_options *how, bool is_forward,
                  const struct wetdbg_slice *look, struct wetdbg_slice **slice);

/* The same backward, which ends with -WETDBG_ERR_INTERRUPTED when cli_seconds() is `until`; 0: it
 * has as long as it takes. */
int cli_slice_run_until(struct cli_session *session, const struct wetdbg_criterion *criterion,
                        const struct wetdbg_slice_options *how, double until,
                        struct wetdbg_slice **slice);

/* A first look from a criterion in one direction, with distances: cut off after a moment, whatever
 * the run's length. Errors of cli_slice_run(). */
int cli_slice_look(struct cli_session *session, const struct wetdbg_criterion *criterion,
                   const struct wetdbg_slice_options *how, bool is_forward,
                   struct wetdbg_slice **look);

/* A set's lines and instances, as wetdbg_slice_of_set() gives them, with the same errors. */
int cli_slice_of_set(struct cli_session *session, const struct wetdbg_set *set,
                     struct wetdbg_slice **slice);

/* Takes criterion and slice (or NULL) over: from now on `why` and `decisions` speak of them. */
void cli_slice_remember(struct cli_session *session, struct wetdbg_criterion *criterion,
                        const struct wetdbg_slice_options *how, bool is_forward,
                        struct wetdbg_slice *slice);

/* Makes the slice of the remembered criterion, with parents, unless it is there. Errors of
 * cli_slice_run(). */
int cli_slice_need(struct cli_session *session, enum wetdbg_slice_kinds kinds);

/* cli_slice_run() for wetdbg_origin(). */
int cli_origin_run(struct cli_session *session, const struct wetdbg_criterion *criterion,
                   bool no_bypass, struct wetdbg_origin **origin);

#endif

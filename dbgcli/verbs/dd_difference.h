/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the output of a failing run parts from that of a passing one: what is wrong, if nobody says
 * it. */
#ifndef DBGCLI_VERBS_DD_DIFFERENCE_H
#define DBGCLI_VERBS_DD_DIFFERENCE_H

#include "dbgcli/commands/session.h"

/*
 * The first byte of standard output, else of standard error, that is not the same in both: as a
 * criterion of the failing run, which is to be freed, and in words (static) what the passing run
 * did there. -WETDBG_ERR_NOT_FOUND, explained, if both put out the same, or what one passed on in
 * the kernel, so that nobody knows it; errors of running intervals.
 */
int cli_dd_difference(struct cli_session *fail, struct cli_session *pass, char **criterion,
                      const char **what);

/*
 * A criterion that a run's --target could be, for a sentence that asks for one: a byte of its
 * output or, without any or with `only_files`, of a file that it wrote; else FILE:LINE:VARIABLE. To
 * be freed, never NULL.
 */
char *cli_dd_target_example(struct cli_session *session, bool only_files);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `wetdbg switch --wrap`: stands before a test's command in whatever runs it. A test that passes is
 * run and nothing else; of one that fails the critical predicate is told on standard error. Ends as
 * the test did.
 *
 * Variables, which cmake/WetdbgCTest.cmake sets: WETDBG_TEST_IS_JUDGED, if not the exit status
 * alone says whether the test passes, so that CTest is asked, and what would change its mind is not
 * told; WETDBG_TEST_SECONDS, after which the test is killed from outside. The test has
 * WETDBG_WRAPPED, so that tests that it runs are not explained.
 */
#ifndef DBGCLI_VERBS_SWITCH_WRAP_H
#define DBGCLI_VERBS_SWITCH_WRAP_H

#include <stdbool.h>

#include "dbgcli/args.h"

/* The exit status, or an error if the options do not go together; does not return if a signal ended
 * the test. */
int cli_switch_wrap(const struct cli_args *args);

/* Whether this process explains a test for cli_switch_wrap(): then a test that passes is no
 * error. */
bool cli_switch_is_wrapped(void);

/* From now on it is, for this process and what it starts. */
void cli_switch_wrap_begin(void);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the program itself, as a shell would. */
#ifndef TESTS_CLI_PROGRAM_H
#define TESTS_CLI_PROGRAM_H

#include "tests/cli/cli_unit.h"

/* Runs a shell command line; what it prints is *text (to be freed), NUL-terminated. Returns its
 * exit status; fails the test if a signal ended it. */
int run_shell(const char *command, char **text);

/* `wetdbg ARGS`, its errors among its answers. */
int run_wetdbg(const char *args, char **text);

/* Runs a shell command line that records; 0 if it ends with status 0 and prints just that, else
 * -1. */
int record_and_hear(const char *command, const char *said);

/* Number of the line of a source that bears a comment which begins with `mark`; fails if none
 * does. */
unsigned line_of_mark(const char *source, const char *mark);

#endif

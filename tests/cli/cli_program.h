/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the program itself, as a shell would. */
#ifndef TESTS_CLI_PROGRAM_H
#define TESTS_CLI_PROGRAM_H

#include "tests/cli/cli_unit.h"

/* Runs a shell command line; what it prints is *text (to be freed), NUL-terminated. Returns its exit
 * status; fails the test if a signal ended it. */
int run_shell(const char *command, char **text);

/* `wetdbg ARGS`, its errors among its answers. */
int run_wetdbg(const char *args, char **text);

/* Number of the line of a source that bears a comment which begins with `mark`; fails if none does. */
unsigned line_of_mark(const char *source, const char *mark);

/* Removes a folder and all in it; 0 or rm's status. */
int remove_folder(const char *path);

#endif

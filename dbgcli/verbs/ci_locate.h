/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A command that failed: it is recorded again, the fault is looked for, and reports are kept. */
#ifndef DBGCLI_VERBS_CI_LOCATE_H
#define DBGCLI_VERBS_CI_LOCATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cli_ci {
    char **argv;
    int status;          /* how it ended, as wait(2) has it */
    const char *folder;  /* where reports go; is made if it is not there */
    const char *process; /* --process, or NULL */
    double budget;       /* seconds, of locating */
    uint64_t runs;       /* recorded ones, until one fails */
    bool has_input;      /* standard input is a file, of which it read from here on: */
    off_t input_begin;
    bool is_input_gone; /* it was a pipe or a terminal */
};

/*
 * Does all that can be done, and says on standard error what came of it, also what could not be;
 * and in $GITHUB_STEP_SUMMARY, in Markdown, if that is set. Standard output stays untouched.
 */
void cli_ci_locate(const struct cli_ci *ci);

#endif

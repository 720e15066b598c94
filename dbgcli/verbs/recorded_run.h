/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run that a verb is about: a .wet file, a recording, or a program that is recorded first. */
#ifndef DBGCLI_VERBS_RECORDED_RUN_H
#define DBGCLI_VERBS_RECORDED_RUN_H

#include <stdbool.h>

/*
 * The .wet file that operands (ending with NULL) stand for: FILE.wet, TRACE, or PROGRAM ARG...,
 * which is recorded. Its standard output is kept from ours, where answers go; its standard input is
 * the file `input`, or ours for NULL. *path is to be freed. -WETDBG_ERR_USAGE, with the verb's
 * name, for words behind a run; errors of recording and building.
 */
int cli_recorded_run_find(const char *verb, char **operands, const char *input, char **path,
                          bool *is_trusted);

/* Records PROGRAM ARG..., whatever the words are, and gives the .wet file of that run as
 * cli_recorded_run_find() does. */
int cli_recorded_run_make(char **argv, const char *input, char **path);

/* Whether one operand is a FILE.wet or a recording, and nothing has to be recorded. */
bool cli_recorded_run_is_there(char **operands);

#endif

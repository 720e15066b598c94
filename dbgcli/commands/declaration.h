/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A type and a name as C declares them. */
#ifndef DBGCLI_COMMANDS_DECLARATION_H
#define DBGCLI_COMMANDS_DECLARATION_H

#include <stdio.h>

/* Prints "int *" and "next" as "int *next"; "int [3]" and "a" as "int a[3]". */
void cli_declaration_print(FILE *stream, const char *type, const char *name);

#endif

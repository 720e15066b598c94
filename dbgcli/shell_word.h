/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words as a shell wants them. */
#ifndef DBGCLI_SHELL_WORD_H
#define DBGCLI_SHELL_WORD_H

#include <stddef.h>

/* A word of the shell that means these bytes, which hold no 0: in single quotes where that has to
 * be. To be freed. */
char *cli_shell_word(const char *text, size_t size);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why a line is suspected, in words, and the command that shows it. */
#ifndef DBGCLI_VERBS_LOCATE_WORDS_H
#define DBGCLI_VERBS_LOCATE_WORDS_H

#include "dbgcli/verbs/locate_steps.h"

/* "3 dependences from what is wrong"; to be freed. */
char *cli_locate_words(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                       const struct wetdbg_reason *reason);

/* All reasons of a suspect, "...; ..."; to be freed. */
char *cli_locate_reasons(const struct cli_locating *self, const struct wetdbg_suspect *suspect);

/* The command of the prompt that shows it, "why a.c:12"; to be freed. NULL: none does. `slice` is
 * due before. */
char *cli_locate_command(const struct cli_locating *self, const struct wetdbg_suspect *suspect,
                         const struct wetdbg_reason *reason);

/* What is wrong, in words: "output:107, the first wrong byte: ..."; to be freed. */
char *cli_locate_failure_words(const struct cli_locating *self);

#endif

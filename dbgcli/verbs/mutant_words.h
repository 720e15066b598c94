/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a mutant is, in words, and how to ask for its run. */
#ifndef DBGCLI_VERBS_MUTANT_WORDS_H
#define DBGCLI_VERBS_MUTANT_WORDS_H

#include <wetdbg/mutate.h>

/* "<= in place of <", "the constant 8 in place of 7", "its call left out", "total set to 0 before
 * it"; to be freed. `text` is
 * that of the source line, or NULL: compilers turn comparisons round, so that only it tells which
 * way one was meant. */
char *cli_mutant_words(struct wetdbg *wet, const struct wetdbg_mutant *mutant, const char *text);

/* "what-if *0x401136+1=126@12345", or with code: at two places; to be freed. */
char *cli_mutant_command(const struct wetdbg_mutant *mutant);

#endif

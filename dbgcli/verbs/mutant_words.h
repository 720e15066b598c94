/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a mutant is, in words, and how to ask for its run. */
#ifndef DBGCLI_VERBS_MUTANT_WORDS_H
#define DBGCLI_VERBS_MUTANT_WORDS_H

#include <wetdbg/mutate.h>

/* "<= in place of <", "the constant 8 in place of 7", "the call left out"; to be freed. `text` is
 * that of the source line, or NULL: compilers turn comparisons round, so that only it tells which
 * way one was meant. */
char *cli_mutant_words(const struct wetdbg_mutant *mutant, const char *text);

/* "what-if *0x401136+1=126@12345"; to be freed. */
char *cli_mutant_command(const struct wetdbg_mutant *mutant);

#endif

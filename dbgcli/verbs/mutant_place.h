/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a mutant that sets or counts something does that to. */
#ifndef DBGCLI_VERBS_MUTANT_PLACE_H
#define DBGCLI_VERBS_MUTANT_PLACE_H

#include <wetdbg/mutate.h>

/* "total", "list->count"; to be freed. NULL: it has no name where the mutant is. */
char *cli_mutant_place(struct wetdbg *wet, const struct wetdbg_mutant *mutant);

#endif

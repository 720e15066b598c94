/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How the result of delta debugging is shown, and what to ask next. */
#ifndef DBGCLI_VERBS_DD_ANSWER_H
#define DBGCLI_VERBS_DD_ANSWER_H

#include "dbgcli/out.h"
#include <wetdbg/delta_program.h>

/* What was found, for people: how much it is, the failure, the difference in its context. */
void cli_dd_print(struct cli_out *out, const struct wetdbg_dd_options *how,
                  const struct wetdbg_dd_result *found);

/* The commands that go on from here: to record the minimal failing run (`kept`: the file that holds
 * its input, or NULL), and to slice from its failure. */
void cli_dd_print_next(struct cli_out *out, const struct wetdbg_dd_options *how,
                       const struct wetdbg_dd_result *found, const char *kept);

/* A blank and a word, quoted for a shell where that has to be. */
void cli_dd_print_word(struct cli_out *out, const char *word);

/* All of it as one object, wetdbg.dd/1, for the caller to add to. */
json_t *cli_dd_json(const struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found);

#endif

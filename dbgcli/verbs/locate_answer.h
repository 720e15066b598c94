/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `wetdbg locate` answers: a list of suspects, as text or as one JSON object. */
#ifndef DBGCLI_VERBS_LOCATE_ANSWER_H
#define DBGCLI_VERBS_LOCATE_ANSWER_H

#include "dbgcli/verbs/locate_steps.h"

/*
 * The list as it is now. In JSON each is an object of schema wetdbg.locate/1; text is the last one
 * only or, on a terminal, the first one too. 0 or an error of wetdbg_locate_suspects().
 */
int cli_locate_answer(struct cli_locating *self);

#endif

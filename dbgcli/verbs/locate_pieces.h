/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The run cut where lines of right output were made; a failing test's at the lines of the test
 * itself. */
#ifndef DBGCLI_VERBS_LOCATE_PIECES_H
#define DBGCLI_VERBS_LOCATE_PIECES_H

#include "dbgcli/verbs/locate_steps.h"

/* Hands it to self->locate. 0, also if nothing came before what is wrong; -ENOMEM, errors of
 * criteria and of running intervals. */
int cli_locating_take_pieces(struct cli_locating *self, bool (*is_unwanted)(void *arg));

#endif

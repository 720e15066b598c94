/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is wrong in a run of which a comparing tool (cmp, diff) did not like the output. */
#ifndef DBGCLI_VERBS_COMPARED_H
#define DBGCLI_VERBS_COMPARED_H

#include "dbgcli/commands/session.h"

struct cli_compared {
    /* Of standard output: what it should have been; NULL: not known. */
    uint8_t *expected;
    size_t expected_size;
    /* Of a file: the first wrong byte as a criterion, or its end if it only lacks something, and a
     * command as --oracle takes it, which asks the same of other runs; NULL: not known. */
    char *target, *command;
};

/*
 * Reads from the tool's words which of two files is the run's output, and compares it with the
 * other, as that is now. 0, also if nothing can be told, and then all is NULL; errors of the wet.
 * cli_compared_fini() is due in any case.
 */
int cli_compared_look(struct cli_session *session, char *const *words,
                      struct cli_compared *compared);
void cli_compared_fini(struct cli_compared *compared);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `wetdbg ci` found, in Markdown, which GitHub shows of a job's step. */
#ifndef DBGCLI_VERBS_CI_SUMMARY_H
#define DBGCLI_VERBS_CI_SUMMARY_H

#include "dbgcli/verbs/locate_steps.h"

/* All zero is an empty one. */
struct cli_ci_summary {
    char *said;  /* list items, or NULL */
    char *table; /* what is wrong, and suspects; NULL: nothing was located */
};

/* Adds a sentence. Untrusted, as all that it takes. */
void cli_ci_summary_say(struct cli_ci_summary *summary, const char *text);

/* Takes what is wrong and the first suspects. 0 or an error of wetdbg_locate_suspects(). */
int cli_ci_summary_take(struct cli_ci_summary *summary, struct cli_locating *locating);

/* All of it, headed by the command; to be freed. */
char *cli_ci_summary_text(const struct cli_ci_summary *summary, char *const *argv);

void cli_ci_summary_fini(struct cli_ci_summary *summary);

#endif

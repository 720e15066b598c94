/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places of a run, as SARIF 2.1.0 (OASIS, 2020) has them: files with their URIs, locations, what
 * passes from one to the next. Numbers of sections are that standard's. */
#ifndef DBGCLI_VERBS_SARIF_H
#define DBGCLI_VERBS_SARIF_H

#include "dbgcli/commands/session.h"

/* A run object's files, as they are named. */
struct cli_sarif {
    struct cli_session *session;
    json_t *artifacts; /* the run's array */
};

/* {"text": TEXT} (3.11). Untrusted bytes, as cli_json_text() takes them. */
json_t *cli_sarif_message(const char *text);

/* A path's URI: file:///... of an absolute one, else a relative reference; percent-encoded. To be
 * freed. */
char *cli_sarif_uri(const char *path);

/* An artifactLocation (3.4) of a file, which is among the run's artifacts after that. */
json_t *cli_sarif_artifact(struct cli_sarif *sarif, const char *path, const char *role);

/* A location (3.28): a source line with its text, and the function. `message` may be NULL; `pc` as
 * for wetdbg_source_line(). */
json_t *cli_sarif_location(struct cli_sarif *sarif, const char *file, uint32_t line,
                           const char *function, uint64_t pc, const char *message);

/*
 * A codeFlow (3.36) with one threadFlow: the path from its last hop to what is wrong, a step for
 * each line of own code in a row. Hops of libraries are told in the message of the step behind
 * them, and so is what a long path has in its middle. NULL if no hop is of own code.
 */
json_t *cli_sarif_flow(struct cli_sarif *sarif, const struct wetdbg_slice_path *path,
                       const char *wrong);

#endif

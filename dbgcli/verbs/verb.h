/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What each verb's file gives to the table in verb.c. */
#ifndef DBGCLI_VERBS_VERB_H
#define DBGCLI_VERBS_VERB_H

#include "dbgcli/app.h"

#define CLI_DECLARE_VERB(name)                                                                     \
    extern const struct cli_syntax cli_##name##_syntax;                                            \
    int cli_##name##_run(struct cli_app *app, const struct cli_args *args)

CLI_DECLARE_VERB(record);
CLI_DECLARE_VERB(ls);
CLI_DECLARE_VERB(rm);
CLI_DECLARE_VERB(ps);
CLI_DECLARE_VERB(dump);
CLI_DECLARE_VERB(replay);
CLI_DECLARE_VERB(open);
CLI_DECLARE_VERB(info);
CLI_DECLARE_VERB(verify);
CLI_DECLARE_VERB(dd);
CLI_DECLARE_VERB(switch);
CLI_DECLARE_VERB(locate);
CLI_DECLARE_VERB(ci);
CLI_DECLARE_VERB(help);
CLI_DECLARE_VERB(version);

/* What the last of these words may become, for the shell: see verb_complete.c. Returns 0. */
int cli_complete_run(struct cli_out *out, int argc, char **argv);

#endif

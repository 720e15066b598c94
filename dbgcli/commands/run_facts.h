/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run's facts and sizes: `wetdbg info` and, at the prompt, `info program`. */
#ifndef DBGCLI_COMMANDS_RUN_FACTS_H
#define DBGCLI_COMMANDS_RUN_FACTS_H

#include "dbgcli/out.h"
#include "wet/wet.h"

void cli_facts_print(struct cli_out *out, const struct wet_info *info);

#endif

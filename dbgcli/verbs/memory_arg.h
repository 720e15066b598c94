/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The option that building and asking share: how much memory may be used. */
#ifndef DBGCLI_VERBS_MEMORY_ARG_H
#define DBGCLI_VERBS_MEMORY_ARG_H

#include "dbgcli/args.h"

#define CLI_MEMORY_OPTION                                                                          \
    {                                                                                              \
        "memory", 0, "SIZE", "what buffers and kept answers may take: 2G, or e.g. 500M"            \
    }

/* The size given with an option, of `least` bytes (some MiB, or 0) at least; 0: none.
 * -WETDBG_ERR_USAGE. */
int cli_size_parse(const struct cli_args *args, const char *option, uint64_t least,
                   uint64_t *bytes);

/* The size given with --memory; 0: none. -WETDBG_ERR_USAGE. */
int cli_memory_parse(const struct cli_args *args, uint64_t *bytes);

#endif

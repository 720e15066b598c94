/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The difference that delta debugging found, as criteria of a recording of the minimal failing
 * run. */
#ifndef DBGCLI_VERBS_DD_SOURCE_H
#define DBGCLI_VERBS_DD_SOURCE_H

#include "dbgcli/out.h"
#include <wetdbg/delta_program.h>

#define CLI_DD_SOURCES_MAX 64

/* "input:0+23", "input:NAME:7", "argv:2", "env:HOME": each what stands together in one of the
 * minimal inputs. */
struct cli_dd_sources {
    char *texts[CLI_DD_SOURCES_MAX];
    size_t count;    /* 0: something is only in the other input */
    size_t left_out; /* that there is no room for */
};

/* What the failing input, or the passing one, has of the difference. `input`: the name of the file
 * (or directory) that the run had as its input, NULL: standard input. cli_dd_sources_free() is
 * due. */
void cli_dd_sources_make(const struct wetdbg_dd_options *how, const struct wetdbg_dd_result *found,
                         bool is_fail, const char *input, struct cli_dd_sources *sources);
void cli_dd_sources_free(struct cli_dd_sources *sources);

/* Where offsets of the recording's input are not those of the original one: a line for each piece,
 * the first ones. */
void cli_dd_offsets_print(struct cli_out *out, const struct wetdbg_dd_options *how,
                          const struct wetdbg_dd_result *found);

#endif

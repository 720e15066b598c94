/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of a slice that is not the program's own (<wetdbg/caller.h>) or that nobody can read:
 * code of libraries, without line information, or with lines of files that are not on this machine.
 * Its instances are put together by function.
 */
#ifndef DBGCLI_COMMANDS_SLICE_GROUPS_H
#define DBGCLI_COMMANDS_SLICE_GROUPS_H

#include "dbgcli/commands/session.h"

struct cli_slice_group {
    const char *module, *function; /* borrowed from the slice */
    uint64_t instances;
    uint64_t lines;        /* 0: no line information */
    wetdbg_time last_time; /* of its most recent instance */
    bool is_own;           /* the program's, without source */
};

/* Whether a line is to be shown by itself: it is own code, of the program or of a library whose
 * source is here. */
bool cli_slice_line_is_readable(struct cli_session *session, const struct wetdbg_slice_line *line);

/* All that are not readable, own code first, and then the most recent first. *groups is to be
 * freed. */
void cli_slice_groups_make(struct cli_session *session, const struct wetdbg_slice_line *lines,
                           size_t count, struct cli_slice_group **groups, size_t *group_count);

/* Writes the groups of some lines as text, the first ten unless all are asked for. */
void cli_slice_groups_print(struct cli_session *session, const struct wetdbg_slice_line *lines,
                            size_t line_count, bool shows_all);

#endif

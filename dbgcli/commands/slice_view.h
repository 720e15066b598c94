/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a slice as a person or a machine is shown them. */
#ifndef DBGCLI_COMMANDS_SLICE_VIEW_H
#define DBGCLI_COMMANDS_SLICE_VIEW_H

#include "dbgcli/commands/session.h"

struct cli_slice_threads;

/* Session and how to show are filled in by its holder. */
struct cli_slice_view {
    struct cli_session *session;
    uint64_t limit; /* of lines, and of instances of each; 0: none */
    bool has_instances;
    bool shows_all;
    /* Of two slices that are compared: whether the other has the line as well, with other instances, and what
     * text says of it. NULL: there is no other. */
    bool (*is_shared)(const void *arg, const struct wetdbg_slice_line *line);
    const void *shared_arg;
    const char *shared_text;
    /* Filled in by cli_slice_view_open(). */
    const struct wetdbg_slice *slice;
    struct cli_slice_threads *threads; /* NULL: there is one only */
    const struct wetdbg_slice_line *lines;
    size_t count;
};

/* Looks at a slice, which must outlive the view; then cli_slice_view_close() is due. Errors of
 * cli_slice_threads_make(). */
int cli_slice_view_open(struct cli_slice_view *view, const struct wetdbg_slice *slice);
void cli_slice_view_close(struct cli_slice_view *view);

/* Lines, and code whose source is not here by function. Errors of wetdbg_slice_each_line_instance(). */
int cli_slice_view_print(const struct cli_slice_view *view);

/* The members "lines" and "without_lines"; with the same errors. */
int cli_slice_view_to_json(const struct cli_slice_view *view, json_t *object);

#endif

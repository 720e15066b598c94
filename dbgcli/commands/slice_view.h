/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lines of a slice as a person or a machine is shown them. */
#ifndef DBGCLI_COMMANDS_SLICE_VIEW_H
#define DBGCLI_COMMANDS_SLICE_VIEW_H

#include "dbgcli/commands/nearness.h"
#include "dbgcli/commands/session.h"

struct cli_against;
struct cli_slice_threads;

#define CLI_SLICE_LINES 40 /* of a slice that are shown at first */

/* Session and how to show are filled in by its holder. */
struct cli_slice_view {
    struct cli_session *session;
    uint64_t limit; /* of lines, and of rows of instances of each; 0: none */
    bool has_instances;
    bool unfolds; /* each instance for itself, not those of an instruction as one row */
    bool shows_all;
    bool has_lines_only;             /* nothing of code whose source is not here */
    const struct cli_nearness *near; /* by which text has the nearest lines first; or NULL */
    /* What text says of lines over the limit; NULL: `more` shows them. */
    const char *rest_hint;
    /* Of the second and later lists of one answer: what `more` calls this one. */
    const char *rest_title;
    /* Of two slices that are compared: whether the other has the line as well, with other
     * instances, and what text says of it. NULL: there is no other. */
    bool (*is_shared)(const void *arg, const struct wetdbg_slice_line *line);
    const void *shared_arg;
    const char *shared_text;
    /* Lines that it does not have are marked as implicit; NULL: nobody asked. */
    const struct wetdbg_slice *plain;
    const struct cli_against *against; /* ranks and marks the lines; NULL: as the slice has them */
    /* Filled in by cli_slice_view_open(). */
    const struct wetdbg_slice *slice;
    struct cli_slice_threads *threads; /* NULL: there is one only */
    const struct wetdbg_slice_line *lines;
    size_t count;
    /* The lines that text shows, by index, the program's own first. */
    size_t *order;
    size_t order_count;
    size_t callers; /* lines left out since all that they did was to call what is in the slice */
};

/* The --limit that is given, else what fits a screen in text and all in JSON. Errors of
 * cli_args_number(). */
int cli_slice_view_limit(struct cli_slice_view *view, const struct cli_args *args);

/* Looks at a slice, which must outlive the view; then cli_slice_view_close() is due. Errors of
 * cli_slice_threads_make(). */
int cli_slice_view_open(struct cli_slice_view *view, const struct wetdbg_slice *slice);
void cli_slice_view_close(struct cli_slice_view *view);

/* Lines, and other code by function. Errors of wetdbg_slice_each_line_instance(). */
int cli_slice_view_print(struct cli_slice_view *view);

/* "3 instances of 2 instructions in 1 line". */
void cli_slice_counts_print(FILE *to, const struct wetdbg_slice_counts *counts);

/* The members "lines" and "without_lines"; with the same errors. */
int cli_slice_view_to_json(const struct cli_slice_view *view, json_t *object);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The source that a page shows: which lines of which files, and what is known of each. */
#ifndef DBGCLI_REPORT_MARKED_SOURCE_H
#define DBGCLI_REPORT_MARKED_SOURCE_H

#include "dbgcli/report/page_parts.h"

struct cli_source_line {
    const struct wetdbg_suspect *suspect; /* NULL: it did not run */
    uint32_t rank;                        /* in the page's list, from 1; 0: it is not there */
    bool has_code;
    bool is_shown;
};

struct cli_source_file {
    const char *path;              /* the model's */
    uint32_t line_count;           /* 0: the source is not here */
    struct cli_source_line *lines; /* of line number n: lines[n - 1] */
    size_t shown;                  /* lines */
    size_t ran, in_slice;          /* lines of it, also those that are not shown */
    bool is_newer;                 /* than the program: its lines may have moved */
};

struct cli_marked_source {
    struct cli_source_file *files; /* the file of the first suspect first */
    size_t count;
    bool is_cut; /* there are more files with lines of the slice */
};

/* Chooses for page->suspects and page->ways: short files whole, of others what is near to the
 * suspects in the list, to the ways and to the slice's lines, the nearest first, up to a limit.
 * Dies where memory is short. For cli_marked_source_free(). */
struct cli_marked_source *cli_marked_source_make(const struct cli_page *page);
void cli_marked_source_free(struct cli_marked_source *source); /* NULL is fine */

/* The index of a line's file if that line is shown; -1. */
int cli_marked_source_find(const struct cli_marked_source *source, const char *file, uint32_t line);

#endif

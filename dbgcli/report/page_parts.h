/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page while it is being written: what its parts share. */
#ifndef DBGCLI_REPORT_PAGE_PARTS_H
#define DBGCLI_REPORT_PAGE_PARTS_H

#include "dbgcli/report/way.h"
#include "dbgcli/verbs/locate_steps.h"

#define CLI_PAGE_WAYS 3

struct cli_marked_source; /* marked_source.h */

struct cli_page {
    struct cli_locating *run;
    struct cli_session *session;
    FILE *to; /* memory */
    const struct wetdbg_suspect *suspects;
    size_t suspect_count, shown; /* the first `shown` are in the list */
    size_t slice_lines;          /* suspects that are in the slice */
    struct cli_way ways[CLI_PAGE_WAYS];
    size_t way_count;
    struct cli_marked_source *source;
    double end; /* by the run's clock: nothing is asked of the run after that */
};

/* Whether there is time left for a question. */
bool cli_page_has_time(const struct cli_page *page);

/* "a.c:12", which leads to the line in the page's source if that is there. */
void cli_page_put_place(const struct cli_page *page, const char *file, uint32_t line);

/* A command of the prompt or of the shell. */
void cli_page_put_command(const struct cli_page *page, const char *command);

/* What stands in each of the template's places. */
void cli_page_put_title(struct cli_page *page);
void cli_page_put_facts(struct cli_page *page);
void cli_page_put_story(struct cli_page *page);
void cli_page_put_suspects(struct cli_page *page);
void cli_page_put_ways(struct cli_page *page);
void cli_page_put_source(struct cli_page *page);
void cli_page_put_other(struct cli_page *page);
void cli_page_put_input(struct cli_page *page);
void cli_page_put_missing(struct cli_page *page);

#endif

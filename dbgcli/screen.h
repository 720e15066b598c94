/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A terminal on which a person waits. Of each answer, from cli_screen_begin() to cli_screen_end():
 *
 * - one that is longer than the screen goes to a pager (dbgcli/pager.h);
 * - while a query has nothing to say, a line tells that it runs, and how far it is. A thread draws
 *   it, so that no query can forget to.
 *
 * All functions but the thread's are the caller's thread's. What is written outside of an answer
 * goes to the terminal as it is.
 */
#ifndef DBGCLI_SCREEN_H
#define DBGCLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cli_screen;

/* Answers go to `fd`, the line to `errors_fd`; both are terminals and stay the caller's. `may_page`
 * false: never to a pager. 0, and cli_screen_free() is due; or a negative errno, explained. */
int cli_screen_new(int fd, int errors_fd, bool may_page, struct cli_screen **out);
void cli_screen_free(struct cli_screen *screen);

/* Whether long answers go to a pager: at first, if $PAGER does not say otherwise. Returns what
 * holds from now on, as cli_screen_pages() does: false all the time where may_page was. */
bool cli_screen_set_pages(struct cli_screen *screen, bool pages);
bool cli_screen_pages(const struct cli_screen *screen);

/* Begin and end an answer; the end waits until its pager is left. In between cli_screen_end() may
 * come early. */
void cli_screen_begin(struct cli_screen *screen);
void cli_screen_end(struct cli_screen *screen);

/* Writes to the answer. 0, or the errno of a terminal that went away. */
int cli_screen_write(struct cli_screen *screen, const char *bytes, size_t size_bytes);

/* Shows all that was written, and takes the line away. */
void cli_screen_show(struct cli_screen *screen);

bool cli_screen_is_paging(const struct cli_screen *screen);

/* Whether the person wants no more of this answer. */
bool cli_screen_is_left(struct cli_screen *screen);

/* What the line says: "searching" (lives as long as the screen; NULL: nothing in particular) and
 * how far; `total` 0 if that is not known. */
void cli_screen_progress(struct cli_screen *screen, const char *what, uint64_t done,
                         uint64_t total);

#endif

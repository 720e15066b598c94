/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Named times of a run. A .wet never changes, so they are kept below $XDG_STATE_HOME, by what the
 * .wet was built from: copies of a file share them. Sessions that run at once see each other's.
 */
#ifndef DBGCLI_COMMANDS_BOOKMARK_H
#define DBGCLI_COMMANDS_BOOKMARK_H

#include <stdbool.h>
#include <stddef.h>

#include <wetdbg/wet.h>

#define CLI_BOOKMARK_NAME_MAX 64

struct cli_bookmark {
    char name[CLI_BOOKMARK_NAME_MAX];
    wetdbg_time time;
    char place[160]; /* where that is, for people: "main at main.c:12" */
};

struct cli_bookmarks;

/* The bookmarks of FILE.wet; the path is copied, and nothing is read yet. Dies where memory is
 * short. */
struct cli_bookmarks *cli_bookmarks_new(const char *wet_path);
void cli_bookmarks_free(struct cli_bookmarks *bookmarks);

/* Whether a word could be the name of one: letters, digits, '_', '-' and '.', no digit first; and
 * not a word that stands for a time already. */
bool cli_bookmark_is_name(const char *word);

/* All bookmarks in order of time, as they are now; borrowed until the next call. Errors: those of
 * reading files, -WETDBG_ERR_UNSUPPORTED if there is no place to keep them. */
int cli_bookmarks_list(struct cli_bookmarks *bookmarks, const struct cli_bookmark **list,
                       size_t *count);

/* -WETDBG_ERR_NOT_FOUND, with a message, if there is none of that name. */
int cli_bookmarks_find(struct cli_bookmarks *bookmarks, const char *name, wetdbg_time *time);

/* Of the bookmarks that were read last, the one whose name is misspelt as `name`; NULL if none is
 * near. Borrowed until the next call that reads them. */
const char *cli_bookmarks_nearest(const struct cli_bookmarks *bookmarks, const char *name);

/* Adds a bookmark, in place of one of the same name. */
int cli_bookmarks_set(struct cli_bookmarks *bookmarks, const struct cli_bookmark *bookmark);
int cli_bookmarks_delete(struct cli_bookmarks *bookmarks, const char *name);

#endif

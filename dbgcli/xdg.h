/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a user's files are kept: the XDG base directories. */
#ifndef DBGCLI_XDG_H
#define DBGCLI_XDG_H

#include <stdbool.h>

enum cli_xdg {
    CLI_XDG_STATE,  /* $XDG_STATE_HOME, else ~/.local/state: history, bookmarks */
    CLI_XDG_CONFIG, /* $XDG_CONFIG_HOME, else ~/.config: the init file */
};

/* "DIRECTORY/wetdbg/NAME", to be freed; NULL if neither the variable nor $HOME is an absolute
 * path. */
char *cli_xdg_path(enum cli_xdg kind, const char *name);

/*
 * Whether what is below wetdbg's directory there may be of somebody else's making: $XDG_..._HOME or
 * $HOME belongs to another user than root, or the directory itself to another one, or anybody may
 * write to them. sudo may leave $HOME as it was: then a link in place of the history would lead
 * root to any file. What is not there is nobody's.
 */
bool cli_xdg_is_foreign(enum cli_xdg kind);

/* Makes the directories that a path from cli_xdg_path() leads through, for its user only. Failures
 * show when the file is opened. False, and nothing is made, if they are foreign. */
bool cli_xdg_make_parents(enum cli_xdg kind, char *path);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a user's files are kept: the XDG base directories. */
#ifndef DBGCLI_XDG_H
#define DBGCLI_XDG_H

enum cli_xdg {
    CLI_XDG_STATE,  /* $XDG_STATE_HOME, else ~/.local/state: history, bookmarks */
    CLI_XDG_CONFIG, /* $XDG_CONFIG_HOME, else ~/.config: the init file */
};

/* "DIRECTORY/wetdbg/NAME", to be freed; NULL if neither the variable nor $HOME is an absolute path. */
char *cli_xdg_path(enum cli_xdg kind, const char *name);

/* Makes the directories that a path leads through, for its user only. Failures show when the file
 * is opened. */
void cli_xdg_make_parents(char *path);

#endif

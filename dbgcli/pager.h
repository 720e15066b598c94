/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program that shows long answers page by page: $PAGER, else less. Reads from a pipe of ours
 * and its keys from the terminal, as git's and man's does.
 */
#ifndef DBGCLI_PAGER_H
#define DBGCLI_PAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <termios.h>

/* Embedded by its holder; all zero, or after cli_pager_close(): none runs. */
struct cli_pager {
    pid_t pid; /* 0: none */
    int fd;
    bool is_left; /* its reader has seen enough, or wants no more: Ctrl-C */
    bool has_modes;
    struct termios modes; /* of the terminal before */
};

/* What $PAGER asks for: a command, or NULL if answers are not to be paged ("" or "cat"). */
const char *cli_pager_command(void);

/* Starts `command` with its output on `terminal_fd`. 0, and cli_pager_close() is due; or a negative
 * errno, explained. */
int cli_pager_open(struct cli_pager *pager, const char *command, int terminal_fd);

/* Gives the pager more, and waits until it takes that; swallowed once its reader has left. */
void cli_pager_write(struct cli_pager *pager, const char *bytes, size_t size_bytes);

/* Whether nothing more needs to be said. */
bool cli_pager_is_left(struct cli_pager *pager);

/* Waits until the reader leaves the pager, and gives the terminal its modes back. Its exit status;
 * 128 and more if a signal ended it. */
int cli_pager_close(struct cli_pager *pager, int terminal_fd);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of `echo` and `printf`. */
#ifndef DBGCLI_REPL_UNESCAPE_H
#define DBGCLI_REPL_UNESCAPE_H

struct cli_repl;

/* The text that is meant by one with \n, \t and the like in it, to be freed; a backslash before
 * another character leaves that, at the end it goes. */
char *cli_unescaped(const char *text);

/* Prints the text that such a command came to; in JSON it is an object. */
void cli_echo(struct cli_repl *repl, const char *text);

#endif

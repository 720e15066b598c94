/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The input of the program that `locate` is about, so that it can be run once more with another
 * one: what --fail names, else our standard input (a file, or a pipe whose other end is closed),
 * else the last of its words that is the name of a file.
 */
#ifndef DBGCLI_VERBS_LOCATE_INPUT_H
#define DBGCLI_VERBS_LOCATE_INPUT_H

#include <wetdbg/delta_program.h>

/* Embedded by its holder; all zero is no input. */
struct cli_locate_input {
    char *const *argv; /* of the program; borrowed */
    char *name;        /* that `dd` would know it by; NULL: there is none */
    const char *what;  /* "the standard input", or that name */
    struct wetdbg_dd_bytes bytes;
    int fd;            /* of our own copy of standard input, or 0 */
    char why_not[160]; /* why what is there cannot be taken as its input, or "" */
};

/*
 * Looks for it, before the program runs: nothing of standard input is consumed. `fail` is --fail's
 * value, or NULL. 0 also if there is none, or none that can be read again; -ENOMEM or errnos of our
 * own copy. cli_locate_input_fini() is due after any result.
 */
int cli_locate_input_find(char *const *argv, const char *fail, struct cli_locate_input *input);
void cli_locate_input_fini(struct cli_locate_input *input);

/* Keeps an input beside the trace of a run. *file is its name, to be freed; NULL after an error.
 * -errno, explained. */
int cli_locate_input_keep(const struct wetdbg_dd_bytes *input, const char *wet_path,
                          const char *name, char **file);

/* The program and its input, as `dd` runs it: all else is zero but who interrupts. */
struct wetdbg_dd_options cli_locate_input_runs(const struct cli_locate_input *input);

#endif

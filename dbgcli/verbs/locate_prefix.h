/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The longest beginning of the failing input that passes. Where a program answers as it reads, what
 * it puts out for the first lines of its input is the beginning of what it is to put out for all of
 * it. So the expectation for the whole tells of a part, too, that it is right: as far as its output
 * agrees, and not beyond.
 *
 * Such a beginning is told, and is no passing run: the failing run did the same before it failed.
 * Held against it, what ran all the time and was wrong from the start is suspected less
 * (docs/faults.md).
 */
#ifndef DBGCLI_VERBS_LOCATE_PREFIX_H
#define DBGCLI_VERBS_LOCATE_PREFIX_H

#include <stddef.h>
#include <stdint.h>

struct cli_locating; /* dbgcli/verbs/locate_steps.h */

/* All zero: none is known. */
struct cli_prefix {
    char *file;  /* that has it */
    char *words; /* "the first 5 of 6 lines of in.txt: what it puts out, ..." */
    size_t bytes;
    uint64_t output_bytes;
};

/*
 * A step of `locate`: finds the longest such part with some output, in whole lines, else in whole
 * words, by a few real runs. 0 also if there is none: then that is missing, said to whom --expect
 * was given. -ENOMEM, -WETDBG_ERR_INTERRUPTED.
 */
int cli_prefix_find(struct cli_locating *self);

void cli_prefix_fini(struct cli_prefix *prefix);

#endif

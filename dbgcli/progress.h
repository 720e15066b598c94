/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A bar on a terminal while something long goes on: how far, how fast, how long still. */
#ifndef DBGCLI_PROGRESS_H
#define DBGCLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

/* Embedded by its holder. */
struct cli_progress {
    FILE *to;
    bool is_shown; /* false: not a terminal, nothing is ever written */
    bool has_bar;
    struct timespec start, last;
};

void cli_progress_begin(struct cli_progress *progress, FILE *to);

/* Draws at most ten times a second. */
void cli_progress_update(struct cli_progress *progress, uint64_t done, uint64_t total,
                         uint64_t instructions);

/* Draws a text in the bar's place, as often. */
void cli_progress_say(struct cli_progress *progress, const char *text);

/* Removes the bar. */
void cli_progress_end(struct cli_progress *progress);

/* The bar for these numbers, without control characters, cut to `size`. */
void cli_progress_format(char *text, size_t size, uint64_t done, uint64_t total,
                         uint64_t instructions, double seconds);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two texts side by side, line by line, from where they part. */
#ifndef DBGCLI_REPORT_LINE_PAIRS_H
#define DBGCLI_REPORT_LINE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

/* A line of one of the texts, without its end. */
struct cli_text_line {
    const char *text;
    size_t size, number; /* from 1 */
};

struct cli_line_pair {
    const struct cli_text_line *left, *right; /* NULL: it has no such line */
    bool is_equal;
};

#define CLI_LINE_PAIRS_MAX 64

struct cli_line_pairs {
    struct cli_text_line left[CLI_LINE_PAIRS_MAX], right[CLI_LINE_PAIRS_MAX];
    struct cli_line_pair rows[2 * CLI_LINE_PAIRS_MAX];
    size_t count;
    bool differ, is_cut; /* is_cut: of one there is more */
};

/* Pairs the lines from `before` ones before the first that differ on, at most `most` of each text
 * (CLI_LINE_PAIRS_MAX): as many as can be are beside an equal one. The texts are borrowed. */
void cli_line_pairs_make(struct cli_line_pairs *pairs, const char *left, size_t left_size,
                         const char *right, size_t right_size, size_t before, size_t most);

#endif

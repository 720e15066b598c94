/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "Did you mean": the nearest of a few known words. */
#ifndef DBGCLI_SUGGEST_H
#define DBGCLI_SUGGEST_H

#include <stddef.h>

/* Edit distance: insertions, deletions, replacements and swaps of neighbours count 1 each.
 * UINT_MAX for words longer than 63 bytes, which are no misspelt option. */
unsigned cli_edit_distance(const char *a, const char *b);

/* Keeps the nearest of the words offered to it; all zero but `wanted` to begin with. */
struct cli_suggestion {
    const char *wanted;
    const char *best; /* NULL while none is near enough */
    unsigned distance;
};
void cli_suggestion_offer(struct cli_suggestion *suggestion, const char *word);

#endif

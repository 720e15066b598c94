/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/suggest.h"

#include <limits.h>
#include <string.h>

#define WORD_MAX 63

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

unsigned cli_edit_distance(const char *a, const char *b)
{
    /* Three rows of the usual table suffice: a swap looks two rows back. */
    unsigned rows[3][WORD_MAX + 1];
    size_t a_length = strlen(a), b_length = strlen(b);
    if (a_length > WORD_MAX || b_length > WORD_MAX)
        return UINT_MAX;
    for (unsigned j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (unsigned i = 1; i <= a_length; i++) {
        unsigned *now = rows[i % 3], *before = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (unsigned j = 1; j <= b_length; j++) {
            now[j] =
                least(least(before[j], now[j - 1]) + 1, before[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], older[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

void cli_suggestion_offer(struct cli_suggestion *suggestion, const char *word)
{
    size_t length = strlen(suggestion->wanted);
    unsigned distance = cli_edit_distance(suggestion->wanted, word);
    /* A cut word ("rec", "--proc") is near however much is missing. */
    if (length >= 2 && strncmp(suggestion->wanted, word, length) == 0)
        distance = 1;
    if (distance > length / 3 + 1 || distance >= length)
        return;
    if (!suggestion->best || distance < suggestion->distance) {
        suggestion->best = word;
        suggestion->distance = distance;
    }
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/report/line_pairs.h"

#include <stdint.h>
#include <string.h>

/* ---- lines ---- */

/* Lines of a text that is read from `at` on, where line `number` begins. Returns whether there are
 * more. */
static bool read_lines(const char *text, size_t size, size_t at, size_t number, size_t most,
                       struct cli_text_line *lines, size_t *count)
{
    *count = 0;
    while (at < size && *count < most) {
        const char *end = memchr(text + at, '\n', size - at);
        size_t length = end ? (size_t)(end - text) - at : size - at;
        lines[(*count)++] = (struct cli_text_line){text + at, length, number++};
        at += length + 1;
    }
    return at < size;
}

static bool is_equal(const struct cli_text_line *a, const struct cli_text_line *b)
{
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

/* Where both texts are to be read from: the start of the line `before` lines before that in which
 * they part; its number. */
static size_t find_start(const char *left, size_t left_size, const char *right, size_t right_size,
                         size_t before, size_t *at)
{
    size_t least = left_size < right_size ? left_size : right_size, number = 1;

    *at = 0;
    while (*at < least && left[*at] == right[*at])
        ++*at;
    for (size_t lines = 0;; lines++) {
        while (*at && left[*at - 1] != '\n')
            --*at;
        if (lines == before || !*at)
            break;
        --*at;
    }
    for (size_t i = 0; i < *at; i++)
        number += left[i] == '\n';
    return number;
}

/* ---- which stand beside each other ---- */

/* Rows from a longest common subsequence; longest[i][j] is that of the lines from i and j on. */
static void pair(struct cli_line_pairs *pairs, size_t left_count, size_t right_count)
{
    static const size_t width = CLI_LINE_PAIRS_MAX + 1;
    uint8_t longest[(CLI_LINE_PAIRS_MAX + 1) * (CLI_LINE_PAIRS_MAX + 1)] = {0};
    size_t i = 0, j = 0;

    for (i = left_count; i-- > 0;)
        for (j = right_count; j-- > 0;) {
            uint8_t skip_left = longest[(i + 1) * width + j],
                    skip_right = longest[i * width + j + 1];
            longest[i * width + j] = is_equal(&pairs->left[i], &pairs->right[j])
                                         ? (uint8_t)(longest[(i + 1) * width + j + 1] + 1)
                                     : skip_left > skip_right ? skip_left
                                                              : skip_right;
        }
    for (i = j = 0; i < left_count || j < right_count;) {
        const struct cli_text_line *left = i < left_count ? &pairs->left[i] : NULL;
        const struct cli_text_line *right = j < right_count ? &pairs->right[j] : NULL;
        bool same = left && right && is_equal(left, right);
        size_t now = longest[i * width + j];
        /* Two lines that differ stand beside each other if neither is missed. */
        bool takes_both = same || (left && right && longest[(i + 1) * width + j + 1] == now);
        bool takes_left = takes_both || !right || (left && longest[(i + 1) * width + j] == now);
        bool takes_right = takes_both || !takes_left;
        pairs->rows[pairs->count++] =
            (struct cli_line_pair){takes_left ? left : NULL, takes_right ? right : NULL, same};
        i += takes_left;
        j += takes_right;
    }
}

void cli_line_pairs_make(struct cli_line_pairs *pairs, const char *left, size_t left_size,
                         const char *right, size_t right_size, size_t before, size_t most)
{
    size_t left_count, right_count, at;

    *pairs = (struct cli_line_pairs){.differ = left_size != right_size ||
                                               memcmp(left, right, left_size) != 0};
    if (!pairs->differ)
        return;
    size_t number = find_start(left, left_size, right, right_size, before, &at);
    if (most > CLI_LINE_PAIRS_MAX)
        most = CLI_LINE_PAIRS_MAX;
    pairs->is_cut = read_lines(left, left_size, at, number, most, pairs->left, &left_count);
    pairs->is_cut |= read_lines(right, right_size, at, number, most, pairs->right, &right_count);
    pair(pairs, left_count, right_count);
}

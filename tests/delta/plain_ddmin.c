/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/delta/plain_ddmin.h"

#include <stdlib.h>
#include <string.h>

struct plain {
    plain_fails_fn fails;
    void *arg;
    uint8_t *kept, *tried;
    size_t count;
    size_t *left; /* indices of what is kept */
    size_t left_count;
};

static void left_find(struct plain *plain)
{
    plain->left_count = 0;
    for (size_t i = 0; i < plain->count; i++)
        if (plain->kept[i])
            plain->left[plain->left_count++] = i;
}

/* Asks for part `i` of `n`, or for all but that; keeps it if it fails. */
static bool part_fails(struct plain *plain, size_t i, size_t n, bool is_complement)
{
    size_t first = plain->left_count * i / n, end = plain->left_count * (i + 1) / n;
    memset(plain->tried, 0, plain->count);
    for (size_t at = 0; at < plain->left_count; at++)
        plain->tried[plain->left[at]] = (at >= first && at < end) != is_complement;
    if (!plain->fails(plain->arg, plain->tried, plain->count))
        return false;
    memcpy(plain->kept, plain->tried, plain->count);
    left_find(plain);
    return true;
}

static bool some_part_fails(struct plain *plain, size_t n, bool is_complement)
{
    for (size_t i = 0; i < n; i++)
        if (part_fails(plain, i, n, is_complement))
            return true;
    return false;
}

void plain_ddmin(plain_fails_fn fails, void *arg, uint8_t *kept, size_t count)
{
    struct plain plain = {.fails = fails, .arg = arg, .kept = kept, .count = count};
    plain.tried = malloc(count);
    plain.left = malloc(count * sizeof(*plain.left));
    left_find(&plain);
    for (size_t n = 2; plain.left_count >= 2;) {
        if (some_part_fails(&plain, n, false)) {
            n = 2;
        } else if (some_part_fails(&plain, n, true)) {
            n = n > 3 ? n - 1 : 2;
        } else if (n < plain.left_count) {
            n = 2 * n < plain.left_count ? 2 * n : plain.left_count;
        } else {
            break;
        }
        if (n > plain.left_count)
            n = plain.left_count;
    }
    free(plain.tried);
    free(plain.left);
}

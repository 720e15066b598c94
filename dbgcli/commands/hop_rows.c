/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "dbgcli/commands/hop_rows.h"

#include "dbgcli/alloc.h"

#define PERIOD_MAX  64 /* hops of one turn of a loop */
#define REPEATS_MIN 2  /* besides the first time */

static bool is_equal(const struct wetdbg_slice_path *path, size_t a, size_t b)
{
    return path->hops[a].pc == path->hops[b].pc && path->hops[a].edge == path->hops[b].edge;
}

/* How often the `period` hops from `first` on come again behind them. */
static size_t count_repeats(const struct wetdbg_slice_path *path, size_t first, size_t period)
{
    size_t at = first + period;
    while (at < path->count && is_equal(path, at, at - period))
        at++;
    return (at - first) / period - 1;
}

/* The shortest run of hops from `first` on that repeats itself, or one hop. */
static struct cli_hop_row row_at(const struct wetdbg_slice_path *path, size_t first, bool folds)
{
    for (size_t period = 1; folds && period <= PERIOD_MAX && first + period < path->count;
         period++) {
        size_t repeats =
            is_equal(path, first, first + period) ? count_repeats(path, first, period) : 0;
        if (repeats >= REPEATS_MIN)
            return (struct cli_hop_row){first, period, repeats};
    }
    return (struct cli_hop_row){first, 1, 0};
}

struct cli_hop_row *cli_hop_rows_make(const struct wetdbg_slice_path *path, bool folds,
                                      size_t *count)
{
    struct cli_hop_row *rows = cli_realloc(NULL, path->count + 1, sizeof(*rows));
    *count = 0;
    for (size_t at = 0; at < path->count;) {
        struct cli_hop_row *row = &rows[(*count)++];
        *row = row_at(path, at, folds);
        at += row->count * (row->repeats + 1);
    }
    return rows;
}

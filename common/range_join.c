/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/range_join.h"

#include <stdlib.h>

static int by_start(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return x[0] < y[0] ? -1 : x[0] > y[0];
}

size_t wd_pairs_join(void *pairs, size_t count)
{
    uint64_t(*list)[2] = pairs;
    size_t kept = 0;

    if (count)
        qsort(list, count, sizeof(*list), by_start);
    for (size_t i = 0; i < count; i++) {
        if (!kept || list[i][0] > list[kept - 1][1]) {
            list[kept][0] = list[i][0];
            list[kept++][1] = list[i][1];
        } else if (list[i][1] > list[kept - 1][1]) {
            list[kept - 1][1] = list[i][1];
        }
    }
    return kept;
}

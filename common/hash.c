/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void wd_index_fini(struct wd_index *index)
{
    free(index->places);
    *index = (struct wd_index){0};
}

int wd_index_renew(struct wd_index *index, size_t capacity)
{
    uint32_t *places =
        capacity <= PTRDIFF_MAX / sizeof(*places) ? calloc(capacity, sizeof(*places)) : NULL;
    if (!places)
        return -ENOMEM;
    free(index->places);
    *index = (struct wd_index){.places = places, .capacity = capacity};
    return 0;
}

void wd_index_clear(struct wd_index *index)
{
    if (index->capacity)
        memset(index->places, 0, index->capacity * sizeof(*index->places));
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "common/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 16 /* elements of an array that doubles */

static size_t capacity_for(size_t capacity, size_t needed, size_t most)
{
    size_t twice = capacity <= most / 2 ? 2 * capacity : most;
    if (twice < FIRST && most >= FIRST)
        twice = FIRST;
    return twice > needed ? twice : needed;
}

void *wd_array_grown(void *items, size_t *capacity, size_t needed, size_t item_bytes, size_t most,
                     unsigned how)
{
    if (needed > most)
        return NULL;
    size_t room = how & WD_GROW_DOUBLE ? capacity_for(*capacity, needed, most) : needed;
    if (room > PTRDIFF_MAX / item_bytes)
        return NULL;
    char *grown = realloc(items, room * item_bytes);
    if (!grown)
        return NULL;
    if (how & WD_GROW_ZEROED)
        memset(grown + *capacity * item_bytes, 0, (room - *capacity) * item_bytes);
    *capacity = room;
    return grown;
}

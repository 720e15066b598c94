/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/addrmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

void mdl_addrmap_fini(struct mdl_addrmap *map)
{
    free(map->slots);
    memset(map, 0, sizeof(*map));
}

static struct mdl_addrmap_slot *find_slot(const struct mdl_addrmap *map, uint64_t key)
{
    return &map->slots[wd_hash_find(wd_hash_u64(key) >> 20, map->slot_count, i,
                                    map->slots[i].key == 0 || map->slots[i].key == key)];
}

static int grow(struct mdl_addrmap *map)
{
    struct mdl_addrmap grown = {.slot_count = map->slot_count ? map->slot_count * 2 : 64};

    grown.slots = calloc(grown.slot_count, sizeof(*grown.slots));
    if (!grown.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->slot_count; i++)
        if (map->slots[i].key)
            *find_slot(&grown, map->slots[i].key) = map->slots[i];
    grown.count = map->count;
    free(map->slots);
    *map = grown;
    return 0;
}

void *mdl_addrmap_get(const struct mdl_addrmap *map, uint64_t key)
{
    return map->slot_count && key ? find_slot(map, key)->value : NULL;
}

int mdl_addrmap_set(struct mdl_addrmap *map, uint64_t key, void *value)
{
    struct mdl_addrmap_slot *slot;

    if (map->count * 2 >= map->slot_count && grow(map) < 0)
        return -ENOMEM;
    slot = find_slot(map, key);
    map->count += slot->key == 0;
    *slot = (struct mdl_addrmap_slot){key, value};
    return 0;
}

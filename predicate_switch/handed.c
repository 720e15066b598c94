/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/handed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/insn/insn.h"

#define VECTORS 16u

static bool is_register(const struct wetdbg_slice_instance *instance)
{
    unsigned number;

    if (instance->location >= WETDBG_LOCATION_NONE || instance->edge == WETDBG_EDGE_CONTROL ||
        instance->edge == WETDBG_EDGE_IMPLICIT || instance->edge == WETDBG_EDGE_NONE)
        return false;
    switch (wetdbg_location_kind(instance->location, &number)) {
    case WETDBG_LOCATION_GENERAL:
        return number != INS_RSP;
    case WETDBG_LOCATION_FLAG:
        return true;
    case WETDBG_LOCATION_VECTOR:
        return number < VECTORS;
    default:
        return false;
    }
}

static uint32_t *place_of(const struct psw_handings *handings, uint64_t pc, uint16_t location)
{
    return wd_index_find(&handings->by_place, wd_hash_u64(pc * 256 + location) >> 32, n,
                         handings->items[n].pc == pc && handings->items[n].location == location);
}

static int make_room(struct psw_handings *handings)
{
    if (wd_grow(handings->items, handings->capacity, handings->count + 1))
        return -ENOMEM;
    return wd_index_room(&handings->by_place, handings->count, 1024, i,
                         place_of(handings, handings->items[i].pc, handings->items[i].location));
}

static void add_hand(struct psw_handing *handing, const struct psw_hand *hand)
{
    uint32_t at = handing->count;

    while (at && handing->hands[at - 1].distance > hand->distance)
        at--;
    if (at == PSW_HANDS_EACH)
        return;
    if (handing->count < PSW_HANDS_EACH)
        handing->count++;
    memmove(&handing->hands[at + 1], &handing->hands[at],
            (handing->count - at - 1) * sizeof(*handing->hands));
    handing->hands[at] = *hand;
}

int psw_handings_add(struct psw_handings *handings, const struct wetdbg_slice_instance *instance)
{
    const struct psw_hand hand = {instance->time, instance->parent, instance->distance};

    if (!is_register(instance) || instance->parent < instance->time + 2)
        return 0;
    if (make_room(handings))
        return -ENOMEM;
    uint32_t *place = place_of(handings, instance->pc, instance->location);
    if (!*place) {
        handings->items[handings->count] =
            (struct psw_handing){.pc = instance->pc, .location = instance->location};
        *place = ++handings->count;
    }
    add_hand(&handings->items[*place - 1], &hand);
    return 0;
}

void psw_handings_fini(struct psw_handings *handings)
{
    free(handings->items);
    wd_index_fini(&handings->by_place);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/insn/insn_pick.h"

#include <assert.h>
#include <string.h>

/* ---- one execution ---- */

static void put(struct ins_pick *pick, unsigned at, unsigned count, unsigned place, unsigned from)
{
    for (unsigned i = 0; i < count; i++) {
        pick->place[at + i] = (uint8_t)place;
        pick->from[at + i] = (uint8_t)(from + i);
    }
}

/* The element at byte `at` of the destination, from where its byte `index` of the selector says. */
static void put_chosen(struct ins_pick *pick, const struct ins_choice *choice, unsigned at,
                       uint8_t index)
{
    unsigned element = choice->element_bytes, count = choice->bytes / element;
    unsigned lane = at / 16 * 16, from = at;
    unsigned place = choice->from[0];

    switch ((enum ins_pick_shape)choice->shape) {
    case INS_PICK_SAME:
        break;
    case INS_PICK_LANE16:
        from = lane + index % 16;
        if (index & 0x80)
            place = INS_PLACE_ZERO;
        break;
    case INS_PICK_LANE4:
        from = lane + index % 4 * element;
        break;
    case INS_PICK_LANE2:
        from = lane + (index >> 1 & 1) * element;
        break;
    case INS_PICK_ONE:
        from = index % count * element;
        break;
    case INS_PICK_TWO:
        from = index % count * element;
        place = choice->from[index / count & 1];
        break;
    }
    if (choice->is_spread && place >= INS_PLACE_MEMORY && place < INS_PLACE_ZERO)
        from %= element;
    put(pick, at, element, place, from);
}

void ins_pick_get(const struct ins_info *info, const uint64_t *slots, struct ins_pick *pick)
{
    const struct ins_choice *choice = &info->choice;
    const uint8_t *selector = (const uint8_t *)(slots + info->mem_count);
    unsigned element = choice->element_bytes;
    uint64_t mask = UINT64_MAX;

    assert(ins_is_pick(info) && element && choice->bytes <= INS_PICK_BYTES);
    if (choice->mask != INS_PLACE_NONE)
        mask = slots[info->mem_count + choice->slots - 1u];
    memset(pick->chooser, INS_PLACE_NONE, sizeof(pick->chooser));
    put(pick, 0, INS_PICK_BYTES, choice->is_legacy ? INS_PLACE_KEPT : INS_PLACE_ZERO, 0);
    pick->masked = 0;
    if (choice->mask != INS_PLACE_NONE)
        pick->masked = UINT64_MAX >> (INS_PICK_BYTES - choice->bytes);
    for (unsigned at = 0; at < choice->bytes; at += element) {
        bool is_chosen = mask >> at / element & 1;
        if (is_chosen && choice->selector != INS_PLACE_NONE) {
            unsigned by = choice->has_signs ? at + element - 1 : at;
            memset(pick->chooser + at, (int)by, element);
            is_chosen = !choice->has_signs || selector[by] & 0x80;
        }
        if (is_chosen)
            put_chosen(pick, choice, at, selector[at]);
        else
            put(pick, at, element, choice->other, at);
    }
}

/* ---- what depends on what ---- */

static void add_source(struct ins_picked *picked, unsigned place, unsigned byte)
{
    unsigned i = 0;

    while (i < picked->count && picked->place[i] != place)
        i++;
    assert(i < INS_PICKED_MAX);
    if (i == picked->count) {
        picked->place[picked->count++] = (uint8_t)place;
        picked->bytes[i] = 0;
    }
    picked->bytes[i] |= UINT64_C(1) << byte;
}

void ins_pick_sources(const struct ins_pick *pick, uint64_t wanted, struct ins_picked *picked)
{
    picked->count = 0;
    picked->selector = 0;
    picked->is_masked = (wanted & pick->masked) != 0;
    for (uint64_t left = wanted; left; left &= left - 1) {
        unsigned at = (unsigned)__builtin_ctzll(left);
        if (pick->place[at] < INS_PLACE_ZERO)
            add_source(picked, pick->place[at], pick->from[at]);
        if (pick->chooser[at] != INS_PLACE_NONE)
            picked->selector |= UINT64_C(1) << pick->chooser[at];
    }
}

uint64_t ins_pick_targets(const struct ins_pick *pick, unsigned place, uint64_t bytes)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < INS_PICK_BYTES && bytes; i++)
        found |= (uint64_t)(pick->place[i] == place && bytes >> pick->from[i] & 1) << i;
    return found;
}

uint64_t ins_pick_chosen(const struct ins_pick *pick, uint64_t selector)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < INS_PICK_BYTES && selector; i++)
        if (pick->chooser[i] != INS_PLACE_NONE)
            found |= (selector >> pick->chooser[i] & 1) << i;
    return found;
}

uint64_t ins_pick_written(const struct ins_pick *pick)
{
    uint64_t found = 0;

    for (unsigned i = 0; i < INS_PICK_BYTES; i++)
        found |= (uint64_t)(pick->place[i] != INS_PLACE_KEPT) << i;
    return found;
}

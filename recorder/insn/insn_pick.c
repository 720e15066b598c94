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

/* The place among `count` elements of the mask's `rank`-th bit that is set; `count` if there are
 * fewer. */
static unsigned set_bit(uint64_t mask, unsigned count, unsigned rank)
{
    unsigned bit = 0;

    for (; bit < count; bit++)
        if (mask >> bit & 1 && rank-- == 0)
            break;
    return bit;
}

/* Where the element is that the mask has for element `at`; false: it has none. */
static bool find_masked(const struct ins_choice *choice, uint64_t mask, unsigned at, unsigned *from)
{
    unsigned count = choice->bytes / choice->element_bytes;
    uint64_t below = mask & ((UINT64_C(1) << at) - 1);

    switch ((enum ins_pick_shape)choice->shape) {
    case INS_PICK_GATHER:
        *from = set_bit(mask, count, at);
        return *from < count;
    case INS_PICK_SPREAD:
        *from = (unsigned)__builtin_popcountll(below);
        return mask >> at & 1;
    default:
        *from = at;
        return mask >> at & 1;
    }
}

/* The elements above the lowest one, of which the mask says nothing. */
static void put_upper(struct ins_pick *pick, const struct ins_choice *choice)
{
    unsigned element = choice->element_bytes;
    unsigned place = choice->from[1] == INS_PLACE_NONE ? INS_PLACE_ZERO : choice->from[1];

    put(pick, element, choice->bytes - element, place, element);
    pick->masked = UINT64_MAX >> (INS_PICK_BYTES - element);
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
    case INS_PICK_LOW:
        break;
    case INS_PICK_GATHER:
    case INS_PICK_SPREAD:
        from = index * element;
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
    if (choice->is_spread && place >= INS_PLACE_MEMORY && place < INS_PLACE_COMPUTED)
        from %= element;
    put(pick, at, element, place, from);
}

void ins_pick_get(const struct ins_info *info, const uint64_t *slots, struct ins_pick *pick)
{
    const struct ins_choice *choice = &info->choice;
    const uint8_t *selector = (const uint8_t *)(slots + info->mem_count);
    unsigned element = choice->element_bytes, end = choice->bytes, from;
    uint64_t mask = UINT64_MAX;

    assert(ins_is_pick(info) && element && choice->bytes <= INS_PICK_BYTES);
    if (choice->mask != INS_PLACE_NONE)
        mask = slots[info->mem_count + choice->slots - 1u];
    memset(pick->chooser, INS_PLACE_NONE, sizeof(pick->chooser));
    put(pick, 0, INS_PICK_BYTES, choice->is_legacy ? INS_PLACE_KEPT : INS_PLACE_ZERO, 0);
    pick->masked = 0;
    if (choice->mask != INS_PLACE_NONE)
        pick->masked = UINT64_MAX >> (INS_PICK_BYTES - choice->bytes);
    if (choice->shape == INS_PICK_LOW) {
        put_upper(pick, choice);
        end = element;
    }
    for (unsigned at = 0; at < end; at += element) {
        bool is_chosen = find_masked(choice, mask, at / element, &from);
        if (is_chosen && choice->selector != INS_PLACE_NONE) {
            unsigned by = at % ins_selector_bytes(choice) + (choice->has_signs ? element - 1 : 0);
            memset(pick->chooser + at, (int)by, element);
            is_chosen = !choice->has_signs || selector[by] & 0x80;
            from = selector[by];
        }
        if (is_chosen)
            put_chosen(pick, choice, at, (uint8_t)from);
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

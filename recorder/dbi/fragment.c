/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/fragment.h"

#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "recorder/dbi/code_room.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_table.h"
#include "recorder/dbi/region.h"
#include "recorder/insn/insn_ranges.h"
#include <wetdbg/errors.h>

int dbi_fragment_add(struct dbi *dbi, uint64_t pc, unsigned insn_count, unsigned code_bytes,
                     struct fragment **out)
{
    if (dbi->fragment_count == AGT_COUNT_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "the program has more than %u fragments of code", AGT_COUNT_MAX);
    if (wd_grow(dbi->fragments, dbi->fragment_capacity, dbi->fragment_count + 1) ||
        dbi_tables_grow(dbi, dbi->fragment_count + 1))
        return -ENOMEM;
    struct fragment *fragment = dbi_room_get(dbi, sizeof(*fragment) + code_bytes);
    if (!fragment)
        return -ENOMEM;
    fragment->is = (struct dbi_fragment){.pc = pc,
                                         .id = dbi->fragment_count,
                                         .insn_count = (uint16_t)insn_count,
                                         .code_bytes = (uint16_t)code_bytes,
                                         .code = (const uint8_t *)(fragment + 1)};
    dbi->fragments[dbi->fragment_count++] = fragment;
    *out = fragment;
    return 0;
}

int dbi_places_keep(struct dbi *dbi, struct fragment *fragment, const struct dbi_output *output)
{
    fragment->places = dbi_room_get(dbi, output->place_count * sizeof(*fragment->places));
    if (!fragment->places)
        return -ENOMEM;
    memcpy(fragment->places, output->places, output->place_count * sizeof(*fragment->places));
    fragment->place_count = output->place_count;
    return 0;
}

/* Whether each slot is its word, which need not be said then. */
static bool slots_are_words(const struct dbi_slot *slots, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (slots[i].more || slots[i].word != i + 1)
            return false;
    return true;
}

int dbi_slots_keep(struct dbi *dbi, struct fragment *fragment, const struct dbi_slot *slots,
                   unsigned slot_count, unsigned word_count)
{
    struct dbi_slot *kept;
    fragment->is.slot_count = (uint16_t)slot_count;
    fragment->is.word_count = (uint16_t)word_count;
    if (slots_are_words(slots, slot_count))
        return 0;
    kept = dbi_room_get(dbi, slot_count * sizeof(*kept));
    if (!kept)
        return -ENOMEM;
    memcpy(kept, slots, slot_count * sizeof(*kept));
    fragment->is.slots = kept;
    return 0;
}

int dbi_head_slots_keep(struct dbi *dbi, struct fragment *head, const struct dbi_fragment *whole,
                        unsigned slot_count)
{
    unsigned word_count = 0;
    if (slot_count > whole->slot_count)
        return wetdbg_fail(-WETDBG_ERR_MACHINE, "the code at %#llx has %u slots and not %u",
                           (unsigned long long)whole->pc, whole->slot_count, slot_count);
    for (unsigned slot = 0; slot < slot_count; slot++) {
        unsigned word = dbi_slot_get(whole, slot).word;
        word_count = word > word_count ? word : word_count;
    }
    if (whole->slots)
        return dbi_slots_keep(dbi, head, whole->slots, slot_count, word_count);
    head->is.slot_count = (uint16_t)slot_count;
    head->is.word_count = (uint16_t)word_count;
    return 0;
}

const struct dbi_fragment *dbi_fragment_get(const struct dbi *dbi, uint32_t id)
{
    return id < dbi->fragment_count ? &dbi->fragments[id]->is : NULL;
}

uint32_t dbi_fragment_count(const struct dbi *dbi)
{
    return dbi->fragment_count;
}

/* ---- faults ---- */

static unsigned place_pc_off(const struct fragment *fragment, unsigned insn)
{
    unsigned off = 0;
    for (unsigned i = 0; i < insn && off < fragment->is.code_bytes; i++) {
        struct ins_info info;
        if (ins_decode(fragment->is.code + off, fragment->is.code_bytes - off,
                       fragment->is.pc + off, &info))
            break;
        off += info.length;
    }
    return off;
}

/* The fragment whose code is at a host address: also one that is forgotten, since it may be what
 * runs right now. */
static const struct fragment *fragment_at(const struct dbi *dbi, uint64_t host)
{
    const struct region *region = dbi_region_at(dbi, host);
    if (!region)
        return NULL;
    size_t behind =
        wd_bisect(0, region->id_count, i, dbi->fragments[region->ids[i]]->host_start <= host);
    const struct fragment *fragment = behind ? dbi->fragments[region->ids[behind - 1]] : NULL;
    return fragment && host <= fragment->is.host_end ? fragment : NULL;
}

int dbi_fault_find(const struct dbi *dbi, uint64_t host, bool after, struct dbi_fault *out)
{
    /* int3 is one byte, and the fault address is after it: where another fragment may begin */
    const struct fragment *fragment = fragment_at(dbi, host - (after ? 1 : 0));
    for (unsigned i = 0; fragment && i < fragment->place_count; i++) {
        const struct dbi_place *place = &fragment->places[i];
        if (fragment->host_start + place->host_off + (after ? 1 : 0) != host)
            continue;
        unsigned insn = place->insn + (after ? 1 : 0);
        *out = (struct dbi_fault){.fragment = &fragment->is,
                                  .insn = insn,
                                  .pc = fragment->is.pc + place_pc_off(fragment, insn),
                                  .spilled = place->spilled,
                                  .flags_inexact = place->flags_inexact,
                                  .counted = true};
        return 0;
    }
    return -ENOENT;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/fragment_emit.h"

#include <string.h>

#include "recorder/dbi/code_room.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/fragment_hash.h"
#include "recorder/dbi/links.h"
#include "recorder/dbi/pads.h"
#include "recorder/dbi/region.h"
#include "recorder/dbi/sites.h"

/* Where the fragment at `pc` goes: over the jump that would lead to it, if that was emitted
 * last. */
static int hot_start(struct dbi *dbi, const struct region *region, uint64_t pc, uint8_t **start)
{
    const struct fall *fall = &dbi->exits.fall;
    if (fall->region == region && fall->site.target == pc) {
        *start = emit_jmp_start(fall->site.rel32);
        return 0;
    }
    *start = region->writable + region->hot_bytes;
    return dbi_fall_close(dbi);
}

/* Closes the open exit: the code is there, and what runs into it does not jump to it any more. */
static void fall_taken(struct dbi *dbi)
{
    if (dbi->exits.fall.region)
        dbi->exits.fall.from->is.host_end -= EMIT_JMP_BYTES;
    dbi->exits.fall.region = NULL;
}

/* The pad for the call at the end of dbi->code, if it is one. */
static const struct dbi_pad *pad_wanted(const struct dbi *dbi, const struct region *region)
{
    const struct dbi_insn *last = &dbi->code.insns[dbi->code.count - 1];
    bool direct = last->is.terminal == DBI_CALL;
    if (!direct && last->is.terminal != DBI_CALL_INDIRECT)
        return NULL;
    return dbi_pad_find(dbi, region, last->pc + last->is.length, direct ? last->target : 0);
}

static int code_emit(struct dbi *dbi, bool exact, struct region *region, struct fragment *fragment)
{
    struct dbi_output *output = &dbi->output;
    struct emit cold = dbi_region_cold(region);
    struct emit e = {.limit = region->writable + REGION_HOT_BYTES, .host = cold.host};
    int err = hot_start(dbi, region, fragment->is.pc, &e.at);
    if (err)
        return err;
    cold = dbi_region_cold(region);
    dbi_room_settle(region->writable, region->hot_bytes, &region->hot_huge);
    dbi_room_settle(region->writable + REGION_HOT_BYTES, region->cold_bytes - REGION_HOT_BYTES,
                    &region->cold_huge);
    fragment->host_start = emit_host(&e);
    const struct dbi_wall wall = {dbi->config.is_programs, dbi->config.arg};
    struct dbi_emit_how how = {
        .mode = dbi->config.mode,
        .values = dbi->config.values,
        .ticks = dbi->config.ticks,
        .x87_is_lost = dbi->config.x87_is_lost,
        .exact = exact,
        .id = fragment->is.id,
        .cold = &cold,
        .shared = &region->shared,
        .pad = pad_wanted(dbi, region),
        .site = exact ? NULL : dbi_site_table(dbi, fragment->site),
        .filter = !exact && dbi->has_filter && fragment->is.pc == dbi->stop ? &dbi->filter : NULL,
        .wall = wall.is_programs ? &wall : NULL};
    err = dbi_emit_fragment(&e, &how, &dbi->code, output);
    if (err) {
        if (dbi->exits.fall.region)
            *emit_jmp_start(dbi->exits.fall.site.rel32) =
                EMIT_JMP; /* it may have been overwritten */
        return err;
    }
    fall_taken(dbi);
    region->hot_bytes = ((size_t)(e.at - region->writable) + 15) & ~(size_t)15;
    region->cold_bytes = (size_t)(cold.at - region->writable);
    fragment->is.host_body = (uint64_t)(uintptr_t)output->body + e.host;
    fragment->is.host_inner = (uint64_t)(uintptr_t)output->inner + e.host;
    fragment->is.host_end = emit_host(&e);
    return 0;
}

int dbi_fragment_emit(struct dbi *dbi, bool exact, struct fragment **out)
{
    struct dbi_code *code = &dbi->code;
    struct dbi_output *output = &dbi->output;
    struct region *region = NULL;
    struct fragment *fragment = NULL;
    int err = dbi_region_get(dbi, code->insns[0].pc, &region);
    if (!err)
        err = dbi_fragment_add(dbi, code->insns[0].pc, code->count, code->code_bytes, &fragment);
    if (err)
        return err;
    for (unsigned i = 0, at = 0; i < code->count; at += code->insns[i++].is.length)
        memcpy((uint8_t *)fragment->is.code + at, code->insns[i].bytes, code->insns[i].is.length);
    err = dbi_site_get(dbi, code, &fragment->site);
    if (!err)
        err = code_emit(dbi, exact, region, fragment);
    if (err)
        return err;
    fragment->lookup = output->lookup;
    if (fragment->site && !exact)
        dbi_site_use(dbi, fragment);
    region->stubless += !exact;
    err = dbi_slots_keep(dbi, fragment, output->slots, output->slot_count, output->word_count);
    fragment->is.cut = exact;
    fragment->checks = code->unwatched;
    if (!err)
        err = dbi_places_keep(dbi, fragment, output);
    if (!err)
        err = dbi_region_note(region, fragment->is.id);
    fragment->body = output->body;
    if (!err && output->has_pad)
        err = dbi_pad_keep(dbi, region, &output->pad);
    if (!err && output->has_pad)
        err = dbi_hash_land(dbi, output->pad.next, output->pad.landing);
    if (!err && exact)
        err = dbi_exits_leave(region, output);
    else if (!err)
        err = dbi_exits_link(dbi, region, fragment, output);
    *out = fragment;
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The code cache: regions of memory near the program's modules, the fragments in them, the links
 * between fragments, and the tables by which the agent and translated code find them.
 */
#include "recorder/dbi/dbi.h"

#include <errno.h>
#include <stdlib.h>

#include "recorder/dbi/dbi_priv.h"
#include "recorder/insn/insn_ranges.h"
#include <wetdbg/errors.h>

#define EAGER_MAX  96
#define NEAR_BYTES 0x78000000ll

/* ---- life ---- */

int dbi_new(const struct dbi_config *config, struct dbi **out)
{
    struct dbi *dbi = calloc(1, sizeof(*dbi));
    if (!dbi)
        return -ENOMEM;
    dbi->config = *config;
    dbi->by_pc = calloc(BY_PC_SLOTS, sizeof(*dbi->by_pc));
    dbi->waiting_by_pc = calloc(BY_PC_SLOTS, sizeof(*dbi->waiting_by_pc));
    dbi->pads_by_next = calloc(BY_PC_SLOTS, sizeof(*dbi->pads_by_next));
    dbi->cut_by_pc = calloc(BY_PC_SLOTS, sizeof(*dbi->cut_by_pc));
    dbi->gone_by_pc = calloc(BY_PC_SLOTS, sizeof(*dbi->gone_by_pc));
    dbi->gone_by_code = calloc(BY_PC_SLOTS, sizeof(*dbi->gone_by_code));
    dbi->by_page = calloc(BY_PC_SLOTS, sizeof(*dbi->by_page));
    dbi->sites_by_key = calloc(BY_PC_SLOTS, sizeof(*dbi->sites_by_key));
    dbi->pairs_by_both = calloc(BY_PC_SLOTS, sizeof(*dbi->pairs_by_both));
    dbi->forms = dbi_forms_new();
    dbi_code_init(&dbi->code);
    dbi->page_slots = 1024;
    dbi->pages = calloc(dbi->page_slots, sizeof(*dbi->pages));
    if (!dbi->by_pc || !dbi->waiting_by_pc || !dbi->cut_by_pc || !dbi->gone_by_pc ||
        !dbi->gone_by_code || !dbi->by_page || !dbi->pages || !dbi->pads_by_next ||
        !dbi->sites_by_key || !dbi->pairs_by_both || !dbi->forms) {
        dbi_free(dbi);
        return -ENOMEM;
    }
    *out = dbi;
    return 0;
}

static void pages_forget(struct dbi *dbi)
{
    for (size_t i = 0; dbi->pages && i < dbi->page_slots; i++) {
        free(dbi->pages[i]);
        dbi->pages[i] = NULL;
    }
    dbi->page_count = 0;
    dbi->recent = NULL;
}

void dbi_free(struct dbi *dbi)
{
    if (!dbi)
        return;
    pages_forget(dbi);
    for (unsigned i = 0; i < dbi->region_count; i++)
        free(dbi->regions[i].ids);
    dbi_room_free(dbi);
    free(dbi->fragments);
    free(dbi->links);
    free(dbi->by_pc);
    free(dbi->waiting);
    free(dbi->waiting_by_pc);
    free(dbi->pads);
    free(dbi->pads_by_next);
    free(dbi->sites);
    free(dbi->sites_by_key);
    free(dbi->pairs);
    free(dbi->pairs_by_both);
    free(dbi->cut_by_pc);
    free(dbi->gone_by_pc);
    free(dbi->gone_by_code);
    free(dbi->by_page);
    free(dbi->pages);
    free(dbi->expected);
    dbi_forms_free(dbi->forms);
    free(dbi);
}

static void region_empty(struct region *region)
{
    region->hot_bytes = PAGE; /* what its fragments share stays */
    region->cold_bytes = REGION_HOT_BYTES;
    region->stubless = region->id_count = 0;
}

static void return_table_empty(struct dbi *dbi)
{
    for (unsigned i = 0; i < 65536; i++)
        return_table(dbi)[i] = dbi->regions[0].shared.returned;
}

void dbi_flush(struct dbi *dbi)
{
    pages_forget(dbi);
    for (uint32_t i = 0; i < dbi->fragment_count; i++) {
        dbi->fragments[i]->is.host_body = dbi->fragments[i]->is.host_prefix = 0;
        dbi->fragments[i]->stub = 0;
        dbi->fragments[i]->gone = true;
    }
    dbi->stop_fragment = NULL;
    dbi->lookup_used = 0;
    memset(dbi->by_pc, 0, BY_PC_SLOTS * sizeof(*dbi->by_pc));
    memset(dbi->waiting_by_pc, 0, BY_PC_SLOTS * sizeof(*dbi->waiting_by_pc));
    memset(dbi->pads_by_next, 0, BY_PC_SLOTS * sizeof(*dbi->pads_by_next));
    memset(dbi->cut_by_pc, 0, BY_PC_SLOTS * sizeof(*dbi->cut_by_pc));
    memset(dbi->gone_by_pc, 0, BY_PC_SLOTS * sizeof(*dbi->gone_by_pc));
    memset(dbi->gone_by_code, 0, BY_PC_SLOTS * sizeof(*dbi->gone_by_code));
    memset(dbi->by_page, 0, BY_PC_SLOTS * sizeof(*dbi->by_page));
    dbi->waiting_count = dbi->pad_count = dbi->gone_count = 0;
    dbi_lookup_empty(dbi);
    for (unsigned i = 0; i < dbi->region_count; i++)
        region_empty(&dbi->regions[i]);
    if (dbi->region_count)
        return_table_empty(dbi);
    dbi_sites_flush(dbi);
    dbi->fall.region = NULL;
}

/* ---- code bytes ---- */

static struct page **page_slot(struct dbi *dbi, uint64_t address)
{
    size_t i = (size_t)((address >> 12) * 0x9e3779b97f4a7c15ull) & (dbi->page_slots - 1);
    while (dbi->pages[i] && dbi->pages[i]->address != address)
        i = (i + 1) & (dbi->page_slots - 1);
    return &dbi->pages[i];
}

static int pages_grow(struct dbi *dbi)
{
    struct page **old = dbi->pages;
    size_t old_slots = dbi->page_slots;
    struct page **pages = calloc(old_slots * 2, sizeof(*pages));
    if (!pages)
        return -ENOMEM;
    dbi->pages = pages;
    dbi->page_slots = old_slots * 2;
    for (size_t i = 0; i < old_slots; i++) {
        if (old[i])
            *page_slot(dbi, old[i]->address) = old[i];
    }
    free(old);
    return 0;
}

static int page_fetch(struct dbi *dbi, struct page *page)
{
    page->flags = 0;
    page->round = dbi->round;
    page->stale = false;
    return dbi->config.fetch(dbi->config.arg, page->address, page->bytes, &page->flags);
}

/* Takes a page out of the table. Pages that had given way to it move up. */
static void page_remove(struct dbi *dbi, struct page **slot)
{
    size_t hole = (size_t)(slot - dbi->pages), mask = dbi->page_slots - 1;
    free(*slot);
    dbi->recent = NULL;
    dbi->pages[hole] = NULL;
    dbi->page_count--;
    for (size_t i = (hole + 1) & mask; dbi->pages[i]; i = (i + 1) & mask) {
        struct page *page = dbi->pages[i];
        dbi->pages[i] = NULL;
        *page_slot(dbi, page->address) = page;
    }
}

static int page_refresh(struct dbi *dbi, struct page **slot)
{
    int result = page_fetch(dbi, *slot);
    if (result < 0)
        (*slot)->stale = true;
    else if (result > 0)
        page_remove(dbi, slot);
    return result;
}

static bool is_current(const struct dbi *dbi, const struct page *page)
{
    return !page->stale && (!(page->flags & DBI_PAGE_UNWATCHED) || page->round == dbi->round);
}

/* 0, a positive reason, or an error. `seen_only`: do not ask for pages that are not here. */
static int page_get(struct dbi *dbi, uint64_t address, bool seen_only, const struct page **out)
{
    if (dbi->recent && dbi->recent->address == (address & ~(PAGE - 1)) &&
        is_current(dbi, dbi->recent)) {
        *out = dbi->recent;
        return 0;
    }
    struct page **slot = page_slot(dbi, address & ~(PAGE - 1));
    if (*slot && !is_current(dbi, *slot)) {
        int result = page_refresh(dbi, slot);
        if (result)
            return result;
    }
    if (!*slot) {
        if (seen_only)
            return 1;
        if (dbi->page_count * 2 >= dbi->page_slots) {
            int err = pages_grow(dbi);
            if (err)
                return err;
            slot = page_slot(dbi, address & ~(PAGE - 1));
        }
        struct page *page = malloc(sizeof(*page));
        if (!page)
            return -ENOMEM;
        page->address = address & ~(PAGE - 1);
        int result = page_fetch(dbi, page);
        if (result) {
            free(page);
            return result;
        }
        *slot = page;
        dbi->page_count++;
    }
    *out = dbi->recent = *slot;
    return 0;
}

#define FEW_PAGES 64u

void dbi_pages_forget(struct dbi *dbi, uint64_t start, uint64_t end)
{
    uint64_t first = start & ~(PAGE - 1);
    if (end - first <= FEW_PAGES * PAGE) {
        for (uint64_t at = first; at < end; at += PAGE) {
            struct page **slot = page_slot(dbi, at);
            if (*slot && at >= start && at + PAGE <= end)
                page_remove(dbi, slot);
            else if (*slot)
                (*slot)->stale = true;
        }
        return;
    }
    for (size_t i = 0; i < dbi->page_slots;) {
        struct page *page = dbi->pages[i];
        if (page && page->address >= first && page->address < end)
            page_remove(dbi, &dbi->pages[i]); /* another may have moved here */
        else
            i++;
    }
}

static int page_verify(struct dbi *dbi, const struct page *page)
{
    uint8_t bytes[PAGE];
    unsigned flags = 0;
    int result = dbi->config.fetch(dbi->config.arg, page->address, bytes, &flags);
    if (result < 0)
        return result;
    if (!result && !page->stale && flags == page->flags && !(flags & DBI_PAGE_UNWATCHED) &&
        !memcmp(bytes, page->bytes, PAGE))
        return 0;
    return dbi_forget(dbi, page->address, page->address + PAGE);
}

int dbi_verify(struct dbi *dbi)
{
    size_t count = 0;
    int err = 0;
    uint64_t *addresses = malloc((dbi->page_count + 1) * sizeof(*addresses));
    if (!addresses)
        return -ENOMEM;
    for (size_t i = 0; i < dbi->page_slots; i++) {
        if (dbi->pages[i])
            addresses[count++] = dbi->pages[i]->address;
    }
    for (size_t i = 0; i < count && !err; i++) {
        const struct page *page = *page_slot(dbi, addresses[i]);
        if (page)
            err = page_verify(dbi, page);
    }
    free(addresses);
    return err;
}

/* Where the program may write, stores end fragments. */
static enum dbi_detail detail_of(const struct dbi *dbi, unsigned page_flags)
{
    if (dbi->config.values)
        return DBI_DETAIL_ALL;
    bool is_bare = dbi->config.mode == DBI_PLAIN && !(page_flags & DBI_PAGE_WRITABLE) &&
                   !dbi->config.is_programs;
    return is_bare ? DBI_DETAIL_NONE : DBI_DETAIL_MEMORY;
}

/* Decodes one instruction that may cross into the next page. */
static int insn_get(struct dbi *dbi, uint64_t pc, bool seen_only, struct dbi_insn *insn,
                    struct dbi_fetch_fault *fault)
{
    uint8_t bytes[2 * 16];
    size_t have = PAGE - (pc & (PAGE - 1));
    const struct page *page;
    fault->address = pc;
    fault->reason = page_get(dbi, pc, seen_only, &page);
    if (fault->reason)
        return fault->reason < 0 ? fault->reason : 1;
    const uint8_t *at = page->bytes + (pc & (PAGE - 1));
    unsigned flags = page->flags;
    if (have < 15)
        memcpy(bytes, at, have);
    int err = dbi_forms_decode(dbi->forms, insn, pc, have < 15 ? bytes : at, have < 15 ? have : 15,
                               detail_of(dbi, flags));
    insn->page_flags = (uint8_t)flags;
    if (!err || have >= 15)
        return err;
    fault->address = pc + have;
    fault->reason = page_get(dbi, pc + have, seen_only, &page);
    if (fault->reason)
        return fault->reason < 0 ? fault->reason : 1;
    memcpy(bytes + have, page->bytes, 15 - have);
    flags |= page->flags;
    err = dbi_forms_decode(dbi->forms, insn, pc, bytes, 15, detail_of(dbi, flags));
    insn->page_flags = (uint8_t)flags;
    return err;
}

static bool is_store(const struct dbi_insn *insn)
{
    for (unsigned m = 0; m < insn->info.mem_count; m++) {
        if (insn->info.mems[m].flags & INS_MEM_WRITE)
            return true;
    }
    return false;
}

/* Fills dbi->code from `pc`. 0; 1 with *fault when not even one instruction can be fetched. */
static int code_get(struct dbi *dbi, uint64_t pc, unsigned limit, bool seen_only,
                    struct dbi_fetch_fault *fault)
{
    struct dbi_code *code = &dbi->code;
    unsigned writable = 0;
    code->count = 0;
    code->code_bytes = 0;
    code->ended = code->unwatched = false;
    while (code->count < limit) {
        struct dbi_insn *insn = &code->insns[code->count];
        int result = insn_get(dbi, pc + code->code_bytes, seen_only, insn, fault);
        if (result < 0 || (result > 0 && (code->count == 0 || seen_only)))
            return result;
        if (result > 0)
            break;
        if (code->count == 0)
            writable = insn->page_flags & DBI_PAGE_WRITABLE;
        code->ended = (insn->page_flags & DBI_PAGE_WRITABLE) != writable;
        if (code->ended)
            break;
        code->count++;
        code->code_bytes += insn->is.length;
        code->unwatched |= insn->page_flags & DBI_PAGE_UNWATCHED;
        code->ended = insn->is.terminal != DBI_NEXT || (writable && is_store(insn)) ||
                      code->count == DBI_INSN_MAX;
        if (code->ended || pc + code->code_bytes == dbi->stop)
            break;
    }
    return 0;
}

/* ---- regions ---- */

static int region_add(struct dbi *dbi, uint64_t near, struct region **out)
{
    if (dbi->region_count == DBI_REGIONS_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED, "the program's code fills more than %u regions",
                           DBI_REGIONS_MAX);
    struct region *region = &dbi->regions[dbi->region_count];
    int err = dbi->config.place(dbi->config.arg, dbi->region_count, near, &region->address,
                                &region->writable);
    if (err)
        return err;
    struct emit e = {.at = region->writable,
                     .limit = region->writable + PAGE,
                     .host = region->address - (uintptr_t)region->writable};
    dbi_emit_shared(&e, &region->shared);
    region_empty(region);
    if (dbi->region_count++ == 0) {
        struct agt_ctx *ctx = (struct agt_ctx *)dbi->config.shm;
        ctx->lookup_shift = dbi_lookup_shift();
        ctx->lookup_mask = AGT_LOOKUP_MIN - 1;
        dbi->lookup_size = AGT_LOOKUP_MIN;
        ctx->return_missed = region->shared.missed_return;
        ctx->jump_missed = region->shared.missed;
        return_table_empty(dbi);
    }
    *out = region;
    return 0;
}

static bool is_near(uint64_t a, uint64_t b)
{
    int64_t distance = (int64_t)(a - b);
    return distance > -NEAR_BYTES && distance < NEAR_BYTES;
}

static bool region_has_room(const struct region *region)
{
    size_t promised = region->stubless * DBI_LEAVE_BYTES;
    return region->hot_bytes + (64 << 10) < REGION_HOT_BYTES &&
           region->cold_bytes + promised + (64 << 10) < DBI_REGION_BYTES;
}

/* A region with room, near `pc` if one can be had. */
int dbi_region_get(struct dbi *dbi, uint64_t pc, struct region **out)
{
    for (unsigned i = 0; i < dbi->region_count; i++) {
        struct region *region = &dbi->regions[i];
        if (is_near(pc, region->address) && region_has_room(region)) {
            *out = region;
            return 0;
        }
    }
    return region_add(dbi, pc, out);
}

/* ---- fragments ---- */

static int fragments_grow(struct dbi *dbi)
{
    size_t capacity = dbi->fragment_capacity ? dbi->fragment_capacity * 2 : 1024;
    struct fragment **fragments = realloc(dbi->fragments, capacity * sizeof(*fragments));
    if (!fragments)
        return -ENOMEM;
    dbi->fragments = fragments;
    struct link *links = realloc(dbi->links, capacity * sizeof(*links));
    if (!links)
        return -ENOMEM;
    dbi->links = links;
    dbi->fragment_capacity = capacity;
    return 0;
}

static int fragment_add(struct dbi *dbi, uint64_t pc, unsigned insn_count, unsigned code_bytes,
                        struct fragment **out)
{
    if (dbi->fragment_count == AGT_COUNT_MAX)
        return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                           "the program has more than %u fragments of code", AGT_COUNT_MAX);
    if (dbi->fragment_count == dbi->fragment_capacity) {
        int err = fragments_grow(dbi);
        if (err)
            return err;
    }
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

static int places_keep(struct dbi *dbi, struct fragment *fragment, const struct dbi_output *output)
{
    fragment->places = dbi_room_get(dbi, output->place_count * sizeof(*fragment->places));
    if (!fragment->places)
        return -ENOMEM;
    memcpy(fragment->places, output->places, output->place_count * sizeof(*fragment->places));
    fragment->place_count = output->place_count;
    return 0;
}

static int region_note(struct region *region, uint32_t id)
{
    if (region->id_count == region->id_capacity) {
        size_t capacity = region->id_capacity ? region->id_capacity * 2 : 1024;
        uint32_t *ids = realloc(region->ids, capacity * sizeof(*ids));
        if (!ids)
            return -ENOMEM;
        region->ids = ids;
        region->id_capacity = capacity;
    }
    region->ids[region->id_count++] = id;
    return 0;
}

/* Where the fragment at `pc` goes: over the jump that would lead to it, if that was emitted last. */
static int hot_start(struct dbi *dbi, const struct region *region, uint64_t pc, uint8_t **start)
{
    const struct fall *fall = &dbi->fall;
    if (fall->region == region && fall->site.target == pc) {
        *start = emit_jmp_start(fall->site.rel32);
        return 0;
    }
    *start = region->writable + region->hot_bytes;
    return dbi_fall_close(dbi);
}

/* The code is there: nothing jumps to it any more that runs into it. */
static void fall_taken(struct dbi *dbi)
{
    if (dbi->fall.region)
        dbi->fall.from->is.host_end -= EMIT_JMP_BYTES;
    dbi->fall.region = NULL;
}

/* For the call at the end of dbi->code, if it is one. */
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
        if (dbi->fall.region)
            *emit_jmp_start(dbi->fall.site.rel32) = EMIT_JMP; /* it may have been overwritten */
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

/* If each slot is its word, that need not be said. */
static bool slots_are_words(const struct dbi_slot *slots, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (slots[i].more || slots[i].word != i + 1)
            return false;
    return true;
}

static int slots_keep(struct dbi *dbi, struct fragment *fragment, const struct dbi_slot *slots,
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

/* Slots only go by words that come before them: those of a fragment's first instructions are the same. */
static int head_slots_keep(struct dbi *dbi, struct fragment *head, const struct dbi_fragment *whole,
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
        return slots_keep(dbi, head, whole->slots, slot_count, word_count);
    head->is.slot_count = (uint16_t)slot_count;
    head->is.word_count = (uint16_t)word_count;
    return 0;
}

static int fragment_emit(struct dbi *dbi, bool exact, struct fragment **out)
{
    struct dbi_code *code = &dbi->code;
    struct dbi_output *output = &dbi->output;
    struct region *region = NULL;
    struct fragment *fragment = NULL;
    int err = dbi_region_get(dbi, code->insns[0].pc, &region);
    if (!err)
        err = fragment_add(dbi, code->insns[0].pc, code->count, code->code_bytes, &fragment);
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
    err = slots_keep(dbi, fragment, output->slots, output->slot_count, output->word_count);
    fragment->is.cut = exact;
    fragment->checks = code->unwatched;
    if (!err)
        err = places_keep(dbi, fragment, output);
    if (!err)
        err = region_note(region, fragment->is.id);
    fragment->body = output->body;
    if (!err && output->has_pad)
        err = dbi_pad_keep(dbi, region, &output->pad);
    if (!err && exact)
        err = dbi_exits_leave(region, output);
    else if (!err)
        err = dbi_exits_link(dbi, region, fragment, output);
    *out = fragment;
    return err;
}

/* Addresses to which the fragment just decoded may go on. */
static unsigned successors(const struct dbi_code *code, uint64_t *list)
{
    const struct dbi_insn *last = &code->insns[code->count - 1];
    uint64_t next = last->pc + last->is.length;
    switch (last->is.terminal) {
    case DBI_JMP:
        list[0] = last->target;
        return 1;
    case DBI_JCC:
    case DBI_LOOP:
        list[0] = next;
        list[1] = last->target;
        return 2;
    case DBI_CALL:
        list[0] = last->target;
        list[1] = next;
        return 2;
    case DBI_RET:
    case DBI_JMP_INDIRECT:
    case DBI_TRAP:
    case DBI_ILLEGAL:
    case DBI_UNSUPPORTED:
        return 0;
    default:
        list[0] = next;
        return 1;
    }
}

/* The fragment that begins where dbi_stop_at() says. With a filter it is like any other, except
 * that it lets nothing pass which the agent has to see; else only the agent may lead to it. */
static int stop_fragment_get(struct dbi *dbi, const struct dbi_fragment **out,
                             struct dbi_fetch_fault *fault)
{
    if (!dbi->stop_fragment) {
        struct fragment *fragment = NULL;
        int err = code_get(dbi, dbi->stop, DBI_INSN_MAX, false, fault);
        if (!err)
            err = fragment_emit(dbi, false, &fragment);
        if (err)
            return err;
        err = dbi_fall_close(dbi);
        if (err)
            return err;
        fragment->at_stop = true;
        dbi->stop_fragment = fragment;
        if (dbi->has_filter)
            err = dbi_fragment_enter(dbi, fragment);
        else
            dbi_page_enter(dbi, fragment);
        if (err)
            return err;
    }
    *out = &dbi->stop_fragment->is;
    return 0;
}

/* The fragment at `pc`, made or revived: 0, 1 with *fault, or an error. `eager`: nobody goes there yet.
 * *fresh: dbi->code has it. */
static int full_get(struct dbi *dbi, uint64_t pc, bool eager, struct fragment **out, bool *fresh,
                    struct dbi_fetch_fault *fault)
{
    *fresh = false;
    *out = dbi_fragment_find(dbi, pc);
    if (*out)
        return 0;
    int err = code_get(dbi, pc, DBI_INSN_MAX, eager, fault);
    if (err)
        return eager ? 1 : err;
    if (eager && dbi->code.insns[0].is.terminal == DBI_ILLEGAL)
        return 1;
    *fresh = true;
    *out = dbi_gone_find(dbi, &dbi->code);
    if (*out)
        return dbi_fragment_revive(dbi, *out);
    err = fragment_emit(dbi, false, out);
    return err ? err : dbi_fragment_enter(dbi, *out);
}

/* What the fragment made last falls into comes next. */
static void fall_first(const struct dbi *dbi, uint64_t *list, unsigned from, unsigned count)
{
    unsigned i = from;
    while (dbi->fall.region && i < count && list[i] != dbi->fall.site.target)
        i++;
    if (dbi->fall.region && i < count) {
        list[i] = list[from];
        list[from] = dbi->fall.site.target;
    }
}

/* What may follow `first`, whose code is in dbi->code. What cannot be fetched or translated is left
 * to whoever comes there: it may be data, which nothing ever jumps to. */
static int successors_get(struct dbi *dbi)
{
    uint64_t list[EAGER_MAX + 2];
    unsigned count = successors(&dbi->code, list);
    struct dbi_fetch_fault fault;
    struct fragment *fragment;
    bool fresh;
    for (unsigned i = 0; i < count; i++) {
        fall_first(dbi, list, i, count);
        if ((list[i] == dbi->stop && dbi->stop) || !dbi_is_expected(dbi, list[i]))
            continue;
        int err = full_get(dbi, list[i], true, &fragment, &fresh, &fault);
        if (err < 0 && err != -WETDBG_ERR_UNSUPPORTED)
            return err;
        if (!err && fresh && count < EAGER_MAX)
            count += successors(&dbi->code, list + count);
    }
    return 0;
}

int dbi_translate(struct dbi *dbi, uint64_t pc, const struct dbi_fragment **out,
                  struct dbi_fetch_fault *fault)
{
    struct fragment *fragment;
    bool fresh;
    dbi->round++;
    if (pc == dbi->stop && pc)
        return stop_fragment_get(dbi, out, fault);
    int err = full_get(dbi, pc, false, &fragment, &fresh, fault);
    if (err)
        return err;
    if (fresh)
        err = successors_get(dbi);
    if (!err)
        err = dbi_fall_close(dbi);
    if (!err)
        err = dbi_fragment_offer(dbi, fragment);
    *out = &fragment->is;
    return err;
}

/* A cut fragment is reused if it has code just when wanted (`exact`) and is `count` long; one that
 * ends by the rule serves every larger count too. */
static struct fragment *cut_find(struct dbi *dbi, uint64_t pc, unsigned count, bool exact)
{
    for (uint32_t id = dbi->cut_by_pc[slot_of(pc)]; id; id = dbi->links[id - 1].next) {
        struct fragment *fragment = dbi->fragments[id - 1];
        uint64_t end = pc + fragment->is.code_bytes;
        bool over_stop = exact && pc < dbi->stop && dbi->stop < end;
        bool ends_well = fragment->ends_by_rule || (exact && end == dbi->stop);
        bool fits =
            fragment->is.insn_count == count || (ends_well && fragment->is.insn_count < count);
        if (fragment->is.pc == pc && fits && !over_stop && (fragment->is.host_body != 0) == exact)
            return fragment;
    }
    return NULL;
}

int dbi_translate_exact(struct dbi *dbi, uint64_t pc, unsigned limit,
                        const struct dbi_fragment **out, struct dbi_fetch_fault *fault)
{
    unsigned most = limit < DBI_INSN_MAX ? limit : DBI_INSN_MAX;
    struct fragment *fragment = cut_find(dbi, pc, most, true);
    int err = 0;
    if (!fragment) {
        dbi->round++;
        err = code_get(dbi, pc, most, false, fault);
        if (!err)
            err = fragment_emit(dbi, true, &fragment);
        if (!err) {
            fragment->ends_by_rule = dbi->code.ended;
            dbi_cut_enter(dbi, fragment);
            dbi_page_enter(dbi, fragment);
        }
    }
    if (!err)
        *out = &fragment->is;
    return err;
}

int dbi_fragment_head(struct dbi *dbi, const struct dbi_fragment *whole, unsigned count,
                      const struct dbi_fragment **out)
{
    struct fragment *fragment = cut_find(dbi, whole->pc, count, false);
    unsigned bytes = 0, slots = 0, words = 0;
    struct dbi_insn *insn = &dbi->code.insns[0];
    if (fragment && fragment->is.code_bytes <= whole->code_bytes &&
        !memcmp(fragment->is.code, whole->code, fragment->is.code_bytes)) {
        *out = &fragment->is;
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        int err = dbi_insn_decode(insn, whole->pc + bytes, whole->code + bytes,
                                  whole->code_bytes - bytes, detail_of(dbi, DBI_PAGE_WRITABLE));
        if (err)
            return err;
        bytes += insn->is.length;
        slots += ins_slot_count(&insn->info);
        words += dbi->config.values ? dbi_insn_words(insn) : 0;
    }
    int err = fragment_add(dbi, whole->pc, count, bytes, &fragment);
    if (err)
        return err;
    memcpy((uint8_t *)fragment->is.code, whole->code, bytes);
    fragment->is.cut = true;
    if (dbi->config.values)
        fragment->is.word_count = (uint16_t)words;
    else if (dbi->config.mode == DBI_COLLECT)
        err = head_slots_keep(dbi, fragment, whole, slots);
    if (err)
        return err;
    dbi_cut_enter(dbi, fragment);
    dbi_page_enter(dbi, fragment);
    *out = &fragment->is;
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

/* The fragment whose code is at a host address: also one that is forgotten, since it may be what runs
 * right now. */
static const struct fragment *fragment_at(const struct dbi *dbi, uint64_t host)
{
    const struct region *region = dbi->regions;
    while (region < dbi->regions + dbi->region_count && host - region->address >= DBI_REGION_BYTES)
        region++;
    if (region == dbi->regions + dbi->region_count)
        return NULL;
    size_t low = 0, high = region->id_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (dbi->fragments[region->ids[middle]]->host_start > host)
            high = middle;
        else
            low = middle + 1;
    }
    const struct fragment *fragment = low ? dbi->fragments[region->ids[low - 1]] : NULL;
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

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/fragment_table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/page.h"
#include "recorder/dbi/dbi_priv.h"

uint32_t *dbi_heads_new(void)
{
    return calloc(BY_PC_SLOTS, sizeof(uint32_t));
}

void dbi_heads_empty(uint32_t *heads)
{
    memset(heads, 0, BY_PC_SLOTS * sizeof(*heads));
}

int dbi_tables_init(struct dbi *dbi)
{
    struct dbi_tables *tables = &dbi->tables;
    tables->by_pc = dbi_heads_new();
    tables->cut_by_pc = dbi_heads_new();
    tables->gone_by_pc = dbi_heads_new();
    tables->gone_by_code = dbi_heads_new();
    tables->by_page = dbi_heads_new();
    return tables->by_pc && tables->cut_by_pc && tables->gone_by_pc && tables->gone_by_code &&
                   tables->by_page
               ? 0
               : -ENOMEM;
}

void dbi_tables_fini(struct dbi *dbi)
{
    struct dbi_tables *tables = &dbi->tables;
    free(tables->links);
    free(tables->by_pc);
    free(tables->cut_by_pc);
    free(tables->gone_by_pc);
    free(tables->gone_by_code);
    free(tables->by_page);
}

void dbi_tables_empty(struct dbi *dbi)
{
    struct dbi_tables *tables = &dbi->tables;
    dbi_heads_empty(tables->by_pc);
    dbi_heads_empty(tables->cut_by_pc);
    dbi_heads_empty(tables->gone_by_pc);
    dbi_heads_empty(tables->gone_by_code);
    dbi_heads_empty(tables->by_page);
    tables->gone_count = 0;
}

int dbi_tables_grow(struct dbi *dbi, size_t count)
{
    return wd_grow(dbi->tables.links, dbi->tables.link_capacity, count);
}

/* ---- chains ---- */

static void chain_add(struct dbi *dbi, uint32_t *heads, const struct fragment *fragment)
{
    uint32_t *head = &heads[slot_of(fragment->is.pc)];
    assert(fragment->is.id < dbi->fragment_count);
    dbi->tables.links[fragment->is.id] = (struct link){.pc = fragment->is.pc, .next = *head};
    *head = fragment->is.id + 1;
}

static void chain_remove(struct dbi *dbi, uint32_t *heads, const struct fragment *fragment)
{
    uint32_t *at = &heads[slot_of(fragment->is.pc)];
    while (*at && *at != fragment->is.id + 1)
        at = &dbi->tables.links[*at - 1].next;
    if (*at)
        *at = dbi->tables.links[fragment->is.id].next;
}

struct fragment *dbi_fragment_find(const struct dbi *dbi, uint64_t pc)
{
    for (uint32_t id = dbi->tables.by_pc[slot_of(pc)]; id; id = dbi->tables.links[id - 1].next) {
        if (dbi->tables.links[id - 1].pc == pc)
            return dbi->fragments[id - 1];
    }
    return NULL;
}

void dbi_full_enter(struct dbi *dbi, struct fragment *fragment)
{
    chain_add(dbi, dbi->tables.by_pc, fragment);
}

void dbi_full_leave(struct dbi *dbi, struct fragment *fragment)
{
    chain_remove(dbi, dbi->tables.by_pc, fragment);
}

void dbi_cut_enter(struct dbi *dbi, struct fragment *fragment)
{
    chain_add(dbi, dbi->tables.cut_by_pc, fragment);
}

void dbi_cut_leave(struct dbi *dbi, struct fragment *fragment)
{
    chain_remove(dbi, dbi->tables.cut_by_pc, fragment);
}

struct fragment *dbi_cut_find(struct dbi *dbi, uint64_t pc, unsigned count, bool exact)
{
    for (uint32_t id = dbi->tables.cut_by_pc[slot_of(pc)]; id;
         id = dbi->tables.links[id - 1].next) {
        struct fragment *fragment = dbi->fragments[id - 1];
        uint64_t end = pc + fragment->is.code_bytes;
        bool over_stop = exact && pc < dbi->stop && dbi->stop < end;
        bool ends_well = fragment->is.ends_by_rule || (exact && end == dbi->stop);
        bool fits =
            fragment->is.insn_count == count || (ends_well && fragment->is.insn_count < count);
        if (fragment->is.pc == pc && fits && !over_stop && (fragment->is.host_body != 0) == exact)
            return fragment;
    }
    return NULL;
}

void dbi_page_enter(struct dbi *dbi, struct fragment *fragment)
{
    uint32_t *head = &dbi->tables.by_page[slot_of(fragment->is.pc & ~(WD_PAGE - 1))];
    fragment->next_by_page = *head;
    *head = fragment->is.id + 1;
}

/* ---- the forgotten ones ---- */

static uint32_t *gone_chain(struct dbi *dbi, uint64_t pc, const uint8_t *code, unsigned bytes)
{
    uint64_t hash = pc;
    for (unsigned i = 0; i < bytes; i++)
        hash = (hash ^ code[i]) * 0x100000001b3ull;
    return &dbi->tables.gone_by_code[slot_of(hash)];
}

void dbi_gone_enter(struct dbi *dbi, struct fragment *fragment)
{
    uint32_t *head = gone_chain(dbi, fragment->is.pc, fragment->is.code, fragment->is.code_bytes);
    fragment->next_by_code = *head;
    *head = fragment->is.id + 1;
    chain_add(dbi, dbi->tables.gone_by_pc, fragment);
    dbi->tables.gone_count++;
}

void dbi_gone_leave(struct dbi *dbi, struct fragment *fragment)
{
    uint32_t *at = gone_chain(dbi, fragment->is.pc, fragment->is.code, fragment->is.code_bytes);
    while (*at && *at != fragment->is.id + 1)
        at = &dbi->fragments[*at - 1]->next_by_code;
    if (*at)
        *at = fragment->next_by_code;
    chain_remove(dbi, dbi->tables.gone_by_pc, fragment);
    assert(dbi->tables.gone_count > 0);
    dbi->tables.gone_count--;
}

static bool is_made_from(const struct fragment *fragment, const struct dbi_code *code,
                         const uint8_t *bytes)
{
    return fragment->is.pc == code->insns[0].pc && fragment->is.insn_count == code->count &&
           fragment->is.code_bytes == code->code_bytes && (fragment->checks || !code->unwatched) &&
           !memcmp(fragment->is.code, bytes, code->code_bytes);
}

struct fragment *dbi_gone_find(struct dbi *dbi, const struct dbi_code *code)
{
    uint8_t bytes[FRAGMENT_BYTES_MAX];
    if (!dbi->tables.gone_count)
        return NULL;
    for (unsigned i = 0, at = 0; i < code->count; at += code->insns[i++].is.length)
        memcpy(bytes + at, code->insns[i].bytes, code->insns[i].is.length);
    for (uint32_t id = *gone_chain(dbi, code->insns[0].pc, bytes, code->code_bytes); id;
         id = dbi->fragments[id - 1]->next_by_code) {
        struct fragment *fragment = dbi->fragments[id - 1];
        if (!fragment->at_stop && is_made_from(fragment, code, bytes))
            return fragment;
    }
    return NULL;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Life of the code cache, and translation: what is wanted, and what may follow it. */
#include "recorder/dbi/dbi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/dbi/code_pages.h"
#include "recorder/dbi/code_read.h"
#include "recorder/dbi/code_room.h"
#include "recorder/dbi/dbi_priv.h"
#include "recorder/dbi/dbi_validate.h"
#include "recorder/dbi/expect.h"
#include "recorder/dbi/forget.h"
#include "recorder/dbi/fragment_emit.h"
#include "recorder/dbi/fragment_hash.h"
#include "recorder/dbi/fragment_table.h"
#include "recorder/dbi/links.h"
#include "recorder/insn/insn_ranges.h"
#include <wetdbg/errors.h>

#define EAGER_MAX 96

/* ---- life ---- */

int dbi_new(const struct dbi_config *config, struct dbi **out)
{
    struct dbi *dbi = calloc(1, sizeof(*dbi));
    if (!dbi)
        return -ENOMEM;
    dbi->config = *config;
    dbi->forms = dbi_forms_new();
    dbi_code_init(&dbi->code);
    if (!dbi->forms || dbi_pages_init(dbi) || dbi_tables_init(dbi) || dbi_exits_init(dbi) ||
        dbi_pads_init(dbi) || dbi_sites_init(dbi)) {
        dbi_free(dbi);
        return -ENOMEM;
    }
    *out = dbi;
    return 0;
}

void dbi_free(struct dbi *dbi)
{
    if (!dbi)
        return;
    dbi_pages_fini(dbi);
    dbi_regions_fini(dbi);
    dbi_room_free(dbi);
    dbi_tables_fini(dbi);
    dbi_exits_fini(dbi);
    dbi_pads_fini(dbi);
    dbi_sites_fini(dbi);
    free(dbi->fragments);
    free(dbi->expected);
    dbi_forms_free(dbi->forms);
    free(dbi);
}

/* ---- translation ---- */

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
        int err = dbi_code_get(dbi, dbi->stop, DBI_INSN_MAX, false, fault);
        if (!err)
            err = dbi_fragment_emit(dbi, false, &fragment);
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

/* The fragment at `pc`, made or revived: 0, 1 with *fault, or an error. `eager`: nobody goes there
 * yet. *fresh: dbi->code has it. */
static int full_get(struct dbi *dbi, uint64_t pc, bool eager, struct fragment **out, bool *fresh,
                    struct dbi_fetch_fault *fault)
{
    *fresh = false;
    *out = dbi_fragment_find(dbi, pc);
    if (*out)
        return 0;
    int err = dbi_code_get(dbi, pc, DBI_INSN_MAX, eager, fault);
    if (err)
        return eager ? 1 : err;
    if (eager && dbi->code.insns[0].is.terminal == DBI_ILLEGAL)
        return 1;
    *fresh = true;
    *out = dbi_gone_find(dbi, &dbi->code);
    if (*out)
        return dbi_fragment_revive(dbi, *out);
    err = dbi_fragment_emit(dbi, false, out);
    return err ? err : dbi_fragment_enter(dbi, *out);
}

/* Puts first what the fragment made last falls into. */
static void fall_first(const struct dbi *dbi, uint64_t *list, unsigned from, unsigned count)
{
    unsigned i = from;
    while (dbi->exits.fall.region && i < count && list[i] != dbi->exits.fall.site.target)
        i++;
    if (dbi->exits.fall.region && i < count) {
        list[i] = list[from];
        list[from] = dbi->exits.fall.site.target;
    }
}

/* Makes what may follow `first`, whose code is in dbi->code. What cannot be fetched or translated
 * is left to whoever comes there: it may be data, which nothing ever jumps to. */
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
    dbi->pages.round++;
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
        err = dbi_hash_offer(dbi, fragment);
    if (!err)
        err = dbi_changed(dbi);
    *out = &fragment->is;
    return err;
}

int dbi_translate_exact(struct dbi *dbi, uint64_t pc, unsigned limit,
                        const struct dbi_fragment **out, struct dbi_fetch_fault *fault)
{
    unsigned most = limit < DBI_INSN_MAX ? limit : DBI_INSN_MAX;
    struct fragment *fragment = dbi_cut_find(dbi, pc, most, true);
    int err = 0;
    if (!fragment) {
        dbi->pages.round++;
        err = dbi_code_get(dbi, pc, most, false, fault);
        if (!err)
            err = dbi_fragment_emit(dbi, true, &fragment);
        if (!err) {
            fragment->is.ends_by_rule = dbi->code.ended;
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
    struct fragment *fragment = dbi_cut_find(dbi, whole->pc, count, false);
    unsigned bytes = 0, slots = 0, words = 0;
    struct dbi_insn *insn = &dbi->code.insns[0];
    if (fragment && fragment->is.code_bytes <= whole->code_bytes &&
        !memcmp(fragment->is.code, whole->code, fragment->is.code_bytes)) {
        *out = &fragment->is;
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        int err = dbi_insn_decode(insn, whole->pc + bytes, whole->code + bytes,
                                  whole->code_bytes - bytes, dbi_detail_of(dbi, DBI_PAGE_WRITABLE));
        if (err)
            return err;
        bytes += insn->is.length;
        slots += ins_slot_count(&insn->info);
        words += dbi->config.values ? dbi_insn_words(insn) : 0;
    }
    int err = dbi_fragment_add(dbi, whole->pc, count, bytes, &fragment);
    if (err)
        return err;
    memcpy((uint8_t *)fragment->is.code, whole->code, bytes);
    fragment->is.cut = true;
    if (dbi->config.values)
        fragment->is.word_count = (uint16_t)words;
    else if (dbi->config.mode == DBI_COLLECT)
        err = dbi_head_slots_keep(dbi, fragment, whole, slots);
    if (err)
        return err;
    dbi_cut_enter(dbi, fragment);
    dbi_page_enter(dbi, fragment);
    *out = &fragment->is;
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/code_read.h"

#include <assert.h>
#include <string.h>

#include "recorder/dbi/code_pages.h"
#include "recorder/dbi/dbi_priv.h"

/* How much has to be known: where the program may write, stores end fragments. */
enum dbi_detail dbi_detail_of(const struct dbi *dbi, unsigned page_flags)
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
    size_t have = WD_PAGE - (pc & (WD_PAGE - 1));
    const struct page *page;
    fault->address = pc;
    fault->reason = dbi_page_get(dbi, pc, seen_only, &page);
    if (fault->reason)
        return fault->reason < 0 ? fault->reason : 1;
    const uint8_t *at = page->bytes + (pc & (WD_PAGE - 1));
    unsigned flags = page->flags;
    if (have < 15)
        memcpy(bytes, at, have);
    int err = dbi_forms_decode(dbi->forms, insn, pc, have < 15 ? bytes : at, have < 15 ? have : 15,
                               dbi_detail_of(dbi, flags));
    insn->page_flags = (uint8_t)flags;
    if (!err || have >= 15)
        return err;
    fault->address = pc + have;
    fault->reason = dbi_page_get(dbi, pc + have, seen_only, &page);
    if (fault->reason)
        return fault->reason < 0 ? fault->reason : 1;
    memcpy(bytes + have, page->bytes, 15 - have);
    flags |= page->flags;
    err = dbi_forms_decode(dbi->forms, insn, pc, bytes, 15, dbi_detail_of(dbi, flags));
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

int dbi_code_get(struct dbi *dbi, uint64_t pc, unsigned limit, bool seen_only,
                 struct dbi_fetch_fault *fault)
{
    struct dbi_code *code = &dbi->code;
    unsigned writable = 0;
    assert(limit > 0 && limit <= DBI_INSN_MAX);
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

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "recorder/dbi/ring.h"

#include "recorder/dbi/emit_vector.h"
#include "recorder/dbi/lanes.h"
#include "recorder/dbi/operand.h"
#include "recorder/dbi/scratch.h"
#include "recorder/dbi/slots.h"
#include "recorder/insn/insn_image.h"
#include "recorder/insn/insn_ranges.h"

static unsigned value_words(const struct ins_info *info)
{
    unsigned words = (unsigned)__builtin_popcount(dbi_value_registers(info));
    for (unsigned m = 0; m < info->mem_count; m++)
        words += dbi_value_words(&info->mems[m]);
    return words;
}

unsigned dbi_insn_words(const struct dbi_insn *insn)
{
    return ins_slot_count(&insn->info) +
           (insn->info.klass == INS_PLAIN ? value_words(&insn->info) : 0);
}

void dbi_ring_plan(struct work *w)
{
    struct dbi_output *out = w->out;
    out->slot_count = out->word_count = 0;
    if (w->mode != DBI_COLLECT)
        return;
    if (!w->values) {
        out->slot_count = dbi_slots_derive(w->code, out->slots, &out->word_count);
        return;
    }
    for (unsigned i = 0; i < w->code->count; i++)
        out->word_count += dbi_insn_words(&w->code->insns[i]);
}

/* Whether the next slot has a word: then it is w->word + 1. */
static bool slot_next(struct work *w)
{
    return w->values || w->out->slots[w->slot++].word > w->word;
}

static void collect_address(struct work *w, unsigned at, const struct ins_mem *mem, bool has_disp)
{
    bool bare = mem->base >= 0 && mem->index < 0 && (!mem->disp || !has_disp) &&
                !(mem->flags & (INS_MEM_FS | INS_MEM_GS | INS_MEM_ADDR32 | INS_MEM_BIT_OFFSET |
                                INS_MEM_INDEX_BYTE | INS_MEM_LINE));
    if (bare) {
        dbi_ring_store(w, w->word, (unsigned)dbi_mem_register(w, at, mem->base));
    } else {
        unsigned reg = dbi_reg_borrow(w, at, 0);
        dbi_address_get(w, at, mem, reg, has_disp ? 0 : -mem->disp);
        dbi_ring_store(w, w->word, reg);
        dbi_reg_return(w, reg);
    }
    w->word++;
}

/* Which operand a cmov takes. Its flags are the program's here, and no flag changes. */
static void collect_choice(struct work *w, const struct ins_info *info)
{
    int32_t off = dbi_word_off(w, w->word);

    if (!slot_next(w))
        return;
    emit_store_imm_gs_narrow(w->e, R15, off, 0);
    emit_set_gs_narrow(w->e, info->condition, R15, off);
    w->word++;
}

/* The x87 status word: storing it changes nothing of the x87, and no flag. */
static void collect_top(struct work *w)
{
    int32_t off = dbi_word_off(w, w->word);

    if (!slot_next(w))
        return;
    emit_store_imm_gs_narrow(w->e, R15, off, 0);
    emit_store_status_gs(w->e, R15, off);
    w->word++;
}

/* Whether there are AVX-512's registers: where a processor lacks them, the instruction itself is to
 * fault and not what belongs to it. */
static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f");
}

static void selector_store(struct work *w, unsigned vector, unsigned bytes)
{
    int32_t off = dbi_word_off(w, w->word);

    if (bytes == 16 && vector < 16)
        emit_store_xmm_gs(w->e, R15, off, vector);
    else if (bytes == 32 && vector < 16)
        emit_store_ymm_gs(w->e, R15, off, vector);
    else if (has_avx512())
        emit_store_evex_gs(w->e, R15, off, vector, bytes);
}

/* Collects a register that bytes are chosen by, and the mask; what lies in memory can be read once
 * the instruction has: dbi_ring_after(). */
static void collect_selector(struct work *w, unsigned at, const struct ins_choice *choice)
{
    bool has_mask = choice->mask != INS_PLACE_NONE;

    if (choice->selector < INS_PLACE_MEMORY)
        selector_store(w, choice->selector, choice->bytes);
    if (has_mask && has_avx512()) {
        unsigned reg = dbi_reg_borrow(w, at, 0);
        if (choice->bytes / choice->element_bytes > 16)
            emit_mov_mask64(w->e, reg, choice->mask);
        else
            emit_mov_mask(w->e, reg, choice->mask);
        dbi_ring_store(w, w->word + choice->slots - 1u, reg);
        dbi_reg_return(w, reg);
    }
    w->word += choice->slots;
    w->slot += choice->slots;
}

/* Collects what bytes were chosen by, where that is in memory. */
static void collect_memory_selector(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    unsigned place = dbi_reg_borrow(w, at, 0), value = dbi_reg_borrow(w, at, 0);
    unsigned first = w->word - info->choice.slots, bytes = ins_selector_bytes(&info->choice);

    dbi_address_get(w, at, &info->mems[0], place, 0);
    for (unsigned off = 0; off < bytes; off += 8) {
        emit_load_sized(w->e, value, place, (int32_t)off, bytes < 8 ? bytes : 8);
        dbi_ring_store(w, first + off / 8, value);
    }
    dbi_reg_return(w, place);
    dbi_reg_return(w, value);
}

/* What xsave and its kin are asked for; what they say of it in the image comes afterwards. */
static void collect_asked(struct work *w)
{
    dbi_ring_store(w, w->word + INS_IMAGE_RAX, INS_RAX);
    dbi_ring_store(w, w->word + INS_IMAGE_RDX, INS_RDX);
    w->word += INS_IMAGE_SLOTS;
    w->slot += INS_IMAGE_SLOTS;
}

/* The start of the image's header; the agent has looked at what was stored. */
static void collect_header(struct work *w, unsigned at)
{
    const struct ins_mem *mem = &w->code->insns[at].info.mems[0];
    unsigned place = dbi_reg_borrow(w, at, 0), value = dbi_reg_borrow(w, at, 0);
    unsigned first = w->word - INS_IMAGE_SLOTS;

    dbi_address_get(w, at, mem, place, 0);
    emit_load_sized(w->e, value, place, INS_IMAGE_STATES_OFF, 8);
    dbi_ring_store(w, first + INS_IMAGE_STATES, value);
    emit_load_sized(w->e, value, place, INS_IMAGE_STATES_OFF + 8, 8);
    dbi_ring_store(w, first + INS_IMAGE_LAYOUT, value);
    dbi_reg_return(w, place);
    dbi_reg_return(w, value);
}

void dbi_ring_before(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    bool rep = false, has_disp = w->values || !dbi_slots_plain(info);
    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        if (!slot_next(w))
            continue;
        collect_address(w, at, mem, has_disp);
        if (mem->flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64))
            dbi_lanes_collect(w, at, mem);
        rep |= mem->flags & INS_MEM_REP;
    }
    if (rep)
        dbi_ring_store(w, w->word, INS_RCX);
    if (info->flags & INS_IS_CMOV)
        collect_choice(w, info);
    else if (info->choice.kind == INS_CHOICE_BYTES)
        collect_selector(w, at, &info->choice);
    else if (info->choice.kind == INS_CHOICE_TOP)
        collect_top(w);
    else if (info->choice.kind == INS_CHOICE_IMAGE)
        collect_asked(w);
}

void dbi_ring_after(struct work *w, unsigned at)
{
    const struct ins_info *info = &w->code->insns[at].info;
    if (info->choice.kind == INS_CHOICE_BYTES && info->choice.selector == INS_PLACE_MEMORY)
        collect_memory_selector(w, at);
    if (info->choice.kind == INS_CHOICE_IMAGE)
        collect_header(w, at);
    if (!info->mem_count || !(info->mems[0].flags & INS_MEM_REP))
        return;
    dbi_ring_store(w, w->word + 1, INS_RCX);
    w->word += 2;
    collect_address(w, at, &info->mems[0], true);
    w->slot += 3;
}

/* Collects what is now where operand `m` was stored, whose address is in word `address`. */
static void value_collect(struct work *w, unsigned at, unsigned m, unsigned address)
{
    const struct ins_mem *mem = &w->code->insns[at].info.mems[m];
    unsigned words = dbi_value_words(mem);
    if (words && mem->flags & INS_MEM_REP) {
        dbi_ring_store(w, w->word++, INS_RAX);
        return;
    }
    if (!words)
        return;
    unsigned place = dbi_reg_borrow(w, at, 0), word = dbi_reg_borrow(w, at, 0);
    emit_load_gs_narrow(w->e, place, R15, dbi_word_off(w, address));
    for (unsigned off = 0, size = 8; off < mem->size_bytes; off += size) {
        while (size > mem->size_bytes - off)
            size /= 2;
        emit_load_sized(w->e, word, place, (int32_t)off, size);
        dbi_ring_store(w, w->word++, word);
    }
    dbi_reg_return(w, place);
    dbi_reg_return(w, word);
}

void dbi_ring_values(struct work *w, unsigned at, unsigned first)
{
    const struct ins_info *info = &w->code->insns[at].info;
    uint16_t registers = dbi_value_registers(info);
    if (info->klass != INS_PLAIN)
        return;
    for (unsigned m = 0, address = first; m < info->mem_count; m++) {
        value_collect(w, at, m, address);
        address += info->mems[m].flags & (INS_MEM_VSIB32 | INS_MEM_VSIB64) ? 17 : 1;
    }
    for (unsigned reg = 0; reg < R15; reg++) {
        if (registers >> reg & 1)
            dbi_ring_store(w, w->word++, reg);
    }
    if (registers >> R15 & 1) {
        unsigned word = dbi_reg_borrow(w, at, 0);
        emit_load_gs(w->e, word, HOME(R15));
        dbi_ring_store(w, w->word++, word);
        dbi_reg_return(w, word);
    }
}

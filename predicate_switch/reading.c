/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/reading.h"

#include <string.h>

#include "slicer/state_view.h"
#include <wetdbg/errors.h>

/* ---- memory ---- */

/* The operand with an address, or how far the instruction has none. */
static unsigned find_operand(const struct ins_info *info, const struct evq_regs *regs,
                             uint64_t address)
{
    const unsigned odd = INS_MEM_LANES | INS_MEM_REP | INS_MEM_SIZE_BOUND;

    for (unsigned m = 0; m < info->mem_count; m++) {
        const struct ins_mem *mem = &info->mems[m];
        uint64_t first = slc_operand_address(regs, mem);
        if (mem->flags & INS_MEM_READ && !(mem->flags & odd) && address - first < mem->size_bytes)
            return m;
    }
    return info->mem_count;
}

/* The operand that has a byte, or the part of it around the byte; what has none reads the byte. */
static void choose_part(const struct ins_info *info, const struct evq_regs *regs, uint64_t address,
                        struct psw_reading *out)
{
    out->operand = find_operand(info, regs, address);
    out->size = 1;
    if (out->operand == info->mem_count)
        return;
    uint64_t off = address - slc_operand_address(regs, &info->mems[out->operand]);
    out->size = info->mems[out->operand].size_bytes;
    if (out->size <= sizeof(out->bytes))
        return;
    out->off = off < out->size - sizeof(out->bytes) ? off : out->size - sizeof(out->bytes);
    out->size = sizeof(out->bytes);
}

static int take_memory(struct wetdbg_state *state, const struct ins_info *info, bool is_chosen,
                       struct psw_reading *out)
{
    const struct evq_regs *regs = wet_state_regs(state);

    if (!is_chosen)
        choose_part(info, regs, out->address, out);
    if (out->operand < info->mem_count)
        out->address = slc_operand_address(regs, &info->mems[out->operand]);
    return wetdbg_state_read(state, out->address + out->off, out->bytes, out->size);
}

/* ---- registers ---- */

/* All locations that an instruction reads. */
static struct ins_regset uses_of(const struct ins_info *info)
{
    struct ins_regset uses = {{0}};

    for (unsigned f = 0; f < info->flow_count; f++) {
        ins_regset_join(&uses, &info->flows[f].value_uses);
        ins_regset_join(&uses, &info->flows[f].cond_uses);
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        struct ins_regset more = ins_addr_uses(info, m);
        ins_regset_join(&uses, &more);
    }
    return uses;
}

/* Whether it reads the lower half of a general register only. */
static bool is_half(const struct ins_info *info, unsigned gpr)
{
    unsigned upper = INS_LOC_GPR + INS_GPR_PIECES * gpr + 2;
    bool is_half = true;

    for (unsigned f = 0; f < info->flow_count; f++) {
        const struct ins_flow *flow = &info->flows[f];
        if (ins_regset_has(&flow->value_uses, upper) || ins_regset_has(&flow->cond_uses, upper))
            is_half &= flow->halves >> gpr & 1;
    }
    for (unsigned m = 0; m < info->mem_count; m++) {
        struct ins_regset uses = ins_addr_uses(info, m);
        is_half &= !ins_regset_has(&uses, upper);
    }
    return is_half;
}

/* Zeroes the bytes of the pieces of a register, from location `first` on, that are not read.
 * `ends`: where each piece ends. */
static void keep_read(const struct ins_regset *uses, unsigned first, const unsigned *ends,
                      unsigned pieces, uint8_t *bytes)
{
    for (unsigned p = 0, at = 0; p < pieces; at = ends[p++])
        if (!ins_regset_has(uses, first + p))
            memset(bytes + at, 0, ends[p] - at);
}

static void take_general(const struct wetdbg_state *state, const struct ins_info *info,
                         unsigned gpr, struct psw_reading *out)
{
    static const unsigned ends[INS_GPR_PIECES] = {1, 2, 8};
    struct ins_regset uses = uses_of(info);
    uint64_t value = slc_gpr_value(wet_state_regs(state), gpr);

    memcpy(out->bytes, &value, sizeof(value));
    keep_read(&uses, INS_LOC_GPR + INS_GPR_PIECES * gpr, ends, INS_GPR_PIECES, out->bytes);
    out->size = is_half(info, gpr) ? 4 : 8;
}

/* The 16 lowest bytes, or the first 16 of a higher piece. */
static int take_vector(const struct wetdbg_state *state, const struct ins_info *info,
                       unsigned vector, struct psw_reading *out)
{
    static const unsigned ends[] = {4, 8, 16};
    unsigned first = INS_LOC_VEC + INS_VEC_PIECES * vector, piece = out->location - first;
    struct ins_regset uses = uses_of(info);
    uint8_t bytes[64];
    int err = wetdbg_state_vector(state, vector, bytes, NULL);

    out->size = 0;
    if (err)
        return err == -WETDBG_ERR_NOT_FOUND || err == -WETDBG_ERR_UNSUPPORTED ? 0 : err;
    out->off = piece < 3 ? 0 : piece == 3 ? 16 : 32;
    out->size = sizeof(out->bytes);
    memcpy(out->bytes, bytes + out->off, out->size);
    if (piece < 3)
        keep_read(&uses, first, ends, 3, out->bytes);
    return 0;
}

static int take_register(const struct wetdbg_state *state, const struct ins_info *info,
                         struct psw_reading *out)
{
    unsigned number;

    switch (wetdbg_location_kind(out->location, &number)) {
    case WETDBG_LOCATION_GENERAL:
        take_general(state, info, number, out);
        return 0;
    case WETDBG_LOCATION_FLAG:
        out->size = 1;
        out->bytes[0] = wet_state_regs(state)->r[EVQ_EFLAGS] >> number & 1;
        return 0;
    default:
        return take_vector(state, info, number, out);
    }
}

/* ---- both ---- */

static int take(struct wetdbg *wet, wetdbg_time time, bool is_chosen, struct psw_reading *out)
{
    struct wetdbg_state *state;
    struct ins_info info;
    int err = wetdbg_state_open(wet, time, &state);

    if (err)
        return err;
    out->pc = wet_state_regs(state)->r[EVQ_RIP];
    err = slc_decode_at(state, out->pc, &info);
    if (!err)
        err = out->location == WETDBG_LOCATION_NONE ? take_memory(state, &info, is_chosen, out)
                                                    : take_register(state, &info, out);
    wetdbg_state_close(state);
    return err;
}

int psw_reading_take(struct wetdbg *wet, const struct psw_use *use, struct psw_reading *out)
{
    *out = (struct psw_reading){.address = use->address, .location = use->location};
    return take(wet, use->time, false, out);
}

int psw_reading_take_like(struct wetdbg *wet, wetdbg_time time, const struct psw_reading *like,
                          struct psw_reading *out)
{
    *out = *like;
    memset(out->bytes, 0, sizeof(out->bytes));
    return take(wet, time, true, out);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "predicate_switch/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "recorder/feed/feed_registers.h"
#include "slicer/state_view.h"
#include <wetdbg/errors.h>

/* What is there when the instruction is about to run: in a state, or where a tracer stands. */
struct sight {
    struct wetdbg_state *state; /* NULL: the tracer's */
    struct psw_tracer *tracer;
    const struct evq_regs *regs;
    const uint8_t *xsave;
    size_t xsave_bytes;
};

/* How many bytes in a row could be read goes to *done. */
static int read_some(const struct sight *sight, uint64_t address, void *bytes, size_t size,
                     size_t *done)
{
    if (!sight->state)
        return psw_tracer_read(sight->tracer, address, bytes, size, done);
    *done = size;
    while (*done && wetdbg_state_read(sight->state, address, bytes, *done))
        --*done;
    return 0;
}

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

static int take_memory(const struct sight *sight, const struct ins_info *info, bool is_chosen,
                       struct psw_reading *out)
{
    size_t done;

    if (!is_chosen)
        choose_part(info, sight->regs, out->address, out);
    if (out->operand < info->mem_count)
        out->address = slc_operand_address(sight->regs, &info->mems[out->operand]);
    int err = read_some(sight, out->address + out->off, out->bytes, out->size, &done);
    return err || done == out->size
               ? err
               : wetdbg_fail(-EFAULT, "nothing is mapped at %#llx",
                             (unsigned long long)(out->address + out->off + done));
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

static void take_general(const struct sight *sight, const struct ins_info *info, unsigned gpr,
                         struct psw_reading *out)
{
    static const unsigned ends[INS_GPR_PIECES] = {1, 2, 8};
    struct ins_regset uses = uses_of(info);
    uint64_t value = slc_gpr_value(sight->regs, gpr);

    memcpy(out->bytes, &value, sizeof(value));
    keep_read(&uses, INS_LOC_GPR + INS_GPR_PIECES * gpr, ends, INS_GPR_PIECES, out->bytes);
    out->size = is_half(info, gpr) ? 4 : 8;
}

/* The 16 lowest bytes, or the first 16 of a higher piece. */
static int take_vector(const struct sight *sight, const struct ins_info *info, unsigned vector,
                       struct psw_reading *out)
{
    static const unsigned ends[] = {4, 8, 16};
    unsigned first = INS_LOC_VEC + INS_VEC_PIECES * vector, piece = out->location - first;
    struct ins_regset uses = uses_of(info);
    struct feed_xsave_layout here;
    uint8_t bytes[64];
    int err = feed_xsave_layout_here(&here);

    if (!err)
        err = feed_vector_read(&here, sight->xsave, sight->xsave_bytes, vector, bytes);
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

static int take_register(const struct sight *sight, const struct ins_info *info,
                         struct psw_reading *out)
{
    unsigned number;

    switch (wetdbg_location_kind(out->location, &number)) {
    case WETDBG_LOCATION_GENERAL:
        take_general(sight, info, number, out);
        return 0;
    case WETDBG_LOCATION_FLAG:
        out->size = 1;
        out->bytes[0] = sight->regs->r[EVQ_EFLAGS] >> number & 1;
        return 0;
    default:
        return take_vector(sight, info, number, out);
    }
}

/* ---- both ---- */

static int take(const struct sight *sight, bool is_chosen, struct psw_reading *out)
{
    uint8_t code[SLC_INSN_BYTES];
    struct ins_info info;
    size_t size;

    out->pc = sight->regs->r[EVQ_RIP];
    int err = read_some(sight, out->pc, code, sizeof(code), &size);
    if (!err)
        err = ins_decode(code, size, out->pc, &info);
    if (err)
        return err;
    return out->location == WETDBG_LOCATION_NONE ? take_memory(sight, &info, is_chosen, out)
                                                 : take_register(sight, &info, out);
}

int psw_reading_take(struct wetdbg *wet, const struct psw_use *use, struct psw_reading *out)
{
    struct sight sight = {.state = NULL};
    int err = wetdbg_state_open(wet, use->time, &sight.state);

    *out = (struct psw_reading){.address = use->address, .location = use->location};
    if (err)
        return err;
    sight.regs = wet_state_regs(sight.state);
    sight.xsave = wetdbg_state_xstate(sight.state, &sight.xsave_bytes);
    err = take(&sight, false, out);
    wetdbg_state_close(sight.state);
    return err;
}

int psw_reading_take_like(struct psw_tracer *tracer, wetdbg_time time,
                          const struct psw_reading *like, struct psw_reading *out)
{
    struct psw_machine machine;
    int err = psw_tracer_go_to(tracer, time, &machine);
    const struct sight sight = {.tracer = tracer,
                                .regs = &machine.regs,
                                .xsave = machine.xsave,
                                .xsave_bytes = machine.xsave_bytes};

    *out = *like;
    memset(out->bytes, 0, sizeof(out->bytes));
    if (err)
        return err;
    if (machine.regs.r[EVQ_RIP] != like->pc)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    return take(&sight, true, out);
}

/* ---- those of the recorded run ---- */

struct psw_known_reading {
    struct psw_use use;
    struct psw_reading is;
};

static bool is_same(const struct psw_use *a, const struct psw_use *b)
{
    return a->time == b->time && a->address == b->address && a->location == b->location;
}

static uint32_t *place_of(const struct psw_readings *readings, const struct psw_use *use)
{
    return wd_index_find(&readings->by_use,
                         wd_hash_u64(use->time ^ use->address << 20 ^ use->location) >> 32, n,
                         is_same(&readings->items[n].use, use));
}

static int make_room(struct psw_readings *readings)
{
    if (wd_grow(readings->items, readings->capacity, readings->count + 1))
        return -ENOMEM;
    return wd_index_room(&readings->by_use, readings->count, 256, i,
                         place_of(readings, &readings->items[i].use));
}

int psw_readings_get(struct psw_readings *readings, struct wetdbg *wet, const struct psw_use *use,
                     const struct psw_reading **out)
{
    int err = make_room(readings);

    if (err)
        return err;
    uint32_t *place = place_of(readings, use);
    if (!*place) {
        struct psw_known_reading *known = &readings->items[readings->count];
        known->use = *use;
        err = psw_reading_take(wet, use, &known->is);
        if (err)
            return err;
        *place = ++readings->count;
    }
    *out = &readings->items[*place - 1].is;
    return 0;
}

void psw_readings_fini(struct psw_readings *readings)
{
    free(readings->items);
    wd_index_fini(&readings->by_use);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Address registers: pinned by the addresses that the instruction was seen with, and what lay
 * there; a store's, by what it wrote over. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slicer/confidence/evidence_priv.h"
#include "slicer/scan/code_summary.h"

/* An address that came from registers: those that may be judged. */
static bool judges_address(const struct ins_mem *mem)
{
    const unsigned strange = INS_MEM_STACK | INS_MEM_REP | INS_MEM_LANES | INS_MEM_VSIB32 |
                             INS_MEM_VSIB64 | INS_MEM_BIT_OFFSET | INS_MEM_ADDR32 |
                             INS_MEM_INDEX_BYTE | INS_MEM_LINE | INS_MEM_IMPLICIT;
    return !(mem->flags & strange) && mem->base != mem->index;
}

/* A frame pointer's own value is bookkeeping. */
static bool judges_base(const struct ins_mem *mem)
{
    return mem->base >= 0 && mem->base != INS_RSP && mem->base != INS_RBP;
}

static int give_address_test(struct slc_work *work, unsigned gpr, unsigned scale, uint64_t address,
                             struct slc_addresses *forbidden)
{
    struct slc_test test = {.address = address, .scale = scale, .forbidden = forbidden};

    memset(&test.check, 0, sizeof(test.check));
    if (!slc_values_register(work->stepping->values, work->in->task, gpr, work->in->time,
                             &test.value))
        return 0;
    return slc_give_test(work, false, SLC_SPOT_GPR + 8u * gpr, 8, &test);
}

/* The addresses that are tried: those that the instruction was seen with or, if they lie close
 * together, all from the first to the last one, as in a table. */
struct candidates {
    const uint64_t *list; /* NULL: in steps */
    uint64_t first, step;
    unsigned count;
};

static struct candidates candidates_of(const struct slc_profile *profile, uint64_t own,
                                       unsigned step)
{
    uint64_t low = profile->addresses[0], high = profile->addresses[profile->address_count - 1];
    uint64_t first = own - (own - low) / step * step, count = (high - first) / step + 1;

    if (count < profile->address_count || count > SLC_ADDRESSES_MAX)
        return (struct candidates){.list = profile->addresses, .count = profile->address_count};
    return (struct candidates){.first = first, .step = step, .count = (unsigned)count};
}

static uint64_t candidate_get(const struct candidates *candidates, unsigned i)
{
    return candidates->list ? candidates->list[i] : candidates->first + i * candidates->step;
}

int slc_pin_load_address(struct slc_work *work, unsigned operand, slc_loaded_fn would_do,
                         const void *arg)
{
    const struct ins_mem *mem = &work->info->mems[operand];
    const struct slc_profile *profile = work->profile;
    uint64_t own = slc_operand_range(work->in->statement, operand, work->in->slots).address;
    int err = 0;

    if (operand != 0 || !judges_address(mem) || profile->has_many || profile->address_count < 2 ||
        mem->size_bytes > 8)
        return 0;
    const struct candidates candidates = candidates_of(profile, own, mem->size_bytes);
    struct slc_addresses *forbidden =
        malloc(sizeof(*forbidden) + candidates.count * sizeof(uint64_t));
    if (!forbidden)
        return -ENOMEM;
    *forbidden = (struct slc_addresses){.users = 1};
    for (unsigned i = 0; i < candidates.count && !err; i++) {
        uint64_t loaded, address = candidate_get(&candidates, i);
        if (address == own)
            continue;
        err = slc_values_memory(work->stepping->values, address, mem->size_bytes, work->in->time,
                                &loaded);
        if (!err && !would_do(work, arg, loaded))
            forbidden->addresses[forbidden->count++] = address;
    }
    if (!err && forbidden->count && judges_base(mem))
        err = give_address_test(work, (unsigned)mem->base, 1, own, forbidden);
    if (!err && forbidden->count && mem->index >= 0)
        err = give_address_test(work, (unsigned)mem->index, mem->scale, own, forbidden);
    slc_addresses_release(forbidden);
    return err;
}

int slc_give_equal(struct slc_work *work, unsigned gpr)
{
    int err = 0;

    for (unsigned b = 0; b < 8 && !err; b++)
        err = slc_give(work, false, SLC_SPOT_GPR + 8u * gpr + b, SLC_PIN_EQUAL);
    return err;
}

/* Had it been stored elsewhere, what was there before would be there still. */
int slc_pin_store_address(struct slc_work *work, const struct slc_made *made, unsigned operand)
{
    const struct ins_mem *mem = &work->info->mems[operand];
    uint64_t before;

    if (!judges_address(mem) || !(mem->flags & INS_MEM_WRITE))
        return 0;
    int err = slc_values_memory(work->stepping->values, made->address, made->pinned.count,
                                work->in->time, &before);
    slc_judge_make(work->stepping->pins, &made->pinned, made->value, &work->judge);
    if (err || slc_judge_allows(&work->judge, before))
        return err;
    if (judges_base(mem))
        err = slc_give_equal(work, (unsigned)mem->base);
    if (!err && mem->index >= 0 && mem->index != INS_RSP)
        err = slc_give_equal(work, (unsigned)mem->index);
    return err;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Vector registers: what moves bytes about hands their pins on, whatever they say; of sums and kin
 * only what is known byte for byte tells bytes of the operands. */
#include "recorder/insn/insn_pick.h"
#include "slicer/confidence/evidence_priv.h"
#include "slicer/scan/code_summary.h"

/* Hands a pin to a byte of a place. */
static int give_place(struct slc_work *work, unsigned place, unsigned byte, slc_pin pin)
{
    if (place < INS_PLACE_MEMORY)
        return slc_give(work, false, SLC_SPOT_VECTOR + SLC_VECTOR_BYTES * place + byte, pin);
    if (place >= INS_PLACE_ZERO) {
        slc_pin_drop(work->stepping->pins, pin);
        return 0;
    }
    struct ins_range range =
        slc_operand_range(work->in->statement, place - INS_PLACE_MEMORY, work->in->slots);
    return slc_give(work, true, range.address + byte, pin);
}

static int hand_moved(struct slc_work *work, const uint8_t place[], const uint8_t from[],
                      unsigned to, const slc_pin pins[])
{
    int err = 0;

    for (unsigned b = 0; b < SLC_VECTOR_BYTES && !err; b++) {
        bool is_kept = place[b] == INS_PLACE_KEPT;
        err = give_place(work, is_kept ? to : place[b], is_kept ? b : from[b], pins[b]);
    }
    return err;
}

/* Whether only the value that it had fits. */
static bool is_fixed(slc_pin pin)
{
    return pin == SLC_PIN_EXACT || pin == SLC_PIN_EQUAL;
}

static int hand_determined(struct slc_work *work, const struct ins_lanes *lanes,
                           const slc_pin pins[])
{
    slc_pin so_far = SLC_PIN_NONE;
    int err = 0;

    for (unsigned b = 0; b < lanes->bytes && !err; b++) {
        if (b % lanes->element_bytes == 0)
            so_far = SLC_PIN_EXACT;
        so_far = !is_fixed(pins[b]) || !so_far ? SLC_PIN_NONE
                 : pins[b] == SLC_PIN_EQUAL    ? SLC_PIN_EQUAL
                                               : so_far;
        for (unsigned i = 0; i < 2 && !err; i++)
            err = give_place(work, lanes->operands[i], b, so_far);
    }
    for (unsigned b = 0; b < SLC_VECTOR_BYTES; b++)
        slc_pin_drop(work->stepping->pins, pins[b]);
    return err;
}

int slc_hand_lanes(struct slc_work *work, unsigned vector, const slc_pin pins[])
{
    const struct ins_lanes *lanes = NULL;
    struct ins_pick pick;

    if (ins_is_pick(work->info)) {
        ins_pick_get(work->info, work->slots, &pick);
        return hand_moved(work, pick.place, pick.from, vector, pins);
    }
    if (!(work->info->flags & INS_IS_ZEROING))
        lanes = slc_profile_lanes(work->profile);
    if (lanes && lanes->kind == INS_LANES_ONE_TO_ONE)
        return hand_determined(work, lanes, pins);
    if (lanes)
        return hand_moved(work, lanes->place, lanes->from, vector, pins);
    for (unsigned b = 0; b < SLC_VECTOR_BYTES; b++)
        slc_pin_drop(work->stepping->pins, pins[b]);
    return 0;
}

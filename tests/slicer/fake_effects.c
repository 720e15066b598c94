/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wetdbg_effects_each() of a run that was single-stepped: registers before and after, memory that
 * was kept. */
#include <string.h>

#include "recorder/event/ops.h"
#include "recorder/insn/insn_ranges.h"
#include "tests/slicer/fake_priv.h"

struct wetdbg_effects {
    struct wetdbg *wet;
};

int wetdbg_effects_open(struct wetdbg *wet, struct wetdbg_effects **out)
{
    *out = malloc(sizeof(**out));
    (*out)->wet = wet;
    return 0;
}

void wetdbg_effects_close(struct wetdbg_effects *effects)
{
    free(effects);
}

static void read_at(struct wetdbg *wet, wetdbg_time time, uint64_t address, uint8_t *bytes,
                    uint64_t size)
{
    struct wetdbg_state *state;

    memset(bytes, 0, size);
    wetdbg_state_open(wet, time, &state);
    wetdbg_state_read(state, address, bytes, size);
    wetdbg_state_close(state);
}

static int pass_write(struct wetdbg *wet, struct wetdbg_effect *effect, wetdbg_effect_fn fn,
                      void *arg)
{
    uint8_t *before = malloc(effect->size), *after = malloc(effect->size);

    read_at(wet, effect->time, effect->address, before, effect->size);
    read_at(wet, effect->time + 1, effect->address, after, effect->size);
    effect->before = before;
    effect->after = after;
    int result = fn(arg, effect);
    free(before);
    free(after);
    return result;
}

static int pass_step(struct wetdbg *wet, wetdbg_time time, wetdbg_effect_fn fn, void *arg)
{
    const struct fake_step *step = fake_step(wet, time);
    const struct ins_info *info = step->info;
    struct evq_regs after = fake_queue_regs(&wet->regs.at[time]);
    struct ins_regset defs = ins_all_defs(info);
    struct ins_range ranges[INS_RANGES_MAX];
    int result = 0;

    for (unsigned m = 0; m < info->mem_count && !result; m++) {
        unsigned count = info->mems[m].flags & INS_MEM_WRITE
                             ? ins_operand_ranges(info, m, fake_slots(wet) + step->slot_off, ranges)
                             : 0;
        for (unsigned r = 0; r < count && !result; r++) {
            struct wetdbg_effect effect = {.time = time,
                                           .pc = step->pc,
                                           .reg = -1,
                                           .address = ranges[r].address,
                                           .size = ranges[r].size_bytes};
            result = effect.size ? pass_write(wet, &effect, fn, arg) : 0;
        }
    }
    for (unsigned gpr = 0; gpr < INS_GPR_COUNT && !result && info->klass == INS_PLAIN; gpr++) {
        bool is_defined = false;
        for (unsigned piece = 0; piece < INS_GPR_PIECES; piece++)
            is_defined |= ins_regset_has(&defs, INS_LOC_GPR + INS_GPR_PIECES * gpr + piece);
        struct wetdbg_effect effect = {
            .time = time,
            .pc = step->pc,
            .reg = (int)gpr,
            .size = 8,
            .after = (const uint8_t *)&after.r[evq_reg_of_gpr[gpr]],
        };
        if (is_defined && gpr != INS_RSP)
            result = fn(arg, &effect);
    }
    return result;
}

/* Threads and signals are not for this: a step's registers are taken for those before the next
 * one. */
int wetdbg_effects_each(struct wetdbg_effects *effects, uint64_t k, bool registers,
                        wetdbg_effect_fn fn, void *arg)
{
    struct wetdbg *wet = effects->wet;
    wetdbg_time end = wetdbg_interval_time(wet, k + 1);
    int result = 0;

    (void)registers;
    for (wetdbg_time time = wetdbg_interval_time(wet, k); time < end && !result; time++)
        result = pass_step(wet, time, fn, arg);
    return result;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/slicer/runs.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <wetdbg/model.h>

#define STEPS_MAX 400000

char **run_kind_read(struct run_kind *kind, char **arguments)
{
    for (; *arguments && **arguments == '-'; arguments++) {
        kind->has_turns |= strcmp(*arguments, "-t") == 0;
        kind->has_signals |= strcmp(*arguments, "-s") == 0;
        kind->has_jumps |= strcmp(*arguments, "-j") == 0;
    }
    return arguments;
}

uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

void choose_criteria(const struct wetdbg *wet, struct brute_criterion *criteria, size_t count)
{
    uint64_t seed = 88172645463325252u, steps = wetdbg_get_info(wet)->instructions;

    for (size_t i = 0; i < count; i++) {
        struct brute_criterion *c = &criteria[i];
        *c = (struct brute_criterion){.time =
                                          steps - next_random(&seed) % (steps * (i % 4 + 1) / 4)};
        const struct fake_step *step = fake_step(wet, c->time);
        if (i % 3 == 1)
            ins_regset_add_gpr(&c->regs, (unsigned)(next_random(&seed) % 16), 0, 8);
        if (i % 3 != 2 || step->info->mem_count == 0)
            continue;
        c->address = fake_slots(wet)[step->slot_off];
        c->size = step->info->mems[0].size_bytes;
    }
}

static bool leaves_frames(const struct wetdbg *wet, wetdbg_time t)
{
    const struct fake_step *step = fake_step(wet, t), *next = fake_step(wet, t + 1);
    struct wetdbg_model *model = wetdbg_get_model((struct wetdbg *)(uintptr_t)wet);
    struct wetdbg_function from, to;

    return step->info->klass == INS_JMP_INDIRECT && !wetdbg_function_at(model, step->pc, &from) &&
           !wetdbg_function_at(model, next->pc, &to) && from.start != to.start &&
           to.start != next->pc;
}

void stand_after_landings(const struct wetdbg *wet, struct brute_criterion *criteria, size_t count)
{
    uint64_t seed = 88172645463325252u, steps = wetdbg_get_info(wet)->instructions;

    for (size_t i = 0; i < count; i += 2) {
        wetdbg_time t = criteria[i].time;
        while (t > 1 && (t >= steps || !leaves_frames(wet, t)))
            t--;
        t += 1 + next_random(&seed) % 8;
        if (t <= steps)
            criteria[i] = (struct brute_criterion){.time = t};
    }
}

struct wetdbg *run_program(const struct run_kind *kind, char *program, uint64_t seed)
{
    struct fake_options options = {.seed = seed};
    char *argv[] = {program, NULL};
    struct wetdbg *wet;

    if (kind->has_turns) {
        options.turn_steps = seed % 2 ? 40 : 700;
        options.no_clone3 = seed % 3 != 0;
    }
    if (kind->has_signals) {
        options.signal = SIGUSR1;
        options.signal_steps = seed % 2 ? 300 : 1500;
    }
    if (fake_wet_run_with(argv, NULL, STEPS_MAX, &options, &wet)) {
        fprintf(stderr, "%s does not run\n", program);
        abort();
    }
    return wet;
}

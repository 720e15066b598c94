/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Steps from a frame to its caller by call frame information. */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/cfi.h"
#include "wet/model/expr.h"
#include "wet/model/tail_calls.h"
#include <wetdbg/errors.h>

enum { DWARF_RAX = 0, DWARF_RBX = 3 };

/* The frame being left, as the evaluator sees it. */
struct frame {
    const struct wetdbg_frame_regs *regs;
    wetdbg_read_memory_fn read_memory;
    void *context;
    uint64_t cfa;
};

static int read_register(void *context, unsigned reg, uint64_t *value)
{
    const struct frame *frame = context;

    if (reg >= WETDBG_FRAME_REG_COUNT || !(frame->regs->valid & (1u << reg)))
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "register %u is not known in this frame", reg);
    *value = frame->regs->value[reg];
    return 0;
}

static int read_memory(void *context, uint64_t address, void *bytes, size_t count)
{
    const struct frame *frame = context;

    return frame->read_memory(frame->context, address, bytes, count);
}

static int frame_cfa(void *context, uint64_t *value)
{
    const struct frame *frame = context;

    *value = frame->cfa;
    return 0;
}

/* A CFA expression is the value that it leaves, written as a place in memory. */
static int eval_cfa(const struct mdl_expr_env *env, Dwarf_Frame *state, uint64_t *cfa)
{
    struct wetdbg_place place;
    Dwarf_Op *ops;
    size_t count;
    int result;

    if (dwarf_frame_cfa(state, &ops, &count) != 0 || count == 0)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "call frame information without a frame address");
    result = mdl_expr_eval(env, ops, count, &place);
    if (result < 0)
        return result;
    if (place.kind == WETDBG_PLACE_REGISTER)
        return env->machine->read_register(env->machine->context, place.reg, cfa);
    if (place.kind == WETDBG_PLACE_NONE)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "call frame information without a frame address");
    *cfa = place.kind == WETDBG_PLACE_VALUE ? place.value : place.address;
    return 0;
}

/* elfutils takes rax for what a call preserves, and not rbx, where call frame information says
 * nothing of them: it numbers the two as the processor does, not as DWARF does. */
static bool is_preserved(unsigned reg, bool as_elfutils_says)
{
    return reg == DWARF_RBX || (as_elfutils_says && reg != DWARF_RAX);
}

/* The caller's value of one register. 1: known, 0: undefined, or an error. */
static int caller_register(const struct mdl_expr_env *env, Dwarf_Frame *state, unsigned reg,
                           uint64_t *value)
{
    const struct wetdbg_machine *machine = env->machine;
    struct wetdbg_place place;
    Dwarf_Op memory[3], *ops;
    size_t count;
    int result;

    if (dwarf_frame_register(state, (int)reg, memory, &ops, &count) != 0)
        return 0;
    /* where nothing is said, or by no operation: the frame's address (rr's preload says it so) */
    if (count == 0 && reg == WETDBG_REG_RSP && ops)
        return env->cfa(env->context, value) == 0;
    if (count == 0)
        return is_preserved(reg, ops == NULL) &&
               machine->read_register(machine->context, reg, value) == 0;
    result = mdl_expr_eval(env, ops, count, &place);
    if (result < 0)
        return result;
    switch (place.kind) {
    case WETDBG_PLACE_MEMORY:
        result = machine->read_memory(machine->context, place.address, value, sizeof(*value));
        return result < 0 ? result : 1;
    case WETDBG_PLACE_REGISTER:
        return machine->read_register(machine->context, place.reg, value) == 0;
    case WETDBG_PLACE_VALUE:
        *value = place.value;
        return 1;
    default:
        return 0;
    }
}

/* Unwinds from code in no module: a call through a wild pointer. The return address was just
 * pushed. */
static int unwind_wild(struct wetdbg_frame_regs *regs, wetdbg_read_memory_fn read, void *context)
{
    uint64_t sp = regs->value[WETDBG_REG_RSP], pc;
    int result = read(context, sp, &pc, sizeof(pc));

    if (result < 0)
        return result;
    regs->value[WETDBG_REG_RIP] = pc;
    regs->value[WETDBG_REG_RSP] = sp + 8;
    regs->is_innermost = false;
    return 1;
}

static int check_progress(const struct wetdbg_frame_regs *from, const struct wetdbg_frame_regs *to)
{
    uint64_t sp = to->value[WETDBG_REG_RSP];

    if (!(to->valid & (1u << WETDBG_REG_RSP)) || (sp & 7) != 0 ||
        (!to->is_innermost && sp <= from->value[WETDBG_REG_RSP]))
        return wetdbg_fail(-WETDBG_ERR_CORRUPT,
                           "frame at 0x%llx has no sensible caller (rsp 0x%llx)",
                           (unsigned long long)from->value[WETDBG_REG_RIP], (unsigned long long)sp);
    return 1;
}

static int step_out(const struct mdl_expr_env *env, struct frame *frame, Dwarf_Frame *state,
                    struct wetdbg_frame_regs *regs)
{
    struct wetdbg_frame_regs caller = {0};
    bool is_signal = false;
    int return_column, result = eval_cfa(env, state, &frame->cfa);

    if (result < 0)
        return result;
    return_column = dwarf_frame_info(state, NULL, NULL, &is_signal);
    if (return_column != WETDBG_REG_RIP)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "frame returns through register %d", return_column);
    for (unsigned reg = 0; reg < WETDBG_FRAME_REG_COUNT; reg++) {
        result = caller_register(env, state, reg, &caller.value[reg]);
        if (result < 0)
            return result;
        caller.valid |= (uint32_t)result << reg;
    }
    if (!(caller.valid & (1u << WETDBG_REG_RIP)) || caller.value[WETDBG_REG_RIP] == 0)
        return 0;
    caller.is_innermost = is_signal;
    result = check_progress(regs, &caller);
    if (result > 0)
        *regs = caller;
    return result;
}

int wetdbg_unwind(struct wetdbg_model *model, struct wetdbg_frame_regs *regs,
                  wetdbg_read_memory_fn read, void *context)
{
    struct frame frame = {.regs = regs, .read_memory = read, .context = context};
    struct wetdbg_machine machine = {&frame, read_register, read_memory};
    struct mdl_expr_env env = {.machine = &machine, .context = &frame, .cfa = frame_cfa};
    uint64_t pc = wetdbg_frame_lookup_pc(regs);
    struct mdl_mod *mod = mdl_mod_at(model, pc);
    Dwarf_Frame *state;
    int result;

    if ((regs->valid & (1u << WETDBG_REG_RIP)) == 0 || (regs->valid & (1u << WETDBG_REG_RSP)) == 0)
        return wetdbg_fail(-EINVAL, "unwinding needs rip and rsp");
    if (!mod && regs->is_innermost)
        return unwind_wild(regs, read, context);
    if (!mod)
        return mdl_mod_need(model, pc, &mod);
    env.bias = mod->info.bias;
    result = mdl_cfi_frame(mod, pc, &state);
    if (result < 0)
        return result;
    result = step_out(&env, &frame, state, regs);
    free(state);
    return result;
}

/* The rules of the frame at pc, to be freed, and what their expressions are about. */
static int rules_at(struct wetdbg_model *model, uint64_t pc, struct mdl_expr_env *env,
                    Dwarf_Frame **state)
{
    struct mdl_mod *mod;
    int result = mdl_mod_need(model, pc, &mod);

    if (result < 0)
        return result;
    env->bias = mod->info.bias;
    return mdl_cfi_frame(mod, pc, state);
}

int wetdbg_frame_cfa(struct wetdbg_model *model, uint64_t pc, const struct wetdbg_machine *machine,
                     uint64_t *cfa)
{
    struct mdl_expr_env env = {.machine = machine};
    Dwarf_Frame *state;
    int result = rules_at(model, pc, &env, &state);

    if (result < 0)
        return result;
    result = eval_cfa(&env, state, cfa);
    free(state);
    return result;
}

/* Fills in where the registers are kept, by the frame's rules. */
static void find_saved(const struct mdl_expr_env *env, Dwarf_Frame *state,
                       uint64_t saved[WETDBG_FRAME_REG_COUNT], uint32_t *valid)
{
    *valid = 0;
    for (unsigned reg = 0; reg < WETDBG_FRAME_REG_COUNT; reg++) {
        struct wetdbg_place place;
        Dwarf_Op memory[3], *ops;
        size_t count;

        if (dwarf_frame_register(state, (int)reg, memory, &ops, &count) != 0 || !count ||
            mdl_expr_eval(env, ops, count, &place) < 0 || place.kind != WETDBG_PLACE_MEMORY)
            continue;
        saved[reg] = place.address;
        *valid |= 1u << reg;
    }
}

int wetdbg_frame_saved(struct wetdbg_model *model, uint64_t pc,
                       const struct wetdbg_machine *machine, uint64_t saved[WETDBG_FRAME_REG_COUNT],
                       uint32_t *valid)
{
    struct frame frame = {0};
    struct mdl_expr_env env = {.machine = machine, .context = &frame, .cfa = frame_cfa};
    Dwarf_Frame *state;
    int result = rules_at(model, pc, &env, &state);

    if (result < 0)
        return result;
    result = eval_cfa(&env, state, &frame.cfa);
    if (result == 0)
        find_saved(&env, state, saved, valid);
    free(state);
    return result;
}

void wetdbg_frame_enter_tail(struct wetdbg_frame_regs *caller, uint64_t pc)
{
    caller->value[WETDBG_REG_RIP] = pc;
    caller->value[WETDBG_REG_RSP] -= sizeof(uint64_t); /* the return address is still there */
    caller->is_innermost = false;
}

size_t wetdbg_tail_callers(struct wetdbg_model *model, const struct wetdbg_frame_regs *callee,
                           const struct wetdbg_frame_regs *caller,
                           uint64_t pcs[WETDBG_TAIL_CALLERS_MAX])
{
    uint64_t entry = mdl_function_entry(model, wetdbg_frame_lookup_pc(callee));
    size_t count = 0;

    if (caller->is_innermost || !entry ||
        mdl_tail_calls(model, caller->value[WETDBG_REG_RIP], entry, pcs, &count) < 0)
        return 0;
    return count;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a variable is at an address, by what DWARF says: in memory, in registers, in pieces, or
 * only as a value. What it was when its function was entered, the caller's call site says.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wet/model/expr.h"
#include "wet/model/tail_calls.h"
#include "wet/model/types.h"
#include <wetdbg/errors.h>

#define ENTRY_DEPTH_MAX 32 /* of values that are the caller's own entry values, and so on */

/* What the evaluator asks for besides registers and memory. */
struct locate_context {
    struct wetdbg_model *model;
    struct mdl_mod *mod; /* of the variable */
    uint64_t pc;
    const struct wetdbg_machine *machine;
    unsigned depth; /* calls outwards that entry values have led to */
};

static int get_cfa(void *context, uint64_t *value)
{
    const struct locate_context *locate = context;

    return wetdbg_frame_cfa(locate->model, locate->pc, locate->machine, value);
}

/* The function's frame base at pc. */
static int get_frame_base(void *context, uint64_t *value)
{
    const struct locate_context *locate = context;
    struct mdl_expr_env env = {.machine = locate->machine, .context = context, .cfa = get_cfa};
    struct mdl_mod *mod;
    struct mdl_unit *unit = NULL;
    struct wetdbg_place place;
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    uint32_t scope = MDL_NO_SCOPE;
    int result = mdl_mod_need(locate->model, locate->pc, &mod);

    if (result == 0)
        result = mdl_scope_at(mod, locate->pc, &unit, &scope);
    if (result < 0)
        return result;
    scope = mdl_unit_subprogram_scope(unit, scope);
    if (scope == MDL_NO_SCOPE ||
        !dwarf_attr_integrate(&unit->scopes[scope].die, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation_addr(&attribute, locate->pc - mod->info.bias, &ops, &count, 1) != 1)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "no frame base at 0x%llx",
                           (unsigned long long)locate->pc);
    env.bias = mod->info.bias;
    env.attr = &attribute;
    result = mdl_expr_eval(&env, ops, count, &place);
    if (result < 0)
        return result;
    if (place.kind == WETDBG_PLACE_REGISTER)
        return locate->machine->read_register(locate->machine->context, place.reg, value);
    if (place.kind == WETDBG_PLACE_NONE)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "frame base at 0x%llx: %s",
                           (unsigned long long)locate->pc, place.reason);
    *value = place.kind == WETDBG_PLACE_VALUE ? place.value : place.address;
    return 0;
}

/* The executable's thread-local block ends at the thread pointer (x86-64 has TLS variant II). Other
 * modules' blocks lie where the dynamic linker put them, which no file says. */
static int get_tls(void *context, uint64_t offset, uint64_t *address)
{
    const struct locate_context *locate = context;
    const struct wetdbg_machine *machine = locate->machine;
    Elf *elf = mdl_mod_elf(locate->mod, MDL_IMAGE_FILE);
    bool is_executable = false;
    uint64_t fs_base, block = 0;
    size_t count = 0;
    GElf_Ehdr header;
    GElf_Phdr phdr;
    int result;

    if (elf && elf_getphdrnum(elf, &count) == 0 && gelf_getehdr(elf, &header))
        is_executable = header.e_type == ET_EXEC;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &phdr))
            continue;
        is_executable |= phdr.p_type == PT_INTERP;
        if (phdr.p_type == PT_TLS) {
            uint64_t align = phdr.p_align ? phdr.p_align : 1;

            block = align & (align - 1) ? 0 : (phdr.p_memsz + align - 1) & ~(align - 1);
        }
    }
    /* a static PIE has no PT_INTERP: take the first module for the executable */
    if ((!is_executable && locate->mod->info.id != 0) || block == 0)
        return wetdbg_fail(
            -WETDBG_ERR_UNSUPPORTED,
            "thread-local variables of %s cannot be located (only the executable's can)",
            locate->mod->info.name);
    result = machine->read_register(machine->context, WETDBG_REG_FS_BASE, &fs_base);
    if (result == 0)
        *address = fs_base - block + offset;
    return result;
}

static void locate_nowhere(struct wetdbg_place *place, const char *reason)
{
    memset(place, 0, sizeof(*place));
    place->kind = WETDBG_PLACE_NONE;
    snprintf(place->reason, sizeof(place->reason), "%s", reason);
}

/* DW_AT_const_value: a variable that is a constant. */
static void locate_constant(Dwarf_Attribute *attribute, struct wetdbg_piece *piece)
{
    Dwarf_Word value;
    Dwarf_Sword signed_value;
    Dwarf_Block block;

    piece->place.kind = WETDBG_PLACE_VALUE;
    if (dwarf_whatform(attribute) == DW_FORM_sdata &&
        dwarf_formsdata(attribute, &signed_value) == 0) {
        piece->place.value = (uint64_t)signed_value;
    } else if (dwarf_formudata(attribute, &value) == 0) {
        piece->place.value = value;
    } else if (dwarf_formblock(attribute, &block) == 0 && block.data &&
               block.length <= sizeof(piece->place.value)) {
        memcpy(&piece->place.value, block.data, block.length);
    } else {
        locate_nowhere(&piece->place, "a constant wider than 8 bytes");
        if (dwarf_formblock(attribute, &block) == 0 && block.data) {
            piece->bytes = block.data;
            piece->byte_count = block.length;
        }
    }
}

static uint64_t handle_of(void *context, const Dwarf_Die *die)
{
    const struct locate_context *locate = context;

    return mdl_handle_new(locate->mod, die);
}

/* ---- Entry values ------------------------------------------------------------------------ */

static int get_entry_value(void *context, Dwarf_Attribute *expression, uint64_t *value);

static void make_env(struct locate_context *context, Dwarf_Attribute *attribute,
                     struct mdl_expr_env *env)
{
    *env = (struct mdl_expr_env){
        .machine = context->machine,
        .bias = context->mod->info.bias,
        .attr = attribute,
        .context = context,
        .frame_base = get_frame_base,
        .cfa = get_cfa,
        .tls = get_tls,
        .entry_value = get_entry_value,
        .handle_of = handle_of,
    };
}

/* An expression that leaves a number: written as a place in memory. */
static int eval_number(struct locate_context *context, Dwarf_Attribute *attribute, uint64_t *number)
{
    struct mdl_expr_env env;
    struct wetdbg_place place;
    Dwarf_Op *ops;
    size_t count;
    int result;

    make_env(context, attribute, &env);
    if (dwarf_getlocation(attribute, &ops, &count) != 0)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    result = mdl_expr_eval(&env, ops, count, &place);
    if (result < 0)
        return result;
    if (place.kind != WETDBG_PLACE_MEMORY && place.kind != WETDBG_PLACE_VALUE)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    *number = place.kind == WETDBG_PLACE_MEMORY ? place.address : place.value;
    return 0;
}

/* A frame that is not the one that is asked about, as the evaluator sees it. */
struct outer_frame {
    struct wetdbg_frame_regs regs;
    const struct wetdbg_machine *inner;
};

static int outer_register(void *context, unsigned reg, uint64_t *value)
{
    const struct outer_frame *frame = context;

    if (reg >= WETDBG_FRAME_REG_COUNT || !(frame->regs.valid >> reg & 1))
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    *value = frame->regs.value[reg];
    return 0;
}

static int outer_memory(void *context, uint64_t address, void *bytes, size_t count)
{
    const struct outer_frame *frame = context;

    return frame->inner->read_memory(frame->inner->context, address, bytes, count);
}

/* Goes to the frame that made the call, or the jump, of the function that begins at `callee`. */
static int enter_caller(const struct locate_context *context, uint64_t callee,
                        struct outer_frame *frame)
{
    const struct wetdbg_machine *machine = context->machine;
    uint64_t pcs[MDL_TAIL_CALLS_MAX];
    size_t count;
    int result;

    *frame = (struct outer_frame){.inner = machine, .regs = {.is_innermost = true}};
    for (unsigned reg = 0; reg < WETDBG_REG_RIP; reg++)
        if (machine->read_register(machine->context, reg, &frame->regs.value[reg]) == 0)
            frame->regs.valid |= 1u << reg;
    frame->regs.value[WETDBG_REG_RIP] = context->pc;
    frame->regs.valid |= 1u << WETDBG_REG_RIP;
    result = wetdbg_unwind(context->model, &frame->regs, outer_memory, frame);
    if (result <= 0 || frame->regs.is_innermost)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    result = mdl_tail_calls(context->model, frame->regs.value[WETDBG_REG_RIP], callee, pcs, &count);
    if (result == 0 && count)
        wetdbg_frame_enter_tail(&frame->regs, pcs[0]);
    return result;
}

/* Whether the call leads to `callee`: then what it passes is what that was entered with. */
static bool leads_to(struct locate_context *caller, const struct mdl_call_site *site,
                     uint64_t callee)
{
    Dwarf_Attribute expression;
    uint64_t target = mdl_call_target(site);

    if (mdl_call_target_expression(site, &expression) &&
        eval_number(caller, &expression, &target) < 0)
        return false;
    return target == callee;
}

/* The value that the parameter in a register (`reg` 0 on), or on the stack, was passed with. */
static int passed_value(const struct locate_context *context, int reg, int64_t stack_offset,
                        uint64_t *value)
{
    struct wetdbg_model *model = context->model;
    uint64_t callee = mdl_function_entry(model, context->pc);
    struct outer_frame frame;
    struct wetdbg_machine machine = {&frame, outer_register, outer_memory};
    struct locate_context caller = {
        .model = model, .machine = &machine, .depth = context->depth + 1};
    const struct mdl_call_site *site;
    Dwarf_Attribute attribute;
    int result = -WETDBG_ERR_NOT_FOUND;

    if (callee && caller.depth < ENTRY_DEPTH_MAX)
        result = enter_caller(context, callee, &frame);
    if (result < 0)
        return wetdbg_fail_plain(result);
    site = mdl_call_site_at(model, frame.regs.value[WETDBG_REG_RIP]);
    if (!site)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    caller.mod = site->unit->mod;
    caller.pc = wetdbg_frame_lookup_pc(&frame.regs);
    if (!leads_to(&caller, site, callee) || !mdl_is_entered_once(model, callee) ||
        !mdl_call_parameter(site, reg, stack_offset, &attribute))
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    return eval_number(&caller, &attribute, value);
}

static int value_at_entry(const struct locate_context *context, const Dwarf_Op *ops, size_t count,
                          uint64_t *value)
{
    if (count == 1 && ops->atom >= DW_OP_reg0 && ops->atom <= DW_OP_reg31)
        return passed_value(context, ops->atom - DW_OP_reg0, 0, value);
    if (count == 1 && ops->atom == DW_OP_regx && ops->number <= INT16_MAX)
        return passed_value(context, (int)ops->number, 0, value);
    if (count == 1 && ops->atom == DW_OP_fbreg)
        return passed_value(context, -1, (int64_t)ops->number, value);
    return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
}

static int get_entry_value(void *context, Dwarf_Attribute *expression, uint64_t *value)
{
    Dwarf_Op *ops;
    size_t count;

    if (dwarf_getlocation(expression, &ops, &count) != 0)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    return value_at_entry(context, ops, count, value);
}

/* ---- Pieces ------------------------------------------------------------------------------ */

static int one_piece(const struct wetdbg_piece *piece, struct wetdbg_piece **pieces, size_t *count)
{
    *pieces = malloc(sizeof(**pieces));
    if (!*pieces)
        return -ENOMEM;
    **pieces = *piece;
    *count = 1;
    return 0;
}

static int locate_die(struct locate_context *context, Dwarf_Die *die, struct wetdbg_piece **pieces,
                      size_t *piece_count)
{
    struct wetdbg_piece piece = {0};
    struct mdl_expr_env env;
    Dwarf_Attribute attribute;
    Dwarf_Op *ops;
    size_t count;
    int found;

    if (!dwarf_attr_integrate(die, DW_AT_location, &attribute)) {
        if (dwarf_attr_integrate(die, DW_AT_const_value, &attribute))
            locate_constant(&attribute, &piece);
        else
            locate_nowhere(&piece.place, "optimized out");
        return one_piece(&piece, pieces, piece_count);
    }
    found =
        dwarf_getlocation_addr(&attribute, context->pc - context->mod->info.bias, &ops, &count, 1);
    if (found < 0)
        return wetdbg_fail(-WETDBG_ERR_CORRUPT, "damaged location of a variable: %s",
                           dwarf_errmsg(-1));
    if (found == 0) {
        locate_nowhere(&piece.place, "optimized out at this address");
        return one_piece(&piece, pieces, piece_count);
    }
    make_env(context, &attribute, &env);
    return mdl_expr_pieces(&env, ops, count, pieces, piece_count);
}

/* From where `this` is to where the member is. */
static int locate_member(struct wetdbg_model *model, const struct wetdbg_machine *machine,
                         const struct wetdbg_variable *variable, struct wetdbg_place *place)
{
    struct wetdbg_member base = {.is_virtual = true, .handle = variable->base_handle};
    uint64_t object = place->value, offset = 0;
    int result = 0;

    if (place->kind == WETDBG_PLACE_MEMORY)
        result = machine->read_memory(machine->context, place->address, &object, sizeof(object));
    else if (place->kind == WETDBG_PLACE_REGISTER)
        result = machine->read_register(machine->context, place->reg, &object);
    else if (place->kind == WETDBG_PLACE_NONE)
        return 0;
    if (result == 0 && variable->base_handle) {
        object += variable->base_offset_bytes;
        result = wetdbg_member_offset(model, &base, machine, object, &offset);
    }
    if (result < 0)
        return result;
    *place = (struct wetdbg_place){
        .kind = WETDBG_PLACE_MEMORY,
        .address = object + offset + variable->offset_bytes,
        .size_bytes = variable->type.size_bytes,
    };
    return 0;
}

static int no_register(void *context, unsigned dwarf_reg, uint64_t *value)
{
    (void)context;
    (void)dwarf_reg;
    (void)value;
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "where it lies depends on registers, of which none are given");
}

static int no_memory(void *context, uint64_t address, void *bytes, size_t count)
{
    (void)context;
    (void)address;
    (void)bytes;
    (void)count;
    return wetdbg_fail(-WETDBG_ERR_UNSUPPORTED,
                       "where it lies depends on memory, of which none is given");
}

static int locate_known(struct locate_context *context, const struct wetdbg_variable *variable,
                        struct wetdbg_piece **pieces, size_t *count)
{
    const struct mdl_handle *handle = mdl_handle_get(context->model, variable->handle);
    Dwarf_Die die;
    int result;

    if (!handle)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    context->mod = handle->mod;
    die = handle->die;
    result = locate_die(context, &die, pieces, count);
    if (result == 0 && variable->is_of_this && *count == 1) {
        result = locate_member(context->model, context->machine, variable, &(*pieces)->place);
        if (result < 0)
            free(*pieces);
    }
    return result;
}

int wetdbg_variable_pieces(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                           uint64_t pc, const struct wetdbg_machine *machine,
                           struct wetdbg_piece **pieces, size_t *count)
{
    static const struct wetdbg_machine nothing = {.read_register = no_register,
                                                  .read_memory = no_memory};
    struct locate_context context = {
        .model = model, .pc = pc, .machine = machine ? machine : &nothing};
    struct wetdbg_piece symbol = {
        .place = {.kind = WETDBG_PLACE_MEMORY, .address = variable->symbol_address}};
    int result = variable->handle == 0 ? one_piece(&symbol, pieces, count)
                                       : locate_known(&context, variable, pieces, count);

    if (result == 0 && *count == 1 && (*pieces)->place.size_bytes == 0)
        (*pieces)->place.size_bytes = variable->type.size_bytes;
    return result;
}

int wetdbg_variable_locate(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                           uint64_t pc, const struct wetdbg_machine *machine,
                           struct wetdbg_place *place)
{
    struct wetdbg_piece *pieces;
    size_t count;
    int result = wetdbg_variable_pieces(model, variable, pc, machine, &pieces, &count);

    if (result < 0)
        return result;
    mdl_expr_one_place(pieces, count, place);
    free(pieces);
    return 0;
}

int wetdbg_variable_entry_value(struct wetdbg_model *model, const struct wetdbg_variable *variable,
                                uint64_t pc, const struct wetdbg_machine *machine, uint64_t *value)
{
    const struct mdl_handle *handle = mdl_handle_get(model, variable->handle);
    struct locate_context context = {.model = model, .pc = pc, .machine = machine};
    uint64_t entry = mdl_function_entry(model, pc);
    Dwarf_Attribute attribute;
    Dwarf_Die die;
    Dwarf_Op *ops;
    size_t count;

    if (!handle || !entry || variable->is_of_this)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    die = handle->die;
    context.mod = handle->mod;
    if (!dwarf_attr_integrate(&die, DW_AT_location, &attribute) ||
        dwarf_getlocation_addr(&attribute, entry - context.mod->info.bias, &ops, &count, 1) != 1)
        return wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    return value_at_entry(&context, ops, count, value);
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "wet/model/call_sites.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "common/bisect.h"
#include "wet/model/dies.h"
#include "wet/model/functions.h"
#include "wet/model/qualify.h"

#define DEPTH_MAX 200

/* DWARF 5 took over what GNU had before: each attribute has two numbers. */
static bool attribute_of(Dwarf_Die *die, unsigned name, unsigned gnu_name,
                         Dwarf_Attribute *attribute)
{
    return dwarf_attr(die, name, attribute) || dwarf_attr(die, gnu_name, attribute);
}

static bool has_flag(Dwarf_Die *die, unsigned name, unsigned gnu_name)
{
    Dwarf_Attribute attribute;
    bool flag = false;

    return attribute_of(die, name, gnu_name, &attribute) &&
           dwarf_formflag(&attribute, &flag) == 0 && flag;
}

/* Where a function's code begins (in the file); 0 if it has none. */
static uint64_t entry_of(Dwarf_Die *die)
{
    Dwarf_Addr base, start, end;

    return dwarf_ranges(die, 0, &base, &start, &end) > 0 ? start : 0;
}

/* ---- A unit's ---------------------------------------------------------------------------- */

struct walk {
    struct mdl_unit *unit;
    struct mdl_call_sites *sites;
    size_t capacity;
    uint64_t budget;
    uint64_t function; /* around what is looked at; 0: none */
    bool has_all_tails;
    unsigned depth;
};

static int add_site(struct walk *walk, Dwarf_Die *die)
{
    struct mdl_call_sites *sites = walk->sites;
    Dwarf_Attribute attribute;
    Dwarf_Addr return_pc;

    if (!walk->function || !attribute_of(die, DW_AT_call_return_pc, DW_AT_low_pc, &attribute) ||
        dwarf_formaddr(&attribute, &return_pc) != 0)
        return 0;
    if (wd_grow(sites->items, walk->capacity, sites->count + 1))
        return -ENOMEM;
    sites->items[sites->count++] = (struct mdl_call_site){
        .return_pc = return_pc + walk->unit->mod->info.bias,
        .function = walk->function,
        .die = *die,
        .unit = walk->unit,
        .is_tail = walk->has_all_tails && has_flag(die, DW_AT_call_tail_call, DW_AT_GNU_tail_call),
    };
    return 0;
}

static void enter_function(struct walk *walk, Dwarf_Die *die)
{
    uint64_t entry = entry_of(die);

    walk->function = entry ? entry + walk->unit->mod->info.bias : 0;
    walk->has_all_tails = has_flag(die, DW_AT_call_all_calls, DW_AT_GNU_all_call_sites) ||
                          has_flag(die, DW_AT_call_all_tail_calls, DW_AT_GNU_all_tail_call_sites);
}

static int visit(void *context, Dwarf_Die *die)
{
    struct walk *walk = context, outer = *walk;
    int result;

    switch (dwarf_tag(die)) {
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return add_site(walk, die);
    case DW_TAG_subprogram:
        enter_function(walk, die);
        break;
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        break;
    default:
        return 0;
    }
    if (walk->depth >= DEPTH_MAX)
        return 0;
    walk->depth++;
    result = mdl_die_children(die, &walk->budget, visit, walk);
    walk->depth = outer.depth;
    walk->function = outer.function;
    walk->has_all_tails = outer.has_all_tails;
    return result;
}

static int compare_sites(const void *left, const void *right)
{
    const struct mdl_call_site *a = left, *b = right;

    return a->return_pc < b->return_pc ? -1 : a->return_pc > b->return_pc;
}

int mdl_call_sites_get(struct mdl_unit *unit, const struct mdl_call_sites **sites)
{
    struct walk walk = {.unit = unit, .budget = mdl_die_budget(&unit->die)};
    int result;

    if (!unit->call_sites) {
        walk.sites = calloc(1, sizeof(*walk.sites));
        result = walk.sites ? mdl_die_children(&unit->die, &walk.budget, visit, &walk) : -ENOMEM;
        if (result < 0) {
            mdl_call_sites_free(walk.sites);
            return result;
        }
        if (walk.sites->count)
            qsort(walk.sites->items, walk.sites->count, sizeof(*walk.sites->items), compare_sites);
        unit->call_sites = walk.sites;
    }
    *sites = unit->call_sites;
    return 0;
}

void mdl_call_sites_free(struct mdl_call_sites *sites)
{
    if (!sites)
        return;
    free(sites->items);
    free(sites);
}

/* ---- One --------------------------------------------------------------------------------- */

const struct mdl_call_site *mdl_call_site_at(struct wetdbg_model *model, uint64_t return_pc)
{
    struct mdl_mod *mod = mdl_mod_at(model, return_pc - 1);
    struct mdl_unit *unit = mod ? mdl_unit_at(mod, return_pc - 1) : NULL;
    const struct mdl_call_sites *sites;

    if (!unit || mdl_call_sites_get(unit, &sites) < 0)
        return NULL;
    size_t at = wd_bisect(0, sites->count, i, sites->items[i].return_pc < return_pc);
    return at < sites->count && sites->items[at].return_pc == return_pc ? &sites->items[at] : NULL;
}

uint64_t mdl_function_entry(struct wetdbg_model *model, uint64_t pc)
{
    struct mdl_mod *mod = mdl_mod_at(model, pc);
    struct wetdbg_function function;
    struct mdl_unit *unit = NULL;
    uint64_t entry = 0;
    uint32_t scope = MDL_NO_SCOPE;

    if (!mod || mdl_scope_at(mod, pc, &unit, &scope) < 0)
        return 0;
    scope = mdl_unit_subprogram_scope(unit, scope);
    if (scope != MDL_NO_SCOPE)
        entry = entry_of(&unit->scopes[scope].die);
    if (entry)
        return entry + mod->info.bias;
    return wetdbg_function_at(model, pc, &function) == 0 ? function.start : 0;
}

/* A function by its linker's name, in the caller's module if that has it. */
static uint64_t function_named(struct mdl_mod *first, const char *name)
{
    struct wetdbg_model *model = first->model;

    for (size_t i = 0; i <= model->mod_count; i++) {
        struct mdl_mod *mod = i ? model->mods[i - 1] : first;
        struct mdl_functions *functions;
        size_t at, end;

        if (mdl_functions_get(mod, &functions) < 0)
            continue;
        mdl_functions_by_name(functions, name, &at, &end);
        if (at < end)
            return functions->names[at].start;
    }
    return 0;
}

/* Where the code is of a function whose DIE is an abstract one, if it has some in that unit. */
static uint64_t concrete_of(struct mdl_unit *unit, Dwarf_Die *abstract)
{
    if (mdl_unit_scopes(unit) < 0)
        return 0;
    for (size_t i = 0; i < unit->scope_count; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die origin;

        if (unit->scopes[i].tag == DW_TAG_subprogram &&
            dwarf_attr(&unit->scopes[i].die, DW_AT_abstract_origin, &attribute) &&
            dwarf_formref_die(&attribute, &origin) &&
            dwarf_dieoffset(&origin) == dwarf_dieoffset(abstract))
            return entry_of(&unit->scopes[i].die);
    }
    return 0;
}

uint64_t mdl_call_target(const struct mdl_call_site *site)
{
    Dwarf_Die die = site->die, function;
    Dwarf_Attribute attribute;
    const char *name;
    uint64_t entry;

    if (mdl_call_target_expression(site, &attribute) ||
        !attribute_of(&die, DW_AT_call_origin, DW_AT_abstract_origin, &attribute) ||
        !dwarf_formref_die(&attribute, &function))
        return 0;
    if (dwarf_hasattr(&function, DW_AT_declaration)) {
        name = mdl_die_linkage_name(&function);
        name = name ? name : dwarf_diename(&function);
        return name ? function_named(site->unit->mod, name) : 0;
    }
    entry = entry_of(&function);
    if (!entry)
        entry = concrete_of(site->unit, &function);
    return entry ? entry + site->unit->mod->info.bias : 0;
}

bool mdl_call_target_expression(const struct mdl_call_site *site, Dwarf_Attribute *attribute)
{
    Dwarf_Die die = site->die;

    return attribute_of(&die, DW_AT_call_target, DW_AT_GNU_call_site_target, attribute);
}

/* ---- Parameters -------------------------------------------------------------------------- */

struct parameter_search {
    int reg;
    int64_t stack_offset;
    Dwarf_Attribute *value;
};

static bool is_place(const struct parameter_search *search, const Dwarf_Op *op)
{
    if (search->reg < 0)
        return op->atom == DW_OP_breg0 + WETDBG_REG_RSP &&
               (int64_t)op->number == search->stack_offset;
    if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
        return op->atom - DW_OP_reg0 == search->reg;
    return op->atom == DW_OP_regx && op->number == (Dwarf_Word)search->reg;
}

/* 1: it is this one. */
static int match_parameter(void *context, Dwarf_Die *die)
{
    const struct parameter_search *search = context;
    Dwarf_Attribute location;
    Dwarf_Op *ops;
    size_t count;
    int tag = dwarf_tag(die);

    if ((tag != DW_TAG_call_site_parameter && tag != DW_TAG_GNU_call_site_parameter) ||
        !dwarf_attr(die, DW_AT_location, &location) ||
        dwarf_getlocation(&location, &ops, &count) != 0 || count != 1 || !is_place(search, ops))
        return 0;
    return attribute_of(die, DW_AT_call_value, DW_AT_GNU_call_site_value, search->value);
}

bool mdl_call_parameter(const struct mdl_call_site *site, int reg, int64_t stack_offset,
                        Dwarf_Attribute *value)
{
    struct parameter_search search = {reg, stack_offset, value};
    Dwarf_Die die = site->die;
    uint64_t budget = mdl_die_budget(&site->unit->die);

    return mdl_die_children(&die, &budget, match_parameter, &search) == 1;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables outside functions, by name: an index over all units of a module, made when a name is
 * first looked for that way. Types' static members and namespaces' variables are in it too, and the
 * types themselves, for units that only declare them.
 */
#include "wet/model/globals.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "wet/model/dies.h"
#include "wet/model/qualify.h"
#include <wetdbg/errors.h>

#define DEPTH_MAX 32

void mdl_globals_free(struct mdl_globals *globals)
{
    if (!globals)
        return;
    free(globals->items);
    free(globals->types);
    free(globals->inlined);
    free(globals->enumerators);
    free(globals);
}

struct walk {
    struct mdl_globals *globals;
    size_t capacity;
    size_t type_capacity;
    size_t enumerator_capacity;
    size_t inlined_capacity;
    Dwarf_Die enumeration;
    uint32_t unit;
    uint64_t budget;
    unsigned depth;
};

/* Declarations have no place of their own; their definition refers to them. */
static bool is_definition(Dwarf_Die *die)
{
    Dwarf_Attribute attribute;

    return dwarf_hasattr(die, DW_AT_location) || dwarf_hasattr(die, DW_AT_const_value) ||
           !dwarf_attr(die, DW_AT_declaration, &attribute);
}

static int add_global(struct walk *walk, Dwarf_Die *die)
{
    struct mdl_globals *globals = walk->globals;
    const char *name = dwarf_diename(die);
    Dwarf_Attribute attribute;
    bool is_external = false;

    if (!name || !is_definition(die))
        return 0;
    if (globals->count == walk->capacity) {
        size_t capacity = walk->capacity ? walk->capacity * 2 : 64;
        struct mdl_global *grown = reallocarray(globals->items, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        globals->items = grown;
        walk->capacity = capacity;
    }
    dwarf_formflag(dwarf_attr_integrate(die, DW_AT_external, &attribute), &is_external);
    globals->items[globals->count++] = (struct mdl_global){
        .name = name, .die = *die, .unit = walk->unit, .is_external = is_external};
    return 0;
}

static int add_type(struct walk *walk, Dwarf_Die *die)
{
    struct mdl_globals *globals = walk->globals;
    const char *name = dwarf_diename(die);

    if (!name || dwarf_hasattr(die, DW_AT_declaration))
        return 0;
    if (globals->type_count == walk->type_capacity) {
        size_t capacity = walk->type_capacity ? walk->type_capacity * 2 : 64;
        struct mdl_global *grown = reallocarray(globals->types, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        globals->types = grown;
        walk->type_capacity = capacity;
    }
    globals->types[globals->type_count++] =
        (struct mdl_global){.name = name, .die = *die, .unit = walk->unit};
    return 0;
}

/* Adds a function that the compiler inlined somewhere. */
static int add_inlined(struct walk *walk, Dwarf_Die *die)
{
    struct mdl_globals *globals = walk->globals;
    const char *name = dwarf_diename(die);

    if (!name || !dwarf_func_inline(die))
        return 0;
    if (wd_grow(globals->inlined, walk->inlined_capacity, globals->inlined_count + 1))
        return -ENOMEM;
    globals->inlined[globals->inlined_count++] =
        (struct mdl_global){.name = name, .die = *die, .unit = walk->unit};
    return 0;
}

static int add_enumerator(void *context, Dwarf_Die *die)
{
    struct walk *walk = context;
    struct mdl_globals *globals = walk->globals;
    const char *name = dwarf_diename(die);

    if (!name || dwarf_tag(die) != DW_TAG_enumerator)
        return 0;
    if (globals->enumerator_count == walk->enumerator_capacity) {
        size_t capacity = walk->enumerator_capacity ? walk->enumerator_capacity * 2 : 64;
        struct mdl_global *grown = reallocarray(globals->enumerators, capacity, sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        globals->enumerators = grown;
        walk->enumerator_capacity = capacity;
    }
    globals->enumerators[globals->enumerator_count++] =
        (struct mdl_global){.name = name, .die = walk->enumeration, .unit = walk->unit};
    return 0;
}

static int add_enumeration(struct walk *walk, Dwarf_Die *die)
{
    int result = add_type(walk, die);

    walk->enumeration = *die;
    return result < 0 ? result : mdl_die_children(die, &walk->budget, add_enumerator, walk);
}

static int visit(void *context, Dwarf_Die *die)
{
    struct walk *walk = context;
    int result = 0;

    switch (dwarf_tag(die)) {
    case DW_TAG_variable:
        return add_global(walk, die);
    case DW_TAG_subprogram:
        return add_inlined(walk, die);
    case DW_TAG_member: /* before DWARF 5: a static one */
        return dwarf_hasattr(die, DW_AT_const_value) ? add_global(walk, die) : 0;
    case DW_TAG_enumeration_type:
        return add_enumeration(walk, die);
    case DW_TAG_typedef:
    case DW_TAG_base_type:
        return add_type(walk, die);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        result = add_type(walk, die);
        break;
    case DW_TAG_namespace:
    case DW_TAG_module:
        break;
    default:
        return 0;
    }
    if (result < 0 || walk->depth >= DEPTH_MAX)
        return result;
    walk->depth++;
    result = mdl_die_children(die, &walk->budget, visit, walk);
    walk->depth--;
    return result;
}

static int compare_globals(const void *left, const void *right)
{
    const struct mdl_global *a = left, *b = right;
    int order = strcmp(a->name, b->name);

    if (order)
        return order;
    if (a->is_external != b->is_external)
        return b->is_external - a->is_external;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

int mdl_globals_get(struct mdl_mod *mod, const struct mdl_globals **globals)
{
    struct mdl_units *units;
    struct walk walk = {0};
    int result = mdl_units_get(mod, &units);

    if (result < 0)
        return result;
    *globals = units->globals;
    if (*globals)
        return 0;
    walk.globals = calloc(1, sizeof(*walk.globals));
    if (!walk.globals)
        return -ENOMEM;
    for (; result == 0 && walk.unit < units->count; walk.unit++) {
        struct mdl_unit *unit = &units->units[walk.unit];

        walk.budget = mdl_die_budget(&unit->die);
        result = mdl_check_interrupt(mod->model);
        if (result == 0)
            result = mdl_die_children(&unit->die, &walk.budget, visit, &walk);
    }
    if (result < 0) {
        mdl_globals_free(walk.globals);
        return result;
    }
    if (walk.globals->count)
        qsort(walk.globals->items, walk.globals->count, sizeof(*walk.globals->items),
              compare_globals);
    if (walk.globals->type_count)
        qsort(walk.globals->types, walk.globals->type_count, sizeof(*walk.globals->types),
              compare_globals);
    if (walk.globals->enumerator_count)
        qsort(walk.globals->enumerators, walk.globals->enumerator_count,
              sizeof(*walk.globals->enumerators), compare_globals);
    if (walk.globals->inlined_count)
        qsort(walk.globals->inlined, walk.globals->inlined_count, sizeof(*walk.globals->inlined),
              compare_globals);
    units->globals = walk.globals;
    *globals = walk.globals;
    return 0;
}

int wetdbg_globals_each(struct wetdbg_model *model, uint64_t pc, wetdbg_name_fn fn, void *context)
{
    const struct mdl_globals *globals;
    struct mdl_mod *mod = mdl_mod_at(model, pc);
    int err = mod ? mdl_globals_get(mod, &globals) : -WETDBG_ERR_NOT_FOUND;

    for (size_t i = 0; !err && i < globals->count; i++)
        err = fn(context, globals->items[i].name);
    return err;
}

const struct mdl_global *mdl_globals_first(const struct mdl_global *items, size_t count,
                                           const char *name)
{
    size_t low = wd_bisect(0, count, i, strcmp(items[i].name, name) < 0);
    return low < count && strcmp(items[low].name, name) == 0 ? &items[low] : NULL;
}

const struct mdl_global *mdl_globals_find(const struct mdl_globals *globals, const char *name)
{
    return mdl_globals_first(globals->items, globals->count, name);
}

/* ---- Types that are only declared -------------------------------------------------------- */

/* C++ may say "struct" here and "class" there. */
static int kind_of(Dwarf_Die *die)
{
    int tag = dwarf_tag(die);

    return tag == DW_TAG_class_type ? DW_TAG_structure_type : tag;
}

int mdl_type_complete(struct mdl_mod *mod, Dwarf_Die *die)
{
    const char *name = dwarf_diename(die), *qualified;
    const struct mdl_globals *globals = NULL;
    const struct mdl_global *type, *end;
    Dwarf_Attribute attribute;
    Dwarf_Die unit_type;
    int result;

    if (!dwarf_hasattr(die, DW_AT_declaration))
        return 0;
    if (dwarf_attr(die, DW_AT_signature, &attribute) && dwarf_formref_die(&attribute, &unit_type)) {
        *die = unit_type;
        return 1;
    }
    result = name ? mdl_globals_get(mod, &globals) : 0;
    if (result < 0 || !name)
        return result;
    qualified = mdl_die_qualified(mod, die, name);
    end = globals->types + globals->type_count;
    type = mdl_globals_first(globals->types, globals->type_count, name);
    for (; type && type < end && strcmp(type->name, name) == 0; type++) {
        Dwarf_Die candidate = type->die;

        if (kind_of(&candidate) != kind_of(die) ||
            strcmp(mdl_die_qualified(mod, &candidate, name), qualified) != 0)
            continue;
        *die = candidate;
        return 1;
    }
    return 0;
}

/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The scopes of a unit: one walk over its DIEs finds all that have code, so that looking up the
 * innermost scope of an address does not walk the unit again.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/bisect.h"
#include "wet/model/dies.h"
#include "wet/model/functions.h"
#include "wet/model/names.h"
#include "wet/model/qualify.h"
#include "wet/model/units.h"

#define DEPTH_MAX 200

/* A walk over one unit. */
struct walk {
    struct mdl_unit *unit;
    uint64_t budget;
    size_t scope_capacity;
    size_t range_capacity;
    uint32_t parent;
    unsigned depth;
};

static int add_scope(struct walk *walk, const Dwarf_Die *die, int tag)
{
    struct mdl_unit *unit = walk->unit;

    if (wd_grow(unit->scopes, walk->scope_capacity, unit->scope_count + 1))
        return -ENOMEM;
    unit->scopes[unit->scope_count++] =
        (struct mdl_scope_entry){.die = *die, .tag = tag, .parent = walk->parent};
    return 0;
}

static int add_range(struct walk *walk, uint64_t start, uint64_t end, uint32_t scope)
{
    struct mdl_unit *unit = walk->unit;

    if (wd_grow(unit->scope_ranges, walk->range_capacity, unit->scope_range_count + 1))
        return -ENOMEM;
    unit->scope_ranges[unit->scope_range_count++] =
        (struct mdl_scope_range){start, end, scope, MDL_NO_SCOPE};
    return 0;
}

/* Adds the scope if it has code. 1: yes, 0: no, -ENOMEM. */
static int add_with_ranges(struct walk *walk, Dwarf_Die *die, int tag)
{
    uint32_t scope = (uint32_t)walk->unit->scope_count;
    uint64_t bias = walk->unit->mod->info.bias;
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;
    int added = 0;

    while (walk->budget && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
        walk->budget--;
        if (start >= end || !mdl_mod_is_code(walk->unit->mod, start + bias))
            continue;
        if (!added && add_scope(walk, die, tag) < 0)
            return -ENOMEM;
        added = 1;
        if (add_range(walk, start + bias, end + bias, scope) < 0)
            return -ENOMEM;
    }
    return added;
}

static int visit(void *context, Dwarf_Die *die)
{
    struct walk *walk = context;
    uint32_t parent = walk->parent;
    int tag = dwarf_tag(die), added = 0, result;

    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
        added = add_with_ranges(walk, die, tag);
        break;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
        break;
    default:
        return 0;
    }
    if (added < 0)
        return added;
    if (walk->depth >= DEPTH_MAX)
        return 0;
    if (added)
        walk->parent = (uint32_t)walk->unit->scope_count - 1;
    walk->depth++;
    result = mdl_die_children(die, &walk->budget, visit, walk);
    walk->depth--;
    walk->parent = parent;
    return result;
}

/* By start, outer first: longer first, and of equal ones the scope found first is outer. */
static int compare_ranges(const void *left, const void *right)
{
    const struct mdl_scope_range *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return a->scope < b->scope ? -1 : a->scope > b->scope;
}

static int nest_ranges(struct mdl_unit *unit)
{
    uint32_t *stack = calloc(unit->scope_range_count + 1, sizeof(*stack));
    size_t depth = 0;

    if (!stack)
        return -ENOMEM;
    if (unit->scope_range_count)
        qsort(unit->scope_ranges, unit->scope_range_count, sizeof(*unit->scope_ranges),
              compare_ranges);
    for (size_t i = 0; i < unit->scope_range_count; i++) {
        struct mdl_scope_range *range = &unit->scope_ranges[i];

        while (depth && unit->scope_ranges[stack[depth - 1]].end < range->end)
            depth--;
        range->outer = depth ? stack[depth - 1] : MDL_NO_SCOPE;
        stack[depth++] = (uint32_t)i;
    }
    free(stack);
    return 0;
}

int mdl_unit_scopes(struct mdl_unit *unit)
{
    struct walk walk = {.unit = unit, .parent = MDL_NO_SCOPE};
    int result;

    if (unit->scopes_known)
        return 0;
    walk.budget = mdl_die_budget(&unit->die);
    result = mdl_die_children(&unit->die, &walk.budget, visit, &walk);
    if (result == 0)
        result = nest_ranges(unit);
    if (result < 0) {
        free(unit->scopes);
        free(unit->scope_ranges);
        unit->scopes = NULL;
        unit->scope_ranges = NULL;
        unit->scope_count = unit->scope_range_count = 0;
        return result;
    }
    unit->scopes_known = 1;
    return 0;
}

uint32_t mdl_unit_scope_at(const struct mdl_unit *unit, uint64_t pc)
{
    size_t low = wd_bisect(0, unit->scope_range_count, i, unit->scope_ranges[i].start <= pc);
    uint32_t at;
    at = low ? (uint32_t)(low - 1) : MDL_NO_SCOPE;
    while (at != MDL_NO_SCOPE && unit->scope_ranges[at].end <= pc)
        at = unit->scope_ranges[at].outer;
    return at == MDL_NO_SCOPE ? MDL_NO_SCOPE : unit->scope_ranges[at].scope;
}

int mdl_scope_at(struct mdl_mod *mod, uint64_t pc, struct mdl_unit **unit, uint32_t *scope)
{
    struct mdl_units *units;
    int result = mdl_units_get(mod, &units);

    *scope = MDL_NO_SCOPE;
    *unit = result == 0 ? mdl_unit_at(mod, pc) : NULL;
    if (!*unit)
        return result;
    result = mdl_unit_scopes(*unit);
    if (result == 0)
        *scope = mdl_unit_scope_at(*unit, pc);
    return result;
}

uint32_t mdl_unit_subprogram_scope(const struct mdl_unit *unit, uint32_t scope)
{
    while (scope != MDL_NO_SCOPE && unit->scopes[scope].tag != DW_TAG_subprogram)
        scope = unit->scopes[scope].parent;
    return scope;
}

uint32_t mdl_unit_function_scope(const struct mdl_unit *unit, uint32_t scope)
{
    while (scope != MDL_NO_SCOPE && unit->scopes[scope].tag != DW_TAG_subprogram &&
           unit->scopes[scope].tag != DW_TAG_inlined_subroutine)
        scope = unit->scopes[scope].parent;
    return scope;
}

/* ---- Names ------------------------------------------------------------------------------- */

/* The ELF symbol of a function that is local to its unit, for which DWARF has no linker's name. */
static const char *symbol_of(struct mdl_unit *unit, Dwarf_Die *die)
{
    struct mdl_functions *functions;
    Dwarf_Addr entry, base, end;
    uint32_t index;

    /* of a split function the first range is that with its entry */
    if (dwarf_ranges(die, 0, &base, &entry, &end) <= 0 ||
        mdl_functions_get(unit->mod, &functions) < 0)
        return NULL;
    entry += unit->mod->info.bias;
    index = mdl_functions_find(functions, entry);
    if (index == MDL_NO_FUNCTION || functions->entries[index].start != entry ||
        !(functions->entries[index].flags & WETDBG_FUNCTION_SYMBOL))
        return NULL;
    return functions->entries[index].name;
}

/* C compilers note assembler labels as linkers' names, too; people do not use these. */
static void name_scope(struct mdl_unit *unit, struct mdl_scope_entry *entry)
{
    const char *name = dwarf_diename(&entry->die), *linkage = mdl_die_linkage_name(&entry->die);
    const char *demangled = linkage;

    if (linkage && mdl_name_is_mangled(linkage))
        demangled = mdl_name_demangle(unit->mod->model, linkage, MDL_NAME_PLAIN);
    entry->name = demangled && demangled != linkage
                      ? demangled
                      : mdl_die_qualified(unit->mod, &entry->die, name);
    if (!linkage && entry->tag == DW_TAG_subprogram)
        linkage = symbol_of(unit, &entry->die);
    entry->linkage_name = linkage ? linkage : entry->name;
}

const char *mdl_unit_scope_name(struct mdl_unit *unit, uint32_t scope, const char **linkage_name)
{
    struct mdl_scope_entry *entry;

    if (scope == MDL_NO_SCOPE)
        return NULL;
    entry = &unit->scopes[scope];
    if (!entry->name)
        name_scope(unit, entry);
    if (linkage_name)
        *linkage_name = entry->linkage_name;
    return entry->name;
}

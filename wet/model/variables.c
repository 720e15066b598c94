/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables: finding one by name in the scopes around an address.
 *
 * Scopes are searched as C does, from the innermost block to the function; an inlined function does
 * not see its caller's locals, but if its own unit has nothing of the name they are what a person
 * must mean. Of C++ all variables of namespaces and classes can be named by the end of their names,
 * as if there were using directives; those around the code come first. A variable that an optimized
 * inlined copy has lost entirely is still found in the abstract function, and is reported as
 * optimized out.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/model/dies.h"
#include "wet/model/functions.h"
#include "wet/model/globals.h"
#include "wet/model/names.h"
#include "wet/model/qualify.h"
#include "wet/model/types.h"
#include <wetdbg/errors.h>

#define ORIGINAL_DEPTH_MAX 100 /* of blocks in each other */

/* ---- Describing -------------------------------------------------------------------------- */

static int describe(struct mdl_mod *mod, Dwarf_Die *die, enum wetdbg_scope scope,
                    struct wetdbg_variable *variable)
{
    int line = 0, result;

    memset(variable, 0, sizeof(*variable));
    variable->name = dwarf_diename(die);
    variable->scope = scope;
    variable->module = mod->info.id;
    variable->decl_file = mdl_die_file(mod, die);
    if (dwarf_decl_line(die, &line) == 0 && line > 0)
        variable->decl_line = (uint32_t)line;
    result = mdl_type_of(mod, die, &variable->type);
    if (result < 0)
        return result;
    variable->handle = mdl_handle_new(mod, die);
    return variable->handle ? 0 : -ENOMEM;
}

/* ---- Locals ------------------------------------------------------------------------------ */

/* A walk over the variables of one scope. */
struct local_walk {
    struct mdl_mod *mod;
    const char *name; /* looked for, or NULL: all */
    struct wetdbg_variable *found;
    wetdbg_variable_fn fn;
    void *context;
};

static bool is_declaration(Dwarf_Die *die)
{
    return dwarf_hasattr(die, DW_AT_declaration) && !dwarf_hasattr(die, DW_AT_location) &&
           !dwarf_hasattr(die, DW_AT_const_value);
}

static int visit_local(void *context, Dwarf_Die *die)
{
    struct local_walk *walk = context;
    enum wetdbg_scope scope = WETDBG_SCOPE_LOCAL;
    struct wetdbg_variable variable;
    const char *name;
    int result;

    switch (dwarf_tag(die)) {
    case DW_TAG_formal_parameter:
        scope = WETDBG_SCOPE_PARAM;
        break;
    case DW_TAG_variable:
        break;
    default:
        return 0;
    }
    name = dwarf_diename(die);
    if (!name || (walk->name && strcmp(name, walk->name) != 0) || is_declaration(die))
        return 0;
    result = describe(walk->mod, die, scope, &variable);
    if (result < 0)
        return result;
    if (walk->fn)
        return walk->fn(walk->context, &variable);
    *walk->found = variable;
    return 1;
}

/* What a copy of a function, or of a block, has in the original that it was made of. */
struct copy_walk {
    struct local_walk *locals;
    uint64_t budget;
    Dwarf_Off *originals; /* of the copy's parts */
    size_t count, capacity;
    unsigned depth;
};

static int note_original(void *context, Dwarf_Die *die)
{
    struct copy_walk *copy = context;
    Dwarf_Attribute attribute;
    Dwarf_Die origin;

    if (!dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
        !dwarf_formref_die(&attribute, &origin))
        return 0;
    if (wd_grow(copy->originals, copy->capacity, copy->count + 1))
        return -ENOMEM;
    copy->originals[copy->count++] = dwarf_dieoffset(&origin);
    return 0;
}

/* A part of the original: a variable that the copy does not have was optimized out, or is static.
 * What it has in a block that the copy lacks counts as the function's. */
static int visit_original(void *context, Dwarf_Die *die)
{
    struct copy_walk *copy = context;
    Dwarf_Off offset = dwarf_dieoffset(die);
    int result;

    for (size_t i = 0; i < copy->count; i++)
        if (copy->originals[i] == offset)
            return 0;
    if (dwarf_tag(die) != DW_TAG_lexical_block)
        return visit_local(copy->locals, die);
    if (copy->depth >= ORIGINAL_DEPTH_MAX)
        return 0;
    copy->depth++;
    result = mdl_die_children(die, &copy->budget, visit_original, copy);
    copy->depth--;
    return result;
}

/* The variables of a scope; 1 if the name was found. */
static int walk_scope(struct mdl_unit *unit, uint32_t scope, struct local_walk *walk)
{
    Dwarf_Die *die = &unit->scopes[scope].die, origin;
    Dwarf_Attribute attribute;
    struct copy_walk copy = {.locals = walk, .budget = mdl_die_budget(&unit->die)};
    int err = mdl_die_children(die, &copy.budget, visit_local, walk);

    if (err != 0 || !dwarf_attr(die, DW_AT_abstract_origin, &attribute) ||
        !dwarf_formref_die(&attribute, &origin))
        return err;
    err = mdl_die_children(die, &copy.budget, note_original, &copy);
    if (err == 0)
        err = mdl_die_children(&origin, &copy.budget, visit_original, &copy);
    free(copy.originals);
    return err;
}

static bool is_function(const struct mdl_unit *unit, uint32_t scope)
{
    int tag = unit->scopes[scope].tag;

    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* Looks from *scope outwards, through the first function; *scope is then what is outside of
 * that. */
static int walk_function(struct mdl_unit *unit, uint32_t *scope, struct local_walk *walk)
{
    int result = 0, was_function = 0;

    while (*scope != MDL_NO_SCOPE && !was_function && result == 0) {
        result = walk_scope(unit, *scope, walk);
        was_function = is_function(unit, *scope);
        *scope = unit->scopes[*scope].parent;
    }
    return result;
}

/* ---- Globals ----------------------------------------------------------------------------- */

enum global_wish { WISH_UNIT, WISH_EXTERNAL, WISH_ANY };

/* A search for a variable outside functions. */
struct global_search {
    bool needs_place; /* else what only tells its type will do */
    struct mdl_name_pattern pattern;
    const char *last;     /* the last part of what was typed */
    const char *function; /* the code that asks, "ns::box<int>::get"; or NULL */
    const struct mdl_unit *unit;
    struct wetdbg_variable *found;
};

/* The part behind the last "::". */
static const char *last_part(const char *name)
{
    const char *at = name, *colons;

    while ((colons = strstr(at, "::")))
        at = colons + 2;
    return at;
}

/* "ns::box<int>::count" */
static const char *qualified_name(struct mdl_mod *mod, Dwarf_Die *die, const char *name)
{
    const char *linkage = mdl_die_linkage_name(die), *demangled = linkage;

    if (linkage && mdl_name_is_mangled(linkage))
        demangled = mdl_name_demangle(mod->model, linkage, MDL_NAME_PLAIN);
    return demangled && demangled != linkage ? demangled : mdl_die_qualified(mod, die, name);
}

/* How near a variable is to the code that asks: 0 if that cannot see it under its last name, 1 if
 * it is in no namespace or class, more the farther inside. */
static size_t nearness(const struct global_search *search, const char *qualified)
{
    size_t length = strlen(qualified), last_length = strlen(search->last), within = 0;
    char *scope;

    if (length < last_length + 2)
        return 1;
    scope = strndup(qualified, length - last_length - 2);
    if (scope && search->function)
        within = mdl_name_is_within(search->function, scope);
    free(scope);
    return within ? within + 1 : 0;
}

/* Whether an entry tells what is asked for. Of the unit itself also that a variable of its own was
 * optimized out; other units say so of what a third one defines, as of libc's `environ`. */
static bool is_telling(const struct global_search *search, enum global_wish wish, Dwarf_Die *die)
{
    if (!search->needs_place)
        return true;
    if (wish == WISH_UNIT)
        return !is_declaration(die);
    return dwarf_hasattr_integrate(die, DW_AT_location) ||
           dwarf_hasattr_integrate(die, DW_AT_const_value);
}

static bool is_wished(const struct mdl_mod *mod, const struct global_search *search,
                      enum global_wish wish, const struct mdl_global *global)
{
    if (wish == WISH_UNIT)
        return &mod->units->units[global->unit] == search->unit;
    return wish == WISH_ANY || global->is_external;
}

/* The nearest that the module has, from `least` on; 1 if there is one. */
static int find_global(struct mdl_mod *mod, const struct global_search *search,
                       enum global_wish wish, size_t least)
{
    const struct mdl_globals *globals = NULL;
    const struct mdl_global *global, *best = NULL;
    Dwarf_Die die;
    int result = mdl_globals_get(mod, &globals);

    if (result < 0)
        return result;
    global = mdl_globals_find(globals, search->last);
    for (; global && global < globals->items + globals->count &&
           strcmp(global->name, search->last) == 0;
         global++) {
        const char *qualified;
        size_t near;

        die = global->die;
        if (!is_wished(mod, search, wish, global) || !is_telling(search, wish, &die))
            continue;
        qualified = qualified_name(mod, &die, global->name);
        near = nearness(search, qualified);
        result = mdl_name_pattern_matches_text(&search->pattern, qualified);
        if (result < 0)
            return result;
        if (result == 0 || near < least)
            continue;
        best = global;
        least = near + 1;
    }
    if (!best)
        return 0;
    die = best->die;
    result = describe(mod, &die, best->is_external ? WETDBG_SCOPE_GLOBAL : WETDBG_SCOPE_FILE,
                      search->found);
    return result < 0 ? result : 1;
}

/* Looks in one module first, then in all: external ones, then statics of any unit. */
static int find_global_anywhere(struct wetdbg_model *model, struct mdl_mod *first,
                                const struct global_search *search, size_t least)
{
    int result = 0;

    for (enum global_wish wish = WISH_EXTERNAL; first && result == 0 && wish <= WISH_ANY; wish++)
        result = find_global(first, search, wish, least);
    for (enum global_wish wish = WISH_EXTERNAL; result == 0 && wish <= WISH_ANY; wish++)
        for (size_t i = 0; result == 0 && i < model->mod_count; i++)
            if (model->mods[i] != first)
                result = find_global(model->mods[i], search, wish, least);
    return result;
}

/* ---- Members of *this -------------------------------------------------------------------- */

struct member_search {
    struct wetdbg_model *model;
    const char *name;
    struct wetdbg_variable *found;
    unsigned depth;
};

/* Members of base classes and of unnamed members count as the whole's. */
static int match_member(void *context, const struct wetdbg_member *member)
{
    struct member_search *search = context;
    int err;

    if (member->name && strcmp(member->name, search->name) == 0) {
        search->found->name = member->name;
        search->found->type = member->type;
        search->found->offset_bytes = member->offset_bytes;
        search->found->bit_offset = member->bit_offset;
        search->found->bit_size = member->bit_size;
        return 1;
    }
    if (member->name || search->depth >= 8 || !member->type.handle)
        return 0;
    search->depth++;
    err = wetdbg_type_members_each(search->model, member->type.handle, match_member, search);
    search->depth--;
    if (err != 1)
        return err;
    if (member->is_virtual && search->found->base_handle)
        return 0; /* a virtual base class of a virtual base class: to be named in full */
    if (member->is_virtual)
        search->found->base_handle = member->handle;
    else if (search->found->base_handle)
        search->found->base_offset_bytes += member->offset_bytes;
    else
        search->found->offset_bytes += member->offset_bytes;
    return 1;
}

/* 1 if the function that `scope` is in has a `this` that points to something with such a member. */
static int find_of_this(struct mdl_unit *unit, uint32_t scope, struct mdl_mod *mod,
                        const char *name, struct wetdbg_variable *variable)
{
    struct member_search search = {.model = mod->model, .name = name, .found = variable};
    struct local_walk walk = {.mod = mod, .name = "this", .found = variable};
    struct wetdbg_type object;
    uint64_t count;
    int result = walk_function(unit, &scope, &walk);

    if (result <= 0)
        return result;
    if (wetdbg_type_target(mod->model, variable->type.handle, &object, &count) < 0 ||
        object.kind != WETDBG_TYPE_STRUCT)
        return 0;
    result = wetdbg_type_members_each(mod->model, object.handle, match_member, &search);
    if (result <= 0)
        return result == -WETDBG_ERR_NOT_FOUND ? 0 : result;
    variable->is_of_this = true;
    variable->scope = WETDBG_SCOPE_LOCAL;
    return 1;
}

static int find_symbol(struct wetdbg_model *model, const char *name,
                       struct wetdbg_variable *variable)
{
    struct wetdbg_symbol symbol;
    int result = wetdbg_symbol_named(model, name, &symbol);

    if (result < 0)
        return result;
    memset(variable, 0, sizeof(*variable));
    variable->name = symbol.name;
    variable->scope = WETDBG_SCOPE_GLOBAL;
    variable->module = symbol.module;
    variable->symbol_address = symbol.start;
    variable->type.size_bytes = symbol.size_bytes;
    snprintf(variable->type.name, sizeof(variable->type.name), "<data of unknown type>");
    return 1;
}

/* ---- Finding ----------------------------------------------------------------------------- */

/* Goes out of the `depth` innermost functions. */
static uint32_t leave_functions(const struct mdl_unit *unit, uint32_t scope, size_t depth)
{
    while (depth-- && scope != MDL_NO_SCOPE) {
        scope = mdl_unit_function_scope(unit, scope);
        if (scope != MDL_NO_SCOPE)
            scope = unit->scopes[scope].parent;
    }
    return scope;
}

/* 1: found; 0: nothing has the name; or an error. */
static int find_in(struct wetdbg_model *model, struct mdl_mod *mod, struct mdl_unit *unit,
                   uint32_t scope, struct global_search *search)
{
    const char *name = search->pattern.typed;
    struct local_walk walk = {.mod = mod, .name = name, .found = search->found};
    bool is_plain = search->last == name;
    int result = 0;
    uint32_t inner = scope;

    if (unit) {
        search->function = mdl_unit_scope_name(unit, mdl_unit_function_scope(unit, scope), NULL);
        if (is_plain)
            result = walk_function(unit, &scope, &walk);
        if (result == 0 && is_plain && inner != MDL_NO_SCOPE)
            result = find_of_this(unit, inner, mod, name, search->found);
        if (result == 0)
            result = find_global(mod, search, WISH_UNIT, is_plain);
    }
    while (result == 0 && is_plain && scope != MDL_NO_SCOPE)
        result = walk_function(unit, &scope, &walk);
    if (result == 0 && is_plain)
        result = find_global_anywhere(model, mod, search, 1);
    if (result == 0 && unit)
        result = find_global(mod, search, WISH_UNIT, 0);
    if (result == 0)
        result = find_global_anywhere(model, mod, search, 0);
    return result;
}

static int find(struct wetdbg_model *model, uint64_t pc, size_t depth, const char *name,
                bool needs_place, struct wetdbg_variable *variable)
{
    struct global_search search = {
        .needs_place = needs_place, .found = variable, .last = last_part(name)};
    struct mdl_mod *mod = NULL;
    struct mdl_unit *unit = NULL;
    uint32_t scope = MDL_NO_SCOPE;
    int result = 0;

    if (pc != 0) {
        result = mdl_mod_need(model, pc, &mod);
        if (result == 0)
            result = mdl_scope_at(mod, pc, &unit, &scope);
        if (result == 0 && unit)
            scope = leave_functions(unit, scope, depth);
    }
    if (result == 0)
        result = mdl_name_pattern_init(&search.pattern, name);
    if (result < 0)
        return result;
    search.unit = unit;
    result = find_in(model, mod, unit, scope, &search);
    mdl_name_pattern_fini(&search.pattern);
    return result;
}

int wetdbg_variable_find(struct wetdbg_model *model, uint64_t pc, const char *name,
                         struct wetdbg_variable *variable)
{
    return wetdbg_variable_find_at(model, pc, 0, name, variable);
}

int wetdbg_variable_find_at(struct wetdbg_model *model, uint64_t pc, size_t depth, const char *name,
                            struct wetdbg_variable *variable)
{
    struct wetdbg_variable found, declared;
    int result = find(model, pc, depth, name, true, &found);

    if (result == 0) {
        int is_declared = find(model, pc, depth, name, false, &declared);
        result = is_declared < 0 ? is_declared : find_symbol(model, name, &found);
        if (result == 1 && is_declared)
            found.type = declared.type;
        if (result == -WETDBG_ERR_NOT_FOUND && is_declared > 0) {
            found = declared;
            result = 1;
        }
    }
    if (result == -WETDBG_ERR_NOT_FOUND && (pc == 0 || mdl_mod_at(model, pc)))
        wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                    pc ? "no variable \"%s\" in scope at 0x%llx" : "no global variable \"%s\"",
                    name, (unsigned long long)pc);
    if (result < 0)
        return result;
    *variable = found;
    return 0;
}

int wetdbg_variables_each(struct wetdbg_model *model, uint64_t pc, wetdbg_variable_fn fn,
                          void *context)
{
    struct local_walk walk = {.fn = fn, .context = context};
    struct mdl_unit *unit;
    uint32_t scope;
    int result = mdl_mod_need(model, pc, &walk.mod);

    if (result == 0)
        result = mdl_scope_at(walk.mod, pc, &unit, &scope);
    while (result == 0 && scope != MDL_NO_SCOPE)
        result = walk_function(unit, &scope, &walk);
    return result;
}

int wetdbg_variables_each_at(struct wetdbg_model *model, uint64_t pc, size_t depth,
                             wetdbg_variable_fn fn, void *context)
{
    struct local_walk walk = {.fn = fn, .context = context};
    struct mdl_unit *unit;
    uint32_t scope;
    int result = mdl_mod_need(model, pc, &walk.mod);

    if (result == 0)
        result = mdl_scope_at(walk.mod, pc, &unit, &scope);
    if (result < 0 || !unit)
        return result;
    scope = leave_functions(unit, scope, depth);
    return walk_function(unit, &scope, &walk);
}

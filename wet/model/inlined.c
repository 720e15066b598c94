/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions by name where they are inlined into others. Their abstract instances tell which units
 * are worth a look: a unit's scopes are many.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "wet/model/dies.h"
#include "wet/model/globals.h"
#include "wet/model/image.h"
#include "wet/model/names.h"
#include "wet/model/qualify.h"
#include "wet/model/types.h"
#include "wet/model/units.h"
#include <wetdbg/errors.h>

struct search {
    const char *name;
    const char *last; /* behind the last "::" that is in no parameter */
    struct mdl_name_pattern pattern;
    uint64_t *pcs;
    size_t count, capacity;
};

/* Whether a DIE's own name may be meant: "get" or, without its arguments, "get<int>". */
static bool may_be(const struct search *search, const char *name)
{
    size_t length = strcspn(search->last, "<(");

    return name && strncmp(name, search->last, length) == 0 &&
           (!name[length] || name[length] == '<');
}

/* ---- Signatures -------------------------------------------------------------------------- */

struct signature {
    struct mdl_mod *mod;
    char *text; /* "f(int, char const*" */
    bool is_const;
    bool has_parameters;
};

static int add_part(struct signature *signature, const char *part)
{
    char *longer;

    if (asprintf(&longer, "%s%s%s", signature->text, signature->has_parameters ? ", " : "", part) <
        0)
        return -ENOMEM;
    free(signature->text);
    signature->text = longer;
    signature->has_parameters = true;
    return 0;
}

static int add_parameter(void *context, Dwarf_Die *die)
{
    struct signature *signature = context;
    struct wetdbg_type type;
    int result;

    if (dwarf_tag(die) == DW_TAG_unspecified_parameters)
        return add_part(signature, "...");
    if (dwarf_tag(die) != DW_TAG_formal_parameter)
        return 0;
    result = mdl_type_of(signature->mod, die, &type);
    if (result < 0)
        return result;
    if (!dwarf_hasattr_integrate(die, DW_AT_artificial))
        return add_part(signature, type.name);
    /* what a const member function is called for points to what is const */
    signature->is_const = strncmp(type.name, "const ", 6) == 0;
    return 0;
}

/* The name of an inlined function with its parameters, to be freed; NULL: memory is short. */
static char *signature_of(struct mdl_unit *unit, uint32_t scope, const char *name)
{
    struct signature signature = {.mod = unit->mod};
    uint64_t budget = mdl_die_budget(&unit->die);
    Dwarf_Attribute attribute;
    Dwarf_Die origin;
    char *whole = NULL;

    if (!dwarf_attr(&unit->scopes[scope].die, DW_AT_abstract_origin, &attribute) ||
        !dwarf_formref_die(&attribute, &origin))
        return strdup(name);
    if (asprintf(&signature.text, "%s(", name) < 0)
        return NULL;
    if (mdl_die_children(&origin, &budget, add_parameter, &signature) < 0 ||
        asprintf(&whole, "%s)%s", signature.text, signature.is_const ? " const" : "") < 0)
        whole = NULL;
    free(signature.text);
    return whole;
}

/* Where DWARF has no linker's name for it: of what is only in its unit, and of C. */
static int matches_parameters(const struct search *search, struct mdl_unit *unit, uint32_t scope,
                              const char *name)
{
    char *signature;
    int result;

    if (mdl_die_is_of_c(unit->mod, &unit->die))
        return 0;
    signature = signature_of(unit, scope, name);
    if (!signature)
        return -ENOMEM;
    result = mdl_name_pattern_matches_text(&search->pattern, signature);
    free(signature);
    return result;
}

/* ---- Scopes ------------------------------------------------------------------------------ */

/* Whether the scope is one of the functions: 1, 0 or -ENOMEM. */
static int is_wanted(const struct search *search, struct mdl_unit *unit, uint32_t scope)
{
    const char *linkage, *name;

    if (unit->scopes[scope].tag != DW_TAG_inlined_subroutine ||
        !may_be(search, dwarf_diename(&unit->scopes[scope].die)))
        return 0;
    name = mdl_unit_scope_name(unit, scope, &linkage);
    if (!name || strcmp(name, search->name) == 0 || strcmp(linkage, search->name) == 0)
        return name != NULL;
    if (mdl_name_is_mangled(linkage))
        return mdl_name_pattern_matches(unit->mod->model, &search->pattern, linkage);
    if (search->pattern.has_parameters)
        return matches_parameters(search, unit, scope, name);
    return mdl_name_pattern_matches_text(&search->pattern, name);
}

/* Adds where the scope's code begins: in its first range, as gdb takes it. */
static int add_entry(struct search *search, struct mdl_unit *unit, uint32_t scope)
{
    uint64_t bias = unit->mod->info.bias, budget = mdl_die_budget(&unit->die);
    Dwarf_Addr base, start, end;
    ptrdiff_t at = 0;

    while (budget-- && (at = dwarf_ranges(&unit->scopes[scope].die, at, &base, &start, &end)) > 0) {
        if (start >= end || !mdl_mod_is_code(unit->mod, start + bias))
            continue;
        if (wd_grow(search->pcs, search->capacity, search->count + 1))
            return -ENOMEM;
        search->pcs[search->count++] = start + bias;
        return 0;
    }
    return 0;
}

static int search_unit(struct search *search, struct mdl_unit *unit)
{
    int result = mdl_unit_scopes(unit);

    for (uint32_t i = 0; result == 0 && i < unit->scope_count; i++) {
        int wanted = is_wanted(search, unit, i);

        result = wanted > 0 ? add_entry(search, unit, i) : wanted;
    }
    return result;
}

static int search_module(struct search *search, struct mdl_mod *mod)
{
    const struct mdl_globals *globals;
    int result = mdl_globals_get(mod, &globals);
    size_t before = search->count;
    bool is_there = false, *is_searched;

    if (result < 0)
        return result;
    is_searched = calloc(mod->units->count + 1, sizeof(*is_searched));
    if (!is_searched)
        return -ENOMEM;
    for (size_t i = 0; result == 0 && i < globals->inlined_count; i++) {
        uint32_t unit = globals->inlined[i].unit;

        if (!may_be(search, globals->inlined[i].name))
            continue;
        is_there = true;
        if (!is_searched[unit])
            result = search_unit(search, &mod->units->units[unit]);
        is_searched[unit] = true;
    }
    free(is_searched);
    if (result || !is_there || search->count > before)
        return result;
    /* optimized at link time: another unit has the code */
    for (size_t i = 0; result == 0 && i < mod->units->count; i++) {
        result = mdl_check_interrupt(mod->model);
        if (result == 0)
            result = search_unit(search, &mod->units->units[i]);
    }
    return result;
}

static int compare_pcs(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;

    return *a < *b ? -1 : *a > *b;
}

static void sort_out(struct search *search)
{
    size_t kept = 0;

    if (search->count)
        qsort(search->pcs, search->count, sizeof(*search->pcs), compare_pcs);
    for (size_t i = 0; i < search->count; i++)
        if (!kept || search->pcs[kept - 1] != search->pcs[i])
            search->pcs[kept++] = search->pcs[i];
    search->count = kept;
}

int wetdbg_inlined_named(struct wetdbg_model *model, const char *name, uint64_t **pcs,
                         size_t *count)
{
    struct search search = {.name = name};
    int result = mdl_name_pattern_init(&search.pattern, name);

    if (result < 0)
        return result;
    search.last = mdl_name_last_part(search.pattern.text);
    for (size_t i = 0; result == 0 && i < model->mod_count; i++)
        result = search_module(&search, model->mods[i]);
    mdl_name_pattern_fini(&search.pattern);
    sort_out(&search);
    if (result == 0 && search.count == 0)
        result = wetdbg_fail_plain(-WETDBG_ERR_NOT_FOUND);
    if (result < 0) {
        free(search.pcs);
        return result;
    }
    *pcs = search.pcs;
    *count = search.count;
    return 0;
}

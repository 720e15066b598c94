/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Types, enumerators and functions' types by name and address: from the scopes around the code that
 * asks, then from its unit, its module, and the other modules.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wet/model/dies.h"
#include "wet/model/globals.h"
#include "wet/model/names.h"
#include "wet/model/qualify.h"
#include "wet/model/types.h"
#include <wetdbg/errors.h>

/* The code that asks. */
struct place {
    struct mdl_mod *mod; /* NULL: nobody */
    struct mdl_unit *unit;
    uint32_t scope;
};

static int place_of(struct wetdbg_model *model, uint64_t pc, struct place *place)
{
    struct mdl_units *units;
    int result = 0;

    *place = (struct place){.scope = MDL_NO_SCOPE};
    if (pc == 0)
        return 0;
    result = mdl_mod_need(model, pc, &place->mod);
    if (result == 0)
        result = mdl_units_get(place->mod, &units);
    if (result < 0)
        return result;
    place->unit = mdl_unit_at(place->mod, pc);
    if (!place->unit)
        return 0;
    result = mdl_unit_scopes(place->unit);
    if (result == 0)
        place->scope = mdl_unit_scope_at(place->unit, pc);
    return result;
}

/* ---- Types ------------------------------------------------------------------------------- */

struct type_search {
    struct mdl_name_pattern pattern;
    const char *name; /* without its keyword */
    const char *last; /* the part behind the last "::" */
    int tag;          /* of the keyword, or 0 */
    Dwarf_Die found;
};

static bool is_of_kind(Dwarf_Die *die, int wanted)
{
    int tag = dwarf_tag(die);

    if (tag == DW_TAG_class_type)
        tag = DW_TAG_structure_type;
    switch (tag) {
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return !wanted || wanted == tag;
    case DW_TAG_typedef:
    case DW_TAG_base_type:
        return !wanted;
    default:
        return false;
    }
}

/* Tags of C are in a name space of their own: they need their keyword. */
static bool is_wanted(struct mdl_mod *mod, Dwarf_Die *die, int wanted)
{
    int tag = dwarf_tag(die);

    if (!is_of_kind(die, wanted))
        return false;
    return wanted || tag == DW_TAG_typedef || tag == DW_TAG_base_type || !mdl_die_is_of_c(mod, die);
}

static int visit_local_type(void *context, Dwarf_Die *die)
{
    struct type_search *search = context;
    const char *name = dwarf_diename(die);

    if (!name || strcmp(name, search->name) != 0 || !is_of_kind(die, search->tag) ||
        dwarf_hasattr(die, DW_AT_declaration))
        return 0;
    search->found = *die;
    return 1;
}

static int find_in_scopes(const struct place *place, struct type_search *search)
{
    uint64_t budget = 1 << 16;
    uint32_t scope = place->scope;

    for (; place->unit && scope != MDL_NO_SCOPE; scope = place->unit->scopes[scope].parent) {
        int err =
            mdl_die_children(&place->unit->scopes[scope].die, &budget, visit_local_type, search);

        if (err != 0)
            return err;
    }
    return 0;
}

/* 1 if the module has the type, of the unit before others. */
static int find_in_module(struct mdl_mod *mod, const struct mdl_unit *unit,
                          struct type_search *search)
{
    const struct mdl_globals *globals = NULL;
    const struct mdl_global *type, *end;
    int result = mdl_globals_get(mod, &globals);
    bool is_found = false;

    if (result < 0)
        return result;
    end = globals->types + globals->type_count;
    type = mdl_globals_first(globals->types, globals->type_count, search->last);
    for (; type && type < end && strcmp(type->name, search->last) == 0; type++) {
        Dwarf_Die die = type->die;
        bool is_here = unit == &mod->units->units[type->unit];

        if ((is_found && !is_here) || !is_wanted(mod, &die, search->tag))
            continue;
        result = mdl_name_pattern_matches_text(&search->pattern,
                                               mdl_die_qualified(mod, &die, type->name));
        if (result < 0)
            return result;
        if (result == 0)
            continue;
        search->found = die;
        is_found = true;
        if (is_here)
            break;
    }
    return is_found;
}

static const char *skip_keyword(const char *name, int *tag)
{
    static const struct {
        const char *text;
        int tag;
    } keywords[] = {
        {"struct ", DW_TAG_structure_type},
        {"class ", DW_TAG_structure_type},
        {"union ", DW_TAG_union_type},
        {"enum ", DW_TAG_enumeration_type},
    };

    *tag = 0;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
        if (strncmp(name, keywords[i].text, strlen(keywords[i].text)) != 0)
            continue;
        *tag = keywords[i].tag;
        name += strlen(keywords[i].text);
        return name + strspn(name, " ");
    }
    return name;
}

int wetdbg_type_named(struct wetdbg_model *model, uint64_t pc, const char *name,
                      struct wetdbg_type *type)
{
    struct type_search search = {.tag = 0};
    struct mdl_mod *mod;
    struct place place;
    int result = place_of(model, pc, &place);

    search.name = skip_keyword(name, &search.tag);
    search.last = mdl_name_last_part(search.name);
    if (result == 0)
        result = mdl_name_pattern_init(&search.pattern, search.name);
    if (result < 0)
        return result;
    mod = place.mod;
    result = find_in_scopes(&place, &search);
    if (result == 0 && mod)
        result = find_in_module(mod, place.unit, &search);
    for (size_t i = 0; result == 0 && i < model->mod_count; i++) {
        mod = model->mods[i];
        if (mod != place.mod)
            result = find_in_module(mod, NULL, &search);
    }
    mdl_name_pattern_fini(&search.pattern);
    if (result == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no type is called '%s'", name);
    return result < 0 ? result : mdl_type_of_die(mod, &search.found, type);
}

/* ---- Enumerators ------------------------------------------------------------------------- */

struct value_search {
    const char *name;
    int64_t value;
};

static int match_enumerator(void *context, const char *name, int64_t value)
{
    struct value_search *search = context;

    if (strcmp(name, search->name) != 0)
        return 0;
    search->value = value;
    return 1;
}

/* What of `name` stands before its last part must be the end of the enumeration's name, or of what
 * that is in. */
static bool is_qualified_by(struct mdl_mod *mod, Dwarf_Die *die, const char *name, const char *last)
{
    const char *tag = dwarf_diename(die);
    const char *qualified = mdl_die_qualified(mod, die, tag ? tag : "");
    size_t length = (size_t)(last - name), whole = strlen(qualified);

    if (length < 2)
        return true;
    length -= 2;
    if (whole >= length && strncmp(qualified + whole - length, name, length) == 0)
        return true;
    /* an enumerator is also one of the scope around */
    whole -= tag ? strlen(tag) : 0;
    whole -= whole >= 2 ? 2 : whole;
    return whole >= length && strncmp(qualified + whole - length, name, length) == 0;
}

static int enumerator_in(struct mdl_mod *mod, const struct mdl_unit *unit, const char *name,
                         struct wetdbg_type *type, int64_t *value)
{
    const struct mdl_globals *globals = NULL;
    const struct mdl_global *at, *end, *best = NULL;
    struct value_search search = {mdl_name_last_part(name), 0};
    Dwarf_Die die;
    int result = mdl_globals_get(mod, &globals);

    if (result < 0)
        return result;
    end = globals->enumerators + globals->enumerator_count;
    at = mdl_globals_first(globals->enumerators, globals->enumerator_count, search.name);
    for (; at && at < end && strcmp(at->name, search.name) == 0; at++) {
        die = at->die;
        if (!is_qualified_by(mod, &die, name, search.name))
            continue;
        if (!best || unit == &mod->units->units[at->unit])
            best = at;
    }
    if (!best)
        return 0;
    die = best->die;
    result = mdl_type_of_die(mod, &die, type);
    if (result == 0)
        result = wetdbg_type_enumerators_each(mod->model, type->handle, match_enumerator, &search);
    *value = search.value;
    return result;
}

int wetdbg_enumerator_named(struct wetdbg_model *model, uint64_t pc, const char *name,
                            struct wetdbg_type *type, int64_t *value)
{
    struct place place;
    int result = place_of(model, pc, &place);

    if (result == 0 && place.mod)
        result = enumerator_in(place.mod, place.unit, name, type, value);
    for (size_t i = 0; result == 0 && i < model->mod_count; i++)
        if (model->mods[i] != place.mod)
            result = enumerator_in(model->mods[i], NULL, name, type, value);
    if (result == 0)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND, "no enumerator is called '%s'", name);
    return result < 0 ? result : 0;
}

/* ---- Functions --------------------------------------------------------------------------- */

/* The DIE of a function around pc: `depth` as in wetdbg_inline_chain(), or the one that nothing is
 * inlined into. */
static int function_die(struct wetdbg_model *model, uint64_t pc, size_t depth, struct mdl_mod **mod,
                        Dwarf_Die *die)
{
    struct place place;
    uint32_t scope;
    int result = place_of(model, pc, &place);

    if (result < 0)
        return result;
    scope = place.unit ? mdl_unit_function_scope(place.unit, place.scope) : MDL_NO_SCOPE;
    while (scope != MDL_NO_SCOPE && depth-- &&
           place.unit->scopes[scope].tag == DW_TAG_inlined_subroutine)
        scope = mdl_unit_function_scope(place.unit, place.unit->scopes[scope].parent);
    if (scope == MDL_NO_SCOPE)
        return wetdbg_fail(-WETDBG_ERR_NOT_FOUND,
                           "no debug information about the function at 0x%llx",
                           (unsigned long long)pc);
    *mod = place.mod;
    *die = place.unit->scopes[scope].die;
    return 0;
}

int wetdbg_function_type(struct wetdbg_model *model, uint64_t pc, struct wetdbg_type *type)
{
    struct mdl_mod *mod;
    Dwarf_Die die;
    int result = function_die(model, pc, 64, &mod, &die);

    return result < 0 ? result : mdl_type_of_die(mod, &die, type);
}

int wetdbg_function_result(struct wetdbg_model *model, uint64_t pc, size_t depth,
                           struct wetdbg_type *type)
{
    struct mdl_mod *mod;
    Dwarf_Die die;
    int result = function_die(model, pc, depth, &mod, &die);

    return result < 0 ? result : mdl_type_of(mod, &die, type);
}

bool wetdbg_is_of_c(struct wetdbg_model *model, uint64_t pc)
{
    struct place place;

    if (place_of(model, pc, &place) < 0 || !place.unit)
        return true;
    return mdl_die_is_of_c(place.mod, &place.unit->die);
}

const char *wetdbg_language_at(struct wetdbg_model *model, uint64_t pc)
{
    struct place place;

    if (place_of(model, pc, &place) < 0 || !place.unit)
        return NULL;
    return mdl_die_language(place.mod, &place.unit->die);
}

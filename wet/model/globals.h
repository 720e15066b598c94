/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module's variables and types outside functions, by name. */
#ifndef WET_MODEL_GLOBALS_H
#define WET_MODEL_GLOBALS_H

#include <stdbool.h>

#include "wet/model/units.h"

struct mdl_global {
    const char *name;
    Dwarf_Die die;
    uint32_t unit;
    bool is_external;
};

struct mdl_globals {
    struct mdl_global *items; /* sorted by name, external ones first */
    size_t count;
    struct mdl_global *types; /* definitions only; sorted by name */
    size_t type_count;
    struct mdl_global *enumerators; /* the enumerations by the names of their enumerators; sorted */
    size_t enumerator_count;
    struct mdl_global *inlined; /* abstract instances of functions; sorted by name */
    size_t inlined_count;
};

int mdl_globals_get(struct mdl_mod *mod, const struct mdl_globals **globals);

/*
 * From a structure, union or enumeration that a unit only declares to its definition in another (or
 * in a type unit). 1: *die is that now; 0: it was a definition, or there is none; -ENOMEM.
 */
int mdl_type_complete(struct mdl_mod *mod, Dwarf_Die *die);

/* The first of a name in one of the arrays (others follow it), or NULL. */
const struct mdl_global *mdl_globals_first(const struct mdl_global *items, size_t count,
                                           const char *name);

/* The first of a name (others follow it in `items`), or NULL. */
const struct mdl_global *mdl_globals_find(const struct mdl_globals *globals, const char *name);

/* NULL is fine. */
void mdl_globals_free(struct mdl_globals *globals);

#endif

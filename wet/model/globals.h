/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module's variables outside functions, by name. */
#ifndef WET_MODEL_GLOBALS_H
#define WET_MODEL_GLOBALS_H

#include "wet/model/units.h"

struct mdl_global {
    const char *name;
    Dwarf_Die die;
    uint32_t unit;
    int is_external;
};

struct mdl_globals {
    struct mdl_global *items; /* sorted by name, external ones first */
    size_t count;
};

int mdl_globals_get(struct mdl_mod *mod, const struct mdl_globals **globals);

/* The first of a name (others follow it in `items`), or NULL. */
const struct mdl_global *mdl_globals_find(const struct mdl_globals *globals, const char *name);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which namespaces and classes things are declared in: "ns::box<int>::" before a DIE's name. */
#ifndef WET_MODEL_QUALIFY_H
#define WET_MODEL_QUALIFY_H

#include "wet/model/units.h"

/*
 * A name with the namespaces and classes around the DIE (or around what it is an instance or the
 * definition of) before it: "ns::(anonymous namespace)::f". Just the name where there are none, or
 * memory is short. Interned unless it is the name itself.
 */
const char *mdl_die_qualified(struct mdl_mod *mod, Dwarf_Die *die, const char *name);

/* The linker's name that DWARF notes for a function or variable, or NULL. */
const char *mdl_die_linkage_name(Dwarf_Die *die);

/* Whether the DIE's unit is of C (or assembler), where types are "struct tag". */
int mdl_die_is_of_c(struct mdl_mod *mod, Dwarf_Die *die);

/* The language of the DIE's unit as gdb calls it: "c++"; NULL: unknown. */
const char *mdl_die_language(struct mdl_mod *mod, Dwarf_Die *die);

/* Whether `scope` ("ns::box") encloses `name` ("ns::box<int>::get"); its length if so, else 0. */
size_t mdl_name_is_within(const char *name, const char *scope);

struct mdl_qualifiers;
void mdl_qualifiers_free(struct mdl_qualifiers *qualifiers);

#endif

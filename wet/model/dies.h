/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks over the DIEs of damaged DWARF, which end. */
#ifndef WET_MODEL_DIES_H
#define WET_MODEL_DIES_H

#include <elfutils/libdw.h>
#include <stdint.h>

/*
 * Calls fn for each child of a DIE; nonzero stops and is returned. Robust against sibling
 * references that go backwards. `budget` counts DIEs down over nested walks; 0 stops.
 */
typedef int (*mdl_die_fn)(void *context, Dwarf_Die *die);
int mdl_die_children(Dwarf_Die *parent, uint64_t *budget, mdl_die_fn fn, void *context);

/* How many DIEs a unit can have at most. */
uint64_t mdl_die_budget(const Dwarf_Die *unit);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types of variables, and the handles by which the outside names DIEs. */
#ifndef WET_MODEL_TYPES_H
#define WET_MODEL_TYPES_H

#include "wet/model/units.h"

/* A DIE that was handed out; or a type that no DIE describes: a pointer to `target`, or (count
 * above 0) an array of it. */
struct mdl_handle {
    Dwarf_Die die;
    struct mdl_mod *mod;
    const struct wetdbg_type *target; /* owned; NULL: it is the DIE */
    uint64_t count;
    unsigned skipped; /* of an array's dimensions, as if it had only the others */
};

void mdl_handles_free(struct mdl_handles *handles);

/* The handle of a DIE, 0 if memory is short. Equal DIEs may get different handles. */
uint64_t mdl_handle_new(struct mdl_mod *mod, const Dwarf_Die *die);

/* NULL (with a message) if it is none. Valid until the next mdl_handle_new(). */
const struct mdl_handle *mdl_handle_get(const struct wetdbg_model *model, uint64_t handle);

/* Describes the type that a DIE's DW_AT_type names; void if it has none. */
int mdl_type_of(struct mdl_mod *mod, Dwarf_Die *die, struct wetdbg_type *type);

/* Describes the type that a DIE is. */
int mdl_type_of_die(struct mdl_mod *mod, Dwarf_Die *die, struct wetdbg_type *type);

#endif

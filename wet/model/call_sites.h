/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What DWARF says of the calls that a unit's code makes: call sites, by where they return to. */
#ifndef WET_MODEL_CALL_SITES_H
#define WET_MODEL_CALL_SITES_H

#include "wet/model/units.h"

struct mdl_call_site {
    uint64_t return_pc; /* guest; behind the call, or behind the jump that ends its function */
    uint64_t function;  /* entry of the function around it, inlined ones not counted */
    Dwarf_Die die;
    struct mdl_unit *unit;
    bool is_tail; /* a jump to another function, of a function that has all of its own noted */
};

struct mdl_call_sites {
    struct mdl_call_site *items; /* sorted by return_pc */
    size_t count;
};

/* A unit's call sites, read when first asked for. 0 or -ENOMEM. */
int mdl_call_sites_get(struct mdl_unit *unit, const struct mdl_call_sites **sites);

/* The call that returns to pc; NULL if none is noted, or memory is short. */
const struct mdl_call_site *mdl_call_site_at(struct wetdbg_model *model, uint64_t return_pc);

/* Where the function around pc begins, also if pc is in a part of it that lies elsewhere; 0:
 * unknown. */
uint64_t mdl_function_entry(struct wetdbg_model *model, uint64_t pc);

/* Where a direct call goes; 0 if that is not known. */
uint64_t mdl_call_target(const struct mdl_call_site *site);

/* The expression of where an indirect call goes, in the frame that makes it. */
bool mdl_call_target_expression(const struct mdl_call_site *site, Dwarf_Attribute *attribute);

/* The value that a call site gives for a parameter: of the register of that number, or (`reg` below
 * 0) on the stack so many bytes from its pointer. false if it tells of none. */
bool mdl_call_parameter(const struct mdl_call_site *site, int reg, int64_t stack_offset,
                        Dwarf_Attribute *value);

/* NULL is fine. */
void mdl_call_sites_free(struct mdl_call_sites *sites);

#endif

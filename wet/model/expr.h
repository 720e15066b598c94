/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluates DWARF location expressions. */
#ifndef WET_MODEL_EXPR_H
#define WET_MODEL_EXPR_H

#include <elfutils/libdw.h>

#include "wet/model/module.h"

/* Where an expression is evaluated. Functions that are NULL make operations that need them fail. */
struct mdl_expr_env {
    const struct wetdbg_machine *machine;
    uint64_t bias;          /* added to addresses in the expression */
    Dwarf_Attribute *attr;  /* the expression's attribute, or NULL */
    void *context;          /* of the functions below */
    const uint64_t *object; /* what is on the stack to begin with, or NULL */
    int (*frame_base)(void *context, uint64_t *value);
    int (*cfa)(void *context, uint64_t *value);
    int (*tls)(void *context, uint64_t offset, uint64_t *address);
    /* What an expression, a register or a place in the frame, was at the function's entry.
     * -WETDBG_ERR_NOT_FOUND if nothing tells. */
    int (*entry_value)(void *context, Dwarf_Attribute *expression, uint64_t *value);
    /* The handle of a variable's DIE; 0 if memory is short. */
    uint64_t (*handle_of)(void *context, const Dwarf_Die *die);
};

/*
 * Evaluates: the parts of the object, one of size 0 if it is in one place. *pieces is for the
 * caller to free. Operations that only say that the value is gone give WETDBG_PLACE_NONE with a
 * reason.
 * -WETDBG_ERR_CORRUPT for nonsense, -WETDBG_ERR_UNSUPPORTED for what cannot be evaluated, or a
 * callback's error. A place's size_bytes is 0 unless a piece states it.
 */
int mdl_expr_pieces(const struct mdl_expr_env *env, const Dwarf_Op *ops, size_t count,
                    struct wetdbg_piece **pieces, size_t *piece_count);

/* The only place; WETDBG_PLACE_NONE, with a reason, if there are several. */
void mdl_expr_one_place(const struct wetdbg_piece *pieces, size_t count,
                        struct wetdbg_place *place);

/* The two together. */
int mdl_expr_eval(const struct mdl_expr_env *env, const Dwarf_Op *ops, size_t count,
                  struct wetdbg_place *place);

#endif

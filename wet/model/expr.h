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
};

/*
 * Evaluates. Operations that only say that the value is gone give WETDBG_PLACE_NONE with a reason.
 * -WETDBG_ERR_CORRUPT for nonsense, -WETDBG_ERR_UNSUPPORTED for what cannot be evaluated, or a
 * callback's error. place->size_bytes is 0 unless a piece states it.
 */
int mdl_expr_eval(const struct mdl_expr_env *env, const Dwarf_Op *ops, size_t count,
                  struct wetdbg_place *place);

#endif

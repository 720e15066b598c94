/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Targets of a switch statement's indirect jump, from the code that leads to it. */
#ifndef WET_MODEL_JUMPTABLE_H
#define WET_MODEL_JUMPTABLE_H

#include "wet/model/module.h"

#define MDL_JUMPTABLE_PATH_MAX 256   /* instructions looked at before the jump */
#define MDL_JUMPTABLE_MAX      65536 /* entries */

/*
 * `path`: addresses of instructions along one way to the jump, oldest first, the jump last.
 * On success *targets (for the caller to free) has the table's entries in order, repetitions
 * included; they are addresses in code of the module, nothing more is known of them.
 * -WETDBG_ERR_NOT_FOUND (no message) if no table with a bounded index is recognised; -ENOMEM.
 */
int mdl_jumptable_resolve(const struct mdl_mod *mod, const uint64_t *path, size_t path_count,
                          uint64_t **targets, size_t *count);

#endif

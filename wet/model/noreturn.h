/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions that never return to who called them: exit and its kin, and what always ends there. */
#ifndef WET_MODEL_NORETURN_H
#define WET_MODEL_NORETURN_H

#include "wet/model/graph.h"

/*
 * Finds those of a module, once, and notes them in its table of functions (never_returns of entries
 * and slots). Known from the start are libc's and the run-time libraries' by the names under which
 * they are imported. A function is one of them if its code, walked from the entry over calls of
 * what is not known to be one, reaches no return and no way out that leads elsewhere; so it is
 * found from its callees up to a fixed point, in all modules that this one imports from. Debug
 * information is not needed: of functions that are declared so, compilers leave out the return.
 *
 * The module's code is swept once for each level of such callers. 0 or -ENOMEM.
 */
int mdl_noreturn_find(struct mdl_mod *mod, struct mdl_graphs *graphs);

/* Whether a name (possibly "NAME@plt") is that of a function which never returns. */
bool mdl_name_never_returns(const char *name);

#endif

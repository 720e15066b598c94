/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Static reaching definitions of registers: which blocks of a function could have given a register
 * its value where a definition of the run did. From the code alone, one function at a time. (A.
 * Aho, M. Lam, R. Sethi, J. Ullman, Compilers, 2nd edition, section 9.2.4, for one register and
 * one use at a time.)
 *
 * A call defines the registers in which functions return; others it leaves alone, as far as is
 * known here. A use in another function is one wherever the definition comes to a call or to the
 * function's end: it is an argument, or what is returned.
 */
#ifndef PREDICATE_SWITCH_REACHING_H
#define PREDICATE_SWITCH_REACHING_H

#include <stdint.h>

#include <wetdbg/model.h>

/* Keeps what it has found out of functions. For one thread; ends before the model does. */
struct psw_reaching;

int psw_reaching_new(struct wetdbg_model *model, struct psw_reaching **out); /* 0 or -ENOMEM */
void psw_reaching_free(struct psw_reaching *reaching);                       /* NULL is fine */

/* Told of a block by its first address. */
typedef void psw_reaching_fn(void *arg, uint64_t start);

/*
 * Calls back for each block of the function of the instruction at `definition` that defines a
 * location (enum ins_loc) so that this could be what the instruction at `use` reads, in place of
 * that definition; perhaps twice. None if nothing comes between the two. 0 or -ENOMEM.
 */
int psw_reaching_each(struct psw_reaching *reaching, uint64_t definition, uint64_t use,
                      unsigned location, psw_reaching_fn *fn, void *arg);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where exceptions land: the tables of .gcc_except_table, which C++, Rust and others share. */
#ifndef WET_MODEL_LSDA_H
#define WET_MODEL_LSDA_H

#include "wet/model/module.h"

/* Calls at [start, end) that throw go on at `pad`. All guest addresses. */
struct mdl_landing {
    uint64_t start;
    uint64_t end;
    uint64_t pad;
};

/*
 * Reads the table at `lsda` of the code that begins at `function`. *landings is for the caller to
 * free; what is damaged ends the list. 0 or -ENOMEM.
 */
int mdl_lsda_read(struct mdl_mod *mod, uint64_t lsda, uint64_t function,
                  struct mdl_landing **landings, size_t *count);

#endif

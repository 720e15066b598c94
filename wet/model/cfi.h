/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A module's call frame information, as elfutils reads it. */
#ifndef WET_MODEL_CFI_H
#define WET_MODEL_CFI_H

#include <elfutils/libdw.h>

#include "wet/model/module.h"

struct mdl_cfi {
    Dwarf_CFI *eh;    /* .eh_frame of the module; NULL = none */
    Dwarf_CFI *debug; /* .debug_frame, of `debug_dwarf`; NULL = none */
    Dwarf *debug_dwarf;
};

/*
 * The frame state at pc, for the caller to free(). -WETDBG_ERR_NOT_FOUND if nothing covers pc.
 */
int mdl_cfi_frame(struct mdl_mod *mod, uint64_t pc, Dwarf_Frame **frame);

/* NULL is fine. */
void mdl_cfi_free(struct mdl_cfi *cfi);

#endif

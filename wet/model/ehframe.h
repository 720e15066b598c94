/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enumerates the code ranges that call frame information describes. */
#ifndef WET_MODEL_EHFRAME_H
#define WET_MODEL_EHFRAME_H

#include <stdbool.h>

#include "wet/model/module.h"

struct mdl_frame_range {
    uint64_t start; /* ELF virtual address */
    uint64_t size_bytes;
    /* The frame at `start` is not that of a function just called (CFA = rsp + 8): this is a part
     * that the compiler split off from some function. */
    bool is_continuation;
    uint64_t lsda; /* of its landing pads (lsda.h), as an ELF virtual address; 0 = none */
};

typedef int (*mdl_frame_range_fn)(void *context, const struct mdl_frame_range *range);

/* All FDEs of .eh_frame and .debug_frame of the module's images. Damaged ones end the enumeration
 * of their section silently. Returns 0 or the callback's nonzero. */
int mdl_ehframe_each(struct mdl_mod *mod, mdl_frame_range_fn fn, void *context);

#endif

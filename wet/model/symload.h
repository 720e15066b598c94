/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects raw function ranges and names from a module's images. */
#ifndef WET_MODEL_SYMLOAD_H
#define WET_MODEL_SYMLOAD_H

#include <stdbool.h>

#include "wet/model/functions.h"

/* A candidate, before candidates for one start are merged. */
struct mdl_raw_function {
    uint64_t start;
    uint64_t end;     /* 0 = unknown */
    const char *name; /* NULL = none */
    unsigned flags;
    unsigned rank; /* of the name: lower is better */
    bool is_continuation;
    uint64_t lsda; /* 0 = none */
};

struct mdl_raw {
    struct mdl_mod *mod;
    struct mdl_raw_function *functions;
    size_t count;
    size_t capacity;
    struct wetdbg_symbol *objects;
    size_t object_count;
    size_t object_capacity;
    struct mdl_slot *slots; /* sorted by address once mdl_symload() is done */
    size_t slot_count;
    size_t slot_capacity;
};

/* Fills `raw` (zero but for mod); the caller frees its arrays. 0 or -ENOMEM; what is damaged is
 * left out. */
int mdl_symload(struct mdl_raw *raw);

#endif

/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of a module's functions and data symbols. */
#ifndef WET_MODEL_FUNCTIONS_H
#define WET_MODEL_FUNCTIONS_H

#include <stdbool.h>

#include "wet/model/module.h"

#define MDL_NO_FUNCTION UINT32_MAX

struct mdl_function_entry {
    uint64_t start; /* guest addresses */
    uint64_t end;
    const char *name;       /* the linker's */
    const char *plain_name; /* demangled; NULL until it was asked for */
    unsigned flags;         /* MDL_FUNCTION_* */
    uint64_t lsda;          /* its landing pads (lsda.h); 0 = none */
    bool is_continuation;   /* call frame information: does not start like a called function */
    bool never_returns;     /* noreturn.h */
    uint32_t parent; /* nearest function that contains this one entirely, or MDL_NO_FUNCTION */
    uint64_t owner;  /* entry of the function whose graph has this part; 0 = itself or unknown */
};

/* One name of a function or object; several may have the same start. */
struct mdl_function_name {
    const char *name;
    uint64_t start;
};

/* A relocated address slot (global offset table): what it will point to. */
struct mdl_slot {
    uint64_t address;
    uint64_t target;  /* of IRELATIVE: the resolver; else 0 */
    const char *name; /* NULL for IRELATIVE */
    bool never_returns;
};

struct mdl_functions {
    struct mdl_function_entry *entries; /* sorted by start */
    size_t count;
    struct mdl_function_name *names; /* sorted by name, then start */
    size_t name_count;
    struct wetdbg_symbol *objects; /* sorted by start */
    size_t object_count;
    struct mdl_slot *slots; /* sorted by address */
    size_t slot_count;
    bool is_go;       /* names are Go's: "package.name" */
    int owners_known; /* all cross-function jumps were looked at */
    bool lost_known;  /* mdl_noreturn_find() was here */
};

/* The module's table, made on first use. */
int mdl_functions_get(struct mdl_mod *mod, struct mdl_functions **functions);

/* Index of the innermost function that contains an address, or MDL_NO_FUNCTION. */
uint32_t mdl_functions_find(const struct mdl_functions *functions, uint64_t address);

/* Same for an address anywhere; *mod is its module. -WETDBG_ERR_NOT_FOUND with a message. */
int mdl_function_need(struct wetdbg_model *model, uint64_t pc, struct mdl_mod **mod,
                      uint32_t *index);

/* The slot at exactly this address, or NULL. */
const struct mdl_slot *mdl_functions_slot(const struct mdl_functions *functions, uint64_t address);

/* Range [*first, *end) of `names` that equal a name; empty if none. */
void mdl_functions_by_name(const struct mdl_functions *functions, const char *name, size_t *first,
                           size_t *end);

void mdl_function_fill(struct mdl_mod *mod, struct mdl_function_entry *entry,
                       struct wetdbg_function *function);

/* NULL is fine. */
void mdl_functions_free(struct mdl_functions *functions);

#endif

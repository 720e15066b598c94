/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The modules: images, segments, load bias. Their parts are made when first needed, by other
 * files. */
#ifndef WET_MODEL_MODULE_H
#define WET_MODEL_MODULE_H

#include <stdbool.h>

#include "wet/model/image.h"
#include "wet/model/make_model.h"
#include "wet/model/strings.h"

struct mdl_functions;
struct mdl_units;
struct mdl_graphs;
struct mdl_cfi;
struct mdl_sources;

#define MDL_IMAGE_KINDS 3

/* A module and what has been parsed of it. A part that is NULL was not needed yet. */
struct mdl_mod {
    struct wetdbg_module info;
    struct wetdbg_model *model;
    struct mdl_segment *segments; /* sorted */
    size_t segment_count;
    struct mdl_image_bytes images[MDL_IMAGE_KINDS];
    int search_debug;
    void (*load)(void *arg, enum mdl_image_kind kind, struct mdl_image *image);
    void *load_arg;
    int64_t mtime_s;
    Elf *elfs[MDL_IMAGE_KINDS];
    unsigned elf_tried; /* bit per image kind: looked for it already */
    struct wetdbg_module_debug debug;
    bool has_debug; /* `debug` is known */
    struct mdl_functions *functions;
    struct mdl_graphs *graphs;
    struct mdl_units *units;
    struct mdl_cfi *cfi;
};

struct mdl_model_span {
    uint64_t start;
    uint64_t end;
    struct mdl_mod *mod;
};

/* types.h */
struct mdl_handles {
    struct mdl_handle *items; /* number n is handle n + 1 */
    size_t count;
    size_t capacity;
};

struct wetdbg_model {
    struct mdl_mod **mods;
    size_t mod_count;
    struct mdl_model_span *spans; /* all segments, sorted */
    size_t span_count;
    struct mdl_strings strings;
    struct mdl_sources *sources;
    struct mdl_handles handles;
    const volatile sig_atomic_t *interrupt; /* or NULL */
};

/* -WETDBG_ERR_INTERRUPTED, explained, or 0. To be asked for each unit. */
int mdl_check_interrupt(const struct wetdbg_model *model);

/* NULL if no module has pc; no message. */
struct mdl_mod *mdl_mod_at(const struct wetdbg_model *model, uint64_t pc);

/* -WETDBG_ERR_NOT_FOUND with a message that names pc. */
int mdl_mod_need(const struct wetdbg_model *model, uint64_t pc, struct mdl_mod **mod);

/* The image's bytes that are mapped at an address, and how many follow; NULL if none. */
const uint8_t *mdl_mod_bytes(const struct mdl_mod *mod, uint64_t address, size_t *available);
const struct mdl_segment *mdl_mod_segment(const struct mdl_mod *mod, uint64_t address);
int mdl_mod_is_code(const struct mdl_mod *mod, uint64_t address);

/* The module's own, debug or alt image as ELF, searched for if need be; NULL = there is none. */
Elf *mdl_mod_elf(struct mdl_mod *mod, enum mdl_image_kind kind);

/* A module without parts, or whose parts are freed; NULL is fine. */
void mdl_mod_free(struct mdl_mod *mod);

#endif

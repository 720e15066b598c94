/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the units of the model share: the model, its modules and their lazily made parts. */
#ifndef WET_MODEL_MODULE_H
#define WET_MODEL_MODULE_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>

#include "wet/model/model.h"
#include "wet/model/strings.h"

struct mdl_functions;
struct mdl_units;
struct mdl_graphs;
struct mdl_cfi;
struct mdl_sources;

#define MDL_IMAGE_KINDS 3

struct mdl_image_bytes {
    const uint8_t *data; /* NULL = absent */
    size_t size_bytes;
    bool is_mapped; /* ours to unmap */
    /* Private writable twin for libelf, which clears flags in section headers when it unpacks
     * compressed sections: `data` must stay as it was recorded. NULL: not needed, or not yet. */
    void *scratch;
};

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

/* Maps a regular file, with a twin; `path` is for messages. 0 or -errno. */
int mdl_image_map(struct mdl_image_bytes *image, int fd, const char *path);
void mdl_image_fini(struct mdl_image_bytes *image);

/* -WETDBG_ERR_NOT_FOUND with a message that names pc. */
int mdl_mod_need(const struct wetdbg_model *model, uint64_t pc, struct mdl_mod **mod);

/* The image's bytes that are mapped at an address, and how many follow; NULL if none. */
const uint8_t *mdl_mod_bytes(const struct mdl_mod *mod, uint64_t address, size_t *available);
const struct mdl_segment *mdl_mod_segment(const struct mdl_mod *mod, uint64_t address);
int mdl_mod_is_code(const struct mdl_mod *mod, uint64_t address);

/* The module's own, debug or alt image as ELF, searched for if need be; NULL = there is none. */
Elf *mdl_mod_elf(struct mdl_mod *mod, enum mdl_image_kind kind);

/* Modules are made with zeroed parts; each part frees itself (NULL is fine). */
void mdl_functions_free(struct mdl_functions *functions);
void mdl_graphs_free(struct mdl_graphs *graphs);
void mdl_units_free(struct mdl_units *units);
void mdl_cfi_free(struct mdl_cfi *cfi);
void mdl_sources_free(struct mdl_sources *sources);

#endif

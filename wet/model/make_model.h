/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making a program model: its modules, and what a run showed of them. What is asked of a model, and
 * how, is in <wetdbg/model.h>, whose rules hold here too.
 *
 * The model works on ELF images handed to it (mapped or in memory) and never opens a recorded path
 * by itself, except for source text and, if asked to, separate debug files. Adding a module is
 * cheap.
 */
#ifndef WET_MODEL_MAKE_MODEL_H
#define WET_MODEL_MAKE_MODEL_H

#include <signal.h>

#include <wetdbg/model.h>

/* Bytes of a file, given one way or the other. `data` wins if it is not NULL. With data NULL and
 * fd < 0 the image is absent. (All zero would name descriptor 0: use MDL_IMAGE_NONE.) */
struct mdl_image {
    int fd;           /* mapped by mdl_add_module(), which neither keeps nor closes it */
    const void *data; /* borrowed until mdl_free() */
    size_t size_bytes;
};

#define MDL_IMAGE_NONE ((struct mdl_image){.fd = -1})

/* One mapping of a module, in guest addresses. */
struct mdl_segment {
    uint64_t start;
    uint64_t size_bytes;
    uint64_t file_off; /* of `start` in the image */
    uint32_t prot;     /* PROT_* */
};

enum mdl_image_kind { MDL_IMAGE_FILE, MDL_IMAGE_DEBUG, MDL_IMAGE_ALT };

struct mdl_module_input {
    const char *path; /* as recorded, e.g. "/usr/bin/ls" or "[vdso]"; copied */
    /* The file as it was when recorded. For a memory image such as the vdso: the memory's bytes,
     * with segments whose file_off is relative to its begin. Bytes that are no ELF file (generated
     * code) are fine: they have code and no symbols. */
    struct mdl_image file;
    struct mdl_image debug; /* separate debug file, or MDL_IMAGE_NONE */
    struct mdl_image alt;   /* dwz's shared debug file, or MDL_IMAGE_NONE */
    int search_debug;       /* nonzero: look for absent debug and alt files when first needed */
    /* Gives an absent debug or alt file when it is first needed, before it is looked for; may be
     * NULL. Leaves *image alone if there is none; a descriptor becomes the model's. */
    void (*load)(void *arg, enum mdl_image_kind kind, struct mdl_image *image);
    void *load_arg;
    int64_t mtime_s; /* file's modification time (seconds since 1970), 0 = unknown */
    const struct mdl_segment *segments; /* copied */
    size_t segment_count;
};

/* NULL if memory is short. */
struct wetdbg_model *mdl_new(void);
void mdl_free(struct wetdbg_model *model);

/*
 * While *flag is not 0, what reads the debug information of a whole module, for a name or a line,
 * gives up with -WETDBG_ERR_INTERRUPTED and keeps nothing: asked again, it begins anew. NULL:
 * never.
 */
void mdl_set_interrupt(struct wetdbg_model *model, const volatile sig_atomic_t *flag);

/*
 * Adds a module. -EINVAL without segments or file; -EEXIST if a segment overlaps an earlier
 * module's; -errno if the descriptor cannot be mapped. A file that is not ELF is no error here.
 * Graphs and strings handed out earlier stay valid. `id` may be NULL.
 */
int mdl_add_module(struct wetdbg_model *model, const struct mdl_module_input *input,
                   wetdbg_module_id *id);

/*
 * Adds to each module that is an ELF file those parts of it that none of its segments is of, where
 * `is_mapped` says that something is mapped and no other module is. A recording may have the pages
 * of a file by their bytes, without the file's name: the constants of a program that was started,
 * say, where the tables of its switches are. A module has 64
 * segments at most then, of its first 1,024 headers. To be called when all modules are added.
 * 0 or -ENOMEM.
 */
typedef bool (*mdl_is_mapped_fn)(void *arg, uint64_t start, uint64_t size_bytes);
int mdl_add_unnamed_parts(struct wetdbg_model *model, mdl_is_mapped_fn is_mapped, void *arg);

/* The bytes of one of a module's images, e.g. to store them; searches as search_debug says.
 * -WETDBG_ERR_NOT_FOUND if it has none. */
int mdl_module_image(struct wetdbg_model *model, wetdbg_module_id id, enum mdl_image_kind kind,
                     const void **data, size_t *size_bytes);

/*
 * Finds the separate debug file of an ELF image: by build-id under /usr/lib/debug/.build-id, by
 * .gnu_debuglink beside `path`, in .debug/ beside it and under /usr/lib/debug. The file's build-id
 * (or the link's checksum) must agree. *found is for the caller to free.
 */
int mdl_find_debug_file(const void *data, size_t size_bytes, const char *path, char **found);

/* The same for the shared file that dwz made (.gnu_debugaltlink) of an ELF or debug image. */
int mdl_find_alt_file(const void *data, size_t size_bytes, const char *path, char **found);

/* Tells of a function's entry that the symbols do not (a call target seen in the run). Returns 1 if
 * that split a guessed function, 0 if pc is in a function that symbols or call frame information
 * bound, or an entry already; -WETDBG_ERR_NOT_FOUND outside code. */
int mdl_add_entry(struct wetdbg_model *model, uint64_t pc);

/*
 * Adds what a run showed: the indirect jump at `from` went to `to`. Returns 1 if that changed a
 * graph (its controllers and post-dominators are then computed anew), 0 if it was known.
 */
int mdl_add_indirect_target(struct wetdbg_model *model, uint64_t from, uint64_t to);

#endif

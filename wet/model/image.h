/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Image files: their bytes in memory, and sections by name. */
#ifndef WET_MODEL_IMAGE_H
#define WET_MODEL_IMAGE_H

#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mdl_image_bytes {
    const uint8_t *data; /* NULL = absent */
    size_t size_bytes;
    bool is_mapped; /* ours to unmap */
    /* Private writable twin for libelf, which clears flags in section headers when it unpacks
     * compressed sections: `data` must stay as it was recorded. NULL: not needed, or not yet. */
    void *scratch;
};

/* Maps a regular file, with a twin; `path` is for messages. 0 or -errno. */
int mdl_image_map(struct mdl_image_bytes *image, int fd, const char *path);
void mdl_image_fini(struct mdl_image_bytes *image);

/* A section's header by name; 0 if there is one. */
int mdl_elf_section(Elf *elf, const char *name, GElf_Shdr *shdr, Elf_Scn **scn);

#endif
